"""Publications on their way to their first members: spread again until enough have them on disk.

What nobody was there to take is kept and offered again ever more rarely; when memory is short it waits in the spool's
outbox, and is taken from there once somebody acknowledges anything.
"""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from itertools import groupby

from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Publish
from gossamer.core.topics import Topic
from gossamer.live.arriving.bodies import Bodies, Body
from gossamer.live.arriving.permissions import Permissions
from gossamer.live.links.control import How
from gossamer.live.publishing.backlog import AT_ONCE, AT_ONCE_BYTES, Backlog, Outbox
from gossamer.live.publishing.parcel import HandedOver, Parcel, Row, rows_of
from gossamer.live.publishing.sealing import Sealing
from gossamer.live.publishing.settling import Settling
from gossamer.live.publishing.taken import Taken
from gossamer.live.running.driver import Driver
from gossamer.live.running.spread_rules import SpreadRules
from gossamer.live.spool.items import Waiting
from gossamer.parts.bucket import Buckets
from gossamer.wire.pack import Pack
from gossamer.wire.proof import BATCH_MAX
from gossamer.wire.sealed import head_of, unseal

log = logging.getLogger("gossamer.publishing")

ACKS_PER_S = 200_000
"Acknowledgements looked at for one peer, at once and each second: a few bytes may acknowledge millions."
UNACKED_MAX = 20_000
UNACKED_BYTES = 64 << 20
"Events spread but not yet acknowledged, and their payloads; beyond this, publishing waits."
AGAIN_MAX_S = 60.0
UNWANTED_TRIES = 2
"How often an event that nobody wanted is offered again before that is believed."
FORGETFUL_MAX = 10_000
"Peers remembered to keep events in memory only."


