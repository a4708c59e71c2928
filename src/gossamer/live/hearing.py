"""What arrives, judged before the machine hears it: records and messages here, events by `arrivals`.

A message that makes somebody a member of a topic counts only if that node's grant says so; whoever is named must have
been introduced by a signed record.
"""

import logging
import time
from collections.abc import Callable

from msgspec import Raw, Struct

from gossamer.core.errors import PeerFault
from gossamer.core.ids import Peer, peer_of
from gossamer.core.machine import Given, Introduced, Machine, Message, Received
from gossamer.core.messages import names_of
from gossamer.core.topics import Topic
from gossamer.live.arrivals import Arrivals
from gossamer.live.bodies import Bodies
from gossamer.live.book import Book
from gossamer.live.clock import Clock, monotonic_us
from gossamer.live.faults import Losing
from gossamer.live.link import Link
from gossamer.live.metrics import Metrics
from gossamer.live.requests import Requests
from gossamer.live.seals import Seals
from gossamer.live.trust import Outdated, Record, Stranger, Trust
from gossamer.wire.codec import Codec
from gossamer.wire.frame import Batch, Copy

log = logging.getLogger("gossamer.hearing")

ALLOWED_S = 30.0
"How long a grant that was looked up is believed without looking again."
ALLOWED_MAX = 10_000


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
        machine: Machine,
        clock: Clock,
        feed: Callable[[Given], None],
        meet: Callable[[Received], None],
        control: Callable[[Link, Message], bool],
        requests: Requests,
    ) -> None:
        self.me, self.trust, self.book = me, trust, book
        self.codec, self.carriers, self.metrics = codec, carriers, metrics
        self.feed, self.control = feed, control
        self.machine, self.requests = machine, requests
        self.arrivals = Arrivals(
            me, trust, book, bodies, carriers, codec, metrics, machine, clock, feed, meet, self.may
        )
        self.seals = Seals(me, trust)
        self.losing: Losing | None = None
        "Loses some of it, where that is asked for."
        self.met: Callable[[Peer], None] = lambda peer: None
        "Told of everybody whose record is news."
        self.unread: Callable[[Link, bytes, str], None] = lambda link, data, why: None
        "Told what a client said and nobody can read, and why not."
        self._allowed: dict[tuple[Peer, str, Topic], float] = {}

    # -- records ------------------------------------------------------------------------------------------------

    def admit(self, data: bytes) -> Record:
        """A record from outside; what is new is passed to the machine."""
        record = self.trust.admit(data, time.time())
        if self.book.add(record, data):
            self._allowed.clear()
            self.met(record.peer)
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
        self.seals.forget()
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
        if link.role == "client" and (batch.records or batch.copies or batch.packs):
            link.strike("not for clients", "a client sent what only nodes say")
            return
        if batch.records:
            self._introduce(link, batch.records)
        if batch.copies or batch.packs:
            assert link.peer is not None
            self.arrivals.take(link, batch if self.losing is None else self.losing.left(link.peer, batch))
        for raw in batch.messages:
            if link.closed:
                return  # for what came before
            self.message(link, raw)

    def large(self, link: Link, copy: Copy | None, body: bytes) -> None:
        """Something that came in parts: an event, or a client's message if it has no name."""
        if copy is not None:
            self.batch(link, Batch([], [copy], [memoryview(body)], []))
        elif link.role == "client":
            self.message(link, body)
        else:
            link.strike("bad message", "a node has no messages of this length to send")

    # -- messages -----------------------------------------------------------------------------------------------

    def message(self, link: Link, raw: Raw | bytes) -> None:
        self.metrics.messages_received += 1
        try:
            message = self.codec.decode(raw)
        except PeerFault as wrong:
            if self.codec.knows(raw):
                if link.role == "client":
                    self.unread(link, bytes(raw), str(wrong))
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
        elif unknown := [who for who in names_of(message) if who not in self.book and who != self.me]:
            link.decline("unknown peer")
            log.debug("%s named %s, of whom nobody has given a record", link.name, unknown[0])
        elif liars := self._liars(peer, message):
            culprit = peer if peer in liars else liars[0]
            link.blame(culprit, "not granted", f"{type(message).__name__} about a topic it may not read")
        elif self.losing is not None and self.losing.lost(peer):
            return
        elif not self.requests.allows(message, peer):
            link.decline("too many requests")
        elif (genuine := self.seals.genuine(link, message)) is not None:
            self.feed(Received(peer, genuine))

    def _liars(self, peer: Peer, message: Message) -> list[Peer]:
        """Whoever the message makes a member of a topic it may not read."""
        claimed = self.machine.claims(message, peer)
        return [who for topic, who in claimed if not self.may(who, "subscribe", topic)]

    def _carrier_types(self) -> tuple[type[Struct], ...]:
        return tuple(self.carriers.values())


def owner_word(owner: str) -> int:
    """An owner's label as a number; 0 for none."""
    return (peer_of(f"owner {owner}") or 1) if owner else 0
