"""A client that is stopped before it is attached leaves nothing behind."""

import asyncio

import pytest

from gossamer.live.clients.client import Client
from gossamer.live.links.transports import Channel
from gossamer.live.links.transports.memory import Memory, MemoryNetwork
from live.watching import until

WHERE = "memory:silent"


class Silent:
    """Takes calls and never says a word."""

    def __init__(self) -> None:
        self.said, self.gone = b"", ""

    def answer(self, channel: Channel) -> "Silent":
        return self

    def heard(self, data: bytes) -> None:
        self.said += data

    def drained(self) -> None: ...

    def lost(self, why: str) -> None:
        self.gone = why


def test_whoever_is_told_to_stop_while_it_attaches_hangs_up() -> None:
    async def scenario() -> None:
        memory, silent = MemoryNetwork(), Silent()
        memory.listening[WHERE] = silent.answer
        attaching = asyncio.create_task(Client(WHERE, transport=Memory(memory)).__aenter__())
        await until(lambda: silent.said)
        attaching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await attaching
        assert not any(channel.where == WHERE for channel in memory.channels)
        await until(lambda: silent.gone)

    asyncio.run(scenario())
