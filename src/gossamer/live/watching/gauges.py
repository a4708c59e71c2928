"""Numbers that are asked for rather than counted."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.live.running.station import Station


def look_up(station: "Station") -> None:
    """Before a page of numbers is written."""
    metrics = station.metrics
    metrics.peers_known = len(station.book)
    metrics.revocations = station.trust.revocations()[0]
    metrics.clock_jumps = station.clock.jumps
    metrics.inbox_spills = station.readers.spills()
    metrics.subscription_behind.clear()
    for info in station.readers.durables.listed() if station.readers.durables is not None else ():
        metrics.subscription_behind.add(f"{info.owner}/{info.name}", info.behind)
    if station.spool is not None:
        metrics.spool_bytes, metrics.spool_lost = station.spool.used_bytes, station.spool.lost
    metrics.spool_pending = len(station.handover.unacked) + station.handover.backlog.left
    if station.recorder is not None:
        metrics.trace_rows_dropped = station.recorder.writer.rows_lost
    for layer in station.machine.layers:
        for name, value in layer.gauges().items():
            setattr(metrics, name, value)
