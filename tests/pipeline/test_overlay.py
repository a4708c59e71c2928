"""From a table to an overlay: Spark takes stock of it as the arrays do, and every row of the table is accounted for."""

import csv
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from msgspec.structs import replace

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq

from gossamer.core.errors import Misuse
from gossamer.fast import measures
from gossamer.fast.spidercast import build
from gossamer.lab.studies.overlay.pairs import AGAIN, NO_NODE, NO_TOPIC, interests_of
from gossamer.pipeline import overlay, workloads
from gossamer.pipeline.overlay_summary import Summary
from gossamer.pipeline.places import place_at
from gossamer.pipeline.results import read_table
from gossamer.pipeline.subscriptions import find_table
from gossamer.protocols.spidercast.experiment.setting import InterestArrays, OverlaySetting
from gossamer.protocols.spidercast.experiment.workload import Workload
from gossamer.protocols.spidercast.params import Params
from gossamer.web.overlay import sentence, write_report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEED = 5
PARAMS = {"greedy": 1, "margin": 2}
"Few enough that some topics come apart."
BAD = [(None, "t3"), ("ghost", None), ("n0007", "t1"), ("n0007", "t1")]


class Made(NamedTuple):
    """A table of its own, the overlay made from it, and the same pairs as arrays."""

    table: Path
    out: Path
    summary: Summary
    wants: InterestArrays
    measured: measures.Measures


def write_table(path: Path) -> None:
    """Pairs in no order, among them some that are not to be used."""
    wants = Workload(nodes=150, topics=40, popularity="zipf", exponent=1.5, subscriptions=(1, 6)).interests(1)
    rows: list[tuple[str | None, str | None]] = [
        (f"n{node:04}", f"t{topic}") for node in range(wants.nodes) for topic in wants.of(node)
    ]
    rows = [row for row in rows if row != ("n0007", "t1")] + BAD
    order = np.random.default_rng(2).permutation(len(rows))
    shuffled = [rows[i] for i in order]
    pq.write_table(pa.table({name: [row[i] for row in shuffled] for i, name in enumerate(("node", "topic"))}), path)


