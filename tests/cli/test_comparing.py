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
