"""Literal outcomes, and a small experiment to make real ones with."""

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.lab.grid import Point, points
from gossamer.lab.rows import Outcome

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from gossamer.pipeline.outcomes import Outcomes

SOURCE = "small.toml"
SMALL = """
[experiment]
name = "small"
protocol = "camcast"
runs = 40

[topics]
"." = {size = 4}
".d" = {size = 30}

[params]
preset = "camcast"

[network]
success = 0.8

[faults]
kind = "stillborn"

[publish]
topic = ".d"
events = 2

[sweep]
"faults.fraction" = [0.0, 0.3]

[[figures]]
name = "reception"
title = "Reception"
metric = "reception"
x = "faults.fraction"
"""

ONE = Outcome(
    trial="p-0",
    point="{}",
    run=0,
    seed=7,
    event=0,
    group=".d",
    home=False,
    climbs=True,
    size=10,
    live=8,
    reached=6,
    sent_intra=24,
    sent_up=3,
    arrived=20,
    arrived_up=2,
    parasites=0,
    rounds_last=4,
    memory=5.5,
    load_spread=None,
    version="0",
    command="gossamer simulate small.toml --run 0",
)
"An outcome like any other."


def outcome(**changes: Any) -> Outcome:
    return msgspec.structs.replace(ONE, **changes)


def failed(**changes: Any) -> Outcome:
    return outcome(**{"group": None, "error": "ValueError: no", "live": 0, "reached": 0, **changes})


def frame(spark: "SparkSession", *outcomes: Outcome) -> "DataFrame":
    """As `read_outcomes` gives them."""
    from pyspark.sql import functions as F

    from gossamer.pipeline.schemas import spark_schema

    made = spark.createDataFrame([msgspec.structs.astuple(each) for each in outcomes], spark_schema(Outcome))
    return made.withColumn("id", F.substring_index("trial", "-", 1))


def keep(kept: "Outcomes", *outcomes: Outcome) -> None:
    """A wave of these rows, as a sweep leaves it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from gossamer.pipeline.outcomes import Record, new_name, parts, spans_of
    from gossamer.pipeline.schemas import arrow_schema

    name, runs, failures = new_name(), dict[str, set[int]](), dict[str, set[int]]()
    for each in outcomes:
        point, _, run = each.trial.rpartition("-")
        runs.setdefault(point, set()).add(int(run))
        if each.error:
            failures.setdefault(point, set()).add(int(run))
    path = Path(str(kept.wave(name).make())) / "part-0.parquet"
    said = [msgspec.structs.asdict(each) for each in outcomes]
    pq.write_table(pa.Table.from_pylist(said, schema=arrow_schema(Outcome)), path)
    failed = {point: sorted(each) for point, each in failures.items()}
    trials, spans = sum(map(len, runs.values())), {point: spans_of(sorted(each)) for point, each in runs.items()}
    files = parts(kept.wave(name))
    kept.keep(Record(wave=name, row="Outcome", trials=trials, runs=spans, failed=failed, files=files))


def small(**changes: Any) -> list[Point]:
    """The points of the small experiment, with fields of its head changed."""
    raw = tomllib.loads(SMALL)
    raw["experiment"] |= changes
    return points(raw, SOURCE)


def write_small(folder: Path) -> Path:
    path = folder / SOURCE
    path.write_text(SMALL)
    return path
