"""Numbers that are asked for rather than counted."""

from typing import TYPE_CHECKING

from gossamer.core.topics import ROOT
from gossamer.protocols.assemble import hierarchy_of, overlay_of

if TYPE_CHECKING:
    from gossamer.live.station import Station


def look_up(station: "Station") -> None:
    """Before a page of numbers is written."""
    metrics = station.metrics
    metrics.peers_known = len(station.book)
    metrics.revocations = station.trust.revocations()[0]
    metrics.clock_jumps = station.clock.jumps
    metrics.inbox_spills = station.readers.spills()
    if station.spool is not None:
        metrics.spool_bytes, metrics.spool_lost = station.spool.used_bytes, station.spool.lost
    metrics.spool_pending = len(station.handover.unacked) + station.handover.shelved
    if station.recorder is not None:
        metrics.trace_rows_dropped = station.recorder.writer.rows_lost
    if (hierarchy := hierarchy_of(station.machine)) is not None:
        tables = hierarchy.members.tables
        metrics.hierarchy_nodes = hierarchy.size(ROOT)
        metrics.hierarchy_view = len(tables.peers())
        metrics.hierarchy_level = max(level for level in range(1, tables.levels + 1) if tables.stands(level))
    if (overlay := overlay_of(station.machine)) is not None:
        greedy, random = overlay.links.tasks
        metrics.overlay_neighbours = len(overlay.links.neighbours())
        metrics.overlay_greedy, metrics.overlay_random = greedy.degree, random.degree
        metrics.overlay_uncovered = greedy.under
        metrics.view_nodes = len(overlay.view.entries())
