"""What leaves a node: a queue per peer, and copies of one turn of the loop bundled for those who get the same."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from gossamer.core.ids import EventId, Peer
from gossamer.live.links.address_book import AddressBook
from gossamer.live.links.bundle import Bundle
from gossamer.live.links.calls import Calls
from gossamer.live.links.control import How, acked
from gossamer.live.links.line import Line
from gossamer.live.watching.metrics import Metrics
from gossamer.wire.codec import Codec
from gossamer.wire.frame import FRAME_BYTES_MAX, PART_BYTES, Copy

SLOW_SWEEPS = 3
"A peer that takes longer to read what waits for it holds up nobody any more; what finds no room is dropped."
ACKS_MAX = 20_000
"Acknowledgements that wait for one peer to read; what finds no room is dropped, and its publisher asks again."


class Outgoing:
    """All queues of one node."""

    def __init__(
        self, calls: Calls, book: AddressBook, codec: Codec, metrics: Metrics, queue_bytes: int, frame_bytes: int
    ) -> None:
        self.calls, self.book, self.codec, self.metrics = calls, book, codec, metrics
        self.lines: dict[Peer, Line] = {}
        self.dirty: list[Line] = []
        self.bundles: dict[tuple[tuple[Peer, ...], Peer, Peer], Bundle] = {}
        "Copies of this turn of the loop, by whom they are for and whom they are from."
        self.flushing = False
        self.loop = calls.loop
        self.tune(queue_bytes, frame_bytes)

    def tune(self, queue_bytes: int, frame_bytes: int) -> None:
        self.queue_bytes = queue_bytes
        self.frame_bytes = min(frame_bytes, FRAME_BYTES_MAX - 3 * PART_BYTES)
        "Where a frame is closed: two packs, or an event, may still be on their way into it."

    def line(self, peer: Peer) -> Line:
        line = self.lines.get(peer)
        if line is None:
            line = self.lines[peer] = Line(peer)
        return line

    def touched(self, line: Line) -> None:
        """Something waits on this line: it leaves at the end of this turn of the loop, or once a link is up."""
        if line.link is None and not line.dialing:
            self.calls.call(line)
        if not line.dirty:
            line.dirty = True
            self.dirty.append(line)
            self._flush_soon()

    def _flush_soon(self) -> None:
        if not self.flushing:
            self.flushing = True
            self.loop.call_soon(self.flush)

    def flush(self) -> None:
        bundles, self.bundles = self.bundles, {}
        for bundle in bundles.values():
            self._distribute(bundle)
        self.flushing = False
        dirty, self.dirty = self.dirty, []
        for line in dirty:
            line.flush(self.book, self._acknowledgement, self.frame_bytes)

    def drained(self, line: Line) -> None:
        """What was written on its link has left: what waits may follow."""
        line.flush(self.book, self._acknowledgement, self.frame_bytes)

    def say(self, peers: Iterable[Peer], message: bytes, mentions: tuple[Peer, ...] = ()) -> None:
        for peer in peers:
            line = self.line(peer)
            if line.size > self.queue_bytes:
                self.metrics.messages_dropped += 1
                continue
            line.say(message, mentions)
            self.touched(line)

    def acknowledge(self, how: How, events: Sequence[EventId]) -> None:
        """Publishers are told what became of their events here, with the next batch. Whoever is not linked will ask
        again."""
        same = len({each.publisher for each in events}) == 1  # mostly
        for publisher, its in ((events[0].publisher, events),) if same else groupby(events, publisher_of):
            line = self.lines.get(publisher)
            if line is None or line.link is None:
                continue
            if sum(map(len, line.acks.values())) > ACKS_MAX:
                self.metrics.messages_dropped += 1
                continue
            line.acks.setdefault(how, []).extend(its)
            self.touched(line)

    def _acknowledgement(self, how: How, events: list[EventId]) -> list[bytes]:
        return [*map(self.codec.encode, acked(events, how))]

    def bundle(self, peers: tuple[Peer, ...], publisher: Peer, besides: Peer) -> Bundle:
        """What goes to these peers in this turn of the loop, but not back to where it came from; in a frame that still
        has room."""
        bundle = self.bundles.get((peers, publisher, besides))
        if bundle is not None and bundle.size <= self.frame_bytes:
            return bundle
        if bundle is not None:
            self._distribute(bundle)
        targets = tuple(peer for peer in peers if peer not in (besides, publisher))
        bundle = self.bundles[peers, publisher, besides] = Bundle(targets, publisher)
        self._flush_soon()
        return bundle

    def _distribute(self, bundle: Bundle) -> None:
        bundle.close()
        for peer in bundle.targets:
            line = self.line(peer)
            if line.size > self.queue_bytes:
                self.metrics.copies_dropped += bundle.count
                continue
            line.take(bundle)
            self.metrics.copies_sent += bundle.count
            self.touched(line)

    def spread_large(self, peers: Iterable[Peer], copy: Copy, body: bytes, besides: Peer) -> int:
        sent = 0
        for peer in peers:
            if peer in (besides, copy.id.publisher):
                continue
            line = self.line(peer)
            if line.size > 4 * self.queue_bytes:
                self.metrics.copies_dropped += 1
                continue
            line.large.append((copy, body))
            line.mentions[copy.id.publisher] = None
            line.size += len(body)
            sent += 1
            self.touched(line)
        self.metrics.copies_sent += sent
        return sent

    def clogged(self) -> bool:
        """Whether some queue is half full: whoever publishes should wait."""
        half = self.queue_bytes // 2
        return any(
            line.size > half and line.slow < SLOW_SWEEPS for line in self.lines.values() if line.link is not None
        )


def publisher_of(event_id: EventId) -> Peer:
    return event_id.publisher
