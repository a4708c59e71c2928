"""Nodes to begin with: called at the start, and again now and then, so that islands find each other. Peers that were
lost without a goodbye are called too, every few seconds: a network that was cut is one soon after the cut is mended."""

import asyncio
import contextlib
import logging
import random
import socket
from collections.abc import Callable, Sequence

from gossamer.core.errors import TransportDown
from gossamer.core.ids import Peer
from gossamer.live.keys.trust import split_address
from gossamer.live.links.calls import TurnedAway
from gossamer.live.links.connections import Connections
from gossamer.live.links.transports.memory import PREFIX
from gossamer.live.links.transports.tcp import spell_address

log = logging.getLogger("gossamer.seeds")

AGAIN_S = 1.0
AGAIN_SOON_S = 5.0
AGAIN_MAX_S = 60.0
"""How long to wait before the next round of calls: at first, at most as long as somebody is missing, and at most."""
LOST_AT_ONCE = 3
"Lost peers that are called in a round: one that answers leads to the others."


class Seeds:
    """The addresses named in the configuration, and which peers were found there."""

    def __init__(self, addresses: Sequence[str], connections: Connections, found: Callable[[Peer], None]) -> None:
        self.addresses, self.connections, self.found = addresses, connections, found
        self.peers: dict[str, Peer] = {}
        self.said: set[str] = set()
        self.refusals: dict[str, str] = {}
        "Why those that answered are no seeds."
        self._task: asyncio.Task[None] | None = None

    async def reach(self, patience_s: float) -> tuple[Peer, ...]:
        """Calls all of them; who answered in time. Goes on calling the others behind the scenes."""
        first = self._start()
        await asyncio.wait([first], timeout=patience_s)
        return tuple(dict.fromkeys(self.peers.values()))

    def change(self, addresses: Sequence[str]) -> None:
        """Other addresses from now on; they are called at once."""
        self.addresses, self.said = addresses, set()
        if self._task is not None:
            self._task.cancel()
        self._start()

    def _start(self) -> asyncio.Task[None]:
        """The first round of calls, after which it goes on."""
        loop = self.connections.loop
        first = loop.create_task(self._call())
        self._task = loop.create_task(self._go_on(first))
        return first

    async def _go_on(self, first: asyncio.Task[None]) -> None:
        await first
        calls, pause_s = self.connections.calls, AGAIN_S
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s * (0.75 + random.random() / 2)):
                    await calls.missed.wait()
                pause_s = 0.0  # one more was lost: where is it?
            calls.missed.clear()
            lost = calls.lately_lost()
            longest_s = AGAIN_SOON_S if lost or not self.peers else AGAIN_MAX_S
            pause_s = min(longest_s, max(AGAIN_S, pause_s * 2))
            some = random.sample(lost, min(LOST_AT_ONCE, len(lost)))
            await self._call(some)

    async def _call(self, lost: Sequence[Peer] = ()) -> None:
        """One round. Whatever happens in it, there is a next one."""
        try:
            await asyncio.gather(self._call_seeds(), *map(self._call_lost, lost))
        except Exception as wrong:
            self.connections.loop.failed("seeds could not be called", wrong)

    async def _call_seeds(self) -> None:
        found = await asyncio.gather(*map(resolve, self.addresses))
        await asyncio.gather(*(self._call_seed(each) for addresses in found for each in addresses))

    async def _call_seed(self, address: str) -> None:
        peer = self.peers.get(address)
        if peer is not None and (line := self.connections.lines.get(peer)) is not None and line.link is not None:
            return
        try:
            link = await self.connections.calls.dial(address)
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

    async def _call_lost(self, peer: Peer) -> None:
        calls = self.connections.calls
        for address in calls.addresses(peer):
            with contextlib.suppress(TransportDown):
                link = await calls.dial(address)
                if link.peer is not None:
                    self.found(link.peer)
                    return

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