class HandOver:
    """All such events of one node."""

    def __init__(
        self,
        me: Peer,
        driver: Driver,
        bodies: Bodies,
        spool: Outbox | None,
        permissions: Permissions,
        rules: SpreadRules,
        sealing: Sealing,
        again_s: float,
        forget_after_s: float,
        copies: int,
        settle_s: float,
    ) -> None:
        self.me, self.driver, self.bodies, self.spool = me, driver, bodies, spool
        self.permissions, self.rules, self.sealing = permissions, rules, sealing
        self.again_s, self.forget_after_s, self.copies = again_s, forget_after_s, copies
        self.unacked: dict[EventId, Parcel] = {}
        "By the id of each event, in the order they were last spread."
        self.joins = True
        "False: a guest, who hands its events to members and becomes none."
        self.size = 0
        "Of the payloads of what is unacknowledged."
        self.backlog = Backlog(self, spool)
        self._heard = False
        "Whether anybody acknowledged anything lately."
        self.forgetful: dict[Peer, None] = {}
        "Members that said they keep events in memory."
        self.taken = Taken()
        self._dropped: set[EventId] = set()
        "Events there was no room for while this node looked for its place: they will be spread again."
        self.loop = driver.loop
        self._changed = asyncio.Event()
        self._done: list[EventId] = []
        self._telling = False
        self._in_order = True
        "Whether what is unacknowledged stands in the order of its sequence: nothing was spread again."
        self.settling = Settling(settle_s)
        self._looked_at = Buckets(ACKS_PER_S, ACKS_PER_S)
        self._again = self.loop.call_later(again_s / 2, self._look_again)

    def has_room(self) -> bool:
        """Whether another event may be spread; makes room by leaving the oldest that nobody takes to the spool."""
        if self._is_filled_to(1.0) and self.spool is not None:
            lonely = [event_id for event_id, parcel in self.unacked.items() if not parcel.is_hopeful()]
            enough = self.size - AT_ONCE_BYTES
            for event_id in lonely[:AT_ONCE]:
                self.size -= len(self._alone(event_id).events[0].payload)
                del self.unacked[event_id]
                self.backlog.leave_one()
                if self.size <= enough:
                    break
        return not self._is_filled_to(1.0)

    def _is_filled_to(self, share: float) -> bool:
        return len(self.unacked) >= share * UNACKED_MAX or self.size >= share * UNACKED_BYTES

    def begin_all(self, events: list[Event], bodies: list[bytes] | Pack, rows: list[Row]) -> None:
        """What follows each other on one topic, in one life, goes out together."""
        start = 0
        for _, same in groupby(events, lambda event: (event.topic, event.id.incarnation)):
            end = start + len([*same])
            its = bodies if isinstance(bodies, Pack) else bodies[start:end]
            self.begin(events[start:end], its, rows[start:end])
            start = end

    def begin(self, events: Sequence[Event], bodies: Sequence[bytes] | Pack, rows: Sequence[Row]) -> None:
        """Spreads events of one topic for the first time in this life: each sealed alone, or all in a pack."""
        topic, now_s = events[0].topic, self.loop.time()
        join = self._may_join(topic)
        if self.settling.came(topic, now_s):
            self.loop.call_later(self.settling.settle_s, self._settled, topic)
        if isinstance(bodies, Pack):
            parcels = [Parcel(events, bodies, rows, join, now_s)]
        else:
            alone = zip(events, bodies, rows, strict=True)
            parcels = [Parcel([event], body, [row], join, now_s) for event, body, row in alone]
        for parcel in parcels:
            self.unacked.update(dict.fromkeys(parcel.ids, parcel))
        self.size += sum([len(event.payload) for event in events])
        self.driver.feed(Publish(events[0], join, tuple(events[1:])))
        for parcel in parcels:
            for event_id in () if parcel.told else parcel.ids:
                if event_id in self.unacked and self._is_unwanted(event_id) and self.rules.knows_all():
                    self._finish(self._alone(event_id))

    def _may_join(self, topic: Topic) -> bool:
        """Whether this node may take part in a topic it publishes on; otherwise it hands events to members."""
        return self.joins and self.permissions.may(self.me, "subscribe", topic)

    def _is_unwanted(self, event_id: EventId) -> bool:
        """Whether an event was told to nobody since nobody wants it, and not because there was no room for it."""
        return not self.unacked[event_id].told and event_id not in self._dropped and self.rules.is_unwanted(event_id)

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
        if parcel.answers and self._is_enough(parcel):  # fewer are left now
            self._finish(parcel)

    def dropped(self, event_id: EventId) -> None:
        """An event went to nobody yet, although somebody may be there."""
        if event_id in self.unacked:
            self._dropped.add(event_id)

    def acked(self, peer: Peer, ranges: tuple[tuple[int, int, int], ...], how: How) -> None:
        """A member says what has become of these events there."""
        self._heard = True
        if how == "memory":
            self.forgetful[peer] = None
            if len(self.forgetful) > FORGETFUL_MAX:
                del self.forgetful[next(iter(self.forgetful))]
        elif how == "disk":
            self.forgetful.pop(peer, None)
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
                first += self._acked(peer, EventId(self.me, incarnation, first), last, how)
        if not self._is_filled_to(0.5):
            self.backlog.look()

    def _acked(self, peer: Peer, event_id: EventId, last: int, how: How) -> int:
        """A member answers for this event, and those after it up to a sequence. How many were looked at."""
        parcel = self.unacked.get(event_id)
        if parcel is None or peer not in parcel.asked:
            return 1
        if parcel.events[0].id != event_id or parcel.events[-1].id.sequence > last:
            parcel = self._alone(event_id)
        parcel.answers[peer] = how
        if self._is_enough(parcel):
            self._finish(parcel)
        return parcel.events[-1].id.sequence + 1 - event_id.sequence

    def _is_enough(self, parcel: Parcel) -> bool:
        settled = self.settling.is_over(parcel.events[0].topic, self.loop.time())
        return parcel.enough(self.copies, self.forgetful, settled)

    def restored(self, event_id: EventId) -> Body | None:
        """The body of an event that had to give way to others while it waited."""
        if (parcel := self.unacked.get(event_id)) is None:
            return None
        sealed = parcel.sealed(event_id)
        return self.bodies.add(event_id, unseal(sealed)[1], sealed)

    def _finish(self, parcel: Parcel) -> None:
        self.taken.add(parcel)
        for event, row in zip(parcel.events, parcel.rows, strict=True):
            del self.unacked[event.id]
            self.size -= len(event.payload)
            row.left -= 1
            if not row.left:
                self._done.append(row.first)
        if not self.unacked:
            self._in_order = True
            self.backlog.look()  # nobody will acknowledge anything before
        if not self._telling:
            self._telling = True
            self.loop.call_soon(self._tell_spool)
        self._changed.set()

    def _tell_spool(self) -> None:
        done, self._done, self._telling = self._done, [], False
        if done and self.spool is not None and not self.driver.closed:
            self.spool.done(done)

    def begin_again(self, rows: Sequence[Waiting]) -> None:
        """What waited in the spool, of which some events may be under way and others were taken over."""
        self._in_order = False
        whole = [each for each in rows if self.unacked.keys().isdisjoint(each.ids)]
        self._resume(whole)
        for each in rows if len(whole) < len(rows) else ():
            if each not in whole:
                self._begin_rest(each)

    def _resume(self, waiting: Sequence[Waiting]) -> None:
        """They are signed again: keys may have changed, and newcomers know only the new one."""
        rows = rows_of(waiting, self.driver.clock.now_us())
        events = [unseal(sealed)[0] for each in waiting for _, sealed in each.each()]
        for start in range(0, len(events), BATCH_MAX):
            batch = events[start : start + BATCH_MAX]
            self.begin_all(batch, self.sealing.seal(batch, [*map(head_of, batch)]), rows[start : start + BATCH_MAX])

    def _begin_rest(self, waiting: Waiting) -> None:
        row = Row(waiting.id, 1 + waiting.more, self.driver.clock.now_us() - waiting.age_us)
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
        if self._heard:
            self.backlog.look()  # though memory may be full of what nobody takes
        self._heard = False
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
            if now_us - parcel.rows[0].since_us > self.forget_after_s * 1e6:
                log.warning("nobody took over %s on %s in %g s: given up", event_id, event.topic, self.forget_after_s)
                self._finish(parcel)
                continue
            parcel.unwanted += self._is_unwanted(event_id)
            parcel.tries += 1
            if parcel.unwanted > UNWANTED_TRIES:
                self._finish(parcel)
            else:
                self._offer_again(parcel, now_s)
        self._changed.set()

    def _offer_again(self, parcel: Parcel, now_s: float) -> None:
        parcel.at_s, self._in_order = now_s, False
        for event_id in parcel.ids:
            self.unacked[event_id] = self.unacked.pop(event_id)
            self._dropped.discard(event_id)
        self.driver.feed(Publish(parcel.events[0], parcel.join, tuple(parcel.events[1:])))

    def _settled(self, topic: Topic) -> None:
        """By now this node knows its fellow members: the newest of what all it knew at first have is offered once more,
        and the others if that went to somebody who was not asked for them."""
        parcels = [*{id(each): each for each in self.unacked.values() if each.events[0].topic == topic}.values()]
        young = [each for each in parcels if each.answers and self._is_enough(each) and not self.driver.closed]
        for parcel in reversed(young):
            if parcel is young[-1] or not {*young[-1].told} <= {*parcel.asked}:
                self._offer_again(parcel, self.loop.time())
            else:
                self._finish(parcel)

    def changed(self) -> None:
        """Whoever waits for something to be handed over looks again."""
        self._changed.set()

    async def finished(
        self, patience_s: float, events: Sequence[EventId] | None = None, hopefully: bool = False
    ) -> HandedOver:
        """Waits until enough members have these events, or all; `hopefully`: while somebody is there to take them."""
        left = None if events is None else [*events]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                while self._is_waiting(left) and not (hopefully and self._is_hopeless()):
                    self._changed.clear()
                    await self._changed.wait()
        if events is None:
            return self.taken.everything(len(self.unacked) + self.backlog.left)
        return self.taken.these(events, self.has_been_taken)

    def _is_waiting(self, left: list[EventId] | None) -> bool:
        """Whether everything, or any of these, is not handed over yet; those that are fall out at the end."""
        if left is None:
            return bool(self.unacked or self.backlog)
        while left and self.has_been_taken(left[-1]):
            left.pop()
        return bool(left)

    def has_been_taken(self, event_id: EventId) -> bool:
        """What is neither under way nor left to the spool is over, long ago if nothing is known of it any more."""
        return event_id in self.taken or not (event_id in self.unacked or self.backlog)

    def _is_hopeless(self) -> bool:
        """Whether nobody is there to take what waits, and nobody is being looked for."""
        later = self.driver.machine.waiting or self.rules.is_underway() or self.backlog.task is not None
        later = later or any(each in self._dropped or self.rules.is_unwanted(each) for each in self.unacked)
        return not later and not any(parcel.is_hopeful() for parcel in self.unacked.values())

    def close(self) -> None:
        self._again.cancel()
        self.backlog.close()
