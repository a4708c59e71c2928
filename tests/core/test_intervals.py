"""Student's intervals are what a library for statistics says."""

import random
from statistics import fmean

import numpy as np
import pytest
from scipy import stats

from gossamer.core.intervals import Z95, half_width, t95


def test_quantiles_are_those_of_students_distribution() -> None:
    for values in (*range(2, 200), 1_000, 10**6):
        assert t95(values) == pytest.approx(stats.t.ppf(0.975, values - 1), abs=2e-6), values
    assert t95(10**9) == pytest.approx(Z95, abs=1e-8)


def test_an_interval_reaches_as_far_as_a_library_says() -> None:
    drawn = random.Random(7)
    for values in (2, 3, 5, 20, 31, 32, 300):
        several = [drawn.gauss(10, 3) for _ in range(values)]
        low, high = stats.t.interval(0.95, values - 1, np.mean(several), stats.sem(several))
        assert half_width(several) == pytest.approx((high - low) / 2, rel=1e-6)
    assert half_width([5.0]) == 0.0


def test_three_runs_catch_the_mean_as_often_as_they_say() -> None:
    drawn = random.Random(1)
    runs = [[drawn.gauss(0, 1) for _ in range(3)] for _ in range(4_000)]
    caught = sum(abs(fmean(each)) <= half_width(each) for each in runs) / len(runs)
    assert 0.94 < caught < 0.96
