"""The audit's definitions, each in a story of a few lines; all stories are runs of one folder, audited once."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

pytest.importorskip("pyspark")


from gossamer.core.errors import Misuse
from gossamer.core.ids import peer_of
from gossamer.pipeline import audit, audit_verdict
from gossamer.pipeline.audit_times import rounded
from gossamer.pipeline.results import read_table
from pipeline.audit_stories import COUNTED, STORIES
from pipeline.audited import Audited
from pipeline.filter_stories import ASKED
from pipeline.oracle import Story
from pipeline.recovery_stories import RECOVERIES
from pipeline.returned import ACKNOWLEDGED, GIVEN, RUN
from pipeline.simulated import SPREADS
from pipeline.stories import BEGAN_US, lines
from pipeline.wild_stories import FILTERED, WILD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TOLD = STORIES | ASKED

# Definitions


@pytest.mark.parametrize("name", TOLD)
def test_a_story_is_counted_as_it_is_told(audited: Audited, name: str) -> None:
    assert audited.counts(name) == TOLD[name][1]


@pytest.mark.parametrize(
    "name", [name for name in (*STORIES, *ASKED, *WILD, *FILTERED) if name != "two starts under one head"]
)
def test_the_audit_agrees_with_its_definitions_in_plain_python(audited: Audited, name: str) -> None:
    story = TOLD[name][0] if name in TOLD else (WILD | FILTERED)[name]
    ours = {key: n for key, n in audited.counts(name).items() if key not in ("declared", "found", "messages", "bytes")}
    assert ours == dict(Story(lines(story)).audit())


def test_wild_stories_hold_everything_the_audit_counts() -> None:
    together = sum((Story(lines(story)).audit() for story in (WILD | FILTERED).values()), Story([]).audit())
    assert set(together) == set(COUNTED) - {"declared", "found", "messages", "bytes"}
    assert min(together.values()) >= 4


def test_every_missing_delivery_is_named_with_the_place_the_event_was_last_seen_at(audited: Audited) -> None:
    rows = audited.table("missing", "missing")
    assert [(row["event"], row["name"]) for row in rows] == [
        *((f"{peer_of('p')}-1-1", name) for name in "bcd"),
        *((f"{peer_of('p')}-1-2", name) for name in "abcd"),
    ]
    places = [[row[f"seen_{what}"] for what in ("how", "at", "after_us", "hops")] for row in rows]
    assert places == [
        ["sent to it", "p", 600_000, None],
        ["delivered elsewhere", "a", 500_000, 3],
        ["reject there", "d", 700_000, None],
        *[["published", "p", 0, 0]] * 4,
    ]
    assert [(row["community"], row["had"], row["members"]) for row in rows[:3]] == [
        (".x", 1, 3),
        (".", 0, 1),
        (".x", 1, 3),
    ]


def test_without_sends_the_last_place_is_the_latest_delivery_in_the_community(audited: Audited) -> None:
    rows = audited.table("missing", "brief")
    assert [(row["name"], row["seen_how"], row["seen_at"], row["seen_hops"]) for row in rows[:3]] == [
        ("b", "delivered in its community", "a", 3),
        ("c", "delivered elsewhere", "a", 3),
        ("d", "reject there", "d", None),
    ]


def test_parasites_are_named_with_who_told_of_them_and_who_sent_them(audited: Audited) -> None:
    told = audited.table("parasites", "parasite told")
    assert [(r["name"], r["declared"], r["found"], r["copies"], r["bytes"], r["via"]) for r in told] == [
        ("a", True, False, 1, 9, "p")
    ]
    hidden = audited.table("parasites", "parasite hidden")
    assert {(r["name"], r["found"], r["copies"], r["bytes"]) for r in hidden} == {
        ("a", True, 2, 18),
        ("b", True, 1, None),
        ("c", True, 1, None),
    }


def test_duplicates_are_named(audited: Audited) -> None:
    (row,) = audited.table("duplicates", "restart")
    assert (row["name"], row["event"], row["times"]) == ("a", f"{peer_of('p')}-1-1", 2)


def test_what_a_restarted_node_gives_its_reader_again_is_no_duplicate(audited: Audited) -> None:
    counts = audited.counts(RUN)
    assert (counts["redelivered"], counts.get("duplicates", 0)) == (GIVEN - ACKNOWLEDGED, 0)


def test_lives_are_listed_with_their_ends(audited: Audited) -> None:
    lives = [(row["name"], row["life"], row["ended"], row["returned"]) for row in audited.table("lives", "restart")]
    assert lives == [("a", 1, "silent", True), ("a", 2, "stopped", False), ("p", 1, "stopped", False)]
    parts = [(row["name"], row["part"], row["ended"]) for row in audited.table("lives", "two starts under one head")]
    assert parts == [("a", 1, "crashed"), ("a", 2, "stopped"), ("p", 1, "stopped")]


# Measures


def test_latency_counts_deliveries_at_other_nodes_and_hops_too(audited: Audited) -> None:
    (row,) = audited.table("per_topic", "calm")
    assert [row[f"latency_us_{p}"] for p in ("p50", "p90", "p99", "max")] == [1500, 1900, 1990, 2000]
    assert (row["hops_mean"], row["hops_max"]) == (1.5, 2)
    nodes = {row["name"]: (row["hops_mean"], row["hops_max"]) for row in audited.table("per_node", "calm")}
    assert nodes == {"p": (None, None), "a": (1, 1), "b": (2, 2), "c": (None, None)}
    again = audited.table("per_node", "restart")[0]
    assert (again["name"], again["hops_mean"], again["hops_max"]) == ("a", 2.5, 4)


def test_times_are_rounded_to_four_digits(spark: "SparkSession") -> None:
    told = {
        0: 0,
        -1: -1,
        9_999: 9_999,
        10_000: 10_000,
        12_345: 12_350,
        -12_344: -12_340,
        99_995: 100_000,
        100_000: 100_000,
        1_234_567_890: 1_235_000_000,
        2**53 - 1: 9_007_000_000_000_000,
    }
    rows = spark.createDataFrame([(us,) for us in told], "us long").select("us", rounded("us").alias("told")).collect()
    assert {row["us"]: row["told"] for row in rows} == told


def test_a_negative_latency_is_told_and_not_clipped(audited: Audited) -> None:
    (row,) = audited.table("per_topic", "before its time")
    assert (row["latency_us_p50"], row["latency_us_max"], row["negative_latencies"]) == (0, 100_000, 1)


def test_messages_and_bytes_are_those_sent_or_nothing_is_said_of_them(audited: Audited) -> None:
    nodes = {row["name"]: row for row in audited.table("per_node", "calm")}
    traffic = ("messages_sent", "bytes_sent", "messages_received", "bytes_received")
    assert [nodes["a"][name] for name in traffic] == [1, 80, 1, 80]
    assert [nodes["c"][name] for name in traffic] == [0, 0, 0, 0]
    assert [nodes["b"][name] for name in traffic] == [0, 0, 2, 160]
    for row in audited.table("per_node", "brief"):
        assert [row[name] for name in traffic] == [None] * 4
    (row,) = audited.table("per_topic", "brief")
    assert (row["messages"], row["bytes"]) == (None, None)
    assert audited.verdict.messages is None


def test_efficiency_is_useful_copies_by_all_copies_of_a_community(audited: Audited) -> None:
    rows = {row["community"]: row for row in audited.table("per_community", "calm")}
    assert {name: row["efficiency"] for name, row in rows.items()} == {".": 1.0, ".s": None, ".s.i": 0.5}
    assert rows[".s.i"]["members"] == 1
    assert all(row["efficiency"] is None for row in audited.table("per_community", "brief"))


def test_refusals_and_gaps_are_counted_per_node(audited: Audited) -> None:
    (row,) = audited.table("per_node", "refused")
    assert (row["refused"], row["gaps"], row["published"]) == (2, 1, 0)


def test_an_event_tells_what_became_of_it(audited: Audited) -> None:
    (row,) = audited.table("events", "before its time")
    assert (row["publisher"], row["topic"], row["published_us"]) == ("p", ".x", BEGAN_US + 5_000_000)
    assert (row["expected"], row["delivered"], row["latency_us_max"]) == (2, 2, 100_000)


# The whole


def test_the_verdict_is_the_sum_of_the_tables(audited: Audited) -> None:
    verdict, topics = audited.verdict, audited.table("per_topic")
    for name in audit_verdict.OF_TOPICS:
        assert getattr(verdict, name) == sum(row[name] for row in topics), name
    assert verdict.expected == verdict.delivered + verdict.missing
    assert verdict.missing == len(audited.table("missing"))
    assert verdict.parasites == sum(1 for row in audited.table("parasites") if row["declared"] or row["found"])
    assert verdict.strays == sum(1 for row in audited.table("parasites") if row["stray"])
    assert verdict.duplicates == sum(row["times"] - 1 for row in audited.table("duplicates"))
    assert verdict.events == len(audited.table("events"))
    assert not verdict.holds


def test_the_verdict_is_written_as_it_is_told(audited: Audited) -> None:
    assert msgspec.json.decode((audited.out / "verdict.json").read_bytes(), type=audit.Verdict) == audited.verdict


def test_every_run_and_node_is_there_and_copies_of_a_file_count_once(audited: Audited) -> None:
    assert audited.verdict.runs == len(STORIES) + len(RECOVERIES) + len(ASKED) + len(WILD) + len(FILTERED) + 8 + len(
        SPREADS
    )
    assert audited.verdict.nodes == len(audited.table("per_node"))
    assert audited.verdict.lost_rows == 0


def test_foreign_files_are_named_and_skipped(audited: Audited) -> None:
    with (audited.out / "skipped.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [
            ["file", "why"],
            ["calm/odd.segment", "not a trace segment by its first bytes"],
            ["notes.txt", "not a trace segment by its name"],
        ]
    assert (audited.verdict.skipped, audited.verdict.torn) == (2, 0)


def test_every_step_is_said(audited: Audited) -> None:
    assert tuple(audited.steps) == audit.STEPS


def test_nothing_half_done_is_left(audited: Audited) -> None:
    assert [path.name for path in audited.out.iterdir() if path.name.startswith(".")] == []


def test_a_folder_without_traces_is_refused(spark: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(Misuse, match=r"there are no traces below .*: name the folder that the nodes write"):
        audit.audit_folder(spark, tmp_path, tmp_path / "out")
    with pytest.raises(Misuse, match="is not a folder: name the one"):
        audit.audit_folder(spark, tmp_path / "nowhere", tmp_path / "out")
    with pytest.raises(Misuse, match=r"--out .*notes\.txt is a file: name a folder"):
        audit.audit_folder(spark, tmp_path, tmp_path / "notes.txt")
    assert not (tmp_path / "out").exists()


def test_many_tasks_come_to_the_same_as_one(
    audited: Audited, spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "ROWS_FOR_ONE_TASK", 0)
    assert audit.audit_folder(spark, audited.traces, tmp_path, unlock=audited.unlock) == audited.verdict
    for table in sorted(audited.out.glob("*.csv")):
        assert (tmp_path / table.name).read_text() == table.read_text(), table.name
        assert read_table(tmp_path, table.stem) == read_table(audited.out, table.stem), table.name
