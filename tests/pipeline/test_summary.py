"""From literal outcomes to the rows of summary.csv."""

import csv
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

import numpy as np

from gossamer.core.intervals import Z95, half_width
from gossamer.lab.book import Line
from gossamer.lab.rows import Outcome
from gossamer.lab.studies.communities.tables import BY_COMMUNITY, OVERALL
from gossamer.lab.trial import point_id
from gossamer.pipeline import summary
from gossamer.pipeline.outcomes import outcomes_in
from gossamer.pipeline.places import place_at
from pipeline.rows import failed, frame, keep, outcome, small

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

# What is measured of a community


def by_group(spark: "SparkSession", metric: str, *outcomes: Outcome) -> dict[str, float]:
    measures = summary.measures_by_community(frame(spark, *outcomes))
    assert measures.columns == ["id", "trial", "group", "metric", "value"]
    return {row["group"]: row["value"] for row in measures.where(f"metric = '{metric}'").collect()}


def test_reception_is_the_share_of_live_processes_reached(spark: "SparkSession") -> None:
    assert by_group(
        spark,
        "reception",
        outcome(group=".some", live=8, reached=6),
        outcome(group=".all", live=8, reached=8),
        outcome(group=".nobody", live=8, reached=0),
        outcome(group=".dead", live=0, reached=0),
    ) == {".some": 0.75, ".all": 1.0, ".nobody": 0.0}


def test_a_run_is_reliable_if_every_live_process_was_reached(spark: "SparkSession") -> None:
    assert by_group(
        spark,
        "reliability",
        outcome(group=".some", live=8, reached=7),
        outcome(group=".all", live=8, reached=8),
        outcome(group=".dead", live=0, reached=0),
    ) == {".some": 0.0, ".all": 1.0}


def test_an_event_climbed_if_a_message_went_up_and_crossed_if_one_arrived(spark: "SparkSession") -> None:
    outcomes = (
        outcome(group=".both", sent_up=2, arrived_up=1),
        outcome(group=".lost", sent_up=2, arrived_up=0),
        outcome(group=".stayed", sent_up=0, arrived_up=0),
        outcome(group=".", climbs=False, sent_up=0, arrived_up=0),
    )
    assert by_group(spark, "climbed", *outcomes) == {".both": 1.0, ".lost": 1.0, ".stayed": 0.0}
    assert by_group(spark, "crossed", *outcomes) == {".both": 1.0, ".lost": 0.0, ".stayed": 0.0}
    assert by_group(spark, "sent_up", *outcomes) == {".both": 2.0, ".lost": 2.0, ".stayed": 0.0}
    assert by_group(spark, "arrived_up", *outcomes) == {".both": 1.0, ".lost": 0.0, ".stayed": 0.0}


def test_efficiency_is_the_share_of_arrivals_that_were_news(spark: "SparkSession") -> None:
    assert by_group(
        spark,
        "efficiency",
        outcome(group=".above", home=False, reached=6, arrived=24),
        outcome(group=".home", home=True, reached=6, arrived=20),  # nobody had to tell the publisher
        outcome(group=".quiet", reached=1, arrived=0),
        outcome(group=".uncounted", reached=6, arrived=None),
    ) == {".above": 0.25, ".home": 0.25}


def test_counts_are_taken_as_they_are_and_left_out_where_there_are_none(spark: "SparkSession") -> None:
    measures = summary.measures_by_community(
        frame(
            spark,
            outcome(group=".a", sent_intra=24, arrived=20, parasites=1, rounds_last=4, memory=5.5, live=8),
            outcome(group=".b", sent_intra=0, arrived=None, parasites=0, rounds_last=None, memory=2.0, live=3),
        )
    )
    kept = measures.where("metric in ('sent_intra', 'arrived', 'parasites', 'rounds_last', 'memory', 'live')")
    assert sorted(tuple(row) for row in kept.drop("trial").collect()) == [
        ("p", ".a", "arrived", 20.0),
        ("p", ".a", "live", 8.0),
        ("p", ".a", "memory", 5.5),
        ("p", ".a", "parasites", 1.0),
        ("p", ".a", "rounds_last", 4.0),
        ("p", ".a", "sent_intra", 24.0),
        ("p", ".b", "live", 3.0),
        ("p", ".b", "memory", 2.0),
        ("p", ".b", "parasites", 0.0),
        ("p", ".b", "sent_intra", 0.0),
    ]


