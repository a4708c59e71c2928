"""Following a network says, once all is there, what the audit says of the finished traces, row by row."""

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from gossamer.pipeline import audit, follow
from gossamer.pipeline.audit import audit_folder
from gossamer.pipeline.audit_pairs import KEY
from gossamer.pipeline.desk import Desk
from gossamer.pipeline.follow_memory import Store
from gossamer.pipeline.follow_totals import COUNTS
from gossamer.pipeline.results import read_table
from pipeline.audit_stories import STORIES
from pipeline.filter_stories import ASKED
from pipeline.following import FAULTS, Followed, Growing, table_of, topics_of
from pipeline.stories import BEGAN_US, write_story
from pipeline.wild_stories import FILTERED, WILD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipeline.audited import Audited

pytestmark = pytest.mark.spark

TIMES = ("latency_us_p50", "latency_us_p90", "latency_us_p99")
OF_FAULTS = {
    "missing": ("topic", "community", "published_us", "promised", "had", "members"),
    "parasites": ("topic", "stray", "declared", "found", "copies", "bytes", "first_us"),
    "duplicates": ("topic", "times", "redelivered", "first_us"),
}
CALM = """
p 0 start
a 0 start
a 0 subscribe .x
b 0 start
b 0 subscribe .x
c 0 start
p 5 publish .x p:1
a 5.1 deliver .x p:1 hops=1
b 5.2 deliver .x p:1 hops=2
c 8 alive
p 15 publish .x p:2
a 15.1 deliver .x p:2 hops=1
b 15.3 deliver .x p:2 hops=1
p 25 stop
a 25 stop
b 25 stop
c 25 stop
"""
FAULTY = {
    "lost": CALM.replace("b 5.2 deliver .x p:1 hops=2", ""),
    "doubled": CALM.replace("b 5.2 deliver .x p:1 hops=2", "b 5.2 deliver .x p:1 hops=2\nb 5.4 deliver .x p:1 hops=2"),
    "unasked": CALM.replace("c 8 alive", "c 8 deliver .x p:1 hops=3"),
}
SOME = ("lost, doubled and given to the wrong one", "missing", "parasite hidden")
OF_EVENTS = (
    *("topic", "published_us", "promised", "heard", "values", "expected", "delivered", "missing", "in_doubt"),
    *("unmatched", "duplicates", "latency_us_max", "hops_max"),
)


def same(store: Store, out: Path, runs: Sequence[str] = ()) -> None:
    """As the audit that wrote there, about these runs or all there are."""

    def audited(name: str) -> list[dict[str, Any]]:
        return [row for row in read_table(out, name) if not runs or row["run"] in runs]

    assert topics(topics_of(store)) == topics(audited("per_topic"))
    assert events(table_of(store, "events")) == events(audited("events"))
    for table in FAULTS:
        assert rows(table_of(store, table), *OF_FAULTS[table]) == rows(audited(table), *OF_FAULTS[table])


