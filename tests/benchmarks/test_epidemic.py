"""What is timed is the same run by both engines."""

import pytest
from msgspec.structs import replace

from benchmarks import epidemic, tables


def test_kernel_and_machines_are_timed_on_the_same_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FULL", "SMALL"):
        brief = replace(getattr(epidemic, name), dispatchers=10, seconds=0.3, measure_from=0.0, measure_to=0.3)
        monkeypatch.setattr(epidemic, name, brief)
    told = epidemic.measure(runs=2)
    assert [each.method for each in told] == ["none", "push", "combined"]
    assert all(each.full_s.times == 2 and each.kernel_ratio.low > 0 for each in told)
    assert len(tables.epidemic(told).rows) == 3
