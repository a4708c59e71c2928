"""How many to tell, and how many crash: numbers every protocol of this family shares."""

import math


def fanout(size: int, extra: float) -> int:
    """Others a first receiver tells: floor(ln N + c), never more than there are, never itself."""
    if size <= 1:
        return 0
    return max(0, min(size - 1, math.floor(math.log(size) + extra)))


def crashed(size: int, fraction: float) -> int:
    """How many of a community are crashed from the start: exactly round(fraction × size)."""
    return round(fraction * size)
