"""An audit of many rows: right, and as quick per row as one of few."""

import pytest

pytest.importorskip("pyspark")

from benchmarks.audit import MANY, Cost, Costs

from benchmarks import audit


@pytest.mark.slow
@pytest.mark.spark
def test_ten_million_rows_cost_as_much_each_as_a_million_whoever_published_them() -> None:
    """That they are judged rightly, the benchmark sees to."""
    told = audit.of_sizes([1_000_000, 10_000_000])
    assert [bar.met for bar in audit.bars(told)] == [True, True, None], told


def test_bars_are_met_or_missed_or_not_measured() -> None:
    def met(*costs: Cost) -> list[bool | None]:
        return [bar.met for bar in audit.bars(Costs(list(costs), 3.0))]

    small, large = Cost(10**6, MANY, 30.0, 20.0), Cost(10**8, MANY, 4000.0, 2400.0)
    assert met(small, Cost(10**6, 1, 33.0, 22.0), large) == [True, True, True]
    assert met(small, Cost(10**6, 1, 66.0, 22.0), Cost(10**8, MANY, 6000.0, 4000.0)) == [False, False, False]
    assert met(small) == [None, None, None]
    assert [bar.met for bar in audit.bars(None)] == [None, None, None]
