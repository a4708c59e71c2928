"""Designs compared on the command line: one run as numbers, and a page that quotes what the command gives."""

import json
import re
import shlex
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

pytest.importorskip("pyspark")

from cli.running import gossamer
from gossamer.lab.claims import number
from gossamer.lab.grid import points
from gossamer.lab.papers.comparison import COLUMNS, DESIGNS, WORKLOAD
from gossamer.lab.spec import read
from gossamer.lab.studies.comparison.metrics import METRICS
from gossamer.lab.trial import run_trials
from lab.comparisons import TEXT

PAGE = Path(__file__).parents[2] / "docs" / "choosing.md"


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


def quoted() -> list[dict[str, str]]:
    """The table of the page."""
    found = re.search(r"^\| design \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE.read_text(), re.MULTILINE)
    assert found is not None
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in found[1].splitlines()]
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def test_the_page_has_every_design_and_every_column() -> None:
    assert [row["design"] for row in quoted()] == [*DESIGNS]


@pytest.mark.slow
@pytest.mark.parametrize("case", ["hpmcast, direct", "flood"])
def test_the_page_quotes_what_the_runs_give(case: str) -> None:
    raw, source = read(WORKLOAD)
    (point,) = (each for each in points(raw, source) if each.swept["case"] == case)
    rows = run_trials(point, range(point.spec.experiment.runs), source)
    means = {
        metric: fmean(row.value for row in rows if row.metric == metric) for metric in METRICS if "_4" not in metric
    }
    (said,) = (row for row in quoted() if row["design"] == case)
    assert said["delivery"].startswith(f"{100 * means['delivery']:.1f} ")
    for column, metric in (("copies", "copies"), ("unwanted", "unwanted"), ("entries", "entries")):
        assert said[column].startswith(number(means[metric]) + " ")
    assert said["load, most"] == number(means["load_max"])
