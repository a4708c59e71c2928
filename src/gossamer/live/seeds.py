"""Nodes to begin with: called at the start, and again now and then, so that islands find each other."""

import asyncio
import logging
import random
import socket
from collections.abc import Callable, Sequence

from gossamer.core.errors import TransportDown
from gossamer.core.ids import Peer
from gossamer.live.calls import TurnedAway
from gossamer.live.switchboard import Switchboard
from gossamer.live.transports.memory import PREFIX
from gossamer.live.transports.tcp import spell_address
from gossamer.live.trust import split_address

log = logging.getLogger("gossamer.seeds")

AGAIN_S = 1.0
AGAIN_MAX_S = 60.0


class Seeds:
    """The addresses named in the configuration, and which peers were found there."""

    def __init__(self, addresses: Sequence[str], board: Switchboard, found: Callable[[Peer], None]) -> None:
        self.addresses, self.board, self.found = addresses, board, found
        self.peers: dict[str, Peer] = {}
        self.said: set[str] = set()
        self.refusals: dict[str, str] = {}
        "Why those that answered are no seeds."
        self._task: asyncio.Task[None] | None = None

    async def reach(self, patience_s: float) -> tuple[Peer, ...]:
        """Calls all of them; who answered in time. Goes on calling the others behind the scenes."""
        first = asyncio.get_running_loop().create_task(self._call_all())
        await asyncio.wait([first], timeout=patience_s)
        self._task = asyncio.get_running_loop().create_task(self._go_on(first))
        return tuple(dict.fromkeys(self.peers.values()))

    def change(self, addresses: Sequence[str]) -> None:
        """Other addresses from now on; they are called at once."""
        self.addresses, self.said = addresses, set()
        if self._task is not None:
            self._task.cancel()
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._go_on(loop.create_task(self._call_all())))

    async def _go_on(self, first: asyncio.Task[None]) -> None:
        await first
        pause_s = AGAIN_S
        while True:
            await asyncio.sleep(pause_s * (0.75 + random.random() / 2))
            pause_s = min(AGAIN_MAX_S, pause_s * 2) if self.peers else min(5.0, pause_s * 2)
            await self._call_all()

    async def _call_all(self) -> None:
        found = await asyncio.gather(*map(resolve, self.addresses))
        await asyncio.gather(*(self._call(each) for addresses in found for each in addresses))

    async def _call(self, address: str) -> None:
        peer = self.peers.get(address)
        if peer is not None and (line := self.board.lines.get(peer)) is not None and line.link is not None:
            return
        try:
            link = await self.board.calls.dial(address)
        except TransportDown as wrong:
            if isinstance(wrong, TurnedAway):
                self.refusals[address] = str(wrong)
            if address not in self.said:
                self.said.add(address)
                log.warning("the seed %s; it is called again until it answers", wrong)
            return
        self.said.discard(address)
        self.refusals.pop(address, None)
        if link.peer is not None:
            self.peers[address] = link.peer
            self.found(link.peer)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


async def resolve(address: str) -> list[str]:
    """A DNS name with several addresses is several seeds."""
    if address.startswith(PREFIX):
        return [address]
    host, port = split_address(address)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        return [address]  # the call will say what is wrong with it
    return list(dict.fromkeys(spell_address(str(each[4][0]), int(each[4][1])) for each in found))
