"""Files about hpmcast: what they can say, and how they are answered when they say something wrong."""

from math import inf, nan
from typing import Any

import pytest

from gossamer.lab.grid import points
from gossamer.lab.spec import read, shipped
from gossamer.lab.studies.hierarchy.tables import Hierarchies
from gossamer.lab.trial import point_id
from gossamer.protocols.hpmcast.experiment.setting import HierarchySetting
from gossamer.protocols.hpmcast.params import Params
from gossamer.sim.conditions import Churn
from lab.hierarchies import SOURCE, point, small, spec
from lab.small_studies import complaint


def test_a_file_needs_its_head_only() -> None:
    (only,) = points({"experiment": {"name": "least", "protocol": "hpmcast"}}, SOURCE)
    assert isinstance(only.spec, Hierarchies)
    assert only.spec.setting() == HierarchySetting.regular(16, 3)
    assert only.spec.params == Params.paper()


def test_every_field_reaches_the_setting() -> None:
    said: dict[str, Any] = {
        "hierarchy.branching": [4, 5, 6], "hierarchy.levels": 3, "hierarchy.populated": 0.5,
        "params.variant": "hpmcast", "params.delegates": 4, "params.fanout": 5, "params.audience_floor": 6,
        "params.direct": 7, "params.lan": 8, "params.expected_loss": 0.1, "params.expected_crashed": 0.2,
        "params.hops": 9, "params.repetitions": 10, "params.step_us": 11, "workload.interest": 0.25,
        "workload.local": 0.5, "workload.publisher": 3, "network.loss": 0.15, "network.crashed": 0.05,
        "network.attempts": 2,
    }  # fmt: skip
    setting = spec(said).setting()
    assert setting.branching == (4, 5, 6)
    for field, value in said.items():
        table, _, name = field.partition(".")
        if name not in ("branching", "levels"):
            assert getattr(setting.params if table == "params" else setting, name) == value
    assert spec({"params.estimated": True}).setting().params.estimated
    assert spec({"params.reliability": 0.9}).setting().params.reliability == 0.9
    assert spec({"params.variant": "pmcast", "params.rounds": 7}).setting().params.rounds == 7


def test_every_field_of_a_world_reaches_it() -> None:
    said: dict[str, Any] = {
        "world.warmup_s": 5.0, "world.seconds": 6.0, "world.settle_s": 7.0, "world.topics": 8, "world.events": 9,
        "world.newcomers": 10, "world.crashes": 11, "world.addresses": "alike", "world.near_ms": 12.0,
        "world.farther": 13.0, "world.jitter": 0.14, "upkeep.asks": 15, "upkeep.choice": "coverage",
        "network.loss": 0.16, "workload.local": 0.17,
    }  # fmt: skip
    living = spec(said, engine="world").living()
    for field, value in said.items():
        table, _, name = field.partition(".")
        where = {"world": living.world, "upkeep": living.upkeep}.get(table, living.hierarchy)
        assert getattr(where, name) == value
    assert spec({"world.churn": {"up_s": 5.0}}, engine="world").living().world.churn == Churn(up_s=5.0)


def test_addresses_can_be_listed() -> None:
    listed = spec({"hierarchy": {"branching": [2, 4], "addresses": [[0, 1], [1, 0], [1, 3]]}})
    assert listed.setting().addresses == ((0, 1), (1, 0), (1, 3))
    assert listed.population() == "3 participants"