def test_a_trial_that_failed_measures_nothing(spark: "SparkSession") -> None:
    assert summary.measures_by_community(frame(spark, failed())).collect() == []
    assert summary.measures_overall(frame(spark, failed())).collect() == []


# What is measured of the whole


def test_the_whole_system_is_told_event_by_event(spark: "SparkSession") -> None:
    measures = summary.measures_overall(
        frame(
            spark,
            outcome(event=0, group=".", sent_intra=10, sent_up=0, parasites=0, rounds_last=None),
            outcome(event=0, group=".d", sent_intra=20, sent_up=5, parasites=2, rounds_last=6),
            outcome(event=1, group=".", sent_intra=1, sent_up=0, parasites=1, rounds_last=7),
            outcome(event=1, group=".d", sent_intra=2, sent_up=3, parasites=1, rounds_last=5),
            outcome(trial="q-0", group=".d", sent_intra=1, sent_up=0, parasites=0, rounds_last=None),
        )
    )
    assert sorted(tuple(row) for row in measures.drop("trial").collect()) == [
        ("p", "all", "messages", 6.0),
        ("p", "all", "messages", 35.0),
        ("p", "all", "parasites", 2.0),
        ("p", "all", "parasites", 2.0),
        ("p", "all", "rounds_last", 6.0),
        ("p", "all", "rounds_last", 7.0),
        ("q", "all", "messages", 1.0),
        ("q", "all", "parasites", 0.0),
    ]


# Means, intervals, percentiles


def test_the_events_of_one_run_count_as_one_sample(spark: "SparkSession") -> None:
    rows = [
        ("p", "p-0", ".d", "reception", 1.0),
        ("p", "p-0", ".d", "reception", 0.5),
        ("p", "p-1", ".d", "reception", 0.0),
    ]
    several = spark.createDataFrame(rows, "id string, trial string, group string, metric string, value double")
    assert sorted(row["value"] for row in summary.averaged_per_run(several).collect()) == [0.0, 0.75]
    (line,) = summary.summarised(summary.averaged_per_run(several)).collect()
    assert (line["mean"], line["runs"]) == (0.375, 2)


def test_every_metric_a_figure_may_name_is_measured_and_no_other(spark: "SparkSession") -> None:
    whole = frame(
        spark,
        outcome(live=8, reached=6, sent_up=1, arrived_up=1, arrived=10, rounds_last=3, climbs=True, load_spread=1.5),
    )
    assert {row["metric"] for row in summary.measures_by_community(whole).collect()} == set(BY_COMMUNITY)
    assert {row["metric"] for row in summary.measures_overall(whole).collect()} == set(OVERALL)


def measured(spark: "SparkSession", values: dict[str, list[float]]) -> "DataFrame":
    rows = [("p", ".d", metric, value) for metric, several in values.items() for value in several]
    return spark.createDataFrame(rows, "id string, group string, metric string, value double")


@pytest.mark.parametrize("runs", [2, 5, 31, 32, 137])
def test_a_count_has_students_interval_and_exact_percentiles(spark: "SparkSession", runs: int) -> None:
    values = [float(value) for value in random.Random(1).choices(range(1000), k=runs)]
    (row,) = summary.summarised(measured(spark, {"sent_intra": values})).collect()
    assert (row["id"], row["group"], row["metric"]) == ("p", ".d", "sent_intra")
    assert row["mean"] == pytest.approx(np.mean(values), rel=1e-12)
    assert row["ci95"] == pytest.approx(half_width(values), rel=1e-12)
    assert row["p50"] == np.percentile(values, 50)
    assert row["p99"] == pytest.approx(np.percentile(values, 99), rel=1e-15)
    assert (row["max"], row["runs"]) == (max(values), runs)


