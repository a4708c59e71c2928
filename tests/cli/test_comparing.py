"""Designs compared on the command line: one run as numbers."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from cli.running import gossamer
from gossamer.lab.studies.comparison.metrics import METRICS
from lab.comparisons import TEXT


def written(folder: Path) -> Path:
    path = folder / "few.toml"
    path.write_text(TEXT)
    return path


def told(*arguments: object) -> list[dict[str, Any]]:
    ran = gossamer("simulate", *arguments, "--json")
    assert (ran.exit_code, ran.stderr) == (0, "")
    return json.loads(ran.stdout)["outcomes"]  # type: ignore[no-any-return]


def test_a_run_is_told_in_numbers_and_what_they_are(tmp_path: Path) -> None:
    ran = gossamer("simulate", written(tmp_path), "--set", "design.spread=flood")
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert "few: A dozen nodes." in ran.stdout
    assert "comparison · flood, 12 nodes · run 0 · seed " in ran.stdout
    assert METRICS["entries"] in ran.stdout


def test_the_command_of_a_row_shows_the_same_trial_again(tmp_path: Path) -> None:
    rows = told(written(tmp_path), "--set", "design.spread=hpmcast", "--run", "1")
    (command,) = {row["command"] for row in rows}
    _, _, *arguments = shlex.split(command)
    assert told(*arguments, "--set", "design.spread=hpmcast") == rows


def test_a_world_leaves_its_traces_where_asked_and_tells_the_same(tmp_path: Path) -> None:
    spec, choice = written(tmp_path), ("--set", "design.spread=dispatch")
    ran = gossamer("simulate", spec, *choice, "--trace", tmp_path / "traces")
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert "gossamer audit" in ran.stdout
    assert len([*(tmp_path / "traces").iterdir()]) == 12
    assert told(spec, *choice, "--trace", tmp_path / "again") == told(spec, *choice)
    files = {path.name: path.read_bytes() for path in (tmp_path / "traces").iterdir()}
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()}


def test_what_is_no_world_leaves_no_traces(tmp_path: Path) -> None:
    refused = gossamer("simulate", "camcast/fig15", "--trace", tmp_path / "traces")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("gossamer: --trace is for worlds, in which processes live in time: this ")
    assert not (tmp_path / "traces").exists()
