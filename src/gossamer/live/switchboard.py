"""Links to whomever the node talks with: called on demand, kept, called again, given up, closed.

Invariant: at most one line per peer, and nothing is sent on a link before both ends know who the other is.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from gossamer.core.errors import PeerFault
from gossamer.core.ids import EventId, Peer
from gossamer.live.book import Book
from gossamer.live.bundle import Bundle
from gossamer.live.calls import Calls
from gossamer.live.complaints import Complaints
from gossamer.live.line import Line
from gossamer.live.link import Link
from gossamer.live.metrics import Metrics
from gossamer.live.transports import Channel, Transport
from gossamer.live.trust import Record, Trust
from gossamer.wire.frame import FRAME_BYTES_MAX, PART_BYTES, Batch, Copy, Hello

log = logging.getLogger("gossamer.links")

SWEEP_S = 1.0
DRIP_SWEEPS = 10
"A frame may take this many sweeps to arrive, and the other end as many to close a link after a goodbye."
SLOW_SWEEPS = 3
"A peer that takes longer to read what waits for it holds up nobody any more; what finds no room is dropped."
LINKS_PER_PEER = 8
"Open at once; two call each other at the same time, and links that ended take a while to close."


class Office(Protocol):
    """Whom the switchboard tells: the driver."""

    def hello(self) -> Hello: ...
    def admit(self, hello: Hello) -> Record: ...
    def batch(self, link: Link, batch: Batch) -> None: ...
    def large(self, link: Link, copy: Copy | None, body: bytes) -> None: ...
    def peer_up(self, link: Link, hello: Hello) -> None: ...
    def peer_down(self, peer: Peer) -> None: ...
    def client_up(self, link: Link) -> None: ...
    def client_down(self, link: Link) -> None: ...
    def acknowledge(self, acks: list[EventId]) -> bytes: ...


class Switchboard:
    """All links of one node."""

    def __init__(
        self,
        me: Peer,
        office: Office,
        transport: Transport,
        trust: Trust,
        book: Book,
        metrics: Metrics,
        *,
        handshake_s: float = 5.0,
        dial_s: float = 5.0,
        idle_s: float = 300.0,
        queue_bytes: int = 8 << 20,
        frame_bytes: int = 256 << 10,
        links_max: int = 1000,
        strangers_max: int = 64,
    ) -> None:
        self.me, self.office, self.transport, self.trust = me, office, transport, trust
        self.book, self.metrics = book, metrics
        self.handshake_s, self.dial_s, self.idle_s = handshake_s, dial_s, idle_s
        self.frame_bytes = min(frame_bytes, FRAME_BYTES_MAX - 3 * PART_BYTES)
        "Where a frame is closed: two packs, or an event, may still be on their way into it."
        self.queue_bytes, self.links_max, self.strangers_max = queue_bytes, links_max, strangers_max
        self.lines: dict[Peer, Line] = {}
        self.links: dict[Link, None] = {}
        self.dirty: list[Line] = []
        self.bundles: dict[tuple[tuple[Peer, ...], Peer, Peer], Bundle] = {}
        "Copies of this turn of the loop, by whom they are for and whom they are from."
        self.closing = False
        self.loop = asyncio.get_running_loop()
        self.flushing = False
        self.relieved: asyncio.Event = asyncio.Event()
        "Set when some queue has room again."
        self.on_refusal: Callable[[Peer | None, str], None] = lambda peer, reason: None
        "Told of everything that was refused."
        self.complaints = Complaints()
        self.calls = Calls(self, office.peer_down)
        self._idle: dict[Link, float] = {}
        self._dripping: dict[Link, int] = {}
        self._sweep = self.loop.call_later(SWEEP_S, self._swept)

    # -- sending ------------------------------------------------------------------------------------------------

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
            line.flush(self.book, self.office.acknowledge, self.frame_bytes)

    def say(self, peers: Iterable[Peer], message: bytes, mentions: tuple[Peer, ...] = ()) -> None:
        for peer in peers:
            line = self.line(peer)
            if line.size > self.queue_bytes:
                self.metrics.messages_dropped += 1
                continue
            line.say(message, mentions)
            self.touched(line)

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

    # -- calls --------------------------------------------------------------------------------------------------

    def answer(self, channel: Channel) -> Link:
        """Somebody calls."""
        link = Link(self, channel, dialed=False)
        self.links[link] = None
        if self.closing or len(self.links) > self.links_max or self._strangers() > self.strangers_max:
            link.refuse("too many callers")
        return link

    def _strangers(self) -> int:
        return sum(1 for link in self.links if link.peer is None)

    # -- what links tell ----------------------------------------------------------------------------------------

    def refused(self, peer: Peer | None, reason: str) -> None:
        self.metrics.refuse(reason)
        self.on_refusal(peer, reason)

    def hello(self) -> Hello:
        return self.office.hello()

    def admit(self, hello: Hello) -> Record:
        return self.office.admit(hello)

    def batch(self, link: Link, batch: Batch) -> None:
        self.office.batch(link, batch)

    def large(self, link: Link, copy: Copy | None, body: bytes) -> None:
        self.office.large(link, copy, body)

    def greeted(self, link: Link, hello: Hello) -> None:
        assert link.peer is not None
        self.metrics.links += 1
        if hello.role == "client":
            self.office.client_up(link)
            return
        same = [each for each in self.links if each.peer == link.peer and each.role != "client"]
        if len(same) > LINKS_PER_PEER:
            same[0].refuse("too many links")
        line = self.line(link.peer)
        if not link.dialed:  # one that greets us when we call may still hang up
            line.failures, line.blocked_until_s = 0, 0.0
        other = line.link
        if other is None or other.closed or other.dialed == link.dialed or self._prefers(link):
            line.link = link
            if other is not None and not other.closed:
                self._retire(other)
        else:
            self._retire(link)
        self.office.peer_up(link, hello)
        self.touched(line)

    def _prefers(self, link: Link) -> bool:
        """Of two links between the same two nodes, both keep the one the smaller number called."""
        return link.peer is not None and link.dialed == (self.me < link.peer)

    def _retire(self, link: Link) -> None:
        """Says goodbye on a link; the other end closes it once it has said all it had to say there."""
        if not link.ending:
            link.ending = True
            link.write(self.bye(link))

    bye: Callable[[Link], bytes]
    "The goodbye as it travels; set by the driver, who has the codec."

    def said_bye(self, link: Link) -> None:
        link.ending = True
        if link.peer is not None and (line := self.lines.get(link.peer)) is not None and line.link is link:
            line.link = None
        link.close()

    def lost(self, link: Link, why: str) -> None:
        self.links.pop(link, None)
        self._idle.pop(link, None)
        self._dripping.pop(link, None)
        if link.peer is None:
            return
        self.metrics.links -= 1
        self.metrics.closed(why)
        if link.role == "client":
            self.office.client_down(link)
            return
        line = self.lines.get(link.peer)
        if line is None or line.link is not link:
            return
        line.link = None
        if link.ending or self.closing or line.dialing:
            return
        if link.dialed and not link.was_heard:
            self.calls.give_up(line)  # it greeted us and hung up: it will not take us, however often we call
        else:
            line.failures, line.blocked_until_s = 0, 0.0
            self.calls.call(line)  # is it gone, or only the connection? Find out now, not when it is needed

    def drained(self, link: Link) -> None:
        self.relieved.set()
        if link.peer is not None and (line := self.lines.get(link.peer)) is not None and line.link is link:
            line.flush(self.book, self.office.acknowledge, self.frame_bytes)

    # -- now and then -------------------------------------------------------------------------------------------

    def _swept(self) -> None:
        self._sweep = self.loop.call_later(SWEEP_S, self._swept)
        self.sweep(self.loop.time())

    def sweep(self, now_s: float) -> None:
        """Ends links on which nothing moves though it should, and those that nobody has needed for long."""
        for link in tuple(self.links):
            stuck = self._dripping.get(link, 0) + 1 if link.drips() or link.ending else 0
            self._dripping[link] = stuck
            if stuck >= DRIP_SWEEPS and link.ending:
                link.channel.abort()
                link.lost("closing")
            elif stuck >= DRIP_SWEEPS:
                link.refuse("slow frame")
        for peer, line in tuple(self.lines.items()):
            line.slow = line.slow + 1 if line.size > self.queue_bytes // 2 else line.slow if line.size else 0
            if line.link is not None:
                self.book.touch(peer)
            if line.link is None:
                if not line.dialing and not line.size and now_s > line.blocked_until_s:
                    del self.lines[peer]
            elif line.used:
                line.used = False
                self._idle[line.link] = now_s
            elif now_s - self._idle.setdefault(line.link, now_s) > self.idle_s:
                self._retire(line.link)
                line.link = None

    def shut_out(self, peers: Sequence[Peer]) -> None:
        """Ends every link to these peers, and every link proved by a key that is revoked, now."""
        for link in tuple(self.links):
            if link.peer in peers or self._is_revoked(link):
                link.refuse("revoked")
        for peer in peers:
            self.lines.pop(peer, None)

    def _is_revoked(self, link: Link) -> bool:
        if link.channel.certificate is None:
            return False
        try:
            self.trust.caller(link.channel.certificate)
        except PeerFault:
            return True
        return False

    async def close(self, patience_s: float) -> None:
        """Says goodbye to everybody, and waits a little for what was said to leave."""
        self.closing = True
        self._sweep.cancel()
        await self.transport.close()
        self.flush()
        for link in tuple(self.links):
            if link.peer is not None and not link.ending:
                self._retire(link)
        await self.calls.close()
        deadline = self.loop.time() + patience_s
        while any(link.channel.pending() for link in self.links) and self.loop.time() < deadline:
            await asyncio.sleep(0.01)
        for link in tuple(self.links):
            link.close()
        while self.links and self.loop.time() < deadline:
            await asyncio.sleep(0.005)
        for link in tuple(self.links):
            link.channel.abort()
            link.lost("closing")
