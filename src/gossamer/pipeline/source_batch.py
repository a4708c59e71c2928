"""A batch read: what the nodes' logs have now, or what a durable subscription has not acknowledged yet."""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader
from pyspark.sql.datasource import Filter as Predicate
from pyspark.sql.types import StructType

from gossamer.core.errors import Misuse
from gossamer.core.filters import parse
from gossamer.live.clients.client import Client
from gossamer.live.clients.log_reader import LogReader
from gossamer.pipeline.source_lines import Line
from gossamer.pipeline.source_options import Reading
from gossamer.pipeline.source_pages import Piece, Rows, pieces, subscription
from gossamer.pipeline.source_predicates import asking
from gossamer.pipeline.source_schema import Table


class LogRead(DataSourceReader):
    """Without push-down."""

    def __init__(self, reading: Reading, table: Table, schema: StructType) -> None:
        self.reading, self.table, self.schema = reading, table, schema
        self.wanted = parse(reading.where or "true")

    def partitions(self) -> Sequence[Piece]:
        found: list[Piece] = []
        for node, address in enumerate(self.reading.attached.nodes):
            with Line(self.reading.attached, address) as line:
                after, until = line.ask(self._ends)
            found += pieces(node, after, until, self.reading.partitions)
        return found

    async def _ends(self, client: Client) -> tuple[int, int]:
        after = 0
        if self.reading.name:
            known = await subscription(client, self.reading.name)
            if known is None:
                raise Misuse(
                    f"{client.address} has no subscription {self.reading.name!r}: leave the name out to read what is "
                    "in its log, or open it first"
                )
            if (known.topic, known.filter) != (self.reading.topic, self.reading.where):
                raise Misuse(
                    f"the subscription {known.name!r} of {client.address} is of {known.topic} where "
                    f"{known.filter or 'true'}: read it with this topic and where, and filter the rows"
                )
            after = known.position
        return after, await LogReader(client, self.reading.topic).settled()

    def read(self, partition: Piece) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        where = "" if self.wanted.text == "true" else self.wanted.text
        gone_is_wrong = bool(self.reading.name) and self.reading.fails_on_gaps
        yield from Rows(self.reading, self.table, self.schema, where, gone_is_wrong).read(partition)


class PushedLogRead(LogRead):
    """What can be asked at the nodes is."""

    def pushFilters(self, filters: list[Predicate]) -> Iterable[Predicate]:
        asked = asking(filters, self.table.columns)
        joined = self.wanted & asked.wanted
        self.wanted = joined
        return asked.left
