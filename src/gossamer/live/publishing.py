"""Events of this node's own: signed in small batches, spooled, spread, and spread again until enough members have
acknowledged them. `publish` is over once the event is spooled; from then on it is not dropped."""

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, TypeAlias

from gossamer.core.errors import GossamerError, Misuse, TransportDown
from gossamer.core.events import Attribute, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Publish
from gossamer.core.topics import Topic
from gossamer.live.bodies import Bodies
from gossamer.live.clock import Clock
from gossamer.live.driver import Driver
from gossamer.live.metrics import Metrics
from gossamer.live.spool.items import Outgoing
from gossamer.live.trust import Trust
from gossamer.wire.frame import Copy
from gossamer.wire.proof import BATCH_MAX, leaf
from gossamer.wire.sealed import HEAD_BYTES_MAX, digest, head_of, seal, unseal

if TYPE_CHECKING:
    from asyncio import Future

log = logging.getLogger("gossamer.publishing")

MEMBERS_ENOUGH = 3
"Members that must have an event before its publisher may forget it (all, if there are fewer)."
SEAL_EVERY_S = 0.005
"Under load one signature serves what was published within this time; the first event after a pause does not wait."
WAITING_MAX = 100_000
UNACKED_MAX = 20_000
"Events spread but not yet acknowledged; beyond this, publishing waits."
AGAIN_S = 2.0
AGAIN_MAX_S = 60.0


Waiting: TypeAlias = "tuple[Event, str | None, bytes, Future[EventId]]"
"An event to be sealed: with its key, its head, and whom to tell."


class Outbox(Protocol):
    """The part of the spool this needs."""

    def accept(self, publications: list[Outgoing]) -> "Future[None]": ...
    async def keyed(self, topic: Topic, key: str) -> EventId | None: ...
    def done(self, ids: list[EventId]) -> None: ...


class Unacked:
    """An event on its way to its first members."""

    __slots__ = ("acked", "at_s", "event", "join", "sealed", "told", "tries")

    def __init__(self, event: Event, sealed: bytes, join: bool, at_s: float) -> None:
        self.event, self.sealed, self.join, self.at_s = event, sealed, join, at_s
        self.told = 0
        self.tries = 0
        self.acked: set[Peer] = set()

    def enough(self) -> bool:
        return 0 < min(MEMBERS_ENOUGH, self.told) <= len(self.acked)


