"""Events of this node's own: numbered, signed in small batches, spooled, spread, and spread again until enough members
have acknowledged them. `publish` is over once the event is spooled; from then on only `handover` gives it up."""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import accumulate, islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gossamer.core.errors import Full, GossamerError, Misuse, TransportDown
from gossamer.core.events import Attribute, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.patterns import UNCOUNTED
from gossamer.core.topics import Topic
from gossamer.live.arriving.bodies import Bodies
from gossamer.live.config.tables import OutboxFull
from gossamer.live.links.complaints import Complaints
from gossamer.live.publishing.accepted import Accepted, following, refused
from gossamer.live.publishing.counting import Counting, Draft
from gossamer.live.publishing.handover import HandOver
from gossamer.live.publishing.parcel import HandedOver, rows_of
from gossamer.live.publishing.sealing import Sealing
from gossamer.live.running.driver import Driver
from gossamer.live.spool.items import Outgoing
from gossamer.live.watching.metrics import Metrics
from gossamer.wire.pack import Pack
from gossamer.wire.proof import BATCH_MAX

if TYPE_CHECKING:
    from asyncio import Future

log = logging.getLogger("gossamer.publishing")

BATCH_BYTES = 1 << 20
SEAL_EVERY_S = 0.005
"Under load one signature serves what was published within this time; the first event after a pause does not wait."
WAITING_MAX = 100_000
WAITING_BYTES = 256 << 20
"Publications that wait to be sealed; further ones are refused."
FULL_LOOK_S = 0.05
"How soon it looks again whether a full outbox has room."


GROUP_BYTES = 4 << 20
GROUP_EVENTS = 4_096
"What goes to the disk at once, about."


class Batch(NamedTuple):
    """Publications under one signature."""

    drafts: list[Draft]
    events: list[Event]
    bodies: list[bytes] | Pack
    outgoing: list[Outgoing]


class Outbox(Protocol):
    """The part of the spool this needs."""

    @property
    def outbox_bytes(self) -> int: ...
    def accept(self, publications: list[Outgoing]) -> "Future[None]": ...
    async def keyed(self, topic: Topic, key: str) -> EventId | None: ...


class Sending(Protocol):
    """The part of the links this needs."""

    def clogged(self) -> bool: ...


