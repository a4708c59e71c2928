"""Commands whose places are not on the session's default file system, from their arguments to the files they leave."""

import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from cli.running import gossamer as run_here
from gossamer.pipeline.outcomes import Outcomes, count_trials
from gossamer.pipeline.places import place_at
from pipeline.mounted import CLUSTER, mounted, mounts
from pipeline.processes import gossamer, members, run, soon, started, without_progress
from pipeline.rows import write_small
from pipeline.test_resume import LONG, TRIALS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

OWN = """
[experiment]
name = "own"
protocol = "spidercast"
runs = 2
[workload]
file = "pairs.csv"
"""
PAIRS = "node,topic\nann,news\nbob,news\ncy,news\nann\n"


def test_a_sweep_elsewhere_ends_with_the_same_summary_and_goes_on_there(spark: "SparkSession", tmp_path: Path) -> None:
    far = mounted(spark, tmp_path)
    write_small(tmp_path)
    ran = run_here("sweep", f"{far}/small.toml", "--out", f"{far}/there", "--runs", "5")
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert run_here("sweep", tmp_path / "small.toml", "--out", tmp_path / "here", "--runs", "5").exit_code == 0
    assert (tmp_path / "there" / "summary.csv").read_bytes() == (tmp_path / "here" / "summary.csv").read_bytes()
    assert (tmp_path / "there" / "report.html").exists()
    told = run_here("sweep", f"{far}/small.toml", "--out", f"{far}/there", "--runs", "6", "--dry-run", "--json")
    assert (json.loads(told.stdout)["finished"], json.loads(told.stdout)["trials"]) == (10, 12)


def test_tables_that_are_elsewhere_come_to_driver_and_workers(spark: "SparkSession", tmp_path: Path) -> None:
    far = mounted(spark, tmp_path)
    (tmp_path / "own.toml").write_text(OWN)
    (tmp_path / "pairs.csv").write_text(PAIRS)
    ran = run_here("sweep", f"{far}/own.toml", "--out", f"{far}/out")
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert "pairs.csv: rows set aside: 1; the first: row 4, not as many" in " ".join(ran.stdout.split())
    assert (tmp_path / "out" / "quarantine.csv").exists()
    ran = run_here("overlay", f"{far}/pairs.csv", "--out", f"{far}/overlay")
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert json.loads((tmp_path / "overlay" / "summary.json").read_text())["subscriptions"] == 3
    assert {"links.parquet", "quarantine", "report.html", "components.csv"} <= {
        each.name for each in (tmp_path / "overlay").iterdir()
    }


@pytest.mark.slow
def test_a_sweep_killed_elsewhere_goes_on_there_also_where_that_is_the_default(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    (tmp_path / "far").mkdir()
    settings = {**mounts(tmp_path / "far"), "fs.defaultFS": f"viewfs://{CLUSTER}"}
    conf = [each for key, value in settings.items() for each in ("--conf", f"spark.hadoop.{key}={value}")]
    command = gossamer("sweep", "long.toml", "--out", f"viewfs://{CLUSTER}/data/out", "--master", "local[2]", *conf)
    kept = Outcomes(place_at(tmp_path / "far" / "out" / "outcomes"))
    with started(command, tmp_path) as process:
        assert soon(lambda: process.poll() is not None or count_trials(kept.records()) > 0)
        os.killpg(process.pid, signal.SIGKILL)
        assert soon(lambda: not members(process.pid))
    assert 0 < count_trials(kept.records()) < TRIALS
    ran = run(command, tmp_path)
    assert (ran.returncode, without_progress(ran.stderr)) == (0, "")
    assert count_trials(kept.records()) == TRIALS
    again = gossamer("sweep", "long.toml", "--out", "near", "--master", "local[2]", *conf)
    assert run(again, tmp_path).returncode == 0  # a path is on this machine all the same
    assert (tmp_path / "near" / "summary.csv").read_bytes() == (tmp_path / "far" / "out" / "summary.csv").read_bytes()
