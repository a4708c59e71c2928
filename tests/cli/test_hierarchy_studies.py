"""Studies of hpmcast on the command line: one run as numbers, a whole sweep as files."""

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
from gossamer.lab.studies.hierarchy.metrics import METRICS
from lab.hierarchies import SMALL, SWEPT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NEEDED = {"delivery", "spurious", "messages", "rounds", "view_size"}


def written(folder: Path, more: str = SWEPT) -> Path:
    path = folder / "levels.toml"
    path.write_text(SMALL.replace("ENGINE", "kernel") + more)
    return path


def told(*arguments: object) -> list[dict[str, Any]]:
    ran = gossamer("simulate", *arguments, "--json")
    assert (ran.exit_code, ran.stderr) == (0, "")
    return json.loads(ran.stdout)["outcomes"]  # type: ignore[no-any-return]


def test_a_run_is_told_in_numbers_and_what_they_are_here(tmp_path: Path) -> None:
    ran = gossamer("simulate", written(tmp_path), "--set", "hierarchy.branching=4")
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert "levels: A few participants." in ran.stdout
    assert "hpmcast · 64 participants · run 0 · seed " in ran.stdout
    assert all(metric in ran.stdout for metric in NEEDED)
    assert METRICS["messages"] in ran.stdout
    assert "share of the interested participants" in ran.stdout  # another study's delivery is another thing


def test_the_command_of_a_row_shows_the_same_trial_again(tmp_path: Path) -> None:
    rows = told(written(tmp_path), "--set", "params.variant=pmcast", "--run", "1")
    (command,) = {row["command"] for row in rows}
    program, simulate, *arguments = shlex.split(command)
    assert (program, simulate) == ("gossamer", "simulate")
    assert told(*arguments) == rows


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("params.fanout=0", r"params\.fanout must be 1 to 1,024"),
        ("hierarchy.branching=[2,2]", r"hierarchy\.branching names 2 levels, and levels says 3: leave levels out"),
        ("workload.interest=2", r"workload\.interest is a probability: 0 to 1"),
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
    assert sorted(each.name for each in out.iterdir()) == ["figures", "outcomes", "report.html", "summary.csv"]
    assert (out / "figures" / "delivery.svg").is_file()
    with (out / "summary.csv").open(newline="") as file:
        summary = list(csv.DictReader(file))
    assert {row["metric"] for row in summary} >= NEEDED
    alone = [row for row in summary if '"pmcast"' in row["point"] and row["metric"] == "spurious"]
    assert [float(row["max"]) for row in alone] == [0, 0]


@pytest.mark.slow
@pytest.mark.spark
def test_the_paper_is_reproduced_claim_by_claim(spark: "SparkSession", tmp_path: Path) -> None:
    ran = gossamer("reproduce", "hpmcast", "--out", tmp_path, "--json")
    assert ran.exit_code == 0, ran.stderr
    out = tmp_path / "hpmcast"
    claims = {claim["id"]: claim for claim in json.loads(ran.stdout)}
    assert json.loads((out / "claims.json").read_bytes()) == [*claims.values()]
    for sure in ("view-size", "markov-chain", "pmcast-genuine", "fig7-good-overall", "fig8-falls", "fig13-floor"):
        assert claims[sure]["verdict"] == "reproduced", claims[sure]
    assert claims["mean-level-formula"]["verdict"] == "differs"
    assert sorted(each.stem for each in (out / "summaries").iterdir()) == sorted(
        name.partition("/")[2] for name in paper("hpmcast").experiments
    )
    assert "<svg" in (out / "report.html").read_text()
