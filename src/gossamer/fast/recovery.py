"""Runs the kernel of dispatching and recovery: many seeded runs of one setting."""

from collections.abc import Sequence

from gossamer.fast.compile import compiled
from gossamer.protocols.recovery.experiment.results import Result, summed_up
from gossamer.protocols.recovery.experiment.setting import EpidemicSetting
from gossamer.protocols.recovery.kernel import columns as col
from gossamer.protocols.recovery.kernel.arrays import RunArrays, prepare

KERNEL = "gossamer.protocols.recovery.kernel.run"
SCALE_MAX = 1 << 10
COLUMNS = {
    "expected": col.EXPECTED,
    "delivered": col.DELIVERED,
    "event_hops": col.EVENT_HOPS,
    "digests": col.DIGESTS,
    "lost_digests": col.LOST_DIGESTS,
    "asks": col.ASKS,
    "requests": col.REQUESTS,
    "retransmissions": col.RETRANSMISSIONS,
    "useless": col.USELESS,
    "recovered": col.RECOVERED,
    "missed": col.MISSED_COUNT,
    "expired": col.EXPIRED,
    "served_by_publisher": col.SERVED_BY_PUBLISHER,
    "served_max": col.SERVED_MAX,
    "served_event_max": col.ASKED_MAX,
}
"Where a result's numbers stand."


def run(setting: EpidemicSetting, seeds: Sequence[int]) -> list[Result]:
    """One result per seed."""
    return [result(setting, seed, play(setting, seed)) for seed in seeds]


def play(setting: EpidemicSetting, seed: int) -> RunArrays:
    """One run; what is left when it is over. Starts anew with more room where there was too little."""
    kernel = compiled(KERNEL)
    scale = 1
    while scale <= SCALE_MAX:
        room = prepare(setting, seed, scale)
        kernel(*room)
        if not room.mail.clock[col.FAULT]:
            return room
        scale *= 4
    raise OverflowError("the network is flooded by its own recovery: lengthen the interval or shorten the run")


def result(setting: EpidemicSetting, seed: int, room: RunArrays) -> Result:
    mail, book, _, desks = room
    counted = {name: int(desks.counts[column]) for name, column in COLUMNS.items()}
    measured = desks.latencies[: mail.clock[col.MEASURED]]
    return summed_up(setting, seed, {"events": len(book.at_us), **counted}, measured, desks.via)
