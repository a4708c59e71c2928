"""The door of a node for what comes over its links: a batch holds records, then events, then messages."""

from typing import Protocol

from gossamer.core.errors import PeerFault
from gossamer.core.ids import Peer
from gossamer.live.arriving.arrivals import Arrivals
from gossamer.live.arriving.control_messages import Asked
from gossamer.live.arriving.faults import DeliberateLoss
from gossamer.live.arriving.messages import Messages
from gossamer.live.arriving.records import Records
from gossamer.live.arriving.revoking import Revoking
from gossamer.live.keys.trust import Record
from gossamer.live.links.link import Link
from gossamer.live.watching.watched_loop import WatchedLoop
from gossamer.wire.frame import Batch, Copy, Hello


class Acquaintances(Protocol):
    """The part of the spool this needs."""

    def remember(self, peer: Peer, record: bytes) -> None: ...


class Incoming:
    """Told by links, one frame at a time."""

    def __init__(
        self,
        records: Records,
        events: Arrivals,
        messages: Messages,
        revoking: Revoking,
        acquaintances: Acquaintances | None,
        losing: DeliberateLoss | None,
        loop: WatchedLoop,
        clients: Asked,
    ) -> None:
        self.clients = clients
        self.records, self.events, self.messages, self.revoking = records, events, messages, revoking
        self.acquaintances, self.loop = acquaintances, loop
        self.losing = losing
        "Loses some of it, where that is asked for."

    def admit(self, hello: Hello) -> Record:
        """Whoever calls. A client may have the name and keys of a node, but takes no calls: its record is no address,
        and must not replace one in the book."""
        if hello.role == "client":
            return self.records.vouched(hello.record)
        return self.records.admit(hello.record)

    def proved(self, hello: Hello) -> None:
        """A node showed that it is who it says: nothing is sent to it yet."""
        self.records.met(hello.record)

    def greeted(self, link: Link, hello: Hello) -> None:
        """A node is linked. Where one that took our call says it is, it is: that is worth remembering."""
        assert link.peer is not None
        if self.acquaintances is not None and link.dialed:
            entry = self.records.book.get(link.peer)
            if entry is not None:
                self.acquaintances.remember(link.peer, entry.data)
        self.revoking.greeted(link.peer, hello)

    def batch(self, link: Link, batch: Batch) -> None:
        """What goes wrong although nobody expects it is not the peer's fault: it is told, and the link goes on."""
        try:
            self._batch(link, batch)
        except PeerFault:
            raise
        except Exception as wrong:
            self.loop.failed("what came over a link could not be dealt with", wrong)

    def _batch(self, link: Link, batch: Batch) -> None:
        if link.role == "client" and (batch.records or batch.copies or batch.packs):
            link.strike("not for clients", "a client sent what only nodes say")
            return
        if link.role == "client":
            self.clients.heard(link, [*map(bytes, batch.messages)], self.messages.take)
            return
        if batch.records:
            self.records.take(link, batch.records)
        if batch.copies or batch.packs:
            assert link.peer is not None
            self.events.take(link, batch if self.losing is None else self.losing.left(link.peer, batch))
        for raw in batch.messages:
            if link.closed:
                return  # for what came before
            self.messages.take(link, raw)

    def large(self, link: Link, copy: Copy | None, body: bytes) -> None:
        """Something that came in parts: an event, or a client's message if it has no name."""
        if copy is not None:
            self.batch(link, Batch([], [copy], [memoryview(body)], []))
        elif link.role == "client":
            self.clients.heard(link, [body], self.messages.take)
        else:
            link.strike("bad message", "a node has no messages of this length to send")
