"""Rows that become events. A task that is run again publishes nothing twice: each event has a key, which its node
remembers, and a row goes to the same node whenever it goes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import blake2b
from itertools import count, islice
from typing import Any

import pyarrow as pa
from msgspec import Struct
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

from gossamer.core.errors import Misuse
from gossamer.core.events import Attribute
from gossamer.core.filters.constants import microseconds
from gossamer.live.clients.arguments import publication
from gossamer.live.clients.client import Client
from gossamer.pipeline.source_lines import Line
from gossamer.pipeline.source_options import Writing

WHOLE = (ByteType, ShortType, IntegerType, LongType)
CARRIED = (StringType, BooleanType, FloatType, DoubleType, TimestampType, *WHOLE)
ATTRIBUTES = "attributes"
OTHERS = ("topic", "payload", "id", ATTRIBUTES)
"Every further column is an attribute of its name."
READ_BACK = ("publisher", "published")
"Columns of the source that an event gets anew."


class Published(WriterCommitMessage):
    def __init__(self, rows: int) -> None:
        self.rows = rows


class Event(Struct):
    """A row, as it is handed to a node."""

    topic: str
    payload: bytes | str
    attributes: dict[str, Attribute]
    key: str


class Sink(Struct, frozen=True):
    """What every task knows."""

    writing: Writing
    schema: StructType
    streams: bool

    def check(self) -> None:
        """What is wrong with these columns, before anything is written."""
        kinds: dict[str, DataType] = {field.name: field.dataType for field in self.schema}
        if "topic" not in kinds and not self.writing.topic:
            raise Misuse("rows need a topic: a column of that name, or option('topic', '.scores') for all of them")
        if "id" not in kinds and (self.streams or not self.writing.run):
            raise Misuse(
                "rows need a column id, the same whenever a row is written again: by it an event is published once"
                + (
                    ""
                    if self.streams
                    else ". Where rows come in the same order each time, option('run', NAME) stands for it"
                )
            )
        told = kinds.get(ATTRIBUTES)
        fields = {name: kind for name, kind in kinds.items() if name not in (*OTHERS, *READ_BACK)}
        if isinstance(told, StructType):
            fields |= {f"{ATTRIBUTES}.{field.name}": field.dataType for field in told}
        elif told is not None and not (isinstance(told, MapType) and isinstance(told.valueType, CARRIED)):
            raise Misuse(f"the column attributes is a struct or a map, not {told.simpleString()}")
        for name, kind in fields.items():
            if not isinstance(kind, CARRIED):
                raise Misuse(
                    f"the column {name} is {kind.simpleString()}: attributes are texts, numbers, truths and times; put "
                    "it into the payload"
                )
        if not isinstance(kinds.get("payload", BinaryType()), BinaryType | StringType):
            raise Misuse("the column payload is binary or string")
        if not isinstance(kinds.get("id", StringType()), StringType | LongType | IntegerType):
            raise Misuse("the column id is string or a whole number")

    def write(self, batches: Iterable[pa.RecordBatch]) -> Published:
        """Rows of one task go to their nodes by turns: as many as fit under way, then the next."""
        context = TaskContext.get()
        events = self._events(batches, context.partitionId() if context is not None else 0)
        nodes, rows = self.writing.attached.nodes, 0
        lines = [Line(self.writing.attached, address) for address in nodes]
        try:
            while some := [*islice(events, self.writing.window)]:
                for node, line in enumerate(lines):
                    if mine := [each for each in some if node_of(each, len(nodes)) == node]:
                        line.ask(publishing(mine))
                rows += len(some)
        finally:
            for line in lines:
                line.close()
        return Published(rows)

    def _events(self, batches: Iterable[pa.RecordBatch], partition: int) -> Iterator[Event]:
        numbers = count()
        for batch in batches:
            for row in batch.to_pylist():
                yield self._event(row, partition, next(numbers))

    def _event(self, row: Mapping[str, Any], partition: int, number: int) -> Event:
        topic = row.get("topic") or self.writing.topic
        key = row.get("id", f"{self.writing.run}/{partition}/{number}")
        if not topic or key is None or key == "":
            raise Misuse(f"row {number} of task {partition} has no {'id' if topic else 'topic'}: give every row one")
        given = row.get(ATTRIBUTES) or {}
        told = {**dict(given), **{name: value for name, value in row.items() if name not in (*OTHERS, *READ_BACK)}}
        payload = row.get("payload")
        return Event(
            topic,
            b"" if payload is None else payload,
            {name: attribute(value) for name, value in told.items() if value is not None},
            str(key),
        )


class BatchSink(DataSourceArrowWriter):
    def __init__(self, sink: Sink) -> None:
        self.sink = sink

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Published:
        return self.sink.write(iterator)


class StreamSink(DataSourceStreamArrowWriter):
    def __init__(self, sink: Sink) -> None:
        self.sink = sink

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Published:
        return self.sink.write(iterator)


def sink(writing: Writing, schema: StructType, streams: bool) -> Sink:
    made = Sink(writing, schema, streams)
    made.check()
    return made


def attribute(value: Any) -> Attribute:
    """Times are whole numbers, as filters have them."""
    told: Attribute = microseconds(value) if isinstance(value, datetime) else value
    return told


def node_of(event: Event, nodes: int) -> int:
    """The node that knows this event's key, if it was ever published."""
    word = f"{event.topic} {event.key}".encode(errors="surrogatepass")
    return int.from_bytes(blake2b(word, digest_size=8).digest()) % nodes


def publishing(events: list[Event]) -> Callable[[Client], Awaitable[None]]:
    """Those that the node has are the same events once more: after an error all are handed to it again."""

    async def publish(client: Client) -> None:
        wishes = [publication(each.topic, each.payload, each.attributes, each.key) for each in events]
        answers = await asyncio.gather(*[client.offer(each) for each in wishes], return_exceptions=True)
        wrong = next((each for each in answers if isinstance(each, BaseException)), None)
        if wrong is not None:
            raise wrong

    return publish