class Publishing:
    """From `publish` to acknowledged."""

    def __init__(
        self,
        me: Peer,
        incarnation: int,
        driver: Driver,
        trust: Trust,
        bodies: Bodies,
        spool: Outbox | None,
        clock: Clock,
        metrics: Metrics,
        event_bytes_max: int,
        forget_after_s: float,
    ) -> None:
        self.me, self.incarnation, self.driver, self.trust = me, incarnation, driver, trust
        self.bodies, self.spool, self.clock, self.metrics = bodies, spool, clock, metrics
        self.event_bytes_max, self.forget_after_s = event_bytes_max, forget_after_s
        self.joins = True
        "False: a guest, who hands its events to members and becomes none."
        self.loop = asyncio.get_running_loop()
        self.waiting: list[Waiting] = []
        self.unacked: dict[EventId, Unacked] = {}
        self.acked_by_3: asyncio.Event = asyncio.Event()
        self._sequence = 0
        self._ordinals: dict[Topic, int] = {}
        self._keys: dict[tuple[Topic, str], Future[EventId]] = {}
        self._sealing = False
        self._sealed_s = 0.0
        self._done: list[EventId] = []
        self._again = self.loop.call_later(AGAIN_S / 2, self._look_again)

    # -- accepting ----------------------------------------------------------------------------------------------

    def publish(
        self, topic: Topic, payload: bytes, attributes: Mapping[str, Attribute], key: str | None
    ) -> "Future[EventId]":
        """Queues an event; the future is done once it is spooled."""
        if len(self.waiting) >= WAITING_MAX:
            raise TransportDown(f"{WAITING_MAX} publications wait already: await some before publishing more")
        if key is not None:
            if (same := self._keys.get((topic, key))) is not None:
                return same
            future: Future[EventId] = self.loop.create_future()
            self._keys[topic, key] = future
            future.add_done_callback(lambda _: self._keys.pop((topic, key), None))
            self.loop.create_task(self._publish_once(topic, payload, attributes, key, future))
            return future
        future = self.loop.create_future()
        self._enqueue(topic, payload, attributes, None, future)
        return future

    async def _publish_once(
        self, topic: Topic, payload: bytes, attributes: Mapping[str, Attribute], key: str, future: "Future[EventId]"
    ) -> None:
        try:
            earlier = await self.spool.keyed(topic, key) if self.spool is not None else None
            if earlier is None:
                self._enqueue(topic, payload, attributes, key, future)
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
        future: "Future[EventId]",
    ) -> None:
        event_id = EventId(self.me, self.incarnation, self._sequence + 1)
        ordinal = self._ordinals.get(topic, 0) + 1
        event = Event(event_id, topic, payload, dict(attributes), None, self.clock.now_us(), ordinal)
        head = head_of(event)
        size = len(head) + len(payload)
        if size > self.event_bytes_max or len(head) > HEAD_BYTES_MAX:
            raise Misuse(
                f"an event of {size} bytes is too large, at most {self.event_bytes_max} (and 64 KiB of attributes) "
                "may be published: put the data elsewhere and publish where it is"
            )
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

    # -- sealing ------------------------------------------------------------------------------------------------

    def _seal(self) -> None:
        """Signs what waits, as long as links and acknowledgements keep up."""
        self._sealing = False
        self._sealed_s = self.loop.time()
        while self.waiting and len(self.unacked) < UNACKED_MAX and not self.driver.board.clogged():
            batch, self.waiting = self.waiting[:BATCH_MAX], self.waiting[BATCH_MAX:]
            self._seal_batch(batch)
        if self.waiting:
            self._sealing = True
            self.loop.call_later(SEAL_EVERY_S, self._seal)

    def _seal_batch(self, batch: "list[Waiting]") -> None:
        leaves = [leaf(head, event.payload) for event, _, head, _ in batch]
        proofs = self.trust.prove(leaves)
        sealed = [seal(head, event.payload, proof) for (event, _, head, _), proof in zip(batch, proofs, strict=True)]
        for (event, _, _, _), each, body in zip(batch, leaves, sealed, strict=True):
            self.bodies.add(event.id, digest(each), body)
        if self.spool is None:
            self._spread(batch, sealed)
            return
        spooled = self.spool.accept(
            [Outgoing(e.id, e.topic, body, key) for (e, key, _, _), body in zip(batch, sealed, strict=True)]
        )
        spooled.add_done_callback(lambda done: self._spooled(batch, sealed, done))

    def _spooled(self, batch: "list[Waiting]", sealed: list[bytes], done: "Future[None]") -> None:
        if done.cancelled() or (wrong := done.exception()) is not None:
            for _, _, _, future in batch:
                if not future.done():
                    future.set_exception(TransportDown("the node was closed") if done.cancelled() else wrong)  # type: ignore[arg-type]
            return
        self._spread(batch, sealed)

    def _spread(self, batch: "list[Waiting]", sealed: list[bytes]) -> None:
        for (event, _, _, future), body in zip(batch, sealed, strict=True):
            self.hand_over(event, body)
            if not future.done():
                future.set_result(event.id)
        self.metrics.events_published += len(batch)

    # -- handing over -------------------------------------------------------------------------------------------

    def resume(self, sealed: list[bytes]) -> None:
        """Events a former life accepted and may not have handed over. They are signed again: keys may have changed,
        and newcomers know only the new one."""
        for start in range(0, len(sealed), BATCH_MAX):
            events = [unseal(body)[0] for body in sealed[start : start + BATCH_MAX]]
            heads = [head_of(event) for event in events]
            leaves = [leaf(head, event.payload) for head, event in zip(heads, events, strict=True)]
            for event, head, its_leaf, proof in zip(events, heads, leaves, self.trust.prove(leaves), strict=True):
                body = seal(head, event.payload, proof)
                self.bodies.add(event.id, digest(its_leaf), body)
                self.hand_over(event, body)

    def hand_over(self, event: Event, sealed: bytes) -> None:
        join = self.joins and self.trust.may(self.me, "subscribe", event.topic, self.clock.now_us() / 1e6)
        self.unacked[event.id] = Unacked(event, sealed, join, self.loop.time())
        self.driver.feed(Publish(event, join))

    def told(self, copy: Copy, peers: tuple[Peer, ...]) -> None:
        """An event of ours left for these peers."""
        if (entry := self.unacked.get(copy.id)) is not None:
            entry.told += len(peers)

    def acked(self, peer: Peer, ranges: tuple[tuple[int, int, int], ...]) -> None:
        """A member has these events."""
        for incarnation, first, last in ranges:
            for sequence in range(first, min(last, first + UNACKED_MAX) + 1):
                event_id = EventId(self.me, incarnation, sequence)
                entry = self.unacked.get(event_id)
                if entry is not None:
                    entry.acked.add(peer)
                    if entry.enough():
                        self._finish(event_id)

    def _finish(self, event_id: EventId) -> None:
        del self.unacked[event_id]
        self._done.append(event_id)
        if len(self._done) == 1:
            self.loop.call_soon(self._tell_spool)
        if not self.unacked:
            self.acked_by_3.set()

    def _tell_spool(self) -> None:
        done, self._done = self._done, []
        if self.spool is not None:
            self.spool.done(done)

    def _look_again(self) -> None:
        """Spreads again what nobody, or too few, acknowledged in time; gives up what is very old."""
        self._again = self.loop.call_later(AGAIN_S / 2, self._look_again)
        now_s = self.loop.time()
        for event_id, entry in tuple(self.unacked.items()):
            patience_s = min(AGAIN_MAX_S, AGAIN_S * 2**entry.tries)
            if now_s - entry.at_s < patience_s:
                break  # in the order they were last spread; younger ones have waited less
            if self.clock.now_us() - entry.event.published_us > self.forget_after_s * 1e6:
                log.warning("nobody took over %s on %s in time: it stays in the spool", event_id, entry.event.topic)
                self._finish(event_id)
                continue
            entry.tries += 1
            entry.at_s = now_s
            self.unacked[event_id] = self.unacked.pop(event_id)
            if self.bodies.get(event_id) is None:
                self.bodies.add(event_id, digest(unseal(entry.sealed)[1]), entry.sealed)
            self.driver.feed(Publish(entry.event, entry.join))

    async def handed_over(self, patience_s: float) -> bool:
        """Waits until everything published so far was acknowledged; False: not within this time."""
        try:
            async with asyncio.timeout(patience_s):
                while self.waiting or self.unacked:
                    self.acked_by_3.clear()
                    await self.acked_by_3.wait()
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        self._again.cancel()
        for _, _, _, future in self.waiting:
            if not future.done():
                future.set_exception(TransportDown("the node was closed before the event was spooled"))
        self.waiting = []
