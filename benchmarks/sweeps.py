"""What Spark costs: a sweep on it, against a plain loop over the same trials in one process."""

import contextlib
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from msgspec import Struct

from benchmarks.bench import Bar, Scale
from benchmarks.measure import must_agree, timed
from benchmarks.tables import Table, number
from gossamer.lab.grid import Point, points
from gossamer.lab.spec import read
from gossamer.lab.trial import run_trials
from gossamer.pipeline.outcomes import Outcomes, outcomes_in
from gossamer.pipeline.places import place_at
from gossamer.pipeline.session import spark_session
from gossamer.pipeline.sweep import run_sweep

ABOUT = "sweeps on Spark"
EXPERIMENT = "camcast/fig15"
GROWN = 100
"The larger sweep has communities so many times the size, and fewer runs of them."


class Sweep(Struct, frozen=True):
    name: str
    trials: int
    cores: int
    loop_s: float
    "One process, one core, outcomes thrown away."
    spark_s: float
    "All cores, outcomes written."
    overhead_s: float
    "What Spark takes beyond the loop's time divided by the cores."


class Sweeps(Struct, frozen=True):
    session_s: float
    "Starting Spark, once per command."
    first_job_s: float
    "A sweep of one trial per point: workers start, import, and load the compiled kernel."
    sweeps: list[Sweep]


def grid(runs: int, times: int = 1) -> list[Point]:
    """The experiment's points, with communities so many times the size."""
    raw: dict[str, Any] = read(EXPERIMENT)[0]
    topics = {name: {**topic, "size": topic["size"] * times} for name, topic in raw["topics"].items()}
    return points({**raw, "topics": topics, "experiment": {**raw["experiment"], "runs": runs}}, EXPERIMENT)


def loop(made: list[Point]) -> int:
    """Every trial, one after the other; returns the messages sent."""
    return sum(
        outcome.sent_intra + outcome.sent_up
        for point in made
        for outcome in run_trials(point, range(point.spec.experiment.runs), EXPERIMENT)
    )


def sent(folder: Path) -> int:
    table = pq.read_table(folder, columns=["sent_intra", "sent_up"])
    return sum(sum(column.to_pylist()) for column in table.columns)


def measure(scale: Scale) -> Sweeps:
    return of_runs(100 if scale.quick else 1000)


def of_runs(runs: int) -> Sweeps:
    cases = {
        f"{EXPERIMENT}, {runs} runs": grid(runs),
        f"the same {GROWN} times as large, {max(1, runs // 20)} runs": grid(max(1, runs // 20), GROWN),
    }
    loop(grid(1))  # the kernel is compiled, for the workers too
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as ending:
        started, spark = timed(ending.enter_context, spark_session())
        first, _ = timed(run_sweep, spark, grid(1), EXPERIMENT, outcomes_in(place_at(Path(scratch, "first"))))
        swept = [
            sweep(spark, name, made, outcomes_in(place_at(Path(scratch, str(number)))))
            for number, (name, made) in enumerate(cases.items())
        ]
    return Sweeps(started.wall_s, first.wall_s, swept)


def sweep(spark: Any, name: str, made: list[Point], kept: Outcomes) -> Sweep:
    looped, messages = timed(loop, made)
    swept, status = timed(run_sweep, spark, made, EXPERIMENT, kept)
    must_agree({"the loop": (messages, 0), "Spark": (sent(Path(str(kept.folder))), status.failed)})
    cores = spark.sparkContext.defaultParallelism
    overhead_s = swept.wall_s - looped.wall_s / cores
    return Sweep(name, status.ran, cores, looped.wall_s, swept.wall_s, overhead_s)


def tables(told: Sweeps) -> list[Table]:
    rows = [
        [
            each.name,
            f"{each.trials:,}",
            number(each.loop_s),
            number(each.spark_s),
            f"{each.loop_s / each.spark_s:.2f} ×",
            f"{each.overhead_s:.2f}",
            f"{1e6 * each.overhead_s / each.trials:.0f}",
        ]
        for each in told.sweeps
    ]
    cores = told.sweeps[0].cores
    head = ["sweep", "trials", "loop s", f"Spark s, {cores} cores", "speed-up", "overhead s", "µs per trial"]
    note = (
        f"Before that, once: Spark starts in {told.session_s:.1f} s, its first job takes {told.first_job_s:.1f} s. "
        "Overhead is what Spark takes beyond the loop's time divided by the cores; it includes writing the outcomes."
    )
    return [Table("A sweep on Spark, against a loop in one process", head, rows, note)]


def bars(told: Sweeps | None) -> Iterable[Bar]:
    return ()