class Publishing:
    """From `publish` to acknowledged."""

    def __init__(
        self,
        me: Peer,
        incarnation: int,
        driver: Driver,
        sealing: Sealing,
        links: Sending,
        bodies: Bodies,
        spool: Outbox | None,
        handover: HandOver,
        metrics: Metrics,
        event_bytes_max: int,
        outbox_bytes: int,
        outbox_full: OutboxFull,
    ) -> None:
        self.me, self.driver, self.links, self.sealing = me, driver, links, sealing
        self.bodies, self.spool, self.handover, self.metrics = bodies, spool, handover, metrics
        self.outbox_bytes, self.outbox_full = outbox_bytes, outbox_full
        self.loop = driver.loop
        self.waiting: deque[Draft] = deque()
        self.waiting_bytes = 0
        self.counting = Counting(me, incarnation, event_bytes_max)
        self.complaints = Complaints()
        self._keys: dict[tuple[Topic, str], Future[EventId]] = {}
        self._sealing = False
        self._sealed_s = 0.0
        self._committing: list[Batch] = []
        "What is on its way to the disk: one group at a time, so that its numbers can be taken back."

    # -- accepting ----------------------------------------------------------------------------------------------

    def publish(
        self,
        topic: Topic,
        payload: bytes,
        attributes: Mapping[str, Attribute],
        key: str | None,
        climb: float | None = None,
    ) -> Accepted:
        """Queues an event."""
        if len(self.waiting) >= WAITING_MAX or self.waiting_bytes >= WAITING_BYTES:
            raise Full(f"{len(self.waiting)} publications wait already: await some before publishing more")
        if self.outbox_full == "refuse" and self._room() <= 0:
            return refused(self._full())
        now_us = self.driver.clock.now_us()
        if key is not None:
            if (same := self._keys.get((topic, key))) is not None:
                return following(same)
            future: Future[EventId] = self.loop.create_future()
            self._keys[topic, key] = future
            future.add_done_callback(lambda _: self._keys.pop((topic, key), None))  # spooled: the spool knows the key
            self.loop.create_task(self._publish_once(Draft(topic, payload, attributes, climb, now_us, key, future)))
            return following(future)  # whoever stops waiting does not stop the event
        accepted = Accepted(loop=asyncio.get_running_loop())
        try:
            self._enqueue(Draft(topic, payload, attributes, climb, now_us, None, accepted))
        except Misuse:
            accepted.cancel()  # there is nothing to wait for
            raise
        return accepted

    async def _publish_once(self, draft: Draft) -> None:
        assert draft.key is not None
        try:
            earlier = await self.spool.keyed(draft.topic, draft.key) if self.spool is not None else None
            if earlier is None:
                self._enqueue(draft)
            elif not draft.future.done():
                draft.future.set_result(earlier)
        except GossamerError as wrong:
            if not draft.future.done():
                draft.future.set_exception(wrong)

    def _enqueue(self, draft: Draft) -> None:
        if (wrong := self.counting.refusal(draft, self._patterns)) is not None:
            raise wrong
        self.waiting.append(draft)
        self.waiting_bytes += len(draft.payload)
        self._seal_soon()

    def _patterns(self, draft: Draft) -> Sequence[int]:
        return self.driver.machine.patterns(draft.topic, self.counting.asked(draft))

    def _room(self) -> int:
        """Bytes that fit into the outbox beside what is there or on its way."""
        if self.spool is None:
            return self.outbox_bytes
        return self.outbox_bytes - self.spool.outbox_bytes - self.waiting_bytes

    def _seal_soon(self) -> None:
        if self._sealing or self._committing or not self.waiting:
            return
        self._sealing = True
        pause = self._sealed_s + SEAL_EVERY_S - self.loop.time()
        if pause <= 0 or len(self.waiting) >= BATCH_MAX:
            self.loop.call_soon(self._seal)
        else:
            self.loop.call_later(pause, self._seal)

    def _say_uncounted(self, topic: Topic, left: int) -> None:
        """More is subscribed to than an event can be counted by."""
        self.metrics.uncounted_published += 1
        if self.complaints.is_new(topic, "uncounted"):
            log.warning(
                "an event of %s matches %d patterns more than it can be counted by: those who want it for one of them "
                "see no gap if it is lost, and find it by comparing ids",
                *(topic, left),
            )

    # -- sealing ------------------------------------------------------------------------------------------------

    def _seal(self) -> None:
        """Numbers and signs what waits, as long as links and acknowledgements keep up, and gives it to the spool. What
        is published until that has answered goes with the next group."""
        self._sealing = False
        self._sealed_s = self.loop.time()
        group: list[Batch] = []
        outbox = self._room() + self.waiting_bytes
        room = min(GROUP_BYTES, outbox)
        while self.waiting and room > 0 and self.handover.has_room() and not self.links.clogged():
            group.append(self._sealed(self._next_batch(room)))
            room -= sum([len(draft.payload) + GROUP_BYTES // GROUP_EVENTS for draft in group[-1].drafts])
        if not group and outbox <= 0 and self.outbox_full == "refuse":
            self._refuse_waiting()
        elif not group and self.waiting:
            self._sealing = True
            self.loop.call_later(SEAL_EVERY_S if outbox > 0 else FULL_LOOK_S, self._seal)
        elif self.spool is None:
            self._spread(group)
            self._seal_soon()
        elif group:
            self._committing = group
            spooled = self.spool.accept([each for batch in group for each in batch.outgoing])
            self.loop.when_done(spooled, self._spooled)

    def _full(self) -> Full:
        return Full(
            f"the outbox is full, for too few members take what is published ({self.outbox_bytes} bytes, "
            "spool.outbox_bytes): publish again later"
        )

    def _refuse_waiting(self) -> None:
        """They came to more on disk than they seemed to."""
        waiting, self.waiting, self.waiting_bytes = self.waiting, deque(), 0
        for draft in waiting:
            if not draft.future.done():
                draft.future.set_exception(self._full())

    def _next_batch(self, room: int) -> list[Draft]:
        """Those of what waits that share a signature; large ones go alone, so that queues can hold them."""
        sizes = [*accumulate([len(draft.payload) for draft in islice(self.waiting, BATCH_MAX)])]
        count = max(1, sum([size <= min(room, BATCH_BYTES) for size in sizes]))
        self.waiting_bytes -= sizes[count - 1]
        return [self.waiting.popleft() for _ in range(count)]

    def _sealed(self, drafts: list[Draft]) -> "Batch":
        now_us, patterns = self.driver.clock.now_us(), self.driver.machine.patterns
        number, asked = self.counting.number, self.counting.asked
        numbered = [number(draft, patterns(draft.topic, asked(draft)), now_us) for draft in drafts]
        events = [event for event, _ in numbered]
        for event in events:
            if event.tags and event.tags[-1].pattern == UNCOUNTED:
                self._say_uncounted(event.topic, event.tags[-1].sequence)
        bodies = self.sealing.seal(events, [head for _, head in numbered])
        return Batch(drafts, events, bodies, self._outgoing(drafts, events, bodies))

    def _outgoing(self, drafts: list[Draft], events: list[Event], bodies: list[bytes] | Pack) -> list[Outgoing]:
        """As the spool keeps them: a pack as a whole, unless the spool is to find some of its events by their keys."""
        if isinstance(bodies, Pack) and all(draft.key is None for draft in drafts):
            return [Outgoing(bodies.ids[0], events[0].topic, bodies)]
        return [
            Outgoing(event.id, event.topic, self.bodies.sealed(event.id), draft.key)
            for event, draft in zip(events, drafts, strict=True)
        ]

    def _spooled(self, done: "Future[None]") -> None:
        """The spool has the group, or does not: then the next one has its numbers, and nobody misses any."""
        group, self._committing = self._committing, []
        wrong = TransportDown("the node was closed") if done.cancelled() else done.exception()
        if wrong is None:
            self._spread(group)
        else:
            for batch in reversed(group):
                self.counting.take_back(batch.events)
                self.bodies.forget([event.id for event in batch.events])
                for draft in batch.drafts:
                    if not draft.future.done():
                        draft.future.set_exception(wrong)
        self._seal_soon()

    def _spread(self, group: "list[Batch]") -> None:
        for batch in group:
            for draft, event in zip(batch.drafts, batch.events, strict=True):
                if not draft.future.done():
                    draft.future.set_result(event.id)
            self.metrics.events_published += len(batch.events)
            rows = rows_of(batch.outgoing, self.driver.clock.now_us())
            self.handover.begin_all(batch.events, batch.bodies, rows)

    # -- handing over -------------------------------------------------------------------------------------------

    async def handed_over(
        self, patience_s: float, events: Sequence[EventId] | None = None, hopefully: bool = False
    ) -> HandedOver:
        """What has become within this time of these events, or of everything published so far; `hopefully`: it waits
        only while somebody is there who may take them."""
        until_s = self.loop.time() + patience_s
        committing = [draft for batch in self._committing for draft in batch.drafts]
        if events is None and (sealed := [draft.future for draft in (*committing, *self.waiting)]):
            await asyncio.wait(sealed, timeout=patience_s)
        return await self.handover.finished(max(0.0, until_s - self.loop.time()), events, hopefully)

    def close(self) -> None:
        for draft in self.waiting:
            if not draft.future.done():
                draft.future.set_exception(TransportDown("the node was closed before the event was spooled"))
        self.waiting.clear()
        self.waiting_bytes = 0
