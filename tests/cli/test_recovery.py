"""Studies of recovery on the command line: one run as numbers, a whole sweep as files."""

import csv
import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

import pyarrow.parquet as pq

from cli.running import gossamer
from gossamer.lab.book import Line
from gossamer.lab.papers import paper
from gossamer.lab.rows import Measure
from gossamer.lab.studies.epidemic.tables import METRICS
from lab.recoveries import SMALL, SWEPT
from pipeline.rows import write_small

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def written(folder: Path, engine: str = "machine") -> Path:
    path = folder / "tree.toml"
    path.write_text(SMALL.replace("ENGINE", engine) + SWEPT)
    return path


def told(*arguments: object) -> list[dict[str, Any]]:
    ran = gossamer("simulate", *arguments, "--json")
    assert (ran.exit_code, ran.stderr) == (0, "")
    return json.loads(ran.stdout)["outcomes"]  # type: ignore[no-any-return]


def test_a_run_is_told_in_numbers_and_what_they_are(tmp_path: Path) -> None:
    ran = gossamer("simulate", written(tmp_path), "--set", "recovery.method=push", "--set", "network.loss=0.2")
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert "tree: A few dispatchers." in ran.stdout
    assert "recovery · 8 dispatchers · run 0 · seed " in ran.stdout
    for metric in METRICS:
        assert metric in ran.stdout
    assert re.search(r"delivery +│ +\d+\.\d\d% ", ran.stdout)


def test_the_command_of_a_row_shows_the_same_trial_again(tmp_path: Path) -> None:
    rows = told(written(tmp_path), "--set", "network.loss=0.1", "--seed", "5", "--run", "1")
    (command,) = {row["command"] for row in rows}
    program, simulate, *arguments = shlex.split(command)
    assert (program, simulate) == ("gossamer", "simulate")
    assert told(*arguments) == rows


def test_a_mistake_is_said_in_one_sentence(tmp_path: Path) -> None:
    refused = gossamer("simulate", written(tmp_path), "--set", "recovery.cache=0")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert re.fullmatch(r"gossamer: [^\n]*: recovery\.cache must be between 1 and 16777216, not 0\n", refused.stderr)


@pytest.mark.spark
def test_a_sweep_leaves_outcomes_summary_figures_and_a_report(spark: "SparkSession", tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = ("sweep", written(tmp_path), "--out", out)
    assert json.loads(gossamer(*asked, "--dry-run", "--json").stdout)["trials"] == 8
    ran = gossamer(*asked, "--json")
    assert ran.exit_code == 0, ran.stderr
    lines = json.loads(ran.stdout)
    assert sorted(each.name for each in out.iterdir()) == ["figures", "outcomes", "report.html", "summary.csv"]
    assert (out / "figures" / "delivery.svg").is_file()
    rows = pq.read_table(out / "outcomes").to_pylist()
    assert list(rows[0]) == list(Measure.__struct_fields__)
    with (out / "summary.csv").open(newline="") as file:
        summary = list(csv.DictReader(file))
    assert list(summary[0]) == list(Line.__struct_fields__)
    assert [(row["group"], row["metric"]) for row in summary] == [(line["group"], line["metric"]) for line in lines]
    assert {row["metric"] for row in summary} == set(METRICS)
    for line in lines:
        values = [row["value"] for row in rows if named(row) == named(line)]
        assert line["runs"] == len(values) <= 2
        assert line["mean"] == pytest.approx(sum(values) / len(values))
        assert line["max"] == max(values)
    assert_silent_without_loss(lines)

    assert gossamer("sweep", write_small(tmp_path), "--out", out, "--runs", "1").exit_code == 0  # of another kind
    before = sorted((out / "outcomes").iterdir())
    again = gossamer(*asked)
    assert (again.exit_code, again.stderr) == (0, "")
    assert "delivery" in again.stdout
    assert sorted((out / "outcomes").iterdir()) == before
    with (out / "summary.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == summary


def named(row: dict[str, Any]) -> tuple[str, str]:
    point = row["point"] if isinstance(row["point"], dict) else json.loads(row["point"])
    return json.dumps(point, sort_keys=True), row["metric"]


def assert_silent_without_loss(lines: list[dict[str, Any]]) -> None:
    calm = [line for line in lines if line["point"]["network.loss"] == 0.0]
    assert {line["mean"] for line in calm if line["metric"] == "delivery"} == {1.0}
    gossip = {line["point"]["recovery.method"]: line["max"] for line in calm if line["metric"] == "gossip_hops_per_s"}
    assert gossip["combined"] == 0 < gossip["push"]


@pytest.mark.slow
@pytest.mark.spark
def test_the_paper_is_reproduced_claim_by_claim(spark: "SparkSession", tmp_path: Path) -> None:
    ran = gossamer("reproduce", "epidemic", "--out", tmp_path, "--json")
    assert ran.exit_code == 0, ran.stderr
    out = tmp_path / "epidemic"
    claims = {claim["id"]: claim for claim in json.loads(ran.stdout)}
    assert json.loads((out / "claims.json").read_bytes()) == [*claims.values()]
    assert all(claim["verdict"] != "cannot be compared" or claim["id"] == "charts" for claim in claims.values())
    for sure in ("nothing-by-itself", "remarkable-improvement", "pull-is-silent", "low-rates-favour-push"):
        assert claims[sure]["verdict"] == "reproduced", claims[sure]
    assert sorted(each.stem for each in (out / "summaries").iterdir()) == sorted(
        name.partition("/")[2] for name in paper("epidemic").experiments
    )
    assert "<svg" in (out / "report.html").read_text()
