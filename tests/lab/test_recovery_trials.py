"""Trials of recovery as rows: what is measured, by either engine, and what becomes of one that fails."""

from collections.abc import Sequence

import pytest

from gossamer.fast import recovery
from gossamer.lab.grid import points
from gossamer.lab.plan import estimate, memory_bytes, trial_s
from gossamer.lab.rows import Measure
from gossamer.lab.studies.epidemic.tables import METRICS
from gossamer.lab.trial import run_trials, seed_of
from lab.recoveries import SOURCE, point, small

LATENCIES = {"recovery_latency_ms", "recovery_latency_ms_p50", "recovery_latency_ms_p99"}


def numbers(rows: Sequence[Measure], run: int = 0) -> dict[str, float]:
    return {row.metric: row.value for row in rows if row.run == run}


def test_what_does_not_apply_has_no_row() -> None:
    assert [*numbers(run_trials(point(), [0], SOURCE))] == [*METRICS]
    calm = numbers(run_trials(point({"network.loss": 0.0}), [0], SOURCE))
    assert set(METRICS) - set(calm) == {*LATENCIES, "found_again", "served_by_publisher", "busiest"}
    assert (calm["delivery"], calm["delivery_unaided"], calm["gossip_hops_per_s"], calm["requests"]) == (1, 1, 0, 0)
    stormy = numbers(run_trials(point({"network.loss_period_s": 1.0}), [0], SOURCE))
    assert set(METRICS) - set(stormy) == {"delivery_unaided", "found_again"}
    silent = numbers(run_trials(point({"workload.rate": 0.0}), [0], SOURCE))
    assert silent["delivery"] == 1
    assert "overhead" not in silent


def test_proportions_are_those_of_the_counts() -> None:
    made = point()
    (result,) = recovery.run(made.spec.setting(), [seed_of(1, 0)])  # type: ignore[arg-type]
    said = numbers(run_trials(made, [0], SOURCE))
    assert said["delivery"] == result.delivered / result.expected
    assert said["overhead"] == (result.gossip_hops + result.requests + result.retransmissions) / result.event_hops
    assert said["served_by_publisher"] == result.served_by_publisher / result.retransmissions
    assert said["busiest"] == result.served_max / (result.retransmissions / 8)
    assert said["found_again"] == pytest.approx(1 - (1 - said["delivery"]) / (1 - said["delivery_unaided"]))
    assert said["matches_routing"] == result.matched_routing / result.routed


@pytest.mark.parametrize("method", ["none", "push", "combined"])
def test_both_engines_measure_the_same(method: str) -> None:
    machine, kernel = (
        run_trials(point({"recovery.method": method}, engine=engine), range(2), SOURCE)
        for engine in ("machine", "kernel")
    )
    assert [(row.run, row.metric, row.value) for row in machine] == [
        (row.run, row.metric, pytest.approx(row.value, rel=1e-12)) for row in kernel
    ]


def test_larger_runs_are_expected_to_cost_more() -> None:
    kernel = point(engine="kernel")
    assert trial_s(point()) > 10 * trial_s(kernel)
    for more in ({"network.dispatchers": 80}, {"workload.rate": 100.0}, {"time.seconds": 30.0}):
        assert trial_s(point(more, engine="kernel")) > trial_s(kernel)
        assert memory_bytes(point(more, engine="kernel")) > memory_bytes(kernel)
    assert trial_s(point({"recovery.method": "none"}, engine="kernel")) < trial_s(kernel)
    made = points(small(sweep={"network.loss": [0.1, 0.2]}), SOURCE)
    assert estimate(made, {}).trials == 4
