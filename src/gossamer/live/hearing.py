"""What arrives, judged before the machine hears it: records, copies of events, messages.

An event counts only after its publisher's proof held; a message that makes somebody a member of a topic counts only
if that node's grant says so; whoever is named must have been introduced by a signed record.
"""

import logging
import time
from collections.abc import Callable

from msgspec import Raw, Struct

from gossamer.core.errors import PeerFault
from gossamer.core.events import Carried
from gossamer.core.ids import EventId, Peer, peer_of
from gossamer.core.machine import Given, Introduced, Known, Message, Received
from gossamer.core.topics import Topic
from gossamer.live.bodies import Bodies
from gossamer.live.book import Book
from gossamer.live.clock import monotonic_us
from gossamer.live.link import Link
from gossamer.live.metrics import Metrics
from gossamer.live.requests import Requests
from gossamer.live.trust import Outdated, Record, Stranger, Trust
from gossamer.protocols.assemble import Meaning, claims, introduces
from gossamer.wire.codec import Codec
from gossamer.wire.frame import Batch, Copy
from gossamer.wire.sealed import digest, unseal

log = logging.getLogger("gossamer.hearing")

ALLOWED_S = 30.0
"How long a grant that was looked up is believed without looking again."
ALLOWED_MAX = 10_000
HOPS_MAX = 1 << 20
"More are not believed: one more than the wire allows, and our own copies would be refused."


