"""Means with their 99 % intervals, and whether live and simulated agree.

A share is at most as uncertain as a coin of its mean: Wilson's interval holds for it, near 0 and 1 too. Other numbers
have Student's. Every event counts as one sample.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, stdev

from msgspec import Struct
from scipy.stats import norm, t

from benchmarks.services.counting import Row

SURE = 0.99
SHARES = ("reception", "reliability", "efficiency")


class Mean(Struct, frozen=True):
    side: str
    service: str
    community: str
    metric: str
    climb: float
    mean: float
    low: float
    high: float
    events: int

    def overlaps(self, other: "Mean") -> bool:
        return self.low <= other.high and other.low <= self.high


METRICS: dict[str, Callable[[Row], float | None]] = {
    "reception": lambda row: row.reached / row.members,
    "reliability": lambda row: float(row.reached == row.members),
    "efficiency": lambda row: row.useful / row.copies if row.copies else None,
    "hops": lambda row: row.hops_last,
    "sent_up": lambda row: float(row.sent_up),
}
"""Section 6.2.2's: who has an event, whether all of a community have it, how many copies were of use, how far the last
first copy travelled, how many copies went up. The last is of those who send: of the bottom and the middle."""


def summarise(rows: Iterable[Row]) -> list[Mean]:
    values: dict[tuple[str, str, str, str, float], list[float]] = {}
    for row in rows:
        for metric, of in METRICS.items():
            if (value := of(row)) is not None:
                values.setdefault((row.side, row.service, row.community, metric, row.climb), []).append(value)
    return [
        Mean(*key, *map(rounded, (fmean(each), *interval(each, key[3] in SHARES))), len(each))
        for key, each in sorted(values.items())
    ]


def rounded(value: float) -> float:
    return round(value, 6)


def interval(values: Sequence[float], share: bool) -> tuple[float, float]:
    return wilson(fmean(values), len(values)) if share else student(values)


def wilson(mean: float, count: int) -> tuple[float, float]:
    z = float(norm.ppf((1 + SURE) / 2))
    middle, wide = mean + z * z / (2 * count), z * math.sqrt(mean * (1 - mean) / count + z * z / (4 * count * count))
    whole = 1 + z * z / count
    return max(0.0, (middle - wide) / whole), min(1.0, (middle + wide) / whole)


def student(values: Sequence[float]) -> tuple[float, float]:
    """Of one value alone: anything."""
    if len(values) < 2:
        return 0.0, math.inf
    wide = float(t.ppf((1 + SURE) / 2, len(values) - 1)) * stdev(values) / math.sqrt(len(values))
    return max(0.0, fmean(values) - wide), fmean(values) + wide  # nothing here is less than nothing


def pairs(means: Iterable[Mean]) -> list[tuple[Mean, Mean]]:
    """Live and simulated, where both were measured."""
    by_key = {(each.side, each.service, each.community, each.metric, each.climb): each for each in means}
    live = [each for each in by_key.values() if each.side == "live"]
    others = [by_key.get(("simulated", each.service, each.community, each.metric, each.climb)) for each in live]
    return [(each, other) for each, other in zip(live, others, strict=True) if other is not None]
