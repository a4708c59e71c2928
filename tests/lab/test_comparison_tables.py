"""Files that compare designs: what they can say, how they are answered when it is wrong, and rows of their trials."""

from typing import Any

import msgspec
import pytest

from gossamer.core.errors import SpecError
from gossamer.lab.grid import points
from gossamer.lab.plan import memory_bytes, trial_s
from gossamer.lab.spec import read, shipped
from gossamer.lab.studies import Spec
from gossamer.lab.studies.comparison.metrics import METRICS
from gossamer.lab.studies.comparison.tables import Comparisons
from gossamer.lab.trial import point_id, run_or_report, run_trials
from gossamer.sim.compared import Comparison
from lab.comparisons import SOURCE, point, small, spec


def test_a_file_needs_its_head_only() -> None:
    (only,) = points({"experiment": {"name": "least", "protocol": "comparison", "engine": "world"}}, SOURCE)
    assert isinstance(only.spec, Comparisons)
    assert only.spec.setting() == Comparison()
    assert only.spec.population() == "camcast, 75 nodes"


def test_every_field_reaches_the_setting() -> None:
    said: dict[str, Any] = {
        "design.spread": "hpmcast", "design.recovery": "live", "params.direct": 4, "workload.branching": (2, 3),
        "workload.areas": 3, "workload.topics": 4, "workload.subscriptions": 5, "workload.wide": 0.2,
        "workload.local": 0.3, "workload.filtered": 0.4, "workload.selectivity": 0.5, "workload.events": 6,
        "workload.every_s": 0.7, "workload.payload": 8, "network.loss": 0.11, "network.crashed": 0.12,
        "network.latency_ms": 13.0, "network.warmup_s": 14.0, "network.settle_s": 15.0,
    }  # fmt: skip
    setting = spec(said).setting()
    for field, value in said.items():
        table, _, name = field.partition(".")
        assert getattr(getattr(setting, table), name) == value


def test_a_spec_finds_its_kind_again_after_a_trip_through_json() -> None:
    made = spec({"design.spread": "hpmcast"})
    assert msgspec.json.decode(msgspec.json.encode(made), type=Spec) == made


def test_an_id_changes_with_every_table_and_not_with_words() -> None:
    changes: list[dict[str, Any]] = [
        {"design.spread": "flood"}, {"design.recovery": "live"}, {"params.fanout": 3}, {"workload.local": 0.9},
        {"network.loss": 0.2},
    ]  # fmt: skip
    ids = [point_id(point(each)) for each in [{}, *changes]]
    assert len(set(ids)) == len(ids)
    assert point_id(point({"experiment.about": "other words"})) == ids[0]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"experiment.engine": "kernel"}, 'experiment.engine: designs are compared in a "world"'),
        ({"design.spread": "mail"}, "design.spread must be camcast, spidercast, hpmcast, dispatch or flood, not "
         "'mail'"),
        ({"design": {"spread": "flood", "recovery": "live"}}, "design.recovery: flooding is its own remedy, leave "
         "recovery out"),
        ({"params.fanout": 0}, "params.fanout must be 1 to 1,024"),
        ({"workload.branching": [1]}, "workload.branching makes 1 nodes: 2 to 2,000"),
        ({"workload.branching": [2, 0]}, "workload.branching needs a number of at least 1 per level"),
        ({"workload.branching": [2, 2, 2, 2, 2]}, "workload.branching has more than 4 levels"),
        ({"workload.topics": 0}, "workload.topics must be 1 to 1,000"),
        ({"workload.wide": 2}, "workload.wide is a probability: 0 to 1"),
        ({"workload.selectivity": 0}, "workload.selectivity must be above 0, at most 1"),
        ({"workload.events": 0}, "workload.events must be 1 to 10,000"),
        ({"workload.every_s": 0}, "workload.every_s must be above 0, at most 60"),
        ({"workload.payload": -1}, "workload.payload must be 0 to 100,000"),
        ({"network.loss": 1}, "network.loss must be at least 0, less than 1"),
        ({"network.settle_s": 0}, "network.settle_s must be above 0, at most 3,600"),
        ({"network.speed": 1}, "there is no field network.speed; network has loss, crashed, latency_ms, warmup_s, "
         "settle_s"),
    ],
)  # fmt: skip
def test_a_mistake_is_said_in_one_sentence(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError) as told:
        points(small(changes), SOURCE)
    assert str(told.value) == f"{SOURCE}: {says}"


def test_what_is_shipped_has_one_workload() -> None:
    names = [name for name in shipped() if name.startswith("comparison/")]
    made = [each for name in names for each in points(*read(name))]
    assert {msgspec.json.encode(each.spec.workload) for each in made if isinstance(each.spec, Comparisons)} == {
        msgspec.json.encode(Comparison().workload)
    }
    assert len(made) == 14


def test_there_is_a_row_per_run_and_metric_in_the_order_of_the_page() -> None:
    made = point({"design.spread": "flood"})
    rows = run_trials(made, [1, 0], SOURCE)
    there = [metric for metric in METRICS if not metric.endswith("_level_4")]  # of three levels
    assert [(row.run, row.metric) for row in rows] == [(run, metric) for run in (1, 0) for metric in there]
    assert [row.value for row in run_trials(made, [0], SOURCE)] == [row.value for row in rows if row.run == 0]
    assert {row.command for row in rows if row.run == 1} == {"gossamer simulate few.toml --run 1"}


def test_a_trial_that_cannot_be_run_is_a_row_with_its_reason() -> None:
    (row,) = run_or_report(point({"network.crashed": 0.99}), [0], SOURCE)
    assert row.group is None
    assert "let more nodes subscribe, or fewer crash" in row.error


def test_costs_grow_with_nodes_and_time() -> None:
    few, many, long = point(), point({"workload.branching": [10, 10, 10]}), point({"network.warmup_s": 100.0})
    assert trial_s(few) < trial_s(long) < trial_s(many)
    assert memory_bytes(few) < memory_bytes(many)
