"""What waits to be sent to one peer, whether or not a link to it is up. Everything of one turn of the loop goes in
one frame: batches form by themselves when there is much to say."""

from collections.abc import Callable, Iterator

from gossamer.core.ids import EventId, Peer
from gossamer.live.links.address_book import AddressBook
from gossamer.live.links.bundle import Bundle
from gossamer.live.links.control import How
from gossamer.live.links.link import Link
from gossamer.live.links.transports import HIGH_WATER
from gossamer.wire.frame import PART_BYTES, Copy, batch_frame, packed, part_frames


class Line:
    """The queue to one peer."""

    __slots__ = (
        *("acks", "blocked_until_s", "bundles", "dialing", "dirty", "failed_s", "failed_version", "failures", "large"),
        *("link",),
        *("mentions", "messages", "peer", "size", "slow", "transfers", "used"),
    )

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.link: Link | None = None
        self.bundles: list[Bundle] = []
        self.messages: list[bytes] = []
        self.large: list[tuple[Copy | None, bytes]] = []
        self.acks: dict[How, list[EventId]] = {}
        "Events of this peer that arrived straight from it, and how they are kept."
        self.mentions: dict[Peer, None] = {}
        "Peers named in what waits: their records go first."
        self.size = 0
        self.dirty = False
        self.dialing = False
        self.failures = 0
        self.blocked_until_s = 0.0
        self.failed_s = 0.0
        "When the peer was given up last."
        self.failed_version = 0
        "Of its record, then."
        self.slow = 0
        "Sweeps since the queue was half full, if it was not empty since."
        self.used = True
        self.transfers = 0

    def flush(self, book: AddressBook, ready: Callable[[How, list[EventId]], list[bytes]], frame_bytes: int) -> None:
        """Sends what waits, unless the link is not up or what was sent before has not left yet."""
        self.dirty = False
        link = self.link
        if link is None or link.channel.pending() > HIGH_WATER:
            return
        for how, acks in self.acks.items():
            self.messages += ready(how, acks)
        self.acks = {}
        if not self.size and not self.messages and not self.mentions:
            return
        self.used = True
        records = [*self._introductions(link, book)]
        for messages in self._messages(frame_bytes):
            link.write(batch_frame(records, [], [], messages, link.version))
            records = []
        if records:
            link.write(batch_frame(records, [], [], [], link.version))
        for bundle in self.bundles:
            link.write(bundle.frame(link.version))
        for copy, body in self.large:
            self.transfers += 1
            for part in part_frames(self.transfers, body, copy, link.version):
                link.write(part)
        self.clear()

    def _introductions(self, link: Link, book: AddressBook) -> Iterator[bytes]:
        for peer in self.mentions:
            entry = book.get(peer)
            if entry is not None and link.introduced.get(peer) != entry.record.version:
                link.introduce(peer, entry.record.version)
                yield packed(entry.data)

    def _messages(self, frame_bytes: int) -> Iterator[list[bytes]]:
        """What is to be said, cut where a frame has grown long enough."""
        page, size = [], 0
        for message in self.messages:
            page.append(message)
            size += len(message)
            if size > frame_bytes:
                yield page
                page, size = [], 0
        if page:
            yield page

    def clear(self) -> None:
        self.bundles, self.messages, self.large = [], [], []
        self.mentions = {}
        self.size = 0

    def take(self, bundle: Bundle) -> None:
        self.bundles.append(bundle)
        self.mentions[bundle.publisher] = None
        self.size += bundle.size

    def say(self, message: bytes, mentions: tuple[Peer, ...] = ()) -> None:
        """Queues a message; a very long one goes in parts."""
        self.size += len(message)
        for peer in mentions:
            self.mentions[peer] = None
        if len(message) > PART_BYTES:
            self.large.append((None, message))
        else:
            self.messages.append(message)
