"""What an audit costs by its rows: `python -m benchmarks.audit --rows 100000 --rows 1000000`.

Spark makes the rows of a network in which everybody reads one topic and gets everything, once published by one node and
once by a hundred. CPU time is that of the JVM, which does all the work; the first audit, which compiles it, is not
counted.
"""

import argparse
import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from rich.console import Console

from benchmarks.tables import Table, markdown, shown
from gossamer.pipeline.audit import ROWS_FOR_ONE_TASK, audit_told, session_for
from gossamer.pipeline.desk import Desk
from gossamer.pipeline.results import read_table
from gossamer.pipeline.session import spark_session
from gossamer.pipeline.traces import SCHEMA

READERS = 99
"Others that get each event: a publication is a hundred rows."
BEGAN_US = 1_700_000_000_000_000
EVERY_US = 1_000
"From one event to the next."
WARM_US = 10_000_000
"Everybody has subscribed by then."


class Cost(Struct, frozen=True):
    rows: int
    publishers: int
    cpu_s: float
    wall_s: float

    @property
    def us_per_row(self) -> float:
        return self.cpu_s * 1e6 / self.rows


def made_rows(spark: SparkSession, rows: int, publishers: int) -> DataFrame:
    """Of about so many: each event is published by one, and delivered to all."""
    nodes, events = READERS + 1, rows // (READERS + 2)
    at, publisher = F.lit(BEGAN_US + WARM_US) + F.col("event") * EVERY_US, F.col("event") % publishers
    numbered = spark.range(events).withColumnRenamed("id", "event")
    published = numbered.select("event", publisher.alias("node"), F.lit("publish").alias("kind"))
    everybody = F.explode(F.sequence(F.lit(0).cast("long"), F.lit(READERS).cast("long")))
    delivered = numbered.select("event", everybody.alias("node"), F.lit("deliver").alias("kind"))
    own = F.col("node") == publisher
    happened = published.union(delivered).select(
        "node",
        "kind",
        (2 * F.col("event") + 2 + (F.col("kind") == "deliver").cast("int")).alias("seq"),
        (at + F.when(own, 0).otherwise(200 + F.pmod(F.xxhash64("event", "node"), F.lit(50_000)))).alias("at_us"),
        F.lit(".x").alias("topic"),
        publisher.alias("publisher"),
        F.lit(1).alias("incarnation"),
        F.floor(F.col("event") / publishers).alias("sequence"),
        F.when(~own, 1).alias("hops"),
    )
    ends = spark.range(nodes).select(
        F.col("id").alias("node"), F.explode(F.array(*map(F.lit, ("start", "subscribe", "stop")))).alias("kind")
    )
    seq = F.expr(f"case kind when 'start' then 0 when 'subscribe' then 1 else {2 * events + 2} end").cast("long")
    over_us = BEGAN_US + 2 * WARM_US + events * EVERY_US
    framed = ends.select(
        "node", seq.alias("seq"), F.when(F.col("kind") == "stop", over_us).otherwise(BEGAN_US).alias("at_us"), "kind",
        F.when(F.col("kind") == "subscribe", ".x").alias("topic"),
    )  # fmt: skip
    told = happened.unionByName(framed, allowMissingColumns=True).withColumns(
        {"run": F.lit("made"), "name": F.col("node").cast("string"), "life": F.lit(1), "level": F.lit("deliveries"),
         "host": F.lit("here"), "peer": F.lit(None), "bytes": F.lit(None), "detail": F.lit(None),
         "attributes": F.lit(None)}
    )  # fmt: skip
    return told.select(*(F.col(field.name).cast(field.dataType) for field in from_arrow_schema(SCHEMA)))


def jvm_cpu_s() -> float:
    """Of the processes that this one started, and theirs."""
    return sum(ticks for ticks in cpu_of(os.getpid())) / os.sysconf("SC_CLK_TCK")


def cpu_of(pid: int) -> Iterator[int]:
    children: list[str] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that has just ended
            children += (task / "children").read_text().split()
    for child in children:
        with contextlib.suppress(FileNotFoundError):
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            yield int(fields[11]) + int(fields[12])
            yield from cpu_of(int(child))


def measure(spark: SparkSession, rows: int, publishers: int, folder: Path) -> Cost:
    path = str(folder / f"{rows}-{publishers}")
    made_rows(spark, rows, publishers).write.parquet(path)
    told = session_for(spark, rows).read.parquet(path).withColumn("part", F.lit(1))
    count, cpu, began = told.count(), jvm_cpu_s(), time.perf_counter()
    with Desk(folder / "out" / ".halfway", rows <= ROWS_FOR_ONE_TASK) as desk:
        audit_told(desk, told, folder / "out")
    cost = Cost(count, publishers, jvm_cpu_s() - cpu, time.perf_counter() - began)
    (topic,) = read_table(folder / "out", "per_topic")
    if (topic["missing"], topic["parasites"], topic["expected"]) != (0, 0, topic["delivered"]):
        raise SystemExit(f"the audit is wrong: {topic}")
    return cost


def table(costs: list[Cost]) -> Table:
    head = ["rows", "publishers", "CPU, s", "seconds", "CPU, µs a row"]
    rows = [
        [f"{each.rows:,}", str(each.publishers), f"{each.cpu_s:.1f}", f"{each.wall_s:.1f}", f"{each.us_per_row:.1f}"]
        for each in costs
    ]
    return Table("What an audit costs", head, rows, "Without starting Spark, and without reading segments.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, action="append", help="rows of traces; repeatable (100000 and 1000000)")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder for audit.md")
    options = parser.parse_args()
    sizes = options.rows or [100_000, 1_000_000]
    if min(sizes) < 10_000:
        parser.error("--rows must be at least 10000: a hundred publishers have an event each then")
    console = Console(width=120)
    costs = []
    with tempfile.TemporaryDirectory() as folder, spark_session(app="audit") as spark:
        for publishers in (1, 100):
            measure(spark, ROWS_FOR_ONE_TASK + 10_000, publishers, Path(folder, f"warm-{publishers}"))
        for rows in sizes:
            for publishers in (1, 100):
                with console.status(f"{rows:,} rows of {publishers}"):
                    costs.append(measure(spark, rows, publishers, Path(folder)))
    console.print(shown(table(costs)))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "audit.md").write_text("\n".join(markdown(table(costs))) + "\n")


if __name__ == "__main__":
    main()
