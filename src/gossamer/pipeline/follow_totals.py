"""What all closed events come to: counts by run and topic, and how long deliveries took. They are sums, so a slice's
share can be taken off again as exactly as it was added."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from gossamer.pipeline.audit_tables import FLAGS, PERCENTILES, REPEATED, UNTOLD, UNWANTED
from gossamer.pipeline.audit_times import percentiles
from gossamer.pipeline.desk import Desk
from gossamer.pipeline.follow_memory import Memory, Store

COUNTS = (
    *("events", "promised", *FLAGS, "unmatched", "broken", *REPEATED, "negative_latencies", "unheard"),
    *("missing_unheard", *UNTOLD, *UNWANTED),
)
TOPIC = ("run", "topic")
TOPICS, TOOK, TIMES = "topics", "took", "times"


class Totals:
    """Of a store, after each batch."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def turn(self, desk: Desk, spark: SparkSession, before: Memory, after: Memory, closed: bool) -> None:
        """From those of one batch to those of the next: what was opened again comes off, what was closed comes on."""
        here, there = (self.store.state(batch) for batch in (before.batch, after.batch))
        if before.batch >= 0 and not after.retired and not closed:
            for name in (TOPICS, TOOK, TIMES):
                (there / f"{name}.parquet").hardlink_to(here / f"{name}.parquet")
            return
        for name, keys, values in ((TOPICS, TOPIC, COUNTS), (TOOK, (*TOPIC, "us"), ("count",))):
            parts = [table(here / f"{name}.parquet", 1)] if before.batch >= 0 else []
            parts += [table(self.store.slice(batch) / name, -1, keys, values) for batch in after.retired]
            parts += [table(self.store.slice(after.batch) / name, 1, keys, values)] if closed else []
            pq.write_table(added(parts, keys, values), there / f"{name}.parquet")
        pq.write_table(self.times(desk, spark, there), there / f"{TIMES}.parquet")

    def times(self, desk: Desk, spark: SparkSession, folder: Path) -> pa.Table:
        took = pq.read_table(folder / f"{TOOK}.parquet")
        if not len(took):
            return pa.table({name: pa.array([], pa.string()) for name in TOPIC})
        told = percentiles("us", PERCENTILES)
        desk.settle(spark.createDataFrame(took).groupBy(*TOPIC).agg(*told), "percentiles")
        return desk.read_settled("percentiles").rename_columns(
            [*TOPIC, *(f"latency_us_{name}" for name in PERCENTILES)]
        )

    def read(self, batch: int) -> list[dict[str, object]]:
        """A row for each topic."""
        topics, times = (pq.read_table(self.store.state(batch) / f"{name}.parquet") for name in (TOPICS, TIMES))
        by_topic = {(row["run"], row["topic"]): row for row in times.to_pylist()}
        none = {f"latency_us_{name}": None for name in PERCENTILES}
        return [row | none | by_topic.get((row["run"], row["topic"]), {}) for row in topics.to_pylist()]


def table(place: Path, sign: int, keys: Sequence[str] = (), values: Sequence[str] = ()) -> pa.Table:
    files = sorted(place.glob("part-*.parquet")) if place.is_dir() else [place]
    found = pa.concat_tables(pq.read_table(file, columns=[*keys, *values] or None) for file in files)
    if sign < 0:
        for name in values:
            found = found.set_column(found.schema.get_field_index(name), name, pc.negate(found[name]))
    return found


def added(parts: Sequence[pa.Table], keys: Sequence[str], values: Sequence[str]) -> pa.Table:
    """Nothing is left of what comes to nothing."""
    if not parts:
        columns = {key: pa.string() if key in TOPIC else pa.float64() for key in keys}
        return pa.schema(columns | dict.fromkeys(values, pa.int64())).empty_table()
    plain = pa.schema([pa.field(name, parts[0].schema.field(name).type) for name in (*keys, *values)])
    together = pa.concat_tables(each.select(plain.names).cast(plain) for each in parts)
    told = together.group_by([*keys]).aggregate([(name, "sum") for name in values])
    told = told.select([*keys, *(f"{name}_sum" for name in values)]).rename_columns([*keys, *values])
    some = [pc.not_equal(told[name], 0) for name in values]
    kept = some[0]
    for each in some[1:]:
        kept = pc.or_(kept, each)
    return told.filter(kept).sort_by([(key, "ascending") for key in keys])
