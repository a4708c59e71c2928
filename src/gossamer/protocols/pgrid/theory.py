"""What the overlay should cost: closed formulas to hold measurements against."""

import math
from collections.abc import Sequence


def hops(leaves: int) -> float:
    """Peers asked on the way to a leaf, on average, if all leaves are alike: on every level a peer drawn on the right
    side of the levels before stands on the right one of this, too, every second time."""
    return math.log2(leaves) / 2


def hops_by_load(loads: Sequence[int]) -> float:
    """The same where leaves and peers are as uneven as the load: half the entropy of the load, at most."""
    total = sum(loads)
    return -sum(load / total * math.log2(load / total) for load in loads if load) / 2


def upkeep_per_s(levels: float, keep_every_us: int) -> float:
    """Messages a settled peer sends in a second: a question to one reference of each level, and to one of those who
    hold the same leaf, and as many answers."""
    return 2 * (levels + 1) / (keep_every_us / 1e6)
