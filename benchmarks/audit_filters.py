"""What filters cost an audit, by events and by filters: `python -m benchmarks.audit_filters --filters 1000`.

All events are of one topic, sealed, and each filter asks for a symbol above a price: an event matches one in two
thousand. CPU time is that of all processes, the making of the filters' index apart: it is told beside.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console

from benchmarks.audit import jvm_cpu_s
from benchmarks.tables import Table, markdown, shown
from gossamer.core.ids import EventId
from gossamer.core.trace import Head, Row
from gossamer.live.keys.auditing import AuditKey, FileKeys, FileSealer, keys_of_files
from gossamer.pipeline.audit_filters import Asked, indexes_of, match_events
from gossamer.pipeline.session import spark_session
from gossamer.wire import values

SYMBOLS = 1000
SCHEMA = (
    "run string, publisher long, incarnation long, sequence long, topic string, published_us long, attributes binary"
)


class Cost(Struct, frozen=True):
    events: int
    filters: int
    index_s: float
    us_per_event: float
    wall_s: float
    matches: int


def made_events(spark: SparkSession, events: int, key: AuditKey) -> tuple[DataFrame, FileKeys]:
    """Sealed, as an audit finds them; a file's worth of them by each task."""
    sealer = FileSealer(key.public)
    head = Head("made", 1, values="sealed", sealed_to=sealer.sealed_to, sealed_by=sealer.sealed_by)
    keys = keys_of_files([key], [head])
    row_key = keys.keys[sealer.sealed_by]

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from gossamer.live.keys.auditing import about, cipher, nonce

        for batch in batches:
            numbers = batch.column("id").to_pylist()
            found = []
            for seq in numbers:
                data = values.encoded({"symbol": f"S{seq * 7919 % SYMBOLS}", "price": seq % 100}) or b""
                sealed = cipher(row_key).encrypt(nonce(seq), data, about(EventId(1, 1, seq)))
                found.append(values.kept(head, Row(seq, seq, "publish", attributes=sealed)))
            count = len(numbers)
            yield pa.RecordBatch.from_arrays(
                [["made"] * count, [1] * count, [1] * count, numbers, [".x"] * count, numbers, found],
                names=[name.split()[0] for name in SCHEMA.split(", ")],
            )

    return spark.range(events).mapInArrow(make, SCHEMA), keys


def filters_asked(count: int) -> list[Asked]:
    texts = [f'symbol == "S{number % SYMBOLS}" and price >= {number // SYMBOLS % 100}' for number in range(count)]
    return [Asked(number, ".x", text, False) for number, text in enumerate(texts)]


def measure(spark: SparkSession, events: DataFrame, keys: FileKeys, filters: int) -> Cost:
    asked, began = filters_asked(filters), time.process_time()
    indexes_of(str(filters).encode(), [(each.number, each.topic, each.text) for each in asked])
    index_s = time.process_time() - began
    count = events.count()
    cpu, began = jvm_cpu_s(), time.perf_counter()
    matched = match_events(events, asked, keys).agg(F.sum(F.size("matching"))).first()
    workers = int(spark.sparkContext.defaultParallelism)
    used = jvm_cpu_s() - cpu - workers * index_s
    assert matched is not None
    return Cost(count, filters, index_s, used * 1e6 / count, time.perf_counter() - began, matched[0] or 0)


def table(costs: list[Cost]) -> Table:
    head = ["events", "filters", "matches", "index, CPU s", "CPU, µs an event", "seconds"]
    rows = [
        [
            f"{each.events:,}",
            f"{each.filters:,}",
            f"{each.matches:,}",
            f"{each.index_s:.2f}",
            f"{each.us_per_event:.1f}",
            f"{each.wall_s:.1f}",
        ]
        for each in costs
    ]
    return Table("What filters cost an audit", head, rows, "Each event opened, and held against all filters.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, action="append", help="repeatable (100000)")
    parser.add_argument("--filters", type=int, action="append", help="repeatable (10 and 1000)")
    parser.add_argument("--out", type=Path, help="folder for audit-filters.md")
    asked = parser.parse_args()
    costs = []
    with tempfile.TemporaryDirectory() as folder, spark_session("local[2]") as spark:
        for count in asked.events or [100_000]:
            events, keys = made_events(spark, count, AuditKey.new())
            path = f"{folder}/{count}"
            events.repartition(8).write.parquet(path)
            made = spark.read.parquet(path)
            measure(spark, made, keys, 1)  # the first compiles, and starts the workers
            costs += [measure(spark, made, keys, filters) for filters in asked.filters or [10, 1000]]
    Console().print(shown(table(costs)))
    if asked.out is not None:
        asked.out.mkdir(parents=True, exist_ok=True)
        (asked.out / "audit-filters.md").write_text("\n".join(markdown(table(costs))) + "\n")


if __name__ == "__main__":
    main()
