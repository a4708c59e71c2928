"""Pieces of nodes' logs as rows. Where several nodes have the same topic, each gives the events that are its share by
their ids: every event comes from one of them."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from msgspec import Struct
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from gossamer.core.errors import Misuse
from gossamer.core.events import Event
from gossamer.live.clients.client import Client
from gossamer.live.clients.log_reader import LogReader
from gossamer.live.reading.deliveries import LogPage
from gossamer.live.reading.listing import SubscriptionInfo
from gossamer.pipeline.source_lines import Line
from gossamer.pipeline.source_options import Reading
from gossamer.pipeline.source_schema import Table


class Piece(InputPartition):
    """The log of one node, after a place and up to another."""

    def __init__(self, node: int, after: int, until: int) -> None:
        self.node, self.after, self.until = node, after, until


class Rows(Struct, frozen=True):
    """What a task needs to read pieces."""

    reading: Reading
    table: Table
    schema: StructType
    where: str
    gone_is_wrong: bool

    def read(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        schema = to_arrow_schema(self.schema, timezone="UTC")
        after = piece.after
        with Line(self.reading.attached, self.reading.attached.nodes[piece.node]) as line:
            while after < piece.until:
                page = line.ask(self._asking(after, piece.until))
                if page.lost and self.gone_is_wrong:
                    raise gone(line.address, page.lost)
                if mine := [each for each in page.items if self.is_of(each, piece.node)]:
                    yield self._batch(mine, schema)
                after = page.examined

    def _asking(self, after: int, until: int) -> Any:
        async def page(client: Client) -> LogPage:
            return await LogReader(client, self.reading.topic, self.where).page(after, until)

        return page

    def is_of(self, event: Event, node: int) -> bool:
        """Whether an event is this node's to give."""
        nodes = len(self.reading.attached.nodes)
        return nodes == 1 or event.id.word() % nodes == node

    def _batch(self, events: Sequence[Event], schema: pa.Schema) -> pa.RecordBatch:
        columns = zip(*map(self.table.row, events), strict=True)
        arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def pieces(node: int, after: int, until: int, count: int) -> list[Piece]:
    """A part of the log in so many pieces, as far as it has places."""
    step = max(1, -(-(until - after) // count))
    return [Piece(node, start, min(start + step, until)) for start in range(after, until, step)]


def gone(address: str, lost: int) -> Misuse:
    return Misuse(
        f"at least {lost} events are gone from the log of {address} that were not read yet: give its "
        "spool.durable_bytes room for what readers have not had, or go on without them by option('gaps', 'pass')"
    )


async def opened(client: Client, reading: Reading) -> SubscriptionInfo:
    """The durable subscription, made if there is none: it keeps what was not read yet."""
    choices: dict[str, Any] = {"where": reading.where, "name": reading.name, "from_start": reading.from_start}
    async with client.subscribe(reading.topic, **choices):
        pass
    found = await subscription(client, reading.name)
    assert found is not None, "a subscription that was entered is on disk"
    return found


async def subscription(client: Client, name: str) -> SubscriptionInfo | None:
    return next((each for each in await client.subscriptions() if each.name == name), None)
