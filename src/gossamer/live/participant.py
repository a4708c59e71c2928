"""A node in hpmcast's hierarchy, where whoever takes part carries what others want."""

from typing import TYPE_CHECKING

from gossamer.protocols.assemble import hierarchy_of
from gossamer.protocols.naming import wanting

if TYPE_CHECKING:
    from gossamer.live.station import Station


def take_part(station: "Station") -> None:
    """Only who may read all of the community gets rows, a place in a view, or events. Does nothing where there is no
    hierarchy."""
    hierarchy, machine = hierarchy_of(station.machine), station.machine
    if hierarchy is None:
        return
    community, hearing, handover = station.config.community, station.hearing, station.handover
    station.driver.sealed = hearing.seals.sealed
    station.driver.may_read = lambda peer, topic: hearing.may(peer, "subscribe", topic)
    hearing.seals.takes_part = lambda peer: hearing.may(peer, "subscribe", community)
    hearing.wanted = wanting(machine, community)
    handover.is_underway = lambda: bool(hierarchy.gossips)
    handover.is_unwanted = lambda event_id: event_id not in hierarchy.gossips and event_id not in machine.pending
