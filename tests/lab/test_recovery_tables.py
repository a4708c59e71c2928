"""Files about recovery: what they can say, and how they are answered when they say something wrong."""

from math import inf, nan
from typing import Any

import pytest

from gossamer.core.errors import SpecError
from gossamer.lab.grid import points
from gossamer.lab.studies.epidemic.tables import Epidemic
from gossamer.lab.trial import point_id
from gossamer.protocols.recovery.experiment.setting import EpidemicSetting
from gossamer.protocols.recovery.params import Params
from lab import samples
from lab.recoveries import SOURCE, point, small, spec
from lab.small_studies import complaint


def test_a_file_needs_its_head_only_and_means_the_papers_setting() -> None:
    (only,) = points({"experiment": {"name": "least", "protocol": "recovery"}}, SOURCE)
    assert isinstance(only.spec, Epidemic)
    assert only.spec.setting() == EpidemicSetting()
    assert only.spec.params() == Params.paper()


def test_every_field_reaches_the_setting() -> None:
    said: dict[str, Any] = {
        "network.dispatchers": 30, "network.degree": 5, "network.tree": "random", "network.loss": 0.05,
        "network.burst": 4.0, "network.latency_us": 500, "network.reconfigure_every_s": 0.5, "network.repair_s": 0.2,
        "workload.patterns": 9, "workload.subscriptions": 3, "workload.patterns_per_event": 4, "workload.rate": 7.5,
        "recovery.method": "push", "recovery.interval_s": 0.25, "recovery.forward": 0.7, "recovery.cache": 77,
        "recovery.expiry_s": 1.5, "recovery.eviction": "random", "recovery.cache_relayed": True,
        "recovery.publisher_share": 0.25, "recovery.adaptive": True, "recovery.immediate": True,
        "recovery.push_local": True, "time.seconds": 9.0, "time.measure_from": 1.0, "time.measure_to": 4.0,
    }  # fmt: skip
    setting = spec(said).setting()
    for field, value in said.items():
        name = field.partition(".")[2]
        if name in ("interval_s", "expiry_s"):
            name, value = name.replace("_s", "_us"), round(value * 1_000_000)
        assert getattr(setting.recovery if field.startswith("recovery.") else setting, name) == value
    stormy = spec({"network.loss_period_s": 2.0, "network.loss_share": 0.25}).setting()
    assert (stormy.loss_period_s, stormy.loss_share) == (2.0, 0.25)


def test_an_id_changes_with_every_field() -> None:
    changes: list[dict[str, Any]] = [
        {"network.dispatchers": 9}, {"network.degree": 4}, {"network.tree": "random"}, {"network.loss": 0.1},
        {"network.burst": 2.0}, {"network.latency_us": 999}, {"network.reconfigure_every_s": 1.0},
        {"workload.patterns": 5}, {"workload.subscriptions": 2}, {"workload.patterns_per_event": 1},
        {"workload.rate": 11.0}, {"recovery.method": "push"}, {"recovery.interval_s": 0.06}, {"recovery.cache": 51},
        {"recovery.eviction": "random"}, {"recovery.adaptive": True}, {"time.seconds": 4.0},
        {"time.measure_to": 1.5}, {"experiment.seed": 2}, {"experiment.engine": "kernel"}, {},
    ]  # fmt: skip
    assert len({point_id(point(each)) for each in changes}) == len(changes)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown field": (small({"recovery.interval": 1}), "there is no field recovery.interval; recovery has method, "),
    "another engine": (small({"experiment.engine": "world"}), 'recovery is studied with "kernel" or "machine"'),
    "no method": (small({"recovery.method": "pull"}), "recovery.method must be none, push, "),
    "text for a number": (small({"network.loss": "much"}), "network.loss must be a number, not text"),
    "no probability": (small({"network.loss": 1.0}), "network.loss is a probability: at least 0, less than 1"),
    "no number": (small({"workload.rate": nan}), "workload.rate must be a number, not nan"),
    "no end": (small({"time.seconds": inf}), "time.seconds must be a number, not inf"),
    "no time": (small({"recovery.interval_s": 0.0}), "recovery.interval_s must be more than 0 seconds and less than "),
    "for ever": (small({"recovery.expiry_s": 1e300}), "recovery.expiry_s must be more than 0 seconds and less than "),
    "a window outside": (small({"time.measure_to": 4.0}), "time.measure_from and measure_to must lie in this order"),
    "too much": (small({"workload.rate": 1e7}), "a run would publish about 240,000,000 events, 20,000,000 is the most"),
    "two kinds in one file": (
        samples.example(cases={"a": {}, "b": {"experiment.protocol": "recovery", "topics": 1}}),
        "there is no table [topics]",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "says"), WRONG.values(), ids=WRONG)
def test_a_mistake_is_said_in_one_sentence(raw: dict[str, Any], says: str) -> None:
    assert says in complaint(raw, SOURCE)


def test_one_file_holds_one_kind_of_study() -> None:
    head = {"experiment": {"name": "mixed", "protocol": "recovery"}}
    flood = {"experiment.protocol": "flood", "topics": {".a": {"size": 2}}, "publish": {"topic": ".a"}}
    with pytest.raises(SpecError, match=r"recovery and flood are studied in different ways: write a file for each$"):
        points({**head, "cases": {"one": {}, "other": flood}}, SOURCE)
