"""The commands that need Spark, from their arguments to the files they leave."""

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
from gossamer.lab import grid, spec
from gossamer.lab.book import Line
from gossamer.lab.papers import paper
from gossamer.lab.trial import point_id
from pipeline.rows import SMALL, write_small

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CLAIM = {"id", "where", "paper_says", "ours", "ci95", "runs", "verdict", "why", "group"}
VERDICTS = {"reproduced", "differs", "cannot be compared"}


def assert_reads_offline(page: Path) -> None:
    """Nothing in it is fetched from anywhere, and it holds at least a plot."""
    text = page.read_text()
    assert text.lower().startswith("<!doctype html>")
    assert "<svg" in text
    assert not re.findall(r"<(?:script|link|iframe|img|object|embed|base)\b[^>]*(?:src|href|data)=", text)
    assert not re.findall(r"""(?:src|href)\s*=\s*["']?(?!["']?#)""", text)
    assert not re.findall(r"@import|url\((?!#)", text)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_sweep_leaves_outcomes_summary_figures_and_a_report(spark: "SparkSession", tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = ("sweep", write_small(tmp_path), "--out", out, "--set", "network.success=0.7", "--runs", "10")
    ran = gossamer(*asked, "--json")
    assert ran.exit_code == 0
    lines = json.loads(ran.stdout)
    assert sorted(each.name for each in out.iterdir()) == ["figures", "outcomes", "report.html", "summary.csv"]
    assert sorted(each.name for each in (out / "figures").iterdir()) == ["reception.png", "reception.svg"]
    assert_reads_offline(out / "report.html")
    rows = read(out / "summary.csv")
    assert list(rows[0]) == [*Line.__struct_fields__]
    assert [(json.loads(row["point"]), row["group"], row["metric"]) for row in rows] == [
        (line["point"], line["group"], line["metric"]) for line in lines
    ]
    assert all(line["point"]["network.success"] == 0.7 for line in lines)
    assert {row["runs"] for row in rows if row["metric"] == "memory"} == {"10"}
    (seen, *_) = pq.read_table(out / "outcomes").to_pylist()
    assert "--set network.success=0.7 --run " in seen["command"]

    before = sorted((out / "outcomes").iterdir())
    again = gossamer(*asked)
    assert (again.exit_code, again.stderr) == (0, "")
    assert "reception" in again.stdout
    assert f"report: {out}" in again.stdout.replace("\n", "")
    assert sorted((out / "outcomes").iterdir()) == before
    assert read(out / "summary.csv") == rows
    told = json.loads(gossamer(*asked, "--dry-run", "--json").stdout)
    assert told["finished"] == told["trials"] == 20


def test_on_a_terminal_the_bar_follows_the_start_of_spark(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # what makes rich think of a terminal
    ran = gossamer("sweep", write_small(tmp_path), "--out", tmp_path / "out", "--runs", "1")
    assert ran.exit_code == 0
    assert ran.stdout.index("starting Spark") < ran.stdout.index("trials") < ran.stdout.index("reception")


def test_a_figure_of_what_is_not_swept_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    path = write_small(tmp_path)
    path.write_text(SMALL.replace('x = "faults.fraction"', 'x = "network.success"'))
    ran = gossamer("sweep", path, "--out", tmp_path / "out", "--runs", "1")
    assert ran.exit_code == 2
    assert re.fullmatch(r"gossamer: [^\n]*: figure 'reception' names network.success, which is not swept\n", ran.stderr)
    assert not (tmp_path / "out").exists()


def test_the_shipped_experiment_on_crashes_finds_no_parasites(spark: "SparkSession", tmp_path: Path) -> None:
    ran = gossamer("sweep", "demo/crashes", "--out", tmp_path, "--runs", "20")
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert_reads_offline(tmp_path / "report.html")
    rows = read(tmp_path / "summary.csv")
    assert {row["point"] for row in rows} == {
        f'{{"case":"{case}","faults.fraction":{share}}}' for case in ("paper", "live") for share in (0.0, 0.1, 0.3, 0.5)
    }
    assert {row["max"] for row in rows if row["metric"] == "parasites"} == {"0"}
    assert (tmp_path / "figures" / "reception.svg").is_file()


def test_a_paper_is_reproduced_claim_by_claim(spark: "SparkSession", tmp_path: Path) -> None:
    ran = gossamer("reproduce", "camcast", "--out", tmp_path, "--runs", "4", "--json")
    assert ran.exit_code == 0
    out = tmp_path / "camcast"
    claims: list[dict[str, Any]] = json.loads((out / "claims.json").read_bytes())
    assert json.loads(ran.stdout) == claims
    assert claims
    assert all(set(claim) == CLAIM for claim in claims)
    assert all(claim["verdict"] in VERDICTS and claim["why"] and claim["paper_says"] for claim in claims)
    assert len({claim["id"] for claim in claims}) == len(claims)
    assert_reads_offline(out / "report.html")
    experiments = [name.rpartition("/")[2] for name in paper("camcast").experiments]
    assert sorted(each.stem for each in (out / "summaries").iterdir()) == sorted(experiments)
    assert list((out / "figures").glob("*.svg"))

    columns = ["trial", "event", "group", "parasites", "command"]
    outcomes = pq.read_table(out / "outcomes", columns=columns).to_pylist()
    assert len({(row["trial"], row["event"], row["group"]) for row in outcomes}) == len(outcomes)  # none run twice
    assert {shlex.split(row["command"])[2] for row in outcomes} <= set(paper("camcast").experiments)
    points = [point for name in paper("camcast").experiments for point in grid.points(*spec.read(name))]
    ours = {point_id(point) for point in points if point.spec.experiment.protocol == "camcast"}
    assert all(row["parasites"] == 0 for row in outcomes if row["trial"].partition("-")[0] in ours)
