"""What the links are told by, and tell: the desk between switchboard, machine, publishing and clients."""

import logging
import time
from collections.abc import Callable
from typing import Protocol

from gossamer.core.errors import PeerFault
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Message
from gossamer.live.clock import monotonic_us
from gossamer.live.control import CLIENT_CONTROL, Acked, Bye, Revoked
from gossamer.live.driver import Driver
from gossamer.live.handover import HandOver
from gossamer.live.hearing import Hearing
from gossamer.live.link import Link
from gossamer.live.metrics import Metrics
from gossamer.live.switchboard import Switchboard
from gossamer.live.trust import Record, Stranger, Trust
from gossamer.wire.codec import Codec
from gossamer.wire.frame import OLDEST, VERSION, Batch, Copy, Hello, batch_frame

log = logging.getLogger("gossamer.links")


class Clients(Protocol):
    """Whoever serves clients."""

    def attached(self, link: Link) -> None: ...
    def detached(self, link: Link) -> None: ...
    def asked(self, link: Link, message: Message) -> None: ...


class Office:
    """One node's."""

    board: Switchboard
    hearing: Hearing
    handover: HandOver
    clients: Clients

    def __init__(self, network: str, role: str, driver: Driver, trust: Trust, codec: Codec, metrics: Metrics) -> None:
        self.network, self.role = network, role
        self.driver, self.trust, self.codec, self.metrics = driver, trust, codec, metrics
        self.met: Callable[[Peer, bytes], None] = lambda peer, record: None
        "Told the record of every peer that took our call: where it says it is, it is."
        self.spread = ""
        "How this node's events travel."
        self.own = b""
        "This node's own record."
        self.contacted: Callable[[Peer], None] = lambda peer: None

    def hello(self) -> Hello:
        return Hello(OLDEST, VERSION, self.network, self.role, self.own, self.trust.revocations()[0], self.spread)

    def admit(self, hello: Hello) -> Record:
        """Whoever calls. A client may have the name and keys of a node, but takes no calls: its record is no address,
        and must not replace one in the book."""
        if hello.role == "client":
            return self.trust.admit(hello.record, time.time())
        return self.hearing.admit(hello.record)

    def batch(self, link: Link, batch: Batch) -> None:
        self.hearing.batch(link, batch)

    def large(self, link: Link, copy: Copy | None, body: bytes) -> None:
        self.hearing.large(link, copy, body)

    def peer_up(self, link: Link, hello: Hello) -> None:
        if link.peer is not None and link.dialed and (entry := self.hearing.book.get(link.peer)) is not None:
            self.met(link.peer, entry.data)
        version, data = self.trust.revocations()
        if link.peer is not None and version > hello.revocations:
            self.board.say([link.peer], self.codec.encode(Revoked(data)))

    def peer_down(self, peer: Peer) -> None:
        self.driver.peer_down(peer)

    def client_up(self, link: Link) -> None:
        self.clients.attached(link)

    def client_down(self, link: Link) -> None:
        self.clients.detached(link)

    def acknowledge(self, acks: list[EventId]) -> bytes:
        return self.codec.encode(Acked(tuple(ranges(acks))))

    def bye(self, link: Link) -> bytes:
        return batch_frame([], [], [], [self.codec.encode(Bye())], link.version)

    def arrived_straight(self, link: Link, events: list[EventId]) -> None:
        """Events straight from their publisher: it is told with the next batch."""
        if link.peer is not None:
            line = self.board.line(link.peer)
            line.acks += events
            self.board.touched(line)

    def control(self, link: Link, message: Message) -> bool:
        """Handles what is not for the machine; False: it is."""
        match message:
            case Acked(spans):
                if link.role == "client" or link.peer is None:
                    link.strike("not for clients", "a client acknowledged what only members can")
                else:
                    self.handover.acked(link.peer, spans)
            case Bye():
                self.board.said_bye(link)
            case Revoked(data):
                self.revoke(data, link)
            case _ if type(message) in CLIENT_CONTROL:
                if link.role == "client":
                    self.clients.asked(link, message)
                else:
                    link.strike("not for nodes", "a node sent what only clients say")
            case _:
                return False
        return True

    def revoke(self, data: bytes, link: Link | None = None) -> None:
        """Takes a list of revoked keys, shuts its nodes out, and passes it on to everybody linked."""
        before, known = self.trust.revocations()
        if before and data == known:
            return
        if link is not None and not link.checks.take(monotonic_us()):
            link.decline("too many records")
            return
        try:
            out = self.trust.revoke(data)
        except Stranger:
            if link is not None:
                link.decline("unknown authority")  # one of which we shall hear
            return
        except PeerFault as wrong:
            if link is not None:
                link.strike("bad revocations", str(wrong))
            return
        if self.trust.revocations()[0] > before:
            self.revoked(out)

    def revoked(self, out: list[Peer]) -> None:
        """The list grew: whoever is on it is gone, and everybody hears of it."""
        log.warning("the list of revoked keys is now version %d", self.trust.revocations()[0])
        self.hearing.forget()
        if self.driver.me in out:
            log.error("the key of this node is revoked: no other node will take its calls any more")
        others = [peer for peer in out if peer != self.driver.me]
        self.board.shut_out(others)
        for peer in others:
            self.hearing.book.remove(peer)
            self.driver.peer_down(peer)
        told = [peer for peer, line in self.board.lines.items() if line.link is not None]
        self.board.say(told, self.codec.encode(Revoked(self.trust.revocations()[1])))


def ranges(acks: list[EventId]) -> list[tuple[int, int, int]]:
    """Events of one publisher as runs: (incarnation, first, last). They mostly come one after the other."""
    runs: dict[tuple[int, int, int], None] = {}
    incarnation, first, last = acks[0].incarnation, acks[0].sequence, acks[0].sequence - 1
    for each in acks:
        if each.sequence != last + 1 or each.incarnation != incarnation:
            runs[incarnation, first, last] = None
            incarnation, first = each.incarnation, each.sequence
        last = each.sequence
    runs[incarnation, first, last] = None
    return list(runs)
