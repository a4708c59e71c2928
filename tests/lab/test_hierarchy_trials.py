"""Trials of hpmcast as rows: what is measured, by either engine, and what becomes of one that fails."""

from collections.abc import Sequence
from typing import Any

import pytest

from gossamer.fast import hierarchy
from gossamer.lab.grid import points
from gossamer.lab.plan import estimate, memory_bytes, trial_s
from gossamer.lab.rows import Measure
from gossamer.lab.studies.hierarchy.metrics import DEGREES, METRICS
from gossamer.lab.trial import command_of, point_id, run_or_report, run_trials, seed_of
from lab.hierarchies import SOURCE, point, small


def numbers(rows: Sequence[Measure], run: int = 0) -> dict[str, float]:
    return {row.metric: row.value for row in rows if row.run == run}


def test_there_is_a_row_per_run_and_metric_in_the_order_of_the_page() -> None:
    made = point()
    rows = run_trials(made, [2, 0], SOURCE)
    there = [metric for metric in METRICS if not metric.endswith(("_4", "_5", "_6", "_7", "_8"))]  # of three levels
    assert [(row.run, row.metric) for row in rows] == [(run, metric) for run in (2, 0) for metric in there]
    assert {(row.trial, row.seed) for row in rows} == {(f"{point_id(made)}-{run}", seed_of(1, run)) for run in (0, 2)}
    assert {(row.group, row.point, row.error) for row in rows} == {("all", "{}", None)}
    assert {row.command for row in rows if row.run == 2} == {"gossamer simulate levels.toml --run 2"}


def test_a_run_is_the_same_alone_and_among_others() -> None:
    assert numbers(run_trials(point(), [1], SOURCE), 1) == numbers(run_trials(point(), range(3), SOURCE), 1)


@pytest.mark.parametrize("changes", [{}, {"params.variant": "pmcast"}, {"params.audience_floor": 3}])
def test_both_engines_measure_the_same(changes: dict[str, Any]) -> None:
    machine, kernel = (run_trials(point(changes, engine=engine), range(5), SOURCE) for engine in ("machine", "kernel"))
    assert [(row.run, row.metric, row.value) for row in machine] == [
        (row.run, row.metric, pytest.approx(row.value, rel=1e-12)) for row in kernel
    ]


def test_proportions_are_those_of_the_counts() -> None:
    made = point({"hierarchy.branching": 6, "params.step_us": 50_000}, engine="kernel")
    (result,) = hierarchy.run(made.spec.setting(), [seed_of(1, 0)])  # type: ignore[union-attr]
    said = numbers(run_trials(made, [0], SOURCE))
    assert said["delivery"] == result.delivered / result.interested
    assert said["spurious"] == result.spurious_count / result.uninterested
    assert said["messages"] == sum(result.sent) == said["messages_each"] * 216
    assert said["messages_wanted"] == result.messages / result.delivered
    assert said["latency_ms"] == 50 * result.rounds
    assert said["matches_each"] == (result.matches + result.matches_picked) / 216
    assert [said[f"sent_level_{level}"] for level in (1, 2, 3)] == list(result.sent)
    assert said["load_level_3"] == result.load[2] / result.ranks[2]
    assert {name: said[name] for name in DEGREES} == {
        name: float(result.delivery >= share) for name, share in DEGREES.items()
    }
    assert said["view_size"] == 2 * 6 * 2 + 6


def test_nobody_interested_is_nobody_missed() -> None:
    said = numbers(run_trials(point({"workload.interest": 0.0}), [0], SOURCE))
    assert (said["delivery"], said["reached_all"], said["messages"], said["interested"]) == (1, 1, 0, 0)
    assert "messages_wanted" not in said


def test_a_trial_that_fails_becomes_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    made, bad = point(engine="kernel"), seed_of(1, 1)
    whole = hierarchy.run

    def fails(setting: Any, seeds: Sequence[int]) -> Any:
        if bad in seeds:
            raise ArithmeticError("one is too many")
        return whole(setting, seeds)

    monkeypatch.setattr(hierarchy, "run", fails)
    rows = run_or_report(made, range(3), SOURCE)
    assert {row.run for row in rows if row.error is None} == {0, 2}
    (wrong,) = [row for row in rows if row.error is not None]
    assert wrong == Measure(
        trial=f"{point_id(made)}-1", point="{}", run=1, seed=bad, group=None, metric="", value=0.0,
        version=wrong.version, command=command_of(SOURCE, made, 1), error="ArithmeticError: one is too many",
    )  # fmt: skip


def test_larger_runs_are_expected_to_cost_more() -> None:
    kernel = point(engine="kernel")
    assert trial_s(point()) > 10 * trial_s(kernel)
    larger = point({"hierarchy.branching": 30}, engine="kernel")
    assert trial_s(larger) > trial_s(kernel)
    assert memory_bytes(larger) > memory_bytes(kernel)
    made = points(small(sweep={"workload.interest": [0.1, 0.2]}), SOURCE)
    assert estimate(made, ()).trials == 4
