"""Membership services below CAMCAST, beside tables that are drawn uniformly."""

from collections.abc import Iterable
from math import hypot, sqrt
from statistics import fmean, pvariance

import pytest

from gossamer.lab.grid import points
from gossamer.lab.rows import Outcome
from gossamer.lab.spec import read
from gossamer.lab.trial import run_trials

Shares = dict[tuple[str, float, str], list[float]]
TOWNS, DRAWN = 60, 4000


def shares(rows: Iterable[Outcome]) -> Shares:
    """By community, chance to climb and measure: reception and reliability of each event."""
    found: Shares = {}
    for row in rows:
        if row.climb is not None and row.group in (".", ".d"):
            found.setdefault((row.group, row.climb, "reception"), []).append(row.reached / row.live)
            found.setdefault((row.group, row.climb, "reliability"), []).append(float(row.reached == row.live))
    return found


def apart(ours: list[float], ideal: list[float]) -> float:
    """How many standard errors two means are apart. A town that never misses has no spread of its own to speak of."""
    spread = max(pvariance(ours), pvariance(ideal))
    error = hypot(sqrt(spread / len(ours)), sqrt(pvariance(ideal) / len(ideal)))
    return abs(fmean(ours) - fmean(ideal)) / error if error else 0.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["structured"])
def test_tables_of_an_overlay_are_as_good_as_uniform_ones(name: str) -> None:
    raw, source = read("camcast/services")
    (living,) = [point for point in points(raw, source) if point.swept["case"] == name]
    (fixed,) = points(*read("camcast/uniform"))
    ours = shares(run_trials(living, range(TOWNS), source))
    ideal = shares(run_trials(fixed, range(DRAWN), source))
    assert ours.keys() == ideal.keys()
    assert {at: off for at in ours if (off := apart(ours[at], ideal[at])) > 4} == {}
