"""Calling other nodes: on demand, again after a pause, and not for ever. Nothing is sent to an address before it has
answered a handshake."""

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gossamer.core.errors import GossamerError, TransportDown
from gossamer.core.ids import Peer
from gossamer.live.links.line import Line
from gossamer.live.links.link import Link
from gossamer.live.links.transports import Channel

if TYPE_CHECKING:
    from gossamer.live.links.connections import Connections

log = logging.getLogger("gossamer.links")

ATTEMPTS = 3
BACKOFF_S = 0.15
BLOCK_S = 0.5
BLOCK_MAX_S = 30.0
"""A peer that could not be reached is left alone for a while: doubled each time, up to this. Not as long if it renews
its record."""
ANSWERED_MAX = 10_000
"Addresses known to have answered."
DIALS_MAX = 32
"Calls under way at once."
LOST_MAX = 1000
LOST_S = 600.0
"Peers whose link ended without a goodbye, and how long they are called again by themselves: see `Seeds`."


class TurnedAway(TransportDown):
    """Somebody answered, and the two did not become acquainted."""


class Calls:
    """A node's outgoing calls."""

    def __init__(self, connections: "Connections", given_up: Callable[[Peer], None]) -> None:
        self.connections, self.given_up = connections, given_up
        self.loop = connections.loop
        self.lost: dict[Peer, float] = {}
        "Peers whose link ended without a goodbye, and when, the latest last."
        self.missed = asyncio.Event()
        "Set when one of them does not answer."
        self._answered: dict[str, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._dials = asyncio.Semaphore(DIALS_MAX)

    async def dial(self, address: str) -> Link:
        """Calls an address and waits until both know each other."""
        self.connections.metrics.dials += 1
        try:
            link = await self._greeted_by(address)
        except TransportDown:
            self.connections.metrics.dial_failures += 1
            raise
        self._has_answered(address)
        return link

    async def _greeted_by(self, address: str) -> Link:
        made: list[Link] = []

        def answer(channel: Channel) -> Link:
            made.append(self.connections.link(channel, dialed=True))
            return made[0]

        try:
            async with asyncio.timeout(self.connections.dial_s):
                await self.connections.transport.dial(address, answer)
                if await made[0].up:
                    return made[0]
        except TimeoutError as late:
            if not made:
                raise TransportDown(
                    f"{address} cannot be reached: no answer within {self.connections.dial_s:g} s"
                ) from late
            made[0].refuse("slow handshake", "did not greet us in time")
        raise TurnedAway(f"{address} answered, but {made[0].refusal or 'did not greet us'}")

    def call(self, line: Line) -> None:
        """Sees to it that a line gets a link, unless its peer could not be reached just now."""
        if self.connections.closing or self.loop.time() < self._free_at_s(line):
            line.clear()
            return
        line.dialing = True
        task = self.loop.create_task(self._reach(line))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _free_at_s(self, line: Line) -> float:
        """When a peer that was given up may be called again. One that has said something of itself since is left alone
        no longer than the first time: it is back, and others heard of it before we did."""
        entry = self.connections.book.get(line.peer)
        back = entry is not None and entry.record.version > line.failed_version
        return min(line.blocked_until_s, line.failed_s + BLOCK_S) if back else line.blocked_until_s

    async def _reach(self, line: Line) -> None:
        try:
            for attempt in range(self._attempts(line.peer)):
                if await self._try_addresses(line):
                    return
                await asyncio.sleep(BACKOFF_S * 2**attempt * (0.5 + random.random()))
                if line.link is not None:
                    return
            self.give_up(line)
        finally:
            line.dialing = False

    def _attempts(self, peer: Peer) -> int:
        """An address that never answered is somebody's word for it, and is probed once."""
        return ATTEMPTS if self._answered.keys() & {*self.addresses(peer)} else 1

    def addresses(self, peer: Peer) -> Sequence[str]:
        entry = self.connections.book.get(peer)
        return entry.record.addresses if entry is not None else ()

    def _has_answered(self, address: str) -> None:
        self._answered.pop(address, None)
        self._answered[address] = None
        if len(self._answered) > ANSWERED_MAX:
            del self._answered[next(iter(self._answered))]

    async def _try_addresses(self, line: Line) -> bool:
        for address in self.addresses(line.peer):
            if line.link is not None or self.connections.closing:
                return True
            try:
                async with self._dials:
                    link = await self.dial(address)
            except GossamerError as wrong:
                log.debug("%s", wrong)
                continue
            if link.closed:
                continue  # it greeted us, and hung up
            if link.peer == line.peer:
                return True
            link.close()
        return line.link is not None

    def give_up(self, line: Line) -> None:
        """Leaves a peer alone for a while, longer each time."""
        line.failures += 1
        line.failed_s = self.loop.time()
        line.blocked_until_s = line.failed_s + min(BLOCK_MAX_S, BLOCK_S * 2**line.failures) * (0.5 + random.random())
        entry = self.connections.book.get(line.peer)
        line.failed_version = 0 if entry is None else entry.record.version
        line.clear()
        if not self.connections.closing:
            if line.peer in self.lost:
                self.missed.set()
            self.given_up(line.peer)

    def lose(self, line: Line) -> None:
        """A link ended without a goodbye. Is the peer gone, or only the connection? Find out now, not when it is
        needed; who does not answer may be cut off, and is called again for a while."""
        line.failures, line.blocked_until_s = 0, 0.0
        self.lost.pop(line.peer, None)
        self.lost[line.peer] = self.loop.time()
        if len(self.lost) > LOST_MAX:
            del self.lost[next(iter(self.lost))]
        self.call(line)

    def lately_lost(self) -> list[Peer]:
        """Those who were lost not long ago, and are not back."""
        since_s = self.loop.time() - LOST_S
        self.lost = {peer: at_s for peer, at_s in self.lost.items() if at_s > since_s and self.addresses(peer)}
        return [*self.lost]

    async def close(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
