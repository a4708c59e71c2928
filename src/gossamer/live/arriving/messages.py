"""Messages that arrive, judged before the machine hears of them.

One that makes somebody a member of a topic counts only if that node's grant says so; whoever is named must have been
introduced by a signed record.
"""

import logging

from msgspec import Raw, Struct

from gossamer.core.errors import PeerFault
from gossamer.core.ids import Peer
from gossamer.core.machine import Message, Received
from gossamer.core.messages import names_of
from gossamer.live.arriving.control_messages import ControlMessages
from gossamer.live.arriving.faults import DeliberateLoss
from gossamer.live.arriving.permissions import Permissions
from gossamer.live.arriving.requests import Requests
from gossamer.live.arriving.seals import Seals
from gossamer.live.links.address_book import AddressBook
from gossamer.live.links.link import Link
from gossamer.live.running.driver import Driver
from gossamer.live.watching.metrics import Metrics
from gossamer.wire.codec import Codec

log = logging.getLogger("gossamer.arriving")


class Messages:
    """Between links and machine, for everything that carries no event."""

    def __init__(
        self,
        book: AddressBook,
        codec: Codec,
        carriers: dict[str, type[Struct]],
        metrics: Metrics,
        driver: Driver,
        control: ControlMessages,
        permissions: Permissions,
        seals: Seals,
        requests: Requests,
        losing: DeliberateLoss | None,
    ) -> None:
        self.book, self.codec, self.metrics, self.driver = book, codec, metrics, driver
        self.control, self.permissions, self.seals = control, permissions, seals
        self.requests, self.losing = requests, losing
        self.carriers = tuple(carriers.values())

    def take(self, link: Link, raw: Raw | bytes) -> None:
        self.metrics.messages_received += 1
        try:
            message = self.codec.decode(raw)
        except PeerFault as wrong:
            if self.codec.knows(raw):
                if link.role == "client":
                    self.control.clients.unread(link, bytes(raw), str(wrong))
                link.strike("bad message", str(wrong))
            else:
                self.metrics.unknown_tags += 1
            return
        self.metrics.messages_by_tag.add(str(type(message).__struct_config__.tag))
        if not self.control.take(link, message):
            self._judge(link, message)

    def _judge(self, link: Link, message: Message) -> None:
        """What is for the machine, if it may hear it."""
        peer = link.peer
        assert peer is not None
        if link.role == "client":
            link.strike("not for clients", "a client sent what only nodes say")
        elif type(message) in self.carriers:
            link.strike("bad message", "an event outside its place")
        elif unknown := [who for who in names_of(message) if who not in self.book and who != self.driver.me]:
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
            self.driver.feed(Received(peer, genuine))

    def _liars(self, peer: Peer, message: Message) -> list[Peer]:
        """Whoever the message makes a member of a topic it may not read."""
        claimed = self.driver.machine.claims(message, peer)
        return [who for topic, who in claimed if not self.permissions.may(who, "subscribe", topic)]
