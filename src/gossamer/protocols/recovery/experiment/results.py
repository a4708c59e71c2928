"""What a run of an experiment on recovery comes to, whether machines made it or a kernel."""

from typing import Any, NamedTuple

import numpy as np

from gossamer.protocols.recovery.experiment.setting import EpidemicSetting
from gossamer.protocols.recovery.experiment.topology import edges, neighbours
from gossamer.protocols.recovery.experiment.workload import workload


class Result(NamedTuple):
    """Deliveries are those of the window. Hops and messages are those of the whole run, whether they arrived or not."""

    seed: int
    events: int
    "Published in the whole run."
    expected: int
    "Pairs of a subscriber and an event of the window that matches; a publisher may be its own subscriber."
    delivered: int
    "Those of them where the event arrived before the end."
    event_hops: int
    "Events along the tree."
    digests: int
    "Hops of push,"
    lost_digests: int
    "of subscriber pull,"
    asks: int
    "and of publisher pull."
    requests: int
    "Messages Want."
    retransmissions: int
    "Messages Again."
    useless: int
    "Those of them that came to who had the event already."
    recovered: int
    "Those that were news, noticed to be missing or not."
    missed: int
    "Losses noticed: an event that is missing under two patterns counts twice."
    expired: int | None
    "Those of them that were asked for until it was time to give up; None: machines do not say."
    served_by_publisher: int
    "Retransmissions by the event's own publisher."
    served_max: int
    "Retransmissions by whoever sent most of them."
    served_event_max: int
    "How often a publisher sent the same event again, at most."
    matched_tagging: int
    "Patterns publishers compared their events with, to find all their tags."
    matched_routing: int
    """Patterns everybody compared events with to route them: for each neighbour, until one matched. 0 where the tree
    changes, as are `routed` and `matched_tagging`."""
    routed: int
    "How often an event was routed: at its publisher, and at each dispatcher it was spread to."
    delivery: float
    "The share of what was expected; 1 if nothing was."
    gossip_hops: int
    "Of all three kinds."
    gossip_hops_per_s: float
    "Per dispatcher."
    event_hops_per_s: float
    "Per dispatcher."
    recovery_latency_ms: float | None
    "The mean time from when an event was found missing to when it came again; None if none did."
    recovery_latency_ms_p50: float | None
    recovery_latency_ms_p99: float | None


def summed_up(setting: EpidemicSetting, seed: int, counted: dict[str, Any], latencies_us: Any, via: Any) -> Result:
    """`via` says, for each event and dispatcher, which neighbour it came from along the tree; -1: it did not."""
    gossip_hops = counted["digests"] + counted["lost_digests"] + counted["asks"]
    dispatcher_seconds = setting.dispatchers * setting.seconds
    mean, p50, p99 = latencies_ms(latencies_us)
    return Result(
        seed=seed,
        **counted,
        **matching(setting, seed, via)._asdict(),
        delivery=counted["delivered"] / counted["expected"] if counted["expected"] else 1.0,
        gossip_hops=gossip_hops,
        gossip_hops_per_s=gossip_hops / dispatcher_seconds,
        event_hops_per_s=counted["event_hops"] / dispatcher_seconds,
        recovery_latency_ms=mean,
        recovery_latency_ms_p50=p50,
        recovery_latency_ms_p99=p99,
    )


def latencies_ms(found_us: Any) -> tuple[float | None, float | None, float | None]:
    """Mean, median and 99th percentile."""
    if not len(found_us):
        return None, None, None
    p50, p99 = np.percentile(found_us, (50, 99))
    return float(np.mean(found_us)) / 1e3, float(p50) / 1e3, float(p99) / 1e3


class MatchCounts(NamedTuple):
    """See `Result`."""

    matched_tagging: int
    matched_routing: int
    routed: int


def matching(setting: EpidemicSetting, seed: int, via: Any) -> MatchCounts:
    """What routing by a plain table costs: each neighbour's patterns are compared one by one, in ascending order."""
    if setting.reconfigure_every_s:
        return MatchCounts(0, 0, 0)
    subscribed = setting.subscribed(seed)
    beside = neighbours(edges(setting, seed), setting.dispatchers)
    position, length = positions(beside, subscribed, setting.patterns)
    patterns = workload(setting, seed).patterns  # -1 stands last in `position`, and is nowhere
    event, who = np.nonzero(via >= 0)
    came_from, compared = via[event, who], 0
    for link in range(position.shape[1]):
        first = length[who, link]
        for column in range(patterns.shape[1]):
            first = np.minimum(first, position[who, link, patterns[event, column]])
        other = np.array([links[link] if link < len(links) else -1 for links in beside])
        compared += int(first[other[who] != came_from].sum())
    known = len({pattern for mine in subscribed for pattern in mine})
    return MatchCounts(0 if setting.recovery.method == "none" else known * len(via), compared, len(event))


def positions(beside: list[list[int]], subscribed: list[list[int]], patterns: int) -> tuple[Any, Any]:
    """For each dispatcher and link, how many patterns are compared until a given one is found, and how many there
    are."""
    n, degree = len(beside), max(len(links) for links in beside)
    wanted = np.zeros((n, degree, patterns + 1), np.bool_)
    for reader, mine in enumerate(subscribed):
        walk, came = [reader], {reader: -1}
        for here in walk:
            for other in beside[here]:
                if other != came[here]:
                    came[other] = here
                    walk.append(other)
                    wanted[other, beside[other].index(here), mine] = True
    counted = wanted.cumsum(axis=2)
    return np.where(wanted, counted, patterns + 1), counted[:, :, -1]
