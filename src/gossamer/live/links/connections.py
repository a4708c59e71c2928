"""Links to whomever the node talks with: called on demand, kept, called again, given up, closed.

Invariant: at most one line per peer, and nothing is sent on a link before both ends know who the other is.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from gossamer.core.errors import PeerFault
from gossamer.core.ids import Peer
from gossamer.live.keys.trust import Trust
from gossamer.live.links.address_book import AddressBook
from gossamer.live.links.calls import Calls
from gossamer.live.links.complaints import Complaints
from gossamer.live.links.conduct import Conduct
from gossamer.live.links.control import Bye
from gossamer.live.links.link import Link, Receiver
from gossamer.live.links.outgoing import Outgoing
from gossamer.live.links.transports import Channel, Transport
from gossamer.live.watching.metrics import Metrics
from gossamer.live.watching.recorder import Recorder
from gossamer.live.watching.watched_loop import WatchedLoop
from gossamer.wire.codec import Codec
from gossamer.wire.frame import OLDEST, VERSION, Hello, batch_frame, packed

log = logging.getLogger("gossamer.links")

SWEEP_S = 1.0
DRIP_SWEEPS = 10
"A frame may take this many sweeps to arrive, and the other end as many to close a link after a goodbye."
LINKS_PER_PEER = 8
"Open at once; two call each other at the same time, and links that ended take a while to close."


class Arriving(Receiver, Protocol):
    """Whoever judges what nodes say."""

    def proved(self, hello: Hello) -> None:
        """A node is who it says, and is about to be linked."""

    def greeted(self, link: Link, hello: Hello) -> None:
        """A node is linked."""


class Attached(Protocol):
    """Whoever serves clients."""

    def attached(self, link: Link) -> None: ...
    def detached(self, link: Link) -> None: ...
    def drained(self, link: Link) -> None: ...
    def sweep(self) -> None: ...


class Connections:
    """All links of one node.

    What comes over a link is told to `incoming`, which answers over links: the one is built by the other."""

    def __init__(
        self,
        me: Peer,
        transport: Transport,
        trust: Trust,
        book: AddressBook,
        codec: Codec,
        metrics: Metrics,
        recorder: Recorder | None,
        clients: Attached,
        given_up: Callable[[Peer], None],
        loop: WatchedLoop,
        incoming: "Callable[[Connections], Arriving]",
        *,
        network: str,
        spread: str,
        handshake_s: float = 5.0,
        dial_s: float = 5.0,
        idle_s: float = 300.0,
        queue_bytes: int = 8 << 20,
        frame_bytes: int = 256 << 10,
        links_max: int = 1000,
        strangers_max: int = 64,
    ) -> None:
        self.me, self.transport, self.trust, self.book = me, transport, trust, book
        self.codec, self.metrics, self.recorder, self.clients = codec, metrics, recorder, clients
        self.network, self.spread = network, spread
        self.own = b""
        "This node's own record."
        self.handshake_s, self.dial_s, self.idle_s = handshake_s, dial_s, idle_s
        self.links_max, self.strangers_max = links_max, strangers_max
        self.links: dict[Link, None] = {}
        self.closing = False
        self.loop = loop
        self.complaints = Complaints()
        self.conduct = Conduct()
        self.calls = Calls(self, given_up)
        self.outgoing = Outgoing(self.calls, book, codec, metrics, queue_bytes, frame_bytes)
        self.lines = self.outgoing.lines
        self._idle: dict[Link, float] = {}
        self._dripping: dict[Link, int] = {}
        self._sweep = self.loop.call_later(SWEEP_S, self._swept)
        self.incoming = incoming(self)

    # -- calls --------------------------------------------------------------------------------------------------

    def answer(self, channel: Channel) -> Link:
        """Somebody calls."""
        link = self.link(channel, dialed=False)
        if self.closing or len(self.links) > self.links_max or self._strangers() > self.strangers_max:
            link.refuse("too many callers")
        return link

    def link(self, channel: Channel, dialed: bool) -> Link:
        """Whoever is at the other end is about to say who it is."""
        link = Link(self, self.incoming, channel, dialed)
        self.links[link] = None
        return link

    def turned_away(self, reason: str, where: str, detail: str) -> None:
        """A caller did not get as far as a link."""
        log.info("turned away a caller from %s: %s", where, detail)
        self.refused(None, reason)

    def _strangers(self) -> int:
        return sum(1 for link in self.links if link.peer is None)

    # -- what links tell ----------------------------------------------------------------------------------------

    def refused(self, peer: Peer | None, reason: str) -> None:
        self.metrics.refuse(reason)
        if self.recorder is not None:
            self.recorder.refused(peer, reason)

    def renew(self, own: bytes) -> None:
        """This node's record is another: whoever is linked hears of it."""
        self.own = own
        for link in self.links:
            if link.role == "client" and not link.closed:
                link.write(batch_frame([packed(own)], [], [], [], link.version))
        for line in self.lines.values():
            line.mentions[self.me] = None
            self.outgoing.touched(line)

    def hello(self) -> Hello:
        return Hello(OLDEST, VERSION, self.network, "node", self.own, self.trust.revocations()[0], self.spread)

    def greeted(self, link: Link, hello: Hello) -> None:
        assert link.peer is not None
        self.metrics.links += 1
        if hello.role == "client":
            self.clients.attached(link)
            return
        same = [each for each in self.links if each.peer == link.peer and each.role != "client"]
        if len(same) > LINKS_PER_PEER:
            same[0].refuse("too many links")
        self.calls.lost.pop(link.peer, None)
        self.incoming.proved(hello)
        line = self.outgoing.line(link.peer)
        if not link.dialed:  # one that greets us when we call may still hang up
            line.failures, line.blocked_until_s = 0, 0.0
        other = line.link
        if other is None or other.closed or other.dialed == link.dialed or self._prefers(link):
            line.link = link
            if other is not None and not other.closed:
                self._retire(other)
        else:
            self._retire(link)
        self.incoming.greeted(link, hello)
        self.outgoing.touched(line)

    def _prefers(self, link: Link) -> bool:
        """Of two links between the same two nodes, both keep the one the smaller number called."""
        return link.peer is not None and link.dialed == (self.me < link.peer)

    def _retire(self, link: Link) -> None:
        """Says goodbye on a link; the other end closes it once it has said all it had to say there."""
        if not link.ending:
            link.ending = True
            link.write(batch_frame([], [], [], [self.codec.encode(Bye())], link.version))

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
            self.clients.detached(link)
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
            self.calls.lose(line)

    def drop(self, peer: Peer) -> None:
        """The process with this name is gone: its link, and what waits for it, go too."""
        self.outgoing.flush()  # copies of this turn of the loop are not in its line yet
        if (line := self.lines.get(peer)) is not None:
            line.clear()
            if line.link is not None:
                link, line.link = line.link, None
                link.close()

    def drained(self, link: Link) -> None:
        if link.role == "client":
            self.clients.drained(link)
        elif link.peer is not None and (line := self.lines.get(link.peer)) is not None and line.link is link:
            self.outgoing.drained(line)

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
        self.clients.sweep()
        for peer, line in tuple(self.lines.items()):
            line.slow = line.slow + 1 if line.size > self.outgoing.queue_bytes // 2 else line.slow if line.size else 0
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
        self.outgoing.flush()
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
