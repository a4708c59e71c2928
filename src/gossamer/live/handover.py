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
from gossamer.live.parcel import Parcel, Row
from gossamer.live.spool.items import Waiting
from gossamer.parts.bucket import Buckets
from gossamer.wire.pack import Pack
from gossamer.wire.sealed import unseal

log = logging.getLogger("gossamer.publishing")

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

    def done(self, firsts: list[EventId]) -> None: ...
    async def outbox(self, limit: int, after: int = 0) -> list[Waiting]: ...


class HandOver:
    """All such events of one node."""

    def __init__(
        self, me: Peer, driver: Driver, bodies: Bodies, spool: Outbox | None, again_s: float, forget_after_s: float
    ) -> None:
        self.me, self.driver, self.bodies, self.spool = me, driver, bodies, spool
        self.again_s, self.forget_after_s = again_s, forget_after_s
        self.unacked: dict[EventId, Parcel] = {}
        "By the id of each event, in the order they were last spread."
        self.joins: Callable[[Topic], bool] = lambda topic: True
        "Whether this node may take part in a topic it publishes on; otherwise it hands events to members."
        self.is_unwanted: Callable[[EventId], bool] = lambda event_id: False
        "Whether an event went to nobody because nobody wants it."
        self.knows_all: Callable[[], bool] = lambda: True
        "Whether it has heard of all that others want: then an event that nobody wants is given up at once."
        self.is_underway: Callable[[], bool] = lambda: False
        "Whether events are still going to be told to others, later and without being asked for."
        self.shelved = 0
        "Events left to the spool's outbox because memory was short."
        self._dropped: set[EventId] = set()
        "Events there was no room for while this node looked for its place: they will be spread again."
        self.loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._done: list[EventId] = []
        self._telling = False
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
            lonely = [event_id for event_id, parcel in self.unacked.items() if parcel.told == 0]
            for event_id in lonely[:SHELVED_AT_ONCE]:
                self._alone(event_id)
                del self.unacked[event_id]
                self.shelved += 1
        return len(self.unacked) < UNACKED_MAX

    def begin(self, events: Sequence[Event], bodies: Sequence[bytes] | Pack, rows: Sequence[Row]) -> None:
        """Spreads events of one topic for the first time in this life: each sealed alone, or all in a pack."""
        join, now_s = self.joins(events[0].topic), self.loop.time()
        if isinstance(bodies, Pack):
            parcels = [Parcel(events, bodies, rows, join, now_s)]
        else:
            alone = zip(events, bodies, rows, strict=True)
            parcels = [Parcel([event], body, [row], join, now_s) for event, body, row in alone]
        for parcel in parcels:
            self.unacked.update(dict.fromkeys(parcel.ids, parcel))
        self.driver.feed(Publish(events[0], join, tuple(events[1:])))
        for parcel in parcels:
            for event_id in parcel.ids if parcel.told == 0 else ():
                if event_id in self.unacked and self._is_unwanted(event_id) and self.knows_all():
                    self._finish(self._alone(event_id))

    def _is_unwanted(self, event_id: EventId) -> bool:
        """Whether an event was told to nobody since nobody wants it, and not because there was no room for it."""
        return self.unacked[event_id].told == 0 and event_id not in self._dropped and self.is_unwanted(event_id)

    def _alone(self, event_id: EventId) -> Parcel:
        """An event goes its own way, and so does whatever it was spread with."""
        parcel = self.unacked[event_id]
        if len(parcel.events) > 1:
            self.unacked.update({one.events[0].id: one for one in parcel.apart()})
        return self.unacked[event_id]

    def told(self, events: Sequence[EventId], peers: tuple[Peer, ...], again: bool = False) -> None:
        """Events of ours left for these peers; `again`: because they missed them."""
        parcel = self.unacked.get(events[0])
        if parcel is not None and len(events) > 1 and parcel.ids == events:
            self._told(parcel, peers, again)
            return
        for event_id in events:
            if event_id in self.unacked:
                self._told(self._alone(event_id), peers, again)

    def _told(self, parcel: Parcel, peers: tuple[Peer, ...], again: bool) -> None:
        parcel.tell(peers, again)
        if parcel.acked and parcel.enough():  # by members of whom fewer are left now
            self._finish(parcel)

    def dropped(self, event_id: EventId) -> None:
        """An event went to nobody yet, although somebody may be there."""
        if event_id in self.unacked:
            self._dropped.add(event_id)

    def acked(self, peer: Peer, ranges: tuple[tuple[int, int, int], ...]) -> None:
        """A member has these events."""
        for incarnation, first, last in ranges:
            oldest = next(iter(self.unacked), None)
            if oldest is None:
                break
            if oldest.incarnation == incarnation and self._in_order:
                first = max(first, oldest.sequence)  # most acknowledgements come after enough others did
            last = min(last, first + UNACKED_MAX)
            if not self._looked_at.take(peer, self.driver.clock.now_us(), max(1, last + 1 - first)):
                break
            while first <= last:
                first += self._acked(peer, EventId(self.me, incarnation, first), last)
        self._unshelve_soon()

    def _acked(self, peer: Peer, event_id: EventId, last: int) -> int:
        """A member has this event, and those after it up to a sequence. How many were looked at."""
        parcel = self.unacked.get(event_id)
        if parcel is None or peer not in parcel.asked:
            return 1
        if parcel.events[0].id != event_id or parcel.events[-1].id.sequence > last:
            parcel = self._alone(event_id)
        parcel.acked.add(peer)
        if parcel.enough():
            self._finish(parcel)
        return parcel.events[-1].id.sequence + 1 - event_id.sequence

    def restored(self, event_id: EventId) -> Body | None:
        """The body of an event that had to give way to others while it waited."""
        if (parcel := self.unacked.get(event_id)) is None:
            return None
        sealed = parcel.sealed(event_id)
        return self.bodies.add(event_id, unseal(sealed)[1], sealed)

    def _finish(self, parcel: Parcel) -> None:
        for event, row in zip(parcel.events, parcel.rows, strict=True):
            del self.unacked[event.id]
            row.left -= 1
            if not row.left:
                self._done.append(row.first)
        if not self.unacked:
            self._in_order = True
            self._unshelve_soon()  # nobody will acknowledge anything before
        if not self._telling:
            self._telling = True
            self.loop.call_soon(self._tell_spool)
        self._changed.set()

    def _tell_spool(self) -> None:
        done, self._done, self._telling = self._done, [], False
        if done and self.spool is not None and not self.driver.closed:
            self.spool.done(done)

    def _unshelve_soon(self) -> None:
        if self.shelved and self._unshelving is None:
            self._unshelving = self.loop.create_task(self._unshelve())

    async def _unshelve(self) -> None:
        """Somebody is there, or there is room: what waits in the spool goes out too."""
        assert self.spool is not None
        self.shelved = after = 0
        while page := await self.spool.outbox(SHELVED_AT_ONCE, after):
            after = page[-1].number
            for each in page:
                if not self.unacked.keys() >= {*each.ids}:
                    self._begin_again(each)
        self._unshelving = None
        if not self.unacked:
            self._unshelve_soon()
        self._changed.set()

    def _begin_again(self, waiting: Waiting) -> None:
        """What waited in a row of the spool, of which some events may be under way and others were taken over."""
        if not self.has_room():
            self.shelved += 1 + waiting.more
            return
        row, self._in_order = Row(waiting.id, 1 + waiting.more), False
        for event_id, sealed in waiting.each():
            if event_id in self.unacked:
                self._alone(event_id).rows = [row]
                continue
            event, leaf, _ = unseal(sealed)
            self.bodies.add(event_id, leaf, sealed)
            self.begin([event], [sealed], [row])

    def _look_again(self) -> None:
        """Spreads again what nobody, or too few, acknowledged in time; gives up what is very old."""
        self._again = self.loop.call_later(self.again_s / 2, self._look_again)
        now_s, now_us = self.loop.time(), self.driver.clock.now_us()
        self._dropped &= self.unacked.keys()
        for event_id in tuple(self.unacked):
            if (parcel := self.unacked.get(event_id)) is None:
                continue  # enough had it when one before it was spread
            if now_s - parcel.at_s < self.again_s:
                break  # in the order they were last spread: younger ones have waited less
            if now_s - parcel.at_s < min(AGAIN_MAX_S, self.again_s * 2**parcel.tries):
                continue
            parcel = self._alone(event_id)
            event = parcel.events[0]
            if now_us - event.published_us > self.forget_after_s * 1e6:
                log.warning("nobody took over %s on %s in %g s: given up", event_id, event.topic, self.forget_after_s)
                self._finish(parcel)
                continue
            parcel.unwanted += self._is_unwanted(event_id)
            if parcel.unwanted > UNWANTED_TRIES:
                self._finish(parcel)
                continue
            parcel.tries += 1
            parcel.at_s = now_s
            self.unacked[event_id] = self.unacked.pop(event_id)
            self._in_order = False
            self._dropped.discard(event_id)
            self.driver.feed(Publish(event, parcel.join))
        self._changed.set()

    async def finished(self, patience_s: float) -> bool:
        """Waits until enough members have everything; False: not within this time, or nobody is there to take it."""
        try:
            async with asyncio.timeout(patience_s):
                while self.unacked or self.shelved or self._unshelving is not None:
                    later = self.driver.machine.waiting or self.is_underway() or self._unshelving is not None
                    later = later or any(each in self._dropped or self.is_unwanted(each) for each in self.unacked)
                    if not later and not any(parcel.told for parcel in self.unacked.values()):
                        return False
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        self._again.cancel()
        self.shelved = 0  # that is for the next life
        if self._unshelving is not None:
            self._unshelving.cancel()
