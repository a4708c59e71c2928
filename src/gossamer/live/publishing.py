"""Events of this node's own: signed in small batches, spooled, spread, and spread again until enough members have
acknowledged them. `publish` is over once the event is spooled; from then on only `handover` gives it up."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, groupby, islice
from typing import TYPE_CHECKING, Protocol, TypeAlias

from msgspec.structs import replace

from gossamer.core.errors import GossamerError, TransportDown
from gossamer.core.events import Attribute, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.patterns import UNCOUNTED
from gossamer.core.topics import Topic
from gossamer.live.arguments import too_large
from gossamer.live.bodies import Bodies
from gossamer.live.complaints import Complaints
from gossamer.live.driver import Driver
from gossamer.live.handover import HandOver
from gossamer.live.metrics import Metrics
from gossamer.live.parcel import Row, rows_of
from gossamer.live.spool.items import Outgoing, Waiting
from gossamer.live.trust import Act, Trust
from gossamer.parts.tagging import Tagger
from gossamer.wire.pack import PACK_BYTES_MAX, Pack, pack
from gossamer.wire.proof import BATCH_MAX, NO_PACK, leaf, levels, proofs
from gossamer.wire.sealed import HEAD_BYTES_MAX, head_of, seal, unseal

if TYPE_CHECKING:
    from asyncio import Future

log = logging.getLogger("gossamer.publishing")

BATCH_BYTES = 1 << 20
SEAL_EVERY_S = 0.005
"Under load one signature serves what was published within this time; the first event after a pause does not wait."
WAITING_MAX = 100_000


Queued: TypeAlias = "tuple[Event, str | None, bytes, Future[EventId]]"
"An event to be sealed: with its key, its head, and whom to tell."


class Outbox(Protocol):
    """The part of the spool this needs."""

    def accept(self, publications: list[Outgoing]) -> "Future[None]": ...
    async def keyed(self, topic: Topic, key: str) -> EventId | None: ...


class Publishing:
    """From `publish` to acknowledged."""

    def __init__(
        self,
        me: Peer,
        incarnation: int,
        driver: Driver,
        trust: Trust,
        may: Callable[[Act, Topic], bool],
        bodies: Bodies,
        spool: Outbox | None,
        handover: HandOver,
        metrics: Metrics,
        event_bytes_max: int,
    ) -> None:
        self.me, self.incarnation, self.driver, self.trust, self.may = me, incarnation, driver, trust, may
        self.bodies, self.spool, self.handover, self.metrics = bodies, spool, handover, metrics
        self.event_bytes_max = event_bytes_max
        handover.joins = lambda topic: self.joins and may("subscribe", topic)
        self.joins = True
        "False: a guest, who hands its events to members and becomes none."
        self.loop = asyncio.get_running_loop()
        self.waiting: deque[Queued] = deque()
        self._sequence = 0
        self._ordinals: dict[Topic, int] = {}
        self.tagger = Tagger()
        self.complaints = Complaints()
        self._keys: dict[tuple[Topic, str], Future[EventId]] = {}
        self._sealing = False
        self._sealed_s = 0.0

    # -- accepting ----------------------------------------------------------------------------------------------

    def publish(
        self,
        topic: Topic,
        payload: bytes,
        attributes: Mapping[str, Attribute],
        key: str | None,
        climb: float | None = None,
    ) -> "Future[EventId]":
        """Queues an event; the future is done once it is spooled."""
        if len(self.waiting) >= WAITING_MAX:
            raise TransportDown(f"{WAITING_MAX} publications wait already: await some before publishing more")
        if key is not None:
            if (same := self._keys.get((topic, key))) is not None:
                return asyncio.shield(same)
            future: Future[EventId] = self.loop.create_future()
            self._keys[topic, key] = future
            future.add_done_callback(lambda _: self._keys.pop((topic, key), None))  # spooled: the spool knows the key
            self.loop.create_task(self._publish_once(topic, payload, attributes, key, climb, future))
            return asyncio.shield(future)  # whoever stops waiting does not stop the event
        future = self.loop.create_future()
        self._enqueue(topic, payload, attributes, None, climb, future)
        return future

    async def _publish_once(
        self,
        topic: Topic,
        payload: bytes,
        attributes: Mapping[str, Attribute],
        key: str,
        climb: float | None,
        future: "Future[EventId]",
    ) -> None:
        try:
            earlier = await self.spool.keyed(topic, key) if self.spool is not None else None
            if earlier is None:
                self._enqueue(topic, payload, attributes, key, climb, future)
            elif not future.done():
                future.set_result(earlier)
        except GossamerError as wrong:
            if not future.done():
                future.set_exception(wrong)

    def _enqueue(
        self,
        topic: Topic,
        payload: bytes,
        attributes: Mapping[str, Attribute],
        key: str | None,
        climb: float | None,
        future: "Future[EventId]",
    ) -> None:
        event_id = EventId(self.me, self.incarnation, self._sequence + 1)
        ordinal = self._ordinals.get(topic, 0) + 1
        now_us, patterns = self.driver.clock.now_us(), self.driver.machine.patterns(topic, attributes)
        tags = self.tagger.tags(patterns, now_us)
        event = Event(event_id, topic, payload, dict(attributes), climb, now_us, ordinal, tags)
        head = head_of(event)
        if len(head) > HEAD_BYTES_MAX and tags:  # what others want must not keep an event from being published
            self.tagger.take_back(tags)
            tags = self.tagger.tags(patterns, now_us, room=0)
            event = replace(event, tags=tags)
            head = head_of(event)
        if (wrong := too_large(head, payload, self.event_bytes_max)) is not None:
            self.tagger.take_back(tags)
            raise wrong
        if tags and tags[-1].pattern == UNCOUNTED:
            self._say_uncounted(topic, tags[-1].sequence)
        self._sequence += 1
        self._ordinals[topic] = ordinal
        self.waiting.append((event, key, head, future))
        if not self._sealing:
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
        """Signs what waits, as long as links and acknowledgements keep up."""
        self._sealing = False
        self._sealed_s = self.loop.time()
        while self.waiting and self.handover.has_room() and not self.driver.board.clogged():
            self._seal_batch([self.waiting.popleft() for _ in range(self._fitting())])
        if self.waiting:
            self._sealing = True
            self.loop.call_later(SEAL_EVERY_S, self._seal)

    def _fitting(self) -> int:
        """How many of those that wait share a signature; large ones go alone, so that queues can hold them."""
        sizes = accumulate([len(event.payload) for event, _, _, _ in islice(self.waiting, BATCH_MAX)])
        return max(1, sum([size <= BATCH_BYTES for size in sizes]))

    def _seal_batch(self, batch: "list[Queued]") -> None:
        bodies = self._bodies([event for event, _, _, _ in batch], [head for _, _, head, _ in batch])
        outgoing = self._outgoing(batch, bodies)
        rows = rows_of(outgoing)
        if self.spool is None:
            self._spread(batch, bodies, rows)
            return
        spooled = self.spool.accept(outgoing)
        spooled.add_done_callback(lambda done: self._spooled(batch, bodies, rows, done))

    def _outgoing(self, batch: "list[Queued]", bodies: list[bytes] | Pack) -> list[Outgoing]:
        """As the spool keeps them: a pack as a whole, unless the spool is to find some of its events by their keys."""
        if isinstance(bodies, Pack) and all(key is None for _, key, _, _ in batch):
            return [Outgoing(bodies.ids[0], batch[0][0].topic, bodies)]
        return [Outgoing(event.id, event.topic, self.bodies.sealed(event.id), key) for event, key, _, _ in batch]

    def _bodies(self, events: Sequence[Event], heads: list[bytes]) -> list[bytes] | Pack:
        """Signs events together; they travel together too, unless they are large."""
        payloads = [event.payload for event in events]
        leaves = [*map(leaf, heads, payloads)]
        tree = levels(leaves)
        if len(events) > 1 and sum(map(len, heads)) + sum(map(len, payloads)) < PACK_BYTES_MAX:
            made = pack(heads, events, tree, self.trust.stamp)
            self.bodies.add_pack(made)
            return made
        sealed = [*map(seal, heads, payloads, proofs(tree, NO_PACK, self.trust.stamp(tree)))]
        for event, its_leaf, body in zip(events, leaves, sealed, strict=True):
            self.bodies.add(event.id, its_leaf, body)
        return sealed

    def _spooled(
        self, batch: "list[Queued]", bodies: list[bytes] | Pack, rows: list[Row], done: "Future[None]"
    ) -> None:
        if done.cancelled() or (wrong := done.exception()) is not None:
            for _, _, _, future in batch:
                if not future.done():
                    future.set_exception(TransportDown("the node was closed") if done.cancelled() else wrong)  # type: ignore[arg-type]
            return
        self._spread(batch, bodies, rows)

    def _spread(self, batch: "list[Queued]", bodies: list[bytes] | Pack, rows: list[Row]) -> None:
        for event, _, _, future in batch:
            if not future.done():
                future.set_result(event.id)
        self.metrics.events_published += len(batch)
        self._begin([event for event, _, _, _ in batch], bodies, rows)

    def _begin(self, events: list[Event], bodies: list[bytes] | Pack, rows: list[Row]) -> None:
        """What follows each other on one topic, in one life, goes out together."""
        start = 0
        for _, same in groupby(events, lambda event: (event.topic, event.id.incarnation)):
            end = start + len([*same])
            its = bodies if isinstance(bodies, Pack) else bodies[start:end]
            self.handover.begin(events[start:end], its, rows[start:end])
            start = end

    # -- handing over -------------------------------------------------------------------------------------------

    def resume(self, waiting: Sequence[Waiting]) -> None:
        """Events a former life accepted and may not have handed over. They are signed again: keys may have changed,
        and newcomers know only the new one."""
        rows = rows_of(waiting)
        events = [unseal(sealed)[0] for each in waiting for _, sealed in each.each()]
        for start in range(0, len(events), BATCH_MAX):
            batch = events[start : start + BATCH_MAX]
            self._begin(batch, self._bodies(batch, [*map(head_of, batch)]), rows[start : start + BATCH_MAX])

    async def handed_over(self, patience_s: float) -> bool:
        """Whether everything published so far reached enough members within this time."""
        sealed = [future for _, _, _, future in self.waiting]
        if sealed:
            await asyncio.wait(sealed, timeout=patience_s)
        return await self.handover.finished(patience_s)

    def close(self) -> None:
        for _, _, _, future in self.waiting:
            if not future.done():
                future.set_exception(TransportDown("the node was closed before the event was spooled"))
        self.waiting.clear()
