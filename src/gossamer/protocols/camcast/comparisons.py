"""What CAMCAST and the three gossip baselines send and keep, and when CAMCAST is as reliable as they are.

The baselines (001 4.2): broadcast to the whole population; multicast, a gossip group per topic; hierarchical broadcast
over `groups` groups (C) of `group_size` processes (m), formed without regard to interest. Letters and the order of
`sizes` (root first) are those of `theory`.
"""

import math
from collections.abc import Sequence

from gossamer.parts.sampling import fanout
from gossamer.protocols.camcast.theory import all_reached_paper, upward_sent

# Messages


def gossip_messages(size: int, fanout_extra: float, reached: float = 1.0) -> float:
    """Messages inside one community when a share `reached` of it gets the event; exact, for each of them sends once."""
    return size * reached * fanout(size, fanout_extra)


def gossip_messages_paper(size: int, fanout_extra: float) -> float:
    """N (ln N + c), 001 4.3.1: an upper bound, since nobody sends a fraction of a message."""
    return size * (math.log(size) + fanout_extra)


def upward_received(
    size: int, electors: float, links: int, targets: float, success: float, reached: float = 1.0
) -> float:
    """nbUpwardMsg of 001 4.3.1, nbSuperMsg of 000: the upward messages that arrive."""
    return success * upward_sent(size, electors, links, targets, reached)


def total_messages(sizes: Sequence[int], fanout_extra: float, electors: float, links: int, targets: float) -> float:
    """Mean messages sent for an event of the bottom topic that reaches everybody: all levels but the root climb."""
    climbing = sum(upward_sent(size, electors, links, targets) for size in sizes[1:])
    return climbing + sum(gossip_messages(size, fanout_extra) for size in sizes)


def total_messages_paper(
    sizes: Sequence[int], fanout_extra: float, electors: float, links: int, targets: float, success: float
) -> float:
    """001 eq. 1 as printed: the root climbs and the bottom does not, and an upward message lost counts as not sent."""
    climbing = sum(upward_received(size, electors, links, targets, success) for size in sizes[:-1])
    return climbing + sum(gossip_messages_paper(size, fanout_extra) for size in sizes)


def total_messages_bound(sizes: Sequence[int], fanout_extra: float, links: int) -> float:
    """001 eq. 2. A bound from max N = 3 on: the paper asks for N > 1 but uses ln N >= 1."""
    size = max(sizes)
    return len(sizes) * size * (math.log(size) + fanout_extra + math.log(size) * links)


def total_messages_loose_bound(sizes: Sequence[int], fanout_extra: float, links: int) -> float:
    """001 eq. 3: above eq. 2 from max N = 3 on, if c >= 0."""
    return len(sizes) * max(sizes) * math.log(max(sizes)) * (1 + fanout_extra + links)


def broadcast_messages(population: int, fanout_extra: float) -> float:
    """000 eq. 7: n (ln n + c)."""
    return gossip_messages_paper(population, fanout_extra)


def multicast_messages(sizes: Sequence[int], fanout_extra: float) -> float:
    """001 eq. 4, 000 eq. 3: the event is gossiped in its topic's group and in that of every super-topic.

    These are groups of subscribers (pattern 2 of 001 3.1), while the memory formula counts groups of publishers (1).
    """
    return sum(gossip_messages_paper(size, fanout_extra) for size in sizes)


def hierarchical_messages(groups: int, group_size: int, extra_inside: float, extra_between: float) -> float:
    """001 eq. 5, 000 eq. 10: C m (ln C + ln m + c1 + c2)."""
    return groups * group_size * hierarchical_memory(groups, group_size, extra_inside, extra_between)


def broadcast_parasites(
    population: int, interested: int, fanout_extra: float, success: float, reached: float = 1.0
) -> float:
    """Mean receptions by uninterested processes in flat gossip; exact if everybody is reached (001 Table 2, row 2).

    Of the n - 1 others a sender picks from, the uninterested are u, or u - 1 if it is one itself: (n-u) u + u (u-1)
    pairs, each used with probability F/(n-1), which makes F s u.
    """
    return reached * success * fanout(population, fanout_extra) * (population - interested)


# Memory: entries per process


def memory(size: int, fanout_extra: float, links: int, root: bool = False) -> float:
    """CAMCAST: ln N + c + z, without z in the root community (001 4.4.1)."""
    return math.log(size) + fanout_extra + (0 if root else links)


def memory_damulticast(size: int, table_factor: float, links: int, root: bool = False) -> float:
    """CAMCAST with the topic tables of 000 V-A: (b + 1) ln N, where b = table_factor, and z links."""
    return (table_factor + 1) * math.log(size) + (0 if root else links)


def broadcast_memory(population: int, fanout_extra: float) -> float:
    """000 eq. 6: ln n + c."""
    return math.log(population) + fanout_extra


