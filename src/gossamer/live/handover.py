"""Publications on their way to their first members: spread again until enough have acknowledged them.

What nobody was there to take is kept and offered again ever more rarely; when memory is short it waits in the spool's
outbox, and is taken from there once somebody acknowledges anything.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Publish
from gossamer.core.topics import Topic
from gossamer.live.bodies import Bodies, Body
from gossamer.live.driver import Driver
from gossamer.live.spool.items import Waiting
from gossamer.parts.bucket import Buckets
from gossamer.wire.pack import Pack
from gossamer.wire.sealed import unseal

log = logging.getLogger("gossamer.publishing")

MEMBERS_ENOUGH = 3
"Members that must have an event before its publisher may forget it (all, if there are fewer)."
ACKS_PER_S = 200_000
"Acknowledgements looked at for one peer, at once and each second: a few bytes may acknowledge millions."
UNACKED_MAX = 20_000
"Events spread but not yet acknowledged; beyond this, publishing waits."
SHELVED_AT_ONCE = 1_000
AGAIN_MAX_S = 60.0
UNWANTED_TRIES = 2
"How often an event that nobody wanted is offered again before that is believed."


class Outbox(Protocol):
    """The part of the spool this needs."""

    def done(self, ids: list[EventId]) -> None: ...
    async def outbox(self, limit: int, after: int = 0) -> list[Waiting]: ...


class Unacked:
    """An event and who has it."""

    __slots__ = ("acked", "asked", "at_s", "body", "event", "join", "told", "tries")

    def __init__(self, event: Event, body: bytes | Pack, join: bool, at_s: float) -> None:
        self.event, self.body, self.join, self.at_s = event, body, join, at_s
        self.told = 0
        "To how many it went when it was last spread."
        self.tries = 0
        self.asked: tuple[Peer, ...] = ()
        "To whom it ever went: nobody else can have it from us."
        self.acked: set[Peer] = set()

    def sealed(self) -> bytes:
        return self.body.alone(self.event.id)[1] if isinstance(self.body, Pack) else self.body

    def enough(self) -> bool:
        return 0 < min(MEMBERS_ENOUGH, self.told) <= len(self.acked)


class HandOver:
    """All such events of one node."""

    def __init__(
        self, me: Peer, driver: Driver, bodies: Bodies, spool: Outbox | None, again_s: float, forget_after_s: float
    ) -> None:
        self.me, self.driver, self.bodies, self.spool = me, driver, bodies, spool
        self.again_s, self.forget_after_s = again_s, forget_after_s
        self.unacked: dict[EventId, Unacked] = {}
        "In the order they were last spread."
        self.joins: Callable[[Topic], bool] = lambda topic: True
        "Whether this node may take part in a topic it publishes on; otherwise it hands events to members."
        self.is_unwanted: Callable[[EventId], bool] = lambda event_id: False
        "Whether an event went to nobody because nobody wants it."
        self.is_underway: Callable[[], bool] = lambda: False
        "Whether events are still going to be told to others, later and without being asked for."
        self.shelved = 0
        "Events left to the spool's outbox because memory was short."
        self.loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._done: list[EventId] = []
        self._in_order = True
        "Whether what is unacknowledged stands in the order of its sequence: nothing was spread again."
        self._looked_at = Buckets(ACKS_PER_S, ACKS_PER_S)
        self._unshelving: asyncio.Task[None] | None = None
        self._again = self.loop.call_later(again_s / 2, self._look_again)

    def has_room(self) -> bool:
        """Whether another event may be spread; makes room by leaving the oldest that nobody takes to the spool."""
        if len(self.unacked) < UNACKED_MAX:
            return True
        if self.spool is not None:
            lonely = [event_id for event_id, entry in self.unacked.items() if entry.told == 0]
            for event_id in lonely[:SHELVED_AT_ONCE]:
                del self.unacked[event_id]
                self.shelved += 1
        return len(self.unacked) < UNACKED_MAX

    def begin(self, events: Sequence[Event], bodies: Sequence[bytes | Pack]) -> None:
        """Spreads events of one topic for the first time in this life: sealed alone, or in a pack."""
        join, now_s = self.joins(events[0].topic), self.loop.time()
        entries = [Unacked(event, body, join, now_s) for event, body in zip(events, bodies, strict=True)]
        self.unacked.update({entry.event.id: entry for entry in entries})
        self.driver.feed(Publish(events[0], join, tuple(events[1:])))
        for entry in entries:
            if entry.told == 0 and self.is_unwanted(entry.event.id):
                self._finish(entry.event.id)

    def told(self, events: Sequence[EventId], peers: tuple[Peer, ...], again: bool = False) -> None:
        """Events of ours left for these peers; `again`: because they missed them, which makes the others no fewer."""
        for event_id in events:
            if (entry := self.unacked.get(event_id)) is not None:
                if not again:
                    entry.told = len(peers)
                entry.asked = tuple(dict.fromkeys((*entry.asked, *peers))) if entry.asked else peers
                if entry.acked and entry.enough():  # by members of whom fewer are left now
                    self._finish(event_id)

    def acked(self, peer: Peer, ranges: tuple[tuple[int, int, int], ...]) -> None:
        """A member has these events."""
        for incarnation, first, last in ranges:
            oldest = next(iter(self.unacked), None)
            if oldest is None:
                return
            if oldest.incarnation == incarnation and self._in_order:
                first = max(first, oldest.sequence)  # most acknowledgements come after enough others did
            last = min(last, first + UNACKED_MAX)
            if not self._looked_at.take(peer, self.driver.clock.now_us(), max(1, last + 1 - first)):
                return
            for sequence in range(first, last + 1):
                event_id = EventId(self.me, incarnation, sequence)
                entry = self.unacked.get(event_id)
                if entry is not None and peer in entry.asked:
                    entry.acked.add(peer)
                    if entry.enough():
                        self._finish(event_id)
        if self.shelved and self._unshelving is None:
            self._unshelving = self.loop.create_task(self._unshelve())

    def restored(self, event_id: EventId) -> Body | None:
        """The body of an event that had to give way to others while it waited."""
        if (entry := self.unacked.get(event_id)) is None:
            return None
        sealed = entry.sealed()
        return self.bodies.add(event_id, unseal(sealed)[1], sealed)

    def _finish(self, event_id: EventId) -> None:
        del self.unacked[event_id]
        self._done.append(event_id)
        self._in_order = self._in_order or not self.unacked
        if len(self._done) == 1:
            self.loop.call_soon(self._tell_spool)
        self._changed.set()

    def _tell_spool(self) -> None:
        done, self._done = self._done, []
        if self.spool is not None and not self.driver.closed:
            self.spool.done(done)

    async def _unshelve(self) -> None:
        """Somebody is there: what waits in the spool goes out too."""
        assert self.spool is not None
        self.shelved, self._in_order = 0, False
        after = 0
        while page := await self.spool.outbox(SHELVED_AT_ONCE, after):
            after = page[-1].number
            for each in page:
                if each.id not in self.unacked and self.has_room():
                    event, leaf, _ = unseal(each.sealed)
                    self.bodies.add(event.id, leaf, each.sealed)
                    self.begin([event], [each.sealed])
        self._unshelving = None

    def _look_again(self) -> None:
        """Spreads again what nobody, or too few, acknowledged in time; gives up what is very old."""
        self._again = self.loop.call_later(self.again_s / 2, self._look_again)
        now_s, now_us = self.loop.time(), self.driver.clock.now_us()
        for event_id, entry in tuple(self.unacked.items()):
            if now_s - entry.at_s < self.again_s:
                break  # in the order they were last spread: younger ones have waited less
            if now_s - entry.at_s < min(AGAIN_MAX_S, self.again_s * 2**entry.tries):
                continue
            if now_us - entry.event.published_us > self.forget_after_s * 1e6:
                log.warning(
                    "nobody took over %s on %s in %g s: given up", event_id, entry.event.topic, self.forget_after_s
                )
                self._finish(event_id)
                continue
            if entry.tries >= UNWANTED_TRIES and entry.told == 0 and self.is_unwanted(event_id):
                self._finish(event_id)
                continue
            entry.tries += 1
            entry.at_s = now_s
            self.unacked[event_id] = self.unacked.pop(event_id)
            self._in_order = False
            self.driver.feed(Publish(entry.event, entry.join))
        self._changed.set()

    async def finished(self, patience_s: float) -> bool:
        """Waits until enough members have everything; False: not within this time, or nobody is there to take it."""
        try:
            async with asyncio.timeout(patience_s):
                while self.unacked:
                    later = self.driver.machine.waiting or self.is_underway()
                    if not later and not any(entry.told for entry in self.unacked.values()):
                        return False
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        self._again.cancel()
        if self._unshelving is not None:
            self._unshelving.cancel()
