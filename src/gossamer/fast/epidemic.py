"""Runs the kernel of dispatching and recovery: many seeded runs of one setting."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gossamer.fast.compile import compiled
from gossamer.protocols.recovery import columns as col
from gossamer.protocols.recovery.arrays import Room, prepare
from gossamer.protocols.recovery.setting import EpidemicSetting

KERNEL = "gossamer.protocols.recovery.kernel"
SCALE_MAX = 1 << 10


class Result(NamedTuple):
    """What one run came to. Hops and messages are those of the whole run, whether they arrived or not."""

    seed: int
    events: int
    "Published in the whole run."
    expected: int
    "Pairs of a subscriber and an event of the window that matches; a publisher may be its own subscriber."
    delivered: int
    "Those of them where the event arrived before the end."
    delivery: float
    "The share of the two; 1 if nothing was expected."
    gossip_hops_per_s: float
    "Per dispatcher: messages Digest, Lost and Ask."
    event_hops_per_s: float
    "Per dispatcher: events along the tree."
    requests: int
    "Messages Want."
    retransmissions: int
    "Messages Again."
    recovery_latency_ms: float | None
    "The mean time from when an event was found missing to when it came again; None if none did."
    recovery_latency_ms_p50: float | None
    recovery_latency_ms_p99: float | None
    gossip_hops: int
    event_hops: int
    digests: int
    "Hops of push,"
    lost_digests: int
    "of subscriber pull,"
    asks: int
    "of publisher pull."
    missed: int
    "Losses noticed: an event that is missing under two patterns counts twice."
    expired: int
    "Those of them that were asked for until the time for it was over."
    recovered: int
    "Events that came again and were new: noticed to be missing or not."
    useless: int
    "Events that came again and were there already."
    served_by_publisher: int
    "Retransmissions by the event's own publisher."
    served_max: int
    "Retransmissions by whoever sent most of them."
    served_event_max: int
    "How often a publisher sent the same event again, at most."
    matched_tagging: int
    "Patterns a publisher compares its events with, so that each gets all its tags,"
    matched_routing: int
    "and everybody to route them: for each neighbour until one pattern matches."
    routed: int
    "How often an event was routed: once at its publisher, once at each dispatcher it was spread to."


def run(setting: EpidemicSetting, seeds: Sequence[int]) -> list[Result]:
    """One result per seed."""
    return [result(setting, seed, play(setting, seed)) for seed in seeds]


def play(setting: EpidemicSetting, seed: int) -> Room:
    """One run; what is left when it is over. Starts anew with more room where there was too little."""
    kernel = compiled(KERNEL)["run"]
    scale = 1
    while scale <= SCALE_MAX:
        room = prepare(setting, seed, scale)
        kernel(*room)
        if not room.mail.clock[col.FAULT]:
            return room
        scale *= 4
    raise OverflowError("the network is flooded by its own recovery: lengthen the interval or shorten the run")


def result(setting: EpidemicSetting, seed: int, room: Room) -> Result:
    counts = [int(each) for each in room.desks.counts]
    expected, delivered = counts[col.EXPECTED], counts[col.DELIVERED]
    gossip_hops = counts[col.DIGESTS] + counts[col.LOST_DIGESTS] + counts[col.ASKS]
    mean, p50, p99 = latencies_ms(room.desks.latencies[: room.mail.clock[col.MEASURED]])
    dispatcher_seconds = setting.dispatchers * setting.seconds
    return Result(
        seed=seed,
        events=len(room.book.at_us),
        expected=expected,
        delivered=delivered,
        delivery=delivered / expected if expected else 1.0,
        gossip_hops_per_s=gossip_hops / dispatcher_seconds,
        event_hops_per_s=counts[col.EVENT_HOPS] / dispatcher_seconds,
        requests=counts[col.REQUESTS],
        retransmissions=counts[col.RETRANSMISSIONS],
        recovery_latency_ms=mean,
        recovery_latency_ms_p50=p50,
        recovery_latency_ms_p99=p99,
        gossip_hops=gossip_hops,
        event_hops=counts[col.EVENT_HOPS],
        digests=counts[col.DIGESTS],
        lost_digests=counts[col.LOST_DIGESTS],
        asks=counts[col.ASKS],
        missed=counts[col.MISSED_COUNT],
        expired=counts[col.EXPIRED],
        recovered=counts[col.RECOVERED],
        useless=counts[col.USELESS],
        served_by_publisher=counts[col.SERVED_BY_PUBLISHER],
        served_max=counts[col.SERVED_MAX],
        served_event_max=counts[col.ASKED_MAX],
        matched_tagging=counts[col.MATCHED_TAGGING],
        matched_routing=counts[col.MATCHED_ROUTING],
        routed=counts[col.ROUTED],
    )


def latencies_ms(found_us: Any) -> tuple[float | None, float | None, float | None]:
    """Mean, median and 99th percentile."""
    if not len(found_us):
        return None, None, None
    p50, p99 = np.percentile(found_us, (50, 99))
    return float(found_us.mean()) / 1e3, float(p50) / 1e3, float(p99) / 1e3
