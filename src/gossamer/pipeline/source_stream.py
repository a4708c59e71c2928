"""A stream read: offsets are places of the nodes' logs, so a batch that is read again is the same.

A durable subscription of each node keeps what was not read yet. It moves on only when Spark says that a batch is
committed, which it says when the next one begins: until then the node has everything, whatever is killed.
"""

import logging
from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from gossamer.core.errors import Misuse, TransportDown
from gossamer.live.clients.client import Client
from gossamer.live.clients.log_reader import ITEMS, LogReader
from gossamer.pipeline.source_lines import Line
from gossamer.pipeline.source_options import Reading
from gossamer.pipeline.source_pages import Piece, Rows, opened, pieces, subscription
from gossamer.pipeline.source_schema import Table

Offset = dict[str, int]
"A place for each node, by its address."
log = logging.getLogger("gossamer.spark")


class LogStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One object beside the driver for as long as the query runs; tasks have copies that only read."""

    def __init__(self, reading: Reading, table: Table, schema: StructType) -> None:
        self.reading = reading
        self.rows = Rows(reading, table, schema, reading.where, reading.fails_on_gaps)
        self.lines: dict[str, Line] = {}
        self.checked = False
        self.target: Offset | None = None
        "Where a trigger of what is there now ends."

    def _line(self, address: str) -> Line:
        if address not in self.lines:
            self.lines[address] = Line(self.reading.attached, address)
        return self.lines[address]

    def initialOffset(self) -> Offset:
        """Where the subscriptions stand; those that do not exist begin now."""

        async def position(client: Client) -> int:
            return (await opened(client, self.reading)).position

        return {address: self._line(address).ask(position) for address in self.reading.attached.nodes}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self.reading.rows_max) if self.reading.rows_max else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self.target = self.reportLatestOffset()

    def reportLatestOffset(self) -> Offset:
        async def settled(client: Client) -> int:
            return await LogReader(client, self.reading.topic).settled()

        return {address: self._line(address).ask(settled) for address in self.reading.attached.nodes}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        if not self.checked:
            self._check(start)
            self.checked = True
        top = self.target or self.reportLatestOffset()
        top = {address: max(place, start[address]) for address, place in top.items()}
        if not isinstance(limit, ReadMaxRows):
            return top
        most = max(1, limit.max_rows // len(top))
        return {address: self._so_far(address, start[address], end, most) for address, end in top.items()}

    def _so_far(self, address: str, after: int, end: int, most: int) -> int:
        """The place up to which there are no more rows than may be read at once."""

        async def far(client: Client) -> int:
            found, place, reader = 0, after, LogReader(client, self.reading.topic, self.reading.where)
            while found < most and place < end:
                page = await reader.count(place, end, min(ITEMS, most - found))
                found, place = found + page.found, page.examined
            return place

        return self._line(address).ask(far)

    def _check(self, start: Offset) -> None:
        """A query that goes on finds its subscriptions where it left them, and none that has moved on without it."""
        if sorted(start) != sorted(self.reading.attached.nodes):
            raise Misuse(
                f"the checkpoint is of {', '.join(sorted(start))}, and the nodes are "
                f"{', '.join(sorted(self.reading.attached.nodes))}: go on with the same ones, or begin a new checkpoint"
            )

        for address, place in start.items():
            known = self._line(address).ask(lambda client: subscription(client, self.reading.name))
            if known is None:
                raise Misuse(
                    f"{address} has no subscription {self.reading.name!r} any more, so nothing kept what came since: "
                    "begin a new checkpoint"
                )
            if (known.topic, known.filter) != (self.reading.topic, self.reading.where):
                raise Misuse(
                    f"the subscription {self.reading.name!r} of {address} is of {known.topic} where "
                    f"{known.filter or 'true'}: read that, or choose another name"
                )
            if known.position > place and self.reading.fails_on_gaps:
                raise Misuse(
                    f"the subscription {self.reading.name!r} of {address} has moved on: something else read it. "
                    "Begin a new checkpoint, with a name of its own"
                )

    def partitions(self, start: Offset, end: Offset) -> Sequence[Piece]:
        found: list[Piece] = []
        for node, address in enumerate(self.reading.attached.nodes):
            found += pieces(node, start[address], end[address], self.reading.partitions)
        return found

    def read(self, partition: Piece) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        yield from self.rows.read(partition)

    def commit(self, end: Offset) -> None:
        """Up to here nothing is asked for again. Where that cannot be said, it is said with the next batch."""
        for address, place in end.items():

            async def through(client: Client, place: int = place) -> None:
                await LogReader(client, self.reading.topic).acknowledge_through(self.reading.name, place)

            try:
                self._line(address).ask(through)
            except TransportDown as wrong:
                log.warning("%s keeps what was read until the next batch: %s", address, wrong)

    def stop(self) -> None:
        for line in self.lines.values():
            line.close()
        self.lines.clear()

    def __getstate__(self) -> dict[str, object]:
        """Tasks get no lines: those belong to one process."""
        return {**self.__dict__, "lines": {}}
