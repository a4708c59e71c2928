"""A sweep that is killed or stopped half way keeps what it finished, and goes on from there."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from click.testing import CliRunner

from gossamer.cli import main
from gossamer.pipeline.outcomes import Outcomes, count_trials
from gossamer.pipeline.places import place_at
from pipeline.processes import gossamer, members, soon, started, without_progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc"),
]

LONG = """
[experiment]
name = "long"
protocol = "flood"
engine = "machine"
runs = 8

[topics]
".news" = {size = 300}

[params]
neighbours = 4

[network]
success = 0.9

[publish]
topic = ".news"

[sweep]
"experiment.seed" = [SEEDS]
""".replace("SEEDS", ", ".join(map(str, range(50))))
PATIENCE_S = 120
TRIALS = 400
"Some seconds of work: too much for the first wave."


@pytest.fixture
def half_done(tmp_path: Path) -> "Iterator[subprocess.Popen[str]]":
    """A sweep into `out` that has some parts, and lacks most."""
    (tmp_path / "long.toml").write_text(LONG)
    command = gossamer("sweep", "long.toml", "--out", "out", "--master", "local[2]")
    with started(command, tmp_path) as process:
        assert soon(lambda: process.poll() is not None or parts(tmp_path) > 0)
        assert process.poll() is None, process.communicate()
        yield process


def sweep(out: Path) -> bytes:
    """The summary of the same command in this process, on the session of the tests."""
    ran = CliRunner().invoke(main, ["sweep", str(out.parent / "long.toml"), "--out", str(out)])
    assert (ran.exit_code, ran.stderr) == (0, "")
    return (out / "summary.csv").read_bytes()


def parts(tmp_path: Path) -> int:
    """How many trials the disturbed sweep has shown."""
    return count_trials(Outcomes(place_at(tmp_path / "out" / "outcomes")).records())


def test_killed_half_way_it_ends_with_the_same_summary_running_only_what_was_missing(
    half_done: "subprocess.Popen[str]", spark: "SparkSession", tmp_path: Path
) -> None:
    os.killpg(half_done.pid, signal.SIGKILL)
    assert soon(lambda: not members(half_done.pid))  # its workers notice that the JVM is gone
    kept = parts(tmp_path)
    assert 0 < kept < TRIALS
    assert sweep(tmp_path / "out") == sweep(tmp_path / "left alone")
    assert parts(tmp_path) == TRIALS  # none a second time


@pytest.mark.slow
def test_ctrl_c_is_answered_in_one_sentence_and_keeps_what_is_done(
    half_done: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    os.killpg(half_done.pid, signal.SIGINT)  # as a terminal does
    out, err = half_done.communicate(timeout=PATIENCE_S)
    assert (half_done.returncode, out) == (130, "")
    told = re.fullmatch(
        rf"gossamer: stopped: (\d+) of {TRIALS} trials ran and are kept; the same command goes on from there\n",
        without_progress(err),
    )
    assert told, err
    assert soon(lambda: not members(half_done.pid))
    assert 0 < int(told[1]) <= parts(tmp_path) < TRIALS  # a task that was about to write may still do so
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.slow
def test_ctrl_c_while_spark_starts_is_answered_in_one_sentence_too(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    with started(gossamer("sweep", "long.toml", "--out", "out"), tmp_path) as process:
        assert soon(
            lambda: any((tmp_path / "tmp").glob("gossamer-spark-*/spark.log")) and len(members(process.pid)) > 1
        )
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, out, without_progress(err)) == (130, "", "gossamer: stopped\n")
        assert soon(lambda: not members(process.pid))