def test_a_share_of_runs_has_wilsons_interval(spark: "SparkSession") -> None:
    rows = summary.summarised(
        measured(
            spark,
            {"reliability": [1.0] * 17 + [0.0] * 3, "climbed": [0.0] * 10, "crossed": [1.0], "reception": [1.0] * 10},
        )
    ).collect()
    told = {row["metric"]: (row["mean"], row["ci95"]) for row in rows}
    # z = 1.96: z sqrt(0.85 · 0.15 / 20 + z² / 1600) / (1 + z² / 20), worked out by hand
    assert told["reliability"] == (0.85, pytest.approx(0.154025059, abs=5e-10))
    assert told["climbed"] == (0.0, pytest.approx(0.138766400, abs=5e-10))  # z² / 20 / (1 + z² / 10): not certainty
    assert told["crossed"] == (1.0, pytest.approx(0.396725343, abs=5e-10))  # z² / 2 / (1 + z²)
    assert told["reception"] == (1.0, 0.0)  # varies from run to run by itself


def test_one_run_alone_has_no_interval_to_speak_of(spark: "SparkSession") -> None:
    (row,) = summary.summarised(measured(spark, {"memory": [5.5]})).collect()
    assert [row[name] for name in ("mean", "ci95", "p50", "p99", "max", "runs")] == [5.5, 0.0, 5.5, 5.5, 5.5, 1]


def test_what_is_0_or_1_in_each_run_has_wilsons_interval_and_a_share_of_events_students(spark: "SparkSession") -> None:
    sure, share = [1.0] * 20, [1.0] * 19 + [0.5]
    rows = summary.summarised(measured(spark, {"reached_95": sure, "reached_80": share, "memory": sure})).collect()
    found = {row["metric"]: row["ci95"] for row in rows}
    assert found["reached_95"] == pytest.approx(Z95**2 / 40 / (1 + Z95**2 / 20))  # of 20 hits that is known, no more
    assert found["reached_80"] == pytest.approx(half_width(share))
    assert found["memory"] == 0.0


# Which outcomes count


def test_only_the_asked_points_and_runs_are_read_each_once(spark: "SparkSession", tmp_path: Path) -> None:
    mine, other = small(runs=2)
    folder = tmp_path / "out[1] {a,b}*"  # to Spark, a pattern
    kept = outcomes_in(place_at(folder))

    def trial(point: str, run: int, **changes: object) -> Outcome:
        return outcome(trial=f"{point}-{run}", run=run, **changes)

    once = [trial(point_id(mine), 0, group=group, event=event) for group in (".", ".d") for event in (0, 1)]
    keep(kept, *once)
    keep(kept, *once)  # as when a task was tried again
    keep(kept, *[trial(point_id(mine), 1), trial(point_id(mine), 2)])
    keep(kept, *[trial(point_id(other), 0), trial("elsewhere", 0)])
    kept.wave("unfinished").make()
    (kept.wave("unfinished") / "part-9.parquet").write(b"PAR1 and then the process died")
    read = summary.read_outcomes(spark, kept, [mine]).select("trial", "event", "group")
    assert sorted(tuple(row) for row in read.collect()) == [
        (f"{point_id(mine)}-0", 0, "."),
        (f"{point_id(mine)}-0", 0, ".d"),
        (f"{point_id(mine)}-0", 1, "."),
        (f"{point_id(mine)}-0", 1, ".d"),
        (f"{point_id(mine)}-1", 0, ".d"),
    ]


def test_nothing_is_read_where_nothing_was_written(spark: "SparkSession", tmp_path: Path) -> None:
    points = small()
    assert summary.summarise(spark, outcomes_in(place_at(tmp_path)), points) == ([[], []], [])


def test_a_trial_failed_if_it_never_succeeded(spark: "SparkSession") -> None:
    outcomes = frame(
        spark,
        outcome(trial="p-0"),
        failed(trial="p-1", error="ValueError: b", command="again 1"),
        failed(trial="p-1", error="ValueError: a", command="again 1"),
        failed(trial="p-2"),
        outcome(trial="p-2"),
    )
    told = [(row["trial"], row["error"], row["command"]) for row in summary.failed_trials(outcomes).collect()]
    assert told == [("p-1", "ValueError: a", "again 1")]


