"""The network as a table: `spark.dataSource.register(gossamer.pipeline.Gossamer)`, then `format("gossamer")`."""

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from gossamer.core.errors import Misuse
from gossamer.pipeline.sink import BatchSink, StreamSink, sink
from gossamer.pipeline.source_batch import LogRead, PushedLogRead
from gossamer.pipeline.source_options import reading, writing
from gossamer.pipeline.source_schema import Table, table_of
from gossamer.pipeline.source_stream import LogStream
from gossamer.pipeline.source_traces import TRACE_COLUMNS, TraceRead

TRACES = "traces"


class Gossamer(DataSource):
    """Reads the logs of nodes, and publishes through them, in batches and as a stream; and reads traces."""

    @classmethod
    def name(cls) -> str:
        return "gossamer"

    def _table(self) -> Table:
        return table_of(self.options.get("attributes"))

    def schema(self) -> StructType:
        return TRACE_COLUMNS if TRACES in self.options else self._table().schema

    def reader(self, schema: StructType) -> DataSourceReader:
        if TRACES in self.options:
            return TraceRead(self.options[TRACES], schema)
        asked, table = reading(self.options, streams=False), self._checked(schema)
        return (PushedLogRead if asked.pushes else LogRead)(asked, table, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        if TRACES in self.options:
            raise Misuse("traces are read in batches: spark.read, not spark.readStream")
        return LogStream(reading(self.options, streams=True), self._checked(schema), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        if overwrite:
            raise Misuse("what was published stays published: write with mode('append')")
        return BatchSink(sink(writing(self.options), schema, streams=False))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        if overwrite:
            raise Misuse("what was published stays published: write with outputMode('append')")
        return StreamSink(sink(writing(self.options), schema, streams=True))

    def _checked(self, schema: StructType) -> Table:
        table = self._table()
        if schema.simpleString() != table.schema.simpleString():
            raise Misuse("the columns are always the same: declare attributes by option('attributes', 'symbol string')")
        return table