def multicast_memory(sizes: Sequence[int], fanout_extra: float, level: int = 0) -> float:
    """001 4.4.2, 000 eq. 2: one table ln N + c for the topic of this level and for each one below it."""
    return sum(math.log(size) + fanout_extra for size in sizes[level:])


def hierarchical_memory(groups: int, group_size: int, extra_inside: float, extra_between: float) -> float:
    """000 eq. 9: ln m + c1 to gossip inside the group, ln C + c2 between groups."""
    return math.log(group_size) + extra_inside + math.log(groups) + extra_between


def smaller_than_multicast(sizes: Sequence[int], level: int, fanout_extra: float, links: int) -> bool:
    """Whether a process of this level keeps less than with multicast at the same c; "always", says 001 4.4.2.

    Never at the bottom, whatever the depth: there multicast has the same one table and no links. In between, the links
    must be fewer than the entries of the tables below. In the root, without links, any entry below decides it.
    """
    return memory(sizes[level], fanout_extra, links, root=level == 0) < multicast_memory(sizes, fanout_extra, level)


# Reliability, all of the form exp(-terms * e^-c): 1 term for broadcast, one per level for multicast, C + 1 for
# hierarchical with c1 = c2 = c. Equal reliability then is one equation for all three,
#     levels * e^-c1 - climbs * ln pit = terms * e^-c,
# where 001 has climbs = levels, although the root does not climb: levels - 1 unless told otherwise.


def broadcast_reliability(fanout_extra: float) -> float:
    """001 4.5.2 (a): exp(-e^-c)."""
    return all_reached_paper(fanout_extra)


def multicast_reliability(levels: int, fanout_extra: float) -> float:
    """001 4.5.2 (b): the product of exp(-e^-c) over the levels."""
    return all_reached_paper(fanout_extra) ** levels


def hierarchical_reliability(groups: int, extra_inside: float, extra_between: float) -> float:
    """001 4.5.2 (c): exp(-C e^-c1 - e^-c2)."""
    return math.exp(-groups * math.exp(-extra_inside) - math.exp(-extra_between))


def matching_extra(terms: int, fanout_extra: float, levels: int, climb: float, climbs: int | None = None) -> float:
    """The c1 that makes CAMCAST as reliable as a baseline with c (000 eq. 16, 23, 28); infinite where none does."""
    left = terms * math.exp(-fanout_extra) - _climb_risk(levels, climb, climbs)
    return math.log(levels / left) if left > 0 else math.inf


def matching_range(terms: int, levels: int, climb: float, climbs: int | None = None) -> tuple[float, float]:
    """The baseline's c that CAMCAST can match with 0 <= c1 < infinity: from the first, up to but without the second.

    001 4.5.2 includes the upper end, where c1 would be infinite, and for (a) and (b) asks for c >= 0 as well, which is
    sufficient but not, as it says, necessary. Where the upper end is not positive, no sensible c can be matched.
    """
    risk = _climb_risk(levels, climb, climbs)
    return math.log(terms) - math.log(levels + risk), math.log(terms) - math.log(risk) if risk > 0 else math.inf


def links_below_broadcast(
    population: int, size: int, fanout_extra: float, levels: int, climb: float, climbs: int | None = None
) -> float:
    """000 eq. 25: the z up to which CAMCAST, equally reliable, keeps no more than broadcast; -infinity if unreachable.

    For a chain of equal communities, the paper's average case, n = levels * N and the bound is never above 0.
    """
    own = matching_extra(1, fanout_extra, levels, climb, climbs)
    return broadcast_memory(population, fanout_extra) - memory(size, own, 0)


def links_below_multicast(
    size: int, fanout_extra: float, levels: int, climb: float, climbs: int | None = None
) -> float:
    """000 eq. 19: the same against multicast, whose process is one of the root, with a table per level.

    It charges CAMCAST's root with links it does not have; see smaller_than_multicast for a given level.
    """
    own = matching_extra(levels, fanout_extra, levels, climb, climbs)
    return multicast_memory([size] * levels, fanout_extra) - memory(size, own, 0)


def links_below_hierarchical(
    groups: int, group_size: int, size: int, fanout_extra: float, levels: int, climb: float, climbs: int | None = None
) -> float:
    """000 eq. 30, which silently sets m = N: in general ln m - ln N is part of the bound."""
    own = matching_extra(groups + 1, fanout_extra, levels, climb, climbs)
    return hierarchical_memory(groups, group_size, fanout_extra, fanout_extra) - memory(size, own, 0)


def _climb_risk(levels: int, climb: float, climbs: int | None) -> float:
    """-ln of the probability that all climbs succeed."""
    times = levels - 1 if climbs is None else climbs
    if times == 0:
        return 0.0
    return -times * math.log(climb) if climb > 0 else math.inf