@pytest.fixture(scope="module")
def made(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("overlay")
    write_table(folder / "pairs.parquet")
    out = folder / "out"
    table = place_at(folder / "pairs.parquet")
    overlay.check_out(place_at(out), table)
    summary = overlay.overlay_from_table(spark, find_table(table), place_at(out), out, PARAMS, SEED)
    write_report(out, summary, "gossamer overlay")
    good = pq.read_table(folder / "pairs.parquet").drop_null()
    pq.write_table(good, folder / "good.parquet")
    wants = interests_of(str(folder / "good.parquet"))
    links = build(OverlaySetting(interests=wants, params=Params(**PARAMS)), SEED).links
    return Made(
        folder / "pairs.parquet",
        out,
        summary,
        wants,
        measures.measure(wants.starts, wants.topics, wants.topic_count, links),
    )


def test_spark_says_the_same_as_the_arrays(made: Made) -> None:
    assert made.summary.topics_partitioned  # else the comparison says little
    for name in Summary.__struct_fields__:
        if name in measures.Measures.__struct_fields__:
            assert getattr(made.summary, name) == pytest.approx(getattr(made.measured, name)), name
    assert made.summary.subscriptions == made.measured.pairs
    assert not made.summary.connected


def test_every_topic_has_its_row_and_those_that_came_apart_stand_first(made: Made) -> None:
    rows, found = read_table(made.out, "components"), made.measured
    numbers = {name: i for i, name in enumerate(sorted(row["topic"] for row in rows))}
    assert len(rows) == found.topics_populated
    for row in rows:
        topic = numbers[row["topic"]]
        assert row["subscribers"] == found.subscribers_by_topic[topic]
        assert row["components"] == found.components_by_topic[topic]
        assert row["largest"] == found.largest_by_topic[topic]
        assert (row["diameter"], row["exact"]) == (found.diameter_by_topic[topic], True)
    order = [(row["components"] <= 1, -row["subscribers"]) for row in rows]
    assert order == sorted(order)
    assert sum(row["links"] for row in rows) == found.messages_separate


def test_links_and_degrees_are_said_by_name(made: Made) -> None:
    links = pq.read_table(made.out / "links.parquet").to_pylist()
    degrees = {row["node"]: row for row in pq.read_table(made.out / "degrees.parquet").to_pylist()}
    ends = Counter(end for link in links for end in (link["node"], link["neighbour"]))
    assert {name: row["degree"] for name, row in degrees.items() if row["degree"]} == ends
    assert list(degrees) == sorted(degrees)
    assert [row["topics"] for row in degrees.values()] == np.diff(made.wants.starts).tolist()
    assert {link["kind"] for link in links} == {"greedy"}
    assert all(row["greedy"] == row["degree"] and not row["random"] for row in degrees.values())
    wanted = {name: set(made.wants.of(node)) for node, name in enumerate(degrees)}
    assert all(link["topics"] == len(wanted[link["node"]] & wanted[link["neighbour"]]) for link in links)


def test_no_row_is_lost(made: Made) -> None:
    aside = pq.read_table(made.out / "quarantine").to_pylist()
    table = [(row["node"], row["topic"]) for row in pq.read_table(made.table).to_pylist()]
    assert made.summary.rows == len(table) == made.summary.subscriptions + len(aside)
    assert made.summary.set_aside == {NO_NODE: 1, NO_TOPIC: 1, AGAIN: 1} == Counter(row["reason"] for row in aside)
    assert all(table[row["row"] - 1] == (row["node"], row["topic"]) for row in aside)
    assert made.summary.nodes_left_out == 1
    assert [(one.file, one.row) for one in made.summary.examples] == [(row["file"], row["row"]) for row in aside]


def test_the_summary_is_there_for_programs_too(made: Made) -> None:
    said = json.loads((made.out / "summary.json").read_text())
    assert said["params"]["greedy"] == 1
    rows = dict(csv.reader((made.out / "summary.csv").read_text().splitlines()))
    for name in ("degree_mean", "degree_max", "components", "topics_populated", "topics_partitioned",
                 "diameter_topic_max", "diameter_overlay", "messages_per_change"):  # fmt: skip
        assert float(rows[name]) == pytest.approx(said[name])
    assert rows["connected"] == "false"
    assert not (made.out / ".halfway").exists()


def test_the_report_names_what_came_apart_and_what_was_set_aside(made: Made) -> None:
    page = (made.out / "report.html").read_text()
    worst = read_table(made.out, "components", 1)[0]
    for text in ("Partitioned topics", "Rows set aside", "the pair was there before", worst["topic"], "Neighbours"):
        assert text in page
    assert sorted(path.name for path in (made.out / "figures").glob("*.svg")) == [
        "degree-by-topics.svg", "degrees.svg", "diameters.svg",
    ]  # fmt: skip


def test_the_sentence_counts_as_people_do(made: Made) -> None:
    one = replace(made.summary, connected=True, topics_populated=1, links=1, subscriptions=2, degree_mean=1.0)
    assert sentence(one) == "The topic is connected, with 1 link for 2 subscriptions: 1.00 neighbours a node."
    whole = replace(one, topics_populated=1200, links=3000)
    assert sentence(whole).startswith("All 1,200 topics are connected, with 3,000 links for 2 subscriptions")
    assert sentence(replace(whole, connected=False, topics_partitioned=1)) == "1 of 1,200 topics is partitioned."


# Workloads


@pytest.mark.parametrize(
    "workload",
    [
        Workload(nodes=257, topics=30, subscriptions=(0, 5)),
        Workload(nodes=100, topics=12, popularity="nyse", correlated=0.5),
    ],
)
def test_what_spark_generates_is_what_one_process_does(
    workload: Workload, spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workloads, "NODES_PER_TASK", 60)
    monkeypatch.setattr(workloads, "CELLS_AT_ONCE", 30 * 17)
    made = workloads.generate_pairs(spark, workload, SEED)
    assert made.rdd.getNumPartitions() > 1
    wants = workload.interests(SEED)
    expected = [(node, topic) for node in range(wants.nodes) for topic in wants.of(node)]
    assert sorted((row["node"], row["topic"]) for row in made.collect()) == expected


# What is asked for


def test_many_nodes_know_a_part_of_the_others_unless_asked_otherwise() -> None:
    many = overlay.FULL_UP_TO + 1
    assert overlay.fitting({}, many - 1) == Params()
    assert overlay.fitting({"greedy": 2}, many) == Params(greedy=2, view=overlay.PARTIAL, rendezvous=True)
    assert overlay.fitting({"view": "full"}, many) == Params()
    assert overlay.fitting({"rendezvous": False}, many) == Params(view=overlay.PARTIAL)
    assert not overlay.fitting({"selection": "similarity"}, many).rendezvous


def test_results_do_not_overwrite_what_they_are_made_from(tmp_path: Path) -> None:
    (tmp_path / "quarantine").mkdir()
    for source in (tmp_path / "quarantine", tmp_path / "quarantine" / "part.parquet"):
        with pytest.raises(Misuse, match="would be overwritten by its own results: name another folder"):
            overlay.check_out(place_at(tmp_path), place_at(source))
    overlay.check_out(place_at(tmp_path), place_at(tmp_path / "pairs.csv"))


def test_a_table_of_nothing_but_bad_rows_says_where_they_are(spark: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("node,topic\n,b\na,\n")
    (tmp_path / "none.csv").write_text("node,topic\n")
    out = tmp_path / "out"
    overlay.check_out(place_at(out), place_at(tmp_path / "bad.csv"))
    with pytest.raises(
        Misuse, match=r"no row of .*bad\.csv says a node and a topic \(1 × no node, 1 × no topic\): see"
    ):
        overlay.overlay_from_table(spark, find_table(place_at(tmp_path / "bad.csv")), place_at(out), out, {}, SEED)
    assert pq.read_table(out / "quarantine").num_rows == 2
    with pytest.raises(Misuse, match=r"none\.csv has no rows: it needs one \(node, topic\) for each subscription"):
        overlay.overlay_from_table(spark, find_table(place_at(tmp_path / "none.csv")), place_at(out), out, {}, SEED)
    assert not (out / "quarantine").exists()
