"""A node in hpmcast's hierarchy, where whoever takes part carries what others want."""

import logging
from typing import TYPE_CHECKING

from gossamer.core.ids import Peer
from gossamer.core.machine import Message
from gossamer.protocols.hpmcast.addresses import distance, written
from gossamer.protocols.hpmcast.layer import Hpmcast
from gossamer.protocols.hpmcast.messages import LevelGossip, SubsystemRow

if TYPE_CHECKING:
    from gossamer.live.station import Station

log = logging.getLogger("gossamer.node")

TWINS_MAX = 16
"Nodes at this one's address that are told of, each once."


def take_part(station: "Station") -> None:
    """Only who may read all of the community gets rows, a place in a view, or events. Does nothing where there is no
    hierarchy."""
    hierarchy, pending = station.machine.spread, station.machine.publications.pending
    if not isinstance(hierarchy, Hpmcast):
        return
    community, hearing, handover = station.config.community, station.hearing, station.handover
    station.driver.sealed = hearing.seals.sealed
    station.driver.may_read = lambda peer, topic: hearing.may(peer, "subscribe", topic)
    hearing.seals.takes_part = lambda peer: hearing.may(peer, "subscribe", community)
    handover.is_underway = lambda: bool(hierarchy.gossips)
    handover.is_unwanted = lambda event_id: event_id not in hierarchy.gossips and event_id not in pending
    around = Neighbourhood(station)
    hearing.seals.bound = around.bound
    hearing.seals.met, hearing.met = around.row, around.somebody
    hearing.arrivals.fits = around.fits


class Neighbourhood:
    """Where a node lives, and what that makes of others."""

    def __init__(self, station: "Station") -> None:
        self.me, self.trust, self.book = station.me, station.trust, station.book
        self.address = station.design.address
        self.bound = bool(self.trust.lives_at(self.me))
        """Whether others must have been granted their addresses too. Settled when the node starts, so that all nodes of
        a network can be brought such grants while it runs, and started again one by one."""
        self.twins: dict[Peer, None] = {}
        self.told = False

    def fits(self, peer: Peer, message: Message) -> bool:
        """Events are told on levels that both ends share: nobody from outside may say that all is done below."""
        if not isinstance(message, LevelGossip):
            return True
        granted = self.trust.lives_at(peer)
        return message.level >= distance(granted, self.address) if granted else not self.bound

    def row(self, row: SubsystemRow) -> None:
        """Says once of everybody that it lives where this node does."""
        who = row.author
        if row.about != self.address or not row.count or who == self.me or who in self.twins:
            return
        if len(self.twins) < TWINS_MAX:
            self.twins[who] = None
            log.warning(
                "%s lives at %s, and so does %s: give every node an address of its own",
                self._name(who),
                written(self.address),
                self.trust.name,
            )

    def somebody(self, peer: Peer) -> None:
        """Says once that others were granted their addresses, and this node was not."""
        if not self.told and not self.trust.lives_at(self.me) and self.trust.lives_at(peer):
            self.told = True
            log.warning(
                "%s lives where it was granted to, and %s says itself where it lives, so it may be refused: "
                "gossamer keys grant NETWORK --node %s --address %s makes a grant that says it",
                self._name(peer),
                self.trust.name,
                self.trust.name,
                written(self.address),
            )

    def _name(self, peer: Peer) -> str:
        entry = self.book.get(peer)
        return str(peer) if entry is None else entry.record.name