def test_lines_stand_in_the_order_of_points_groups_and_metrics(spark: "SparkSession", tmp_path: Path) -> None:
    first, second = small(runs=1)
    for point in (second, first):
        rows = [outcome(trial=f"{point_id(point)}-0", group=group, climbs=False) for group in (".d", ".")]
        keep(outcomes_in(place_at(tmp_path)), *rows)
    keep(outcomes_in(place_at(tmp_path)), *[failed(trial=f"{point_id(first)}-0")])  # before it succeeded
    by_point, lost = summary.summarise(spark, outcomes_in(place_at(tmp_path)), [first, second])
    assert lost == []
    assert [line.point for line in by_point[0] + by_point[1]] == [first.swept] * 21 + [second.swept] * 21
    for lines in by_point:
        assert [(line.group, line.metric) for line in lines] == sorted((line.group, line.metric) for line in lines)
        assert {line.group for line in lines} == {".", ".d", "all"}
        assert all(line.runs == 1 for line in lines)


def test_each_of_several_chances_to_climb_has_lines_of_its_own_in_their_order(
    spark: "SparkSession", tmp_path: Path
) -> None:
    (point, _) = small(runs=2)
    chances = (0.5, 0.0001, 1.0)
    for run, event in ((run, event) for run in (0, 1) for event in range(3)):
        said = {"reached": 2 * event + 2 * run, "event": event, "climb": chances[event], "run": run}
        keep(outcomes_in(place_at(tmp_path)), *[outcome(trial=f"{point_id(point)}-{run}", **said)])
    ((*lines,),), _ = summary.summarise(spark, outcomes_in(place_at(tmp_path)), [point])
    found = [(each.point["publish.climb"], each.mean, each.runs) for each in lines if each.metric == "reception"]
    assert found == [(0.0001, 3 / 8, 2), (0.5, 1 / 8, 2), (1.0, 5 / 8, 2)]
    assert all(each.point["faults.fraction"] == 0.0 for each in lines)


# The file


def line(**changes: object) -> Line:
    said = {"group": ".d", "metric": "memory", "mean": 1.0, "ci95": 0.0, "p50": 1.0, "p99": 1.0, "max": 1.0, "runs": 3}
    return Line(**{"point": {}, **said, **changes})  # type: ignore[arg-type]


def test_the_file_has_a_row_per_line_and_nine_digits(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "summary.csv"
    path.parent.mkdir()
    path.write_text("what an earlier sweep left")
    summary.write_csv(
        path,
        [
            line(point={"b": 2, "a.b": 'x"y'}, mean=0.12345678949, ci95=1e-12, p50=123456789012.0, max=2.0),
            line(group="all", mean=1 / 3),
        ],
    )
    assert path.read_text().splitlines() == [
        "point,group,metric,mean,ci95,p50,p99,max,runs",
        r'"{""a.b"":""x\""y"",""b"":2}",.d,memory,0.123456789,1e-12,1.23456789e+11,1,2,3',
        "{},all,memory,0.333333333,0,1,1,1,3",
    ]
    assert [each.name for each in path.parent.iterdir()] == ["summary.csv"]  # no draft is left


def test_the_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "summary.csv"
    path.write_text("before")
    with pytest.raises(csv.Error):
        summary.write_csv(path, [line(), line(group=NotText())])
    assert path.read_text() == "before"


class NotText:
    def __str__(self) -> str:
        raise csv.Error


def test_the_order_in_which_a_mean_was_added_up_does_not_show() -> None:
    values = [k / 1280 for k in random.Random(4).choices(range(900, 1280), k=999)]
    values.append((2 - sum(round(value * 1280) for value in values)) % 4 / 1280)  # the mean ends in a 5 to be cut off
    means = {sum(random.Random(order).sample(values, len(values))) / 1000 for order in range(50)}
    assert len({f"{mean:.9g}" for mean in means}) == 2
    assert len({summary.nine_digits(mean) for mean in means}) == 1
