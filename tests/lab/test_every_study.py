"""What holds for every kind of study, whatever it is about."""

import pkgutil
import tomllib
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from gossamer.lab.grid import points
from gossamer.lab.rows import Measure
from gossamer.lab.studies import STUDIES, Spec
from gossamer.lab.trial import command_of, point_id, run_or_report, run_trials, seed_of
from lab import samples
from lab.comparisons import COMPARISONS
from lab.hierarchies import HIERARCHIES
from lab.overlays import OVERLAYS
from lab.recoveries import RECOVERIES
from lab.small_studies import SmallStudy, complaint

EVERY = {"recovery": RECOVERIES, "spidercast": OVERLAYS, "hpmcast": HIERARCHIES, "comparison": COMPARISONS}
every_study = pytest.mark.parametrize("study", EVERY.values(), ids=EVERY)


def test_every_kind_has_its_small_study() -> None:
    assert {name: study.kind for name, study in EVERY.items()} == STUDIES


# Files


@every_study
def test_tables_on_one_line_say_the_same_as_tables_of_their_own(study: SmallStudy[Any]) -> None:
    raw = study.raw()
    spelled = "\n".join(
        f"[{name}]\n" + "\n".join(f"{key} = {msgspec.json.encode(value).decode()}" for key, value in table.items())
        for name, table in raw.items()
    )
    assert points(tomllib.loads(spelled), study.source) == points(raw, study.source)


@pytest.mark.parametrize(
    "made",
    [
        samples.communities(),
        RECOVERIES.spec({"recovery.method": "push"}),
        OVERLAYS.spec({"params.view": 0.5}, churn={"up_s": 50.0}),
        HIERARCHIES.spec({"params.variant": "pmcast"}),
        HIERARCHIES.spec({"hierarchy.branching": [2, 3, 4]}),
        COMPARISONS.spec({"design.spread": "hpmcast"}),
    ],
    ids=lambda made: type(made).__name__,
)
def test_a_spec_finds_its_kind_again_after_a_trip_through_json(made: Spec) -> None:
    assert msgspec.json.decode(msgspec.json.encode(made), type=Spec) == made


@every_study
def test_an_id_does_not_change_with_words(study: SmallStudy[Any]) -> None:
    said = {"experiment.name": "other", "experiment.about": "Other words.", "experiment.runs": 9}
    assert point_id(study.point(said)) == point_id(study.point())


@every_study
def test_what_belongs_to_communities_or_is_no_table_is_refused(study: SmallStudy[Any]) -> None:
    wrong = {
        "there is no table [topics]; a file has ": study.raw(topics={".d": {"size": 3}}),
        "workload must be a table, not the number 3": study.raw(workload=3),
        f"figure 'f' plots 'reception', which is none of {study.kind.metrics[0]}, ": study.raw(
            figures=[{"name": "f", "title": "t", "metric": "reception"}]
        ),
    }
    for says, raw in wrong.items():
        assert says in complaint(raw, study.source)


@every_study
def test_every_metric_says_what_it_is(study: SmallStudy[Any]) -> None:
    assert all(study.metrics.values())
    assert {*study.kind.shown, *study.kind.brief} <= {*study.kind.metrics} == {*study.metrics}


# Trials


@every_study
def test_there_is_a_row_per_run_and_metric_in_the_order_of_the_page(study: SmallStudy[Any]) -> None:
    made = study.point()
    rows = run_trials(made, [2, 0], study.source)
    said = {row.metric for row in rows}
    there = [metric for metric in study.kind.metrics if metric in said]
    assert [(row.run, row.metric) for row in rows] == [(run, metric) for run in (2, 0) for metric in there]
    assert {(row.trial, row.seed) for row in rows} == {(f"{point_id(made)}-{run}", seed_of(1, run)) for run in (0, 2)}
    assert {(row.group, row.point, row.error) for row in rows} == {("all", "{}", None)}
    assert {row.command for row in rows if row.run == 2} == {f"gossamer simulate {study.source} --run 2"}
    assert run_trials(made, [0], study.source) == [row for row in rows if row.run == 0]  # alone as among others


@every_study
def test_a_trial_that_fails_becomes_a_row(study: SmallStudy[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made, bad = study.point(engine="kernel"), seed_of(1, 1)
    whole = pkgutil.resolve_name(study.engine_call)

    def fails(setting: Any, seeds: Sequence[int] | int, *more: Any) -> Any:
        if bad in (seeds if isinstance(seeds, Sequence) else [seeds]):
            raise ArithmeticError("one is too many")
        return whole(setting, seeds, *more)

    monkeypatch.setattr(study.engine_call, fails)
    rows = run_or_report(made, range(3), study.source)
    assert {row.run for row in rows if row.error is None} == {0, 2}
    (wrong,) = [row for row in rows if row.error is not None]
    assert wrong == Measure(
        trial=f"{point_id(made)}-1", point="{}", run=1, seed=bad, group=None, metric="", value=0.0,
        version=wrong.version, command=command_of(study.source, made, 1), error="ArithmeticError: one is too many",
    )  # fmt: skip
