"""Studies of overlays on the command line: one run as numbers, a whole sweep as files."""

import csv
import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from cli.running import gossamer
from gossamer.lab.papers import paper
from gossamer.lab.studies.overlay.metrics import METRICS
from lab.overlays import SMALL, SWEPT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NEEDED = {
    "degree_mean", "degree_max", "components", "topics_populated", "topics_partitioned", "diameter_topic_max",
    "diameter_overlay", "messages_per_change",
}  # fmt: skip


def written(folder: Path, more: str = SWEPT) -> Path:
    path = folder / "few.toml"
    path.write_text(SMALL.replace("ENGINE", "kernel") + more)
    return path


def told(*arguments: object) -> list[dict[str, Any]]:
    ran = gossamer("simulate", *arguments, "--json")
    assert (ran.exit_code, ran.stderr) == (0, "")
    return json.loads(ran.stdout)["outcomes"]  # type: ignore[no-any-return]


def test_a_run_is_told_in_numbers_and_what_they_are(tmp_path: Path) -> None:
    ran = gossamer("simulate", written(tmp_path), "--set", "workload.nodes=40")
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert "few: A few nodes." in ran.stdout
    assert "spidercast · 40 nodes · run 0 · seed " in ran.stdout
    assert all(metric in ran.stdout for metric in NEEDED)
    assert METRICS["topics_partitioned"] in ran.stdout


def test_the_command_of_a_row_shows_the_same_trial_again(tmp_path: Path) -> None:
    rows = told(written(tmp_path), "--set", "params.view=0.5", "--case", "spidercast", "--run", "1")
    (command,) = {row["command"] for row in rows}
    program, simulate, *arguments = shlex.split(command)
    assert (program, simulate) == ("gossamer", "simulate")
    assert told(*arguments) == rows


def test_a_table_of_ones_own_is_found_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("node,topic\na,x\nb,x\nc,y\nd,y\nd,x\n")
    (tmp_path / "own.toml").write_text(
        '[experiment]\nname = "own"\nprotocol = "spidercast"\n[workload]\nfile = "pairs.csv"\n'
    )
    said = {row["metric"]: row["value"] for row in told(tmp_path / "own.toml")}
    assert (said["topics_populated"], said["components"], said["one_sided"]) == (2, 2, 0)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        (
            "params.view=half",
            r'params\.view must be "full", a share of all nodes such as 0\.05, or so many nodes, not .*',
        ),
        ("workload.nodes=0", r"workload\.nodes must be at least 1"),
        ("churn.up_s=-1", r"churn\.up_s must be more than 0 seconds, not -1\.0"),
    ],
)
def test_a_mistake_is_said_in_one_sentence(tmp_path: Path, setting: str, says: str) -> None:
    refused = gossamer("simulate", written(tmp_path), "--set", setting)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert re.fullmatch(rf"gossamer: [^\n]*: {says}\n", refused.stderr), refused.stderr


@pytest.mark.spark
def test_a_sweep_leaves_a_summary_figures_and_a_report(spark: "SparkSession", tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = ("sweep", written(tmp_path), "--out", out)
    assert json.loads(gossamer(*asked, "--dry-run", "--json").stdout)["trials"] == 8
    ran = gossamer(*asked)
    assert ran.exit_code == 0, ran.stderr
    assert "degree_mean" in ran.stdout
    assert sorted(each.name for each in out.iterdir()) == ["figures", "outcomes", "report.html", "summary.csv"]
    assert (out / "figures" / "degrees.svg").is_file()
    with (out / "summary.csv").open(newline="") as file:
        summary = list(csv.DictReader(file))
    assert {row["metric"] for row in summary} >= NEEDED
    of_rings = [row for row in summary if '"ring"' in row["point"] and row["metric"] == "topics_partitioned"]
    assert [float(row["max"]) for row in of_rings] == [0, 0]


@pytest.mark.slow
@pytest.mark.spark
def test_the_paper_is_reproduced_claim_by_claim(spark: "SparkSession", tmp_path: Path) -> None:
    ran = gossamer("reproduce", "spidercast", "--out", tmp_path, "--json")
    assert ran.exit_code == 0, ran.stderr
    out = tmp_path / "spidercast"
    claims = {claim["id"]: claim for claim in json.loads(ran.stdout)}
    assert json.loads((out / "claims.json").read_bytes()) == [*claims.values()]
    assert all(claim["verdict"] != "cannot be compared" or claim["id"] == "curves" for claim in claims.values())
    for sure in ("3-0-suffices", "fig13-all-connected", "fig7-below-12", "fig10-connected"):
        assert claims[sure]["verdict"] == "reproduced", claims[sure]
    for size in (1000, 2000, 4000, 6000, 8000, 10000):
        assert claims[f"fig12-spidercast(3,0)-{size}"]["verdict"] == "reproduced"
    assert sorted(each.stem for each in (out / "summaries").iterdir()) == sorted(
        name.partition("/")[2] for name in paper("spidercast").experiments
    )
    assert "<svg" in (out / "report.html").read_text()
