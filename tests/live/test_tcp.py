"""Streams over TLS, on either loop: they can be ended however often, and asked to the last."""

import asyncio
import time
from pathlib import Path

import pytest

from gossamer.live.links.transports import Channel
from gossamer.live.links.transports.tcp import Tcp, TcpChannel
from live.keys.making import member, network
from live.keys.test_tls import LOOPS
from live.watching import until


class Ear:
    """Hears of the end."""

    def __init__(self) -> None:
        self.gone = ""

    def answer(self, channel: Channel) -> "Ear":
        return self

    def heard(self, data: bytes) -> None: ...

    def drained(self) -> None: ...

    def lost(self, why: str) -> None:
        self.gone = why


def turned_away(reason: str, where: str, detail: str) -> None:
    raise AssertionError(detail)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_stream_may_be_closed_twice_and_is_asked_and_aborted_all_the_same(loop: str, tmp_path: Path) -> None:
    net, now_s = network(tmp_path, time.time()), time.time()
    one, two = (Tcp(member(net, name, now_s), 5.0) for name in ("node-1", "node-2"))

    async def scenario() -> None:
        here, there = Ear(), Ear()
        channel = await two.dial(await one.listen("127.0.0.1:0", here.answer, turned_away), there.answer)
        channel.write(b"the last word")
        channel.close()
        channel.close()  # its node closes, just when the other one hung up
        assert channel.pending() >= 0
        channel.abort()
        await until(lambda: here.gone and there.gone)
        await one.close()

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(scenario())


@pytest.mark.parametrize("loop", LOOPS)
def test_a_stream_that_the_loop_closes_too_takes_what_is_said_for_said(loop: str, tmp_path: Path) -> None:
    """A call that was cancelled just when it came about: the loop closes what we closed already."""
    net, now_s = network(tmp_path, time.time()), time.time()
    one, two = (Tcp(member(net, name, now_s), 5.0) for name in ("node-1", "node-2"))

    async def scenario() -> None:
        here, there = Ear(), Ear()
        channel = await two.dial(await one.listen("127.0.0.1:0", here.answer, turned_away), there.answer)
        assert isinstance(channel, TcpChannel)
        channel.close()
        channel.transport.close()
        channel.write(b"goodbye")
        channel.pause(True)
        channel.end_unless_taken(10.0)
        assert channel.pending() == 0
        await until(lambda: here.gone and there.gone)
        await one.close()

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(scenario())
