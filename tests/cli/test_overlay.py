"""gossamer overlay: what came of it in a few lines, what is wrong by name, and an exit code a script can trust."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from cli.running import gossamer
from cli.test_misuse import assert_refused
from gossamer.fast.measures import components
from gossamer.fast.spidercast import build
from gossamer.pipeline.results import read_table
from gossamer.protocols.spidercast.experiment.setting import OverlaySetting
from gossamer.protocols.spidercast.experiment.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALONE = ("--view", "1", "--no-rendezvous", "--seed", "9")
"Nobody knows anybody who wants the same."
PAIRS = "node,topic\nann,news\nbob,news\ncy,news\nann,[art]\nbob,[art]\ndot,lone\ndot,lone\n,lone\n"


def test_topics_that_came_apart_and_rows_set_aside_are_named(spark: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text(PAIRS)
    said = gossamer("overlay", tmp_path / "pairs.csv", "--out", tmp_path / "out", *ALONE)
    assert (said.exit_code, said.stderr) == (1, "")
    assert "2 of 3 topics are partitioned." in said.stdout
    assert "  news is in 3 parts, the largest of 1 of 3 subscribers\n" in said.stdout
    assert "  [art] is in 2 parts" in said.stdout
    assert "2 of 8 rows were set aside: no node (1), the pair was there before (1)" in said.stdout
    assert "  pairs.csv, row 7: the pair was there before\n" in said.stdout
    assert (tmp_path / "out" / "report.html").exists()


def test_a_generated_workload_is_that_of_an_experiment_also_with_a_topic_that_everybody_wants(
    spark: "SparkSession", tmp_path: Path
) -> None:
    text = "{nodes = 500, topics = 8, subscriptions = [2, 4], popularity = 'zipf', exponent = 5.0}"
    said = gossamer("overlay", "--workload", text, "--out", tmp_path / "out", "--seed", 4, "--json")
    assert said.exit_code == 0
    summary = json.loads(said.stdout)
    wants = Workload(nodes=500, topics=8, subscriptions=(2, 4), popularity="zipf", exponent=5.0).interests(4)
    links = build(OverlaySetting(interests=wants), 4).links
    assert summary["links"] == len(links)
    assert summary["components"] == components(wants.starts, wants.topics, wants.topic_count, links).sum() == 8
    assert (summary["connected"], summary["set_aside"], summary["at_rest"]) == (True, {}, True)
    assert (tmp_path / "out" / "subscriptions.parquet").is_dir()
    giant = max(read_table(tmp_path / "out", "components"), key=lambda row: int(row["subscribers"]))
    assert (giant["subscribers"], giant["components"], giant["largest"]) == (500, 1, 500)
    assert summary["degree_max"] <= 10


# Refused before Spark is started


def test_either_a_table_or_a_workload_is_named(tmp_path: Path) -> None:
    says = "name a table of subscriptions, or generate one with --workload: one of the two"
    assert_refused(says, "overlay", "--out", tmp_path)
    assert_refused(says, "overlay", tmp_path / "pairs.csv", "--workload", "{}", "--out", tmp_path)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--view", "some"], '--view must be "full", a share of all nodes such as 0.05, or so many nodes'),
        (["--view", "1.5"], "a view that is a share must be more than 0, at most 1"),
        (["--view", "0"], "a view of so many nodes must be at least 1"),
        (["--selection", "guess"], "--selection must be coverage, similarity, random or ring, not 'guess'"),
        (["--greedy", "-1"], "--greedy must be 0 to 64"),
        (["--greedy", "0"], "--greedy and --random are both 0: there would be no links"),
        (["--adaptive", "--random", "2"], "adaptive nodes choose random themselves"),
    ],
)
def test_parameters_are_checked(options: list[str], says: str, tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text(PAIRS)
    assert_refused(says, "overlay", tmp_path / "pairs.csv", "--out", tmp_path / "out", *options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nodes=3", "write a table as in TOML, like {nodes = 2000000, topics = 100}"),
        ("3", "--workload must be a table, not the number 3"),
        ("{node = 3}", "there is no field workload.node; workload has nodes, topics, "),
        ("{nodes = 0}", "workload.nodes must be at least 1"),
        (
            "{topics = 4, subscriptions = 5}",
            "workload.subscriptions are two numbers, at least and at most, within topics",
        ),
        ("{file = 'pairs.csv'}", "--workload generates pairs: name a file without it, gossamer overlay FILE"),
    ],
)
def test_a_workload_is_a_table_of_its_fields(text: str, says: str, tmp_path: Path) -> None:
    assert_refused(says, "overlay", "--workload", text, "--out", tmp_path / "out")


def test_files_are_looked_at_first(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text(PAIRS)
    assert_refused("name a folder", "overlay", tmp_path / "pairs.csv", "--out", tmp_path / "pairs.csv")
    assert_refused("there is no ", "overlay", tmp_path / "nothing.csv", "--out", tmp_path / "out")