def test_an_id_changes_with_every_field() -> None:
    changes: list[dict[str, Any]] = [
        {"hierarchy.branching": 4}, {"hierarchy.levels": 2}, {"hierarchy.branching": [3, 3, 4]},
        {"hierarchy.populated": 0.9}, {"params.variant": "pmcast"}, {"params.delegates": 3}, {"params.fanout": 3},
        {"params.audience_floor": 3}, {"params.direct": 3}, {"params.lan": 3}, {"params.estimated": True},
        {"params.expected_loss": 0.1}, {"params.hops": 3}, {"params.repetitions": 1}, {"params.step_us": 5},
        {"params.reliability": 0.9}, {"params.variant": "pmcast", "params.rounds": 7},
        {"workload.interest": 0.5}, {"workload.publisher": 1}, {"workload.local": 0.5},
        {"network.loss": 0.2}, {"network.crashed": 0.1},
        {"network.attempts": 2}, {"experiment.seed": 2}, {"experiment.engine": "kernel"}, {},
    ]  # fmt: skip
    assert len({point_id(point(each)) for each in changes}) == len(changes)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown field": (small({"params.R": 3}), "there is no field params.R; params has variant, delegates, "),
    "a world of rounds": (small({"world.events": 3}), '[world] is for experiment.engine = "world"'),
    "views kept by nobody": (small({"upkeep.asks": 3}), '[upkeep] is for experiment.engine = "world"'),
    "crashed beforehand, in a world": (
        small({"network.crashed": 0.1}, engine="world"), "network.crashed and network.attempts are for rounds: in a ",
    ),
    "nobody there": (small({"world.newcomers": 27}, engine="world"), "world.newcomers must be fewer than the "),
    "no such order": (small({"world.addresses": "far"}, engine="world"), "world.addresses must be near, drawn or "),
    "too late": (small({"world.seconds": 1e9}, engine="world"), "world.seconds must be above 0, at most 3,600"),
    "more delegates than seats": (small({"params.delegates": 65}, engine="world"), "params.delegates must be at most "),
    "nobody asked": (small({"upkeep.asks": 0}, engine="world"), "upkeep.asks must be at least 1, not 0"),
    "too many lives": (small({"hierarchy.branching": 20}, engine="world"), "at most 2,000 participants, not 8,000"),
    "no variant": (small({"params.variant": "lpbcast"}), "params.variant must be hpmcast, pmcast or rfpbcast, not "),
    "text for a number": (small({"network.loss": "much"}), "network.loss must be a number, not text"),
    "no probability": (small({"workload.interest": 1.5}), "workload.interest is a probability: 0 to 1"),
    "all is lost": (small({"network.loss": 1.0}), "network.loss is a probability: at least 0, less than 1"),
    "no number": (small({"workload.interest": nan}), "workload.interest must be a number, not nan"),
    "no end": (small({"network.crashed": inf}), "network.crashed must be a number, not inf"),
    "nobody picked": (small({"params.fanout": 0}), "params.fanout must be 1 to 1,024"),
    "no delegates": (small({"params.delegates": 0}), "params.delegates must be 1 to 1,024"),
    "nothing branches": (small({"hierarchy.branching": 0}), "hierarchy.branching must be at least 1 on every level"),
    "text branches": (small({"hierarchy.branching": "16"}), "branching must be a whole number, or a list of one per "),
    "an empty list": (small({"hierarchy.branching": []}), "hierarchy.branching must be a whole number, or a list of "),
    "no levels": (small({"hierarchy.levels": 0}), "hierarchy.levels must be 1 to 60, not 0"),
    "levels twice": (small({"hierarchy.branching": [3, 3]}), "hierarchy.branching names 2 levels, and levels says 3"),
    "a digit too large": (
        small({"hierarchy": {"branching": [2, 2], "addresses": [[0, 2]]}}), "needs digits like 0–1.0–1, as ",
    ),
    "too many": (small({"hierarchy.branching": 1000}, engine="kernel"), "at most 20,000,000 participants, not "),
    "too many machines": (small({"hierarchy.branching": 20}), "at most 2,000 participants, not 8,000"),
    "levels without end": (small({"hierarchy.levels": 10**9}), "hierarchy.levels must be 1 to 60, not 1000000000"),
    "more levels than numbers": (small({"hierarchy.levels": 10**30}), "hierarchy.levels must be 1 to 60, not 1"),
    "more levels than digits": (small({"hierarchy": {"branching": [1] * 61}}), "a hierarchy has 1 to 60 levels"),
    "more addresses than numbers": (small({"hierarchy.branching": 10**30}), "a hierarchy has at most 4,611,686,"),
    "the same address twice": (
        small({"hierarchy": {"branching": [2, 2], "addresses": [[0, 1], [0, 1]]}}),
        "hierarchy.addresses must be in ascending order, each once",
    ),
    "addresses as text": (
        small({"hierarchy": {"branching": [2, 2], "addresses": ["0.1"]}}), "hierarchy.addresses must be a list, not ",
    ),
    "nobody of that number": (small({"workload.publisher": 27}), "workload.publisher must be the number of a "),
    "estimates that know nobody": (
        small({"params.estimated": True, "params.direct": 2}), "params.estimated does not say who wants an event",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "says"), WRONG.values(), ids=WRONG)
def test_a_mistake_is_said_in_one_sentence(raw: dict[str, Any], says: str) -> None:
    assert says in complaint(raw, SOURCE)


@pytest.mark.parametrize("name", [name for name in shipped() if name.startswith("hpmcast/")])
def test_shipped_files_can_be_read(name: str) -> None:
    assert all(isinstance(each.spec, Hierarchies) for each in points(*read(name)))
