"""Records of other nodes: who they are, where they are, what they were granted. Each is checked before anybody is
introduced by it."""

import time

from gossamer.core.errors import PeerFault
from gossamer.core.ids import Peer, peer_of
from gossamer.core.machine import Introduced
from gossamer.live.arriving.permissions import Permissions
from gossamer.live.arriving.seals import Seals
from gossamer.live.keys.trust import Outdated, Record, Stranger, Trust
from gossamer.live.links.address_book import AddressBook
from gossamer.live.links.connections import Connections
from gossamer.live.links.link import Link
from gossamer.live.running.driver import Driver
from gossamer.live.running.spread_rules import SpreadRules


class Records:
    """From bytes to entries of the address book."""

    def __init__(
        self,
        me: Peer,
        trust: Trust,
        book: AddressBook,
        permissions: Permissions,
        seals: Seals,
        driver: Driver,
        rules: SpreadRules,
        connections: Connections,
    ) -> None:
        self.me, self.trust, self.book = me, trust, book
        self.permissions, self.seals, self.driver, self.rules = permissions, seals, driver, rules
        self.connections = connections

    def vouched(self, data: bytes) -> Record:
        """A record from outside, found genuine. It may bring a newer grant: what an older one allowed ends here."""
        self.permissions.forget()
        return self.trust.admit(data, time.time())

    def admit(self, data: bytes) -> Record:
        """The same; what is new is passed to the machine."""
        record = self.vouched(data)
        before = self.book.get(record.peer)
        if self.book.add(record, data):
            if before is not None and before.life != record.life:
                self._end_life(record.peer)
            self.rules.met(record.peer)
            self.driver.feed(Introduced(record.peer, owner_word(self.trust.owner(record.peer))))
        return record

    def met(self, data: bytes) -> None:
        """Whoever proved to be there showed this record: it lives the life that stands in it, whatever we know."""
        record = self.trust.admit(data, time.time())
        entry = self.book.get(record.peer)
        if entry is not None and entry.life != record.life:
            entry.life = record.life
            self._end_life(record.peer)

    def _end_life(self, peer: Peer) -> None:
        """A new process has the name: what the one before asked for it has not asked for. Records come before whatever
        names a peer, so nobody takes the new one's wishes for the old one's."""
        self.connections.drop(peer)
        self.driver.peer_down(peer)

    def take(self, link: Link, records: list[bytes]) -> None:
        """What a batch says of others, before it names them."""
        for data in records:
            if link.closed:
                return
            if self.book.holds(data):
                continue
            if not link.may_check():
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

    def check_again(self) -> None:
        """Grants or keys changed: nothing looked up before counts any more, and records must be good now."""
        self.permissions.forget()
        self.seals.forget()
        for peer, entry in tuple(self.book.entries.items()):
            try:
                self.trust.admit(entry.data, time.time())
            except PeerFault:
                if peer != self.me:
                    self.book.remove(peer)


def owner_word(owner: str) -> int:
    """An owner's label as a number; 0 for none."""
    return (peer_of(f"owner {owner}") or 1) if owner else 0