class Hearing:
    """Between links and machine."""

    def __init__(
        self,
        me: Peer,
        trust: Trust,
        book: Book,
        bodies: Bodies,
        codec: Codec,
        carriers: dict[str, type[Struct]],
        metrics: Metrics,
        knows: Callable[[EventId], bool],
        feed: Callable[[Given], None],
        meet: Callable[[Peer, Received], None],
        control: Callable[[Link, Message], bool],
        meant: Meaning,
        requests: Requests,
    ) -> None:
        self.me, self.trust, self.book, self.bodies = me, trust, book, bodies
        self.codec, self.carriers, self.metrics = codec, carriers, metrics
        self.knows, self.feed, self.meet, self.control = knows, feed, meet, control
        self.meant, self.requests = meant, requests
        self.ours: Callable[[Link, list[tuple[int, int]]], None] = lambda link, acks: None
        "Told which events arrived straight from their publisher."
        self.copy_met: Callable[[int, Peer, Copy, int], None] | None = None
        "Told of every copy, at the fullest level of traces."
        self._allowed: dict[tuple[Peer, str, Topic], float] = {}

    # -- records ------------------------------------------------------------------------------------------------

    def admit(self, data: bytes) -> Record:
        """A record from outside; what is new is passed to the machine."""
        record = self.trust.admit(data, time.time())
        if self.book.add(record, data):
            self._allowed.clear()
            self.feed(Introduced(record.peer, owner_word(self.trust.owner(record.peer))))
        return record

    def _introduce(self, link: Link, records: list[bytes]) -> None:
        for data in records:
            if link.closed:
                return
            if self.book.holds(data):
                continue
            if not link.checks.take(monotonic_us()):
                link.decline("too many records")
                continue
            try:
                record = self.admit(data)
                link.introduce(record.peer, record.version)
            except Stranger:
                link.decline("unknown authority")  # a new one, of which we shall hear
            except Outdated:
                link.decline("outdated record")
            except PeerFault as wrong:
                link.strike("bad record", str(wrong))

    def forget(self) -> None:
        """Grants or keys changed: nothing looked up before counts any more, and records must be good now."""
        self._allowed.clear()
        for peer, entry in tuple(self.book.entries.items()):
            try:
                self.trust.admit(entry.data, time.time())
            except PeerFault:
                if peer != self.me:
                    self.book.remove(peer)

    def may(self, peer: Peer, act: str, topic: Topic) -> bool:
        now_s = time.time()
        if self._allowed.get((peer, act, topic), 0.0) > now_s:
            return True
        if not self.trust.may(peer, act, topic, now_s):  # type: ignore[arg-type]
            return False
        if len(self._allowed) >= ALLOWED_MAX:
            self._allowed.clear()
        self._allowed[peer, act, topic] = now_s + ALLOWED_S
        return True

    # -- batches ------------------------------------------------------------------------------------------------

    def batch(self, link: Link, batch: Batch) -> None:
        if link.role == "client" and (batch.records or batch.copies):
            link.strike("not for clients", "a client sent what only nodes say")
            return
        if batch.records:
            self._introduce(link, batch.records)
        if batch.copies:
            self._copies(link, batch)
        for raw in batch.messages:
            if link.closed:
                return  # for what came before
            self.message(link, raw)

    def _copies(self, link: Link, batch: Batch) -> None:
        peer = link.peer
        assert peer is not None
        known: list[EventId] = []
        straight: list[tuple[int, int]] = []
        digests = self.bodies.digests
        for copy, body in zip(batch.copies, batch.bodies, strict=True):
            event_id = copy.id
            if digests.get(event_id) == copy.digest or self._known_otherwise(event_id):
                known.append(event_id)
            elif not self._news(link, copy, body):
                if link.closed:
                    break
                continue
            if event_id.publisher == peer:
                straight.append((event_id.incarnation, event_id.sequence))
        self.metrics.copies_received += len(batch.copies)
        if self.copy_met is not None:
            now_us = time.time_ns() // 1000
            for copy, body in zip(batch.copies, batch.bodies, strict=True):
                self.copy_met(now_us, peer, copy, len(body))
        if straight:
            self.ours(link, straight)
        if known:
            self.metrics.copies_known += len(known)
            self.feed(Known(peer, tuple(known)))

    def _known_otherwise(self, event_id: EventId) -> bool:
        """An id known from before a restart, or from long ago: there is nothing left to compare a body with."""
        return event_id not in self.bodies.digests and self.knows(event_id)

    def large(self, link: Link, copy: Copy | None, body: bytes) -> None:
        """Something that came in parts: an event, or a client's message if it has no name."""
        if copy is not None:
            self.batch(link, Batch([], [copy], [memoryview(body)], []))
        elif link.role == "client":
            self.message(link, body)
        else:
            link.strike("bad message", "a node has no messages of this length to send")

    def _news(self, link: Link, copy: Copy, body: memoryview) -> bool:
        """An event not met before, or not with this body. True: it was genuine, and the machine has it now."""
        carrier = self.carriers.get(copy.tag)
        if carrier is None:
            self.metrics.unknown_tags += 1
            return False
        try:
            event, leaf, proof = unseal(body)
        except PeerFault as wrong:
            link.strike("bad event", str(wrong))
            return False
        publisher = event.id.publisher
        if event.id != copy.id or digest(leaf) != copy.digest:
            link.strike("forged copy", f"the body is not that of {copy.id}")
            return False
        if not self.book.touch(publisher) and publisher != self.me:
            link.decline("unknown publisher")
            return False
        if not self.may(publisher, "publish", event.topic):
            self._blame(link, publisher, "publisher not granted", f"it may not publish on {event.topic}")
            return False
        try:
            self.trust.check(publisher, leaf, proof, time.time())
        except (Stranger, Outdated) as wrong:
            link.decline("unknown publisher" if isinstance(wrong, Stranger) else "outdated publisher")
            return False
        except PeerFault as wrong:
            link.strike("bad proof", str(wrong))
            return False
        if event.id in self.bodies.digests:  # with another body, as genuine as this one
            self._blame(link, publisher, "equivocation", f"two bodies under one id, {event.id}")
            return False
        self.bodies.add(event.id, copy.digest, body)
        assert link.peer is not None
        self.meet(link.peer, Received(link.peer, carrier(Carried(event, min(copy.hops, HOPS_MAX), copy.route))))
        return True

    def _blame(self, link: Link, who: Peer, reason: str, detail: str) -> None:
        """Refuses what is `who`'s fault; a peer that only passes it on may not know."""
        if link.peer == who:
            link.strike(reason, detail)
        else:
            link.decline(reason)

    # -- messages -----------------------------------------------------------------------------------------------

    def message(self, link: Link, raw: Raw | bytes) -> None:
        self.metrics.messages_received += 1
        try:
            message = self.codec.decode(raw)
        except PeerFault as wrong:
            if self.codec.knows(raw):
                link.strike("bad message", str(wrong))
            else:
                self.metrics.unknown_tags += 1
            return
        peer = link.peer
        assert peer is not None
        self.metrics.messages_by_tag.add(str(type(message).__struct_config__.tag))
        if self.control(link, message):
            return
        if link.role == "client":
            link.strike("not for clients", "a client sent what only nodes say")
        elif type(message) in self._carrier_types():
            link.strike("bad message", "an event outside its place")
        elif unknown := [who for who in introduces(message) if who not in self.book and who != self.me]:
            link.decline("unknown peer")
            log.debug("%s named %s, of whom nobody has given a record", link.name, unknown[0])
        elif liars := [
            who for topic, who in claims(message, peer, self.meant) if not self.may(who, "subscribe", topic)
        ]:
            culprit = peer if peer in liars else liars[0]
            self._blame(link, culprit, "not granted", f"{type(message).__name__} about a topic it may not read")
        elif not self.requests.allows(message, peer):
            link.decline("too many requests")
        else:
            self.feed(Received(peer, message))

    def _carrier_types(self) -> tuple[type[Struct], ...]:
        return tuple(self.carriers.values())


def owner_word(owner: str) -> int:
    """An owner's label as a number; 0 for none."""
    return (peer_of(f"owner {owner}") or 1) if owner else 0
