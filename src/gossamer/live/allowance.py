"""How much of something somebody may do: so many at once, and so many a second on average (a token bucket)."""

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

KEPT_MAX = 10_000


class Allowance:
    """Full at first; what was taken comes back with time."""

    __slots__ = ("at_s", "burst", "left", "per_s")

    def __init__(self, per_s: float, burst: float, now_s: float) -> None:
        self.per_s, self.burst = per_s, burst
        self.left = burst
        self.at_s = now_s

    def take(self, now_s: float, cost: float = 1.0) -> bool:
        """False: there is not enough left, and nothing was taken."""
        if now_s > self.at_s:
            self.left = min(self.burst, self.left + (now_s - self.at_s) * self.per_s)
            self.at_s = now_s
        if self.left < cost:
            return False
        self.left -= cost
        return True


class Allowances(Generic[K]):
    """One for each key, bounded: whoever asked longest ago begins anew."""

    def __init__(self, per_s: float, burst: float, kept_max: int = KEPT_MAX) -> None:
        self.per_s, self.burst, self.kept_max = per_s, burst, kept_max
        self.kept: dict[K, Allowance] = {}

    def take(self, key: K, now_s: float, cost: float = 1.0) -> bool:
        found = self.kept.pop(key, None) or Allowance(self.per_s, self.burst, now_s)
        self.kept[key] = found
        if len(self.kept) > self.kept_max:
            del self.kept[next(iter(self.kept))]
        return found.take(now_s, cost)
