"""Keys that are no longer good: the list is taken from whoever has a newer one, and passed on."""

import logging

from gossamer.core.errors import PeerFault
from gossamer.core.ids import Peer
from gossamer.live.arriving.records import Records
from gossamer.live.keys.trust import Stranger, Trust
from gossamer.live.links.connections import Connections
from gossamer.live.links.control import Revoked
from gossamer.live.links.link import Link
from gossamer.live.running.driver import Driver
from gossamer.wire.codec import Codec
from gossamer.wire.frame import Hello

log = logging.getLogger("gossamer.links")


class Revoking:
    """One node's."""

    def __init__(self, trust: Trust, records: Records, codec: Codec, driver: Driver, connections: Connections) -> None:
        self.trust, self.records, self.codec, self.driver, self.connections = trust, records, codec, driver, connections

    def greeted(self, peer: Peer, hello: Hello) -> None:
        """Whoever has an older list is told ours."""
        version, data = self.trust.revocations()
        if version > hello.revocations:
            self.connections.outgoing.say([peer], self.codec.encode(Revoked(data)))

    def take(self, data: bytes, link: Link | None = None) -> None:
        """Takes a list of revoked keys, shuts its nodes out, and passes it on to everybody linked."""
        before, known = self.trust.revocations()
        if before and data == known:
            return
        if link is not None and not link.may_check():
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
            self.shut_out(out)

    def shut_out(self, out: list[Peer]) -> None:
        """The list grew: whoever is on it is gone, and everybody hears of it."""
        log.warning("the list of revoked keys is now version %d", self.trust.revocations()[0])
        self.records.check_again()
        if self.driver.me in out:
            log.error("the key of this node is revoked: no other node will take its calls any more")
        others = [peer for peer in out if peer != self.driver.me]
        self.connections.shut_out(others)
        for peer in others:
            self.records.book.remove(peer)
            self.driver.peer_down(peer)
        told = [peer for peer, line in self.connections.lines.items() if line.link is not None]
        self.connections.outgoing.say(told, self.codec.encode(Revoked(self.trust.revocations()[1])))
