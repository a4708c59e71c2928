"""Traces of nodes as a table: a row for each line of every segment in a folder, as the audit has them."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from gossamer.core.errors import GossamerError, Misuse
from gossamer.pipeline.traces import SCHEMA, Source, find_segments, read_segment

ROWS = 10_000
"In one batch of Arrow's."
TRACE_COLUMNS: StructType = from_arrow_schema(SCHEMA)
log = logging.getLogger("gossamer.spark")


class Segment(InputPartition):
    """One file."""

    def __init__(self, source: Source) -> None:
        self.source = source


class TraceRead(DataSourceReader):
    """A task for each segment. One that a node still writes is read as far as it is whole."""

    def __init__(self, folder: str, schema: StructType) -> None:
        if schema.simpleString() != TRACE_COLUMNS.simpleString():
            raise Misuse("the columns of traces are always the same: read them without a schema of your own")
        self.folder, self.schema = folder, schema

    def partitions(self) -> Sequence[Segment]:
        folder = Path(self.folder)
        found, foreign = find_segments(folder, folder / "audit")
        for each in foreign:
            log.info("%s is left out: %s", each.file, each.why)
        return [Segment(each) for each in found]

    def read(self, partition: Segment) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        try:
            _, table, _ = read_segment(partition.source)
        except (GossamerError, OSError) as wrong:
            raise Misuse(f"{partition.source.file} cannot be read: {wrong}; move it away to read the others") from None
        schema = to_arrow_schema(self.schema, timezone="UTC")
        for batch in table.to_batches(ROWS):
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
