"""Traces that grow piece by piece, followed without a query: each piece is a batch, as Spark would make it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from gossamer.pipeline.audit import Unlock
from gossamer.pipeline.desk import in_one_task
from gossamer.pipeline.follow import Following
from gossamer.pipeline.follow_memory import Store
from gossamer.pipeline.follow_source import TraceStream
from gossamer.pipeline.follow_totals import Totals
from gossamer.pipeline.traces import SCHEMA
from gossamer.wire.segment import OPEN, SegmentReader, opening, records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEADLINE_S = 3
FAULTS = ("missing", "parasites", "duplicates")


class Growing:
    """Finished traces, written once more as their nodes would: a record per row, so far as time has come."""

    def __init__(self, finished: Path, folder: Path, runs: Sequence[str] = ("*",)) -> None:
        self.folder = folder
        self.files = {}
        for path in sorted(path for run in runs for path in finished.glob(f"{run}/*-*.*")):
            reader = SegmentReader(path)
            rows = [row for record in reader for row in record]
            self.files[path.relative_to(finished)] = (reader.head, rows)
        self.written = dict.fromkeys(self.files, 0)

    @property
    def times(self) -> list[int]:
        return sorted(row.at_us for _, rows in self.files.values() for row in rows)

    def grow(self, until_us: int, leave_out: str = "nothing") -> None:
        for file, (head, rows) in self.files.items():
            told = [row for row in rows if row.at_us <= until_us]
            if leave_out in str(file) or len(told) == self.written[file]:
                continue
            place = (self.folder / file).with_suffix(OPEN)
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("ab") as out:
                if not out.tell():
                    out.write(opening(head))
                out.write(b"".join(records([row]) for row in rows[self.written[file] : len(told)]))
            self.written[file] = len(told)
            if len(told) == len(rows) and file.suffix != OPEN:
                place.rename(place.with_suffix(file.suffix))


class Followed:
    """What a folder of traces comes to, batch by batch."""

    def __init__(self, spark: "SparkSession", growing: Growing, out: Path, unlock: Unlock | None = None) -> None:
        self.spark, self.growing, self.out, self.unlock = in_one_task(spark), growing, out, unlock
        self.store, self.number, self.now = Store(out / ".follow"), -1, 0.0
        self.offset: dict[str, Any] = self.stream().initialOffset()
        self.begin()

    def stream(self, **options: str) -> TraceStream:
        return TraceStream({"traces": str(self.growing.folder), "out": str(self.out), **options})

    def begin(self) -> None:
        """As a new process."""
        self.following = Following(
            self.spark, self.store, self.out, DEADLINE_S * 10**6, self.unlock, clock=lambda: self.now
        )

    def take(self, **options: str) -> bool:
        """What has come meanwhile, if anything has."""
        stream, start = self.stream(**options), self.offset
        self.offset = stream.latestOffset(start)
        batches = [rows for piece in stream.partitions(start, self.offset) for rows in stream.read(piece)]
        self.number += 1
        self.rows = pa.Table.from_batches(batches, SCHEMA)
        self.again()
        return bool(len(self.rows))

    def again(self) -> None:
        self.following.take(self.spark.createDataFrame(self.rows), self.number)

    def end(self) -> None:
        """Nobody says anything any more."""
        self.now += DEADLINE_S
        self.take()

    @property
    def topics(self) -> list[dict[str, Any]]:
        return topics_of(self.store)

    @property
    def alerts(self) -> Iterator[dict[str, Any]]:
        for file in sorted((self.out / "alerts.parquet").glob("part-*")):
            yield from pq.read_table(file).to_pylist()


def topics_of(store: Store) -> list[dict[str, Any]]:
    return Totals(store).read(store.latest().batch)


def table_of(store: Store, name: str) -> list[dict[str, Any]]:
    """Of all events that are closed."""
    done = store.latest()
    slices = [store.slice(batch) / name for batch, _ in store.slices(done.batch) if batch not in done.retired]
    return [row for slice in slices for file in slice.glob("part-*") for row in pq.read_table(file).to_pylist()]