def topics(table: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    told = [{name: row[name] for name in ("run", "topic", *COUNTS, *TIMES)} for row in table]
    return sorted(
        (row for row in told if any(row[name] for name in COUNTS)), key=lambda row: (row["run"], row["topic"])
    )


def events(table: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return rows(table, *OF_EVENTS)


def rows(table: Sequence[dict[str, Any]], *columns: str) -> list[tuple[Any, ...]]:
    """Without names, which a slice does not have."""
    word = [row["event"] if "event" in row else "-".join(str(row[name]) for name in KEY[1:]) for row in table]
    told = [(row["run"], event, *(row[column] for column in columns)) for row, event in zip(table, word, strict=True)]
    return sorted(told, key=repr)


def faulty(spark: "SparkSession", folder: Path) -> Followed:
    for name, story in FAULTY.items():
        write_story(folder / "finished", name, story)
    return Followed(spark, Growing(folder / "finished", folder / "traces"), folder / "out")


def in_pieces(followed: Followed, pieces: int) -> None:
    growing = followed.growing
    for piece in range(1, pieces + 1):
        growing.grow(growing.times[len(growing.times) * piece // pieces - 1])
        while followed.take():
            pass


def test_runs_that_come_in_pieces_are_judged_as_if_they_came_at_once(
    spark: "SparkSession", audited: "Audited", tmp_path: Path
) -> None:
    followed = Followed(spark, Growing(audited.traces, tmp_path / "traces", SOME), tmp_path / "out")
    in_pieces(followed, 2)
    same(followed.store, audited.out, SOME)
    faults = [row for row in followed.alerts if row["kind"] in ("missing", "parasite", "duplicate")]
    assert Counter((row["run"], row["kind"], row["state"]) for row in faults) == {
        (SOME[0], "missing", "raised"): 1,
        (SOME[0], "parasite", "raised"): 2,
        (SOME[0], "duplicate", "raised"): 1,
        (SOME[1], "missing", "raised"): 7,
        (SOME[2], "parasite", "raised"): 3,
    }


@pytest.mark.slow
def test_many_tasks_say_the_same_as_one(
    spark: "SparkSession", audited: "Audited", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (audit, follow):
        monkeypatch.setattr(module, "ROWS_FOR_ONE_TASK", 0)
    followed = Followed(spark, Growing(audited.traces, tmp_path / "traces", SOME), tmp_path / "out")
    in_pieces(followed, 2)
    same(followed.store, audited.out, SOME)


@pytest.mark.slow
@pytest.mark.parametrize("spread", ["camcast", "dispatch"])
def test_a_town_with_faults_is_judged_while_it_lives_as_after_it(
    spark: "SparkSession", audited: "Audited", tmp_path: Path, spread: str
) -> None:
    growing = Growing(audited.traces, tmp_path / "traces", [f"town {spread}"])
    followed = Followed(spark, growing, tmp_path / "out")
    in_pieces(followed, 4)
    followed.end()
    audit_folder(spark, tmp_path / "traces", tmp_path / "audit")
    same(followed.store, tmp_path / "audit")


@pytest.mark.slow
def test_a_filter_that_comes_when_all_is_judged_says_more_of_what_was(spark: "SparkSession", tmp_path: Path) -> None:
    asks = CALM.replace("c 25 stop", "c 22 subscribe .x detail=k>1\nc 25 stop")
    write_story(tmp_path / "finished", "asked late", asks)
    followed = Followed(spark, Growing(tmp_path / "finished", tmp_path / "traces"), tmp_path / "out")
    in_pieces(followed, 3)
    audit_folder(spark, tmp_path / "traces", tmp_path / "audit")
    same(followed.store, tmp_path / "audit")
    assert [row["untold"] for row in followed.topics] == [2]


@pytest.mark.slow
def test_an_alert_names_who_where_and_what(spark: "SparkSession", tmp_path: Path) -> None:
    followed = faulty(spark, tmp_path)
    in_pieces(followed, 3)
    faults = [row for row in followed.alerts if row["kind"] in ("missing", "parasite", "duplicate")]
    assert [(row["run"], row["kind"], row["state"], row["name"], row["publisher"], row["topic"]) for row in faults] == [
        ("doubled", "duplicate", "raised", "b", "p", ".x"),
        ("lost", "missing", "raised", "b", "p", ".x"),
        ("unasked", "parasite", "raised", "c", "p", ".x"),
    ]


class Killed(BaseException):
    """SIGKILL, as far as what is on disk can tell."""


@pytest.mark.slow
def test_killed_at_any_step_of_any_batch_it_ends_with_the_same(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed = faulty(spark, tmp_path)
    settle, left = Desk.settle, [0]

    def killed(desk: Desk, frame: Any, name: str) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise Killed
        return settle(desk, frame, name)

    monkeypatch.setattr(Desk, "settle", killed)
    step = 0
    for moment in (1_000_000, 6_000_000, 14_000_000, 26_000_000):
        followed.growing.grow(BEGAN_US + moment)
        left[0] = step = step + 5
        try:
            followed.take()
        except Killed:
            followed.begin()
            followed.again()
        followed.again()  # what is done already changes nothing
    left[0] = 0
    followed.end()
    audit_folder(spark, tmp_path / "traces", tmp_path / "audit")
    same(followed.store, tmp_path / "audit")


@pytest.mark.slow
def test_a_nodes_traces_that_come_when_all_is_judged_open_again_what_they_are_about(
    spark: "SparkSession", tmp_path: Path
) -> None:
    followed = faulty(spark, tmp_path)
    followed.growing.grow(followed.growing.times[-1], leave_out="a-1-0")
    followed.take()
    followed.end()
    assert sum(row["expected"] for row in followed.topics) == 6  # nobody knows of a
    shutil.copytree(tmp_path / "traces" / "lost", tmp_path / "traces" / "copies")
    followed.take()
    followed.growing.grow(followed.growing.times[-1])
    followed.take()
    assert [row["expected"] for row in followed.topics] == [4, 4, 4]
    audit_folder(spark, tmp_path / "traces", tmp_path / "audit")
    same(followed.store, tmp_path / "audit")


@pytest.mark.slow
def test_a_node_that_was_given_up_and_speaks_again_has_what_it_missed_judged_again(
    spark: "SparkSession", tmp_path: Path
) -> None:
    followed = faulty(spark, tmp_path)
    followed.growing.grow(BEGAN_US + 6_000_000, leave_out="b-1-0")
    followed.take()
    followed.growing.grow(BEGAN_US + 14_000_000, leave_out="b-1-0")
    followed.take()
    followed.end()
    alerts = [*followed.alerts]
    assert {row["name"] for row in alerts if row["kind"] == "silent"} >= {"a", "p"}
    followed.growing.grow(followed.growing.times[-1])
    followed.take()
    last = {(row["run"], row["name"]): row["state"] for row in followed.alerts if row["kind"] == "silent"}
    assert {*last.values()} == {"over"}
    audit_folder(spark, tmp_path / "traces", tmp_path / "audit")
    same(followed.store, tmp_path / "audit")


@pytest.mark.slow
def test_all_stories_in_pieces_come_to_what_the_audit_says(spark: "SparkSession", tmp_path: Path) -> None:
    stories = {name: story for name, (story, _) in (STORIES | ASKED).items()} | WILD | FILTERED
    for name, story in stories.items():
        write_story(tmp_path / "finished", name, story)
    followed = Followed(spark, Growing(tmp_path / "finished", tmp_path / "traces"), tmp_path / "out")
    in_pieces(followed, 3)
    followed.end()
    audit_folder(spark, tmp_path / "traces", tmp_path / "audit")
    same(followed.store, tmp_path / "audit")
