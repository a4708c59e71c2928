"""Trials of hpmcast as rows: what is measured, by either engine, and what becomes of one that fails."""

from collections.abc import Sequence
from typing import Any

import pytest

from gossamer.fast import hpmcast
from gossamer.lab.grid import points
from gossamer.lab.plan import estimate, memory_bytes, trial_s
from gossamer.lab.rows import Measure
from gossamer.lab.spec import read
from gossamer.lab.studies.hierarchy.metrics import DEGREES, METRICS, OF_WORLDS
from gossamer.lab.trial import run_trials, seed_of
from lab.hierarchies import SOURCE, point, small


def numbers(rows: Sequence[Measure], run: int = 0) -> dict[str, float]:
    return {row.metric: row.value for row in rows if row.run == run}


def test_there_are_numbers_of_the_levels_there_are() -> None:
    said = numbers(run_trials(point(), [0], SOURCE))
    there = [metric for metric in METRICS if metric not in OF_WORLDS]
    assert [*said] == [metric for metric in there if not metric.endswith(("_4", "_5", "_6", "_7", "_8"))]


LIVES = {"warmup_s": 8.0, "seconds": 3.0, "settle_s": 9.0, "events": 4, "newcomers": 3, "crashes": 3}


def test_a_world_says_what_rounds_say_of_events_and_what_only_a_world_has() -> None:
    said = numbers(run_trials(point({"params.direct": 16}, engine="world", world=LIVES), [0], SOURCE))
    assert {"delivery", "spurious", "messages", "latency_ms", "view_size", "participants"} <= said.keys()
    assert [*said] == [metric for metric in METRICS if metric in said]
    of_three = {metric for metric in OF_WORLDS if not metric.endswith(("_4", "_5", "_6", "_7", "_8"))}
    assert of_three <= said.keys() | {"gone_s_level_1", "gone_s_level_2", "gone_s_level_3"}


JUDGED = {
    "joining": {"lost_newcomers", *(f"join_{what}_{far}" for what in ("ms", "messages") for far in (1, 2, 3))},
    "detection": {"mistaken", "unnoticed", "gone_s_level_1", "gone_s_level_2", "gone_s_level_3"},
    "locality": {"way_ms", "interest_level_2", "spurious"},
    "choice": {"spurious", "delivery"},
    "churn": {"delivery", "views_right"},
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name == "churn" else []) for name in JUDGED]
)
def test_shipped_experiments_about_the_living_run_and_measure_what_claims_ask_of_them(name: str) -> None:
    first, *_ = points(*read(f"hpmcast/{name}"))
    rows = run_trials(first, [0], name)
    assert JUDGED[name] <= numbers(rows).keys()
    assert not any(row.error for row in rows)


def test_lives_are_expected_to_cost_more_the_longer_they_are() -> None:
    short, long = (point(engine="world", world={**LIVES, "seconds": seconds}) for seconds in (3.0, 300.0))
    assert trial_s(long) > 5 * trial_s(short)
    assert memory_bytes(long) == memory_bytes(short)


@pytest.mark.parametrize("changes", [{}, {"params.variant": "pmcast"}, {"params.audience_floor": 3}])
def test_both_engines_measure_the_same(changes: dict[str, Any]) -> None:
    machine, kernel = (run_trials(point(changes, engine=engine), range(5), SOURCE) for engine in ("machine", "kernel"))
    assert [(row.run, row.metric, row.value) for row in machine] == [
        (row.run, row.metric, pytest.approx(row.value, rel=1e-12)) for row in kernel
    ]


def test_proportions_are_those_of_the_counts() -> None:
    made = point({"hierarchy.branching": 6, "params.step_us": 50_000}, engine="kernel")
    (result,) = hpmcast.run(made.spec.setting(), [seed_of(1, 0)])  # type: ignore[union-attr]
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


def test_larger_runs_are_expected_to_cost_more() -> None:
    kernel = point(engine="kernel")
    assert trial_s(point()) > 10 * trial_s(kernel)
    larger = point({"hierarchy.branching": 30}, engine="kernel")
    assert trial_s(larger) > trial_s(kernel)
    assert memory_bytes(larger) > memory_bytes(kernel)
    made = points(small(sweep={"workload.interest": [0.1, 0.2]}), SOURCE)
    assert estimate(made, {}).trials == 4
