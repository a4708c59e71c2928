"""Blocks on Spark: what they do in one process, whoever shares them, and after whatever was cut short."""

import os
import re
import shutil
import signal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

import numpy as np
import pyarrow.parquet as pq

from gossamer.core.errors import Misuse
from gossamer.core.setting import Faults, Publication
from gossamer.core.tally import LIVE, REACHED
from gossamer.fast import blocks as fast
from gossamer.lab.grid import points, put
from gossamer.lab.plan import Chunk
from gossamer.lab.rows import Outcome
from gossamer.lab.spec import read
from gossamer.lab.trial import run_trials
from gossamer.pipeline import blocks, sweep
from gossamer.pipeline.outcomes import Outcomes, outcomes_in
from gossamer.pipeline.places import place_at
from gossamer.protocols.camcast.params import Params
from pipeline.processes import gossamer, members, soon, started
from pipeline.rows import SOURCE, small
from protocols.hierarchies import chain, setting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from gossamer.lab.grid import Point

pytestmark = pytest.mark.spark


class Stopped(Exception):
    """What a kill is to a test that lives on."""


def in_blocks(most: int) -> "Point":
    raw, _ = read("camcast/billion")
    for field, value in (
        ('topics.".".size', 2),
        ('topics.".d".size', 0),
        ('topics.".d.g".size', 12),
        ("experiment.seed", 2),
    ):
        put(raw, field, value, SOURCE)
    put(raw, "blocks.processes", most, SOURCE)
    (point,) = points(raw, SOURCE)
    return point


def written(kept: Outcomes) -> list[Outcome]:
    (record,) = kept.records()
    return [Outcome(**row) for row in pq.read_table(str(kept.wave(record.wave)), partitioning=None).to_pylist()]


def counts(each: Outcome) -> tuple[object, ...]:
    return each.group, each.live, each.reached, each.sent_intra, each.sent_up, each.arrived, each.rounds_last


def rounds(folder: Path) -> list[str]:
    return sorted({each.name[: len("round-000000")] for each in folder.glob("*/event-0/round-*")})


def test_a_sweep_in_blocks_goes_on_where_it_was_stopped_and_says_what_one_process_says(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point, outcomes, kept = in_blocks(4), outcomes_in(place_at(tmp_path)), tmp_path / sweep.ROUNDS
    chunk, said = Chunk(point, (0,), SOURCE), list[str]()

    def until_the_second(text: str) -> None:
        said.append(text)
        if text.startswith("round 1:"):
            raise Stopped

    with pytest.raises(Stopped):
        sweep.run_chunks(spark, [chunk], outcomes, news=until_the_second)
    assert not outcomes.records()
    assert rounds(kept) == ["round-000001", "round-000002"]
    (event,) = kept.glob("*/event-0")
    shutil.copytree(next(event.glob("round-000002-*")), event / "round-000003-torn")
    (event / "round-000003-torn" / "_SUCCESS").unlink()  # a driver was killed while it wrote

    monkeypatch.setattr(blocks, "TASKS_PER_CORE", 1)  # and other tasks go on
    before = len(said)
    assert sweep.run_chunks(spark, [chunk], outcomes, news=said.append) == sweep.Swept(1, 0)
    assert said[before : before + 2] == ["run 0, event 0", "round 1 is kept: going on from there"]
    assert said[before + 2].startswith("round 2: ")
    assert not kept.exists()
    assert written(outcomes) == run_trials(point, [0], SOURCE)
    assert not sweep.work_left({SOURCE: [point]}, outcomes)


def test_a_round_that_cannot_be_read_is_named(spark: "SparkSession", tmp_path: Path) -> None:
    damaged = tmp_path / "round-000001-a"
    damaged.mkdir()
    (damaged / "part-00000.parquet").write_bytes(b"PAR1 and then the disk was full")
    (damaged / "_SUCCESS").touch()
    with pytest.raises(Misuse, match=r"round-000001-a is damaged: remove it, and the same command goes on from"):
        blocks.latest(spark, place_at(tmp_path))


def test_trials_that_fit_a_task_stay_in_one(spark: "SparkSession", tmp_path: Path) -> None:
    assert not any(blocks.runs_in_blocks(point) for point in small())


# Long


def told(said: Path, number: int) -> bool:
    return f"round {number}:" in said.read_text()


@pytest.mark.slow
def test_ten_million_on_spark_are_reached_as_the_final_size_says(spark: "SparkSession", tmp_path: Path) -> None:
    made = setting(chain(10_000_000), Params(fanout_extra=-12.0), 0.85, Faults("stillborn", 0.1))  # each tells 4
    plan = fast.Plan(made, Publication(0), 5, 1 << 20)
    (row,) = blocks.spread(spark, plan, place_at(tmp_path), lambda _: None)
    x = 0.5
    for _ in range(100):
        x = 1 - np.exp(-4 * 0.85 * 0.9 * x)
    assert row[REACHED] / row[LIVE] == pytest.approx(x, rel=1e-3)
    assert (fast.spread(plan)[0] == row).all()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")
def test_a_killed_driver_loses_a_round_and_no_count(tmp_path: Path) -> None:
    sizes = {".": 1_000, ".d": 99_000, ".d.g": 900_000}
    raw, source = read("camcast/billion")
    asked = [f'topics."{topic}".size={size}' for topic, size in sizes.items()]
    arguments = [part for each in (*asked, "blocks.processes=100000") for part in ("--set", each)]
    command = gossamer("sweep", "camcast/billion", "--out", "out", "--master", "local[2]", *arguments)
    for after in (3, 7):  # killed twice: SIGKILL to the driver alone, and its JVM and workers see to themselves
        with (tmp_path / "said").open("w") as said, started(command, tmp_path, output=said.fileno()) as process:
            assert soon(partial(told, tmp_path / "said", after))
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            assert soon(lambda: not members(process.pid))
    with started(command, tmp_path) as process:
        out, err = process.communicate()
        assert process.returncode == 0, err
    went_on = re.search(r"round (\d+) is kept: going on from there", out + err)
    assert went_on
    assert int(went_on[1]) >= 7
    for field in (*asked, "blocks.processes=100000"):
        name, _, value = field.partition("=")
        put(raw, name, int(value), source)
    (point,) = points(raw, source)
    alone = run_trials(point, [0], source)
    assert [counts(each) for each in written(outcomes_in(place_at(tmp_path / "out")))] == [*map(counts, alone)]
    assert not (tmp_path / "out" / "rounds").exists()
