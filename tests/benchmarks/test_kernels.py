"""What is timed is the same run by kernel and machines, or kernel and NumPy."""

import pytest
from benchmarks.bench import Scale
from msgspec.structs import replace

from benchmarks import epidemic, hierarchy, overlay

QUICK = Scale(quick=True)


def test_recovery_is_timed_on_the_same_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FULL", "SMALL"):
        brief = replace(getattr(epidemic, name), dispatchers=10, seconds=0.3, measure_from=0.0, measure_to=0.3)
        monkeypatch.setattr(epidemic, name, brief)
    told = epidemic.measure(QUICK)
    assert [each.method for each in told] == ["none", "push", "combined"]
    assert all(each.full_s.times == 2 and each.kernel_ratio.low > 0 for each in told)
    assert len(epidemic.tables(told)[0].rows) == 3


def test_hierarchies_are_timed_on_the_same_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hierarchy, "BRANCHING", (4, 6))
    told = hierarchy.measure(QUICK)
    assert [each.participants for each in told.sizes] == [64, 216]
    assert told.kernel_ratio.low > 0
    assert len(hierarchy.tables(told)[0].rows) == 2


def test_kernel_and_numpy_choose_the_same_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlay, "CURVE", ((100, "full"), (300, 50)))
    monkeypatch.setattr(overlay, "COMPARED", (200,))
    monkeypatch.setattr(overlay, "LIMITS_S", {(100, "full"): 0.0, (300, 50): 900.0, (1_000_000, 200): 900.0})
    told = overlay.measure(QUICK)
    curve, chosen = overlay.tables(told)
    assert [row[:2] for row in curve.rows] == [["100", "full"], ["300", "50"]]
    assert [row[0] for row in chosen.rows] == ["200"]
    assert [bar.met for bar in overlay.bars(told)] == [False, True, None, None]
