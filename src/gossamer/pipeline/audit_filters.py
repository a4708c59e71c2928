"""Which events match which filters, asked in the filters' own language, by the tasks that alone see attributes.

What goes on from here is numbers: which of the filters an event matches, and how it is known. A filter is one text on
one topic. Where nobody can tell, because an event's attributes were not told or do not open, or a text is no filter
here, every pair that depends on it stays in doubt.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Literal, TypeAlias

import pyarrow as pa
from msgspec import Struct
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, StringType, StructField, StructType

from gossamer.core.errors import Misuse
from gossamer.core.events import ABOUT_PUBLISHED, Attribute, asked_of
from gossamer.core.filters import Index, parse
from gossamer.core.ids import EventId
from gossamer.pipeline.audit_lives import EVENT, is_kind, names_that_include
from gossamer.wire import values
from gossamer.wire.values import Opener

State: TypeAlias = Literal["told", "untold", "locked", "damaged"]
"""Of an event's attributes: told; not told by its publisher's trace; sealed to a key the audit was not given; or sealed
to one it was given, and changed since."""
Attributes: TypeAlias = Mapping[str, Attribute]
Indexes: TypeAlias = dict[str, Index[int]]
"Filters by topic, which an event's attributes are held against all at once."

FILTERS = pa.schema([("wide", pa.string()), ("text", pa.string()), ("filter", pa.int32()), ("odd", pa.bool_())])
MATCHED = (
    StructField("matching", ArrayType(IntegerType())),
    StructField("values", StringType()),
)


class Asked(Struct, frozen=True, array_like=True):
    """A filter somebody subscribed with."""

    number: int
    topic: str
    text: str
    odd: bool
    "Whether it cannot be asked here: written by another version, damaged, or about what traces do not tell."


def list_filters(told: DataFrame) -> list[Asked]:
    """Every filter that was subscribed with."""
    asked = told.where(is_kind("subscribe") & F.col("topic").isNotNull() & F.col("detail").isNotNull())
    found = sorted((row["topic"], row["detail"]) for row in asked.select("topic", "detail").distinct().collect())
    return [Asked(number, topic, text, is_odd(text)) for number, (topic, text) in enumerate(found)]


def is_odd(text: str) -> bool:
    try:
        return ABOUT_PUBLISHED in parse(text).names  # by the publisher's clock: no trace tells what that said
    except Misuse:
        return True


def number_filters(interests: DataFrame, filters: Sequence[Asked]) -> DataFrame:
    """Spells of interest with the number of their filter in place of its text, and whether it is `odd`."""
    if not filters:
        return interests.withColumns({"filter": F.lit(None).cast("int"), "odd": F.lit(False)}).drop("text")
    columns = [[getattr(each, name) for each in filters] for name in ("topic", "text", "number", "odd")]
    table = pa.Table.from_arrays([pa.array(*each) for each in zip(columns, FILTERS.types, strict=True)], schema=FILTERS)
    known = interests.sparkSession.createDataFrame(table)
    return (
        interests.join(known, ["wide", "text"], "left").withColumn("odd", F.coalesce("odd", F.lit(False))).drop("text")
    )


def match_events(events: DataFrame, filters: Sequence[Asked], opener: Opener | None) -> DataFrame:
    """Events without their attributes; instead, the numbers of the filters each matches, and the State of what is known
    of it (nothing, where no filter asks for its topic)."""
    if not filters:
        empty = {each.name: F.lit(None).cast(each.dataType) for each in MATCHED}
        return events.drop("attributes").withColumns(empty)
    schema = StructType([*events.drop("attributes").schema.fields, *MATCHED])
    above = events.withColumn("above", names_that_include(F.col("topic")))
    return above.mapInArrow(matching(filters, opener), schema)


def matching(
    filters: Sequence[Asked], opener: Opener | None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a Spark worker does with its events."""
    asked = [(each.number, each.topic, each.text) for each in filters if not each.odd]
    digest = blake2b(repr(asked).encode(errors="surrogatepass"), digest_size=16).digest()

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        indexes = indexes_of(digest, asked)
        for batch in batches:
            yield matched(batch, indexes, opener)

    return run


_kept: dict[bytes, Indexes] = {}
"Of the audit a worker is busy with: it has many tasks, and making them takes long where filters are many."


def indexes_of(digest: bytes, asked: Sequence[tuple[int, str, str]]) -> Indexes:
    if digest not in _kept:
        _kept.clear()
        found: Indexes = {}
        for number, topic, text in asked:
            found.setdefault(topic, Index()).add(number, parse(text))
        _kept[digest] = found
    return _kept[digest]


def matched(batch: pa.RecordBatch, indexes: Indexes, opener: Opener | None) -> pa.RecordBatch:
    """Each event, once."""
    names = [name for name in batch.schema.names if name not in ("above", "attributes")]
    numbers = zip(*(batch.column(name).to_pylist() for name in EVENT), strict=True)
    found, states = list[list[int]](), list[State | None]()
    told = (batch.column(name).to_pylist() for name in ("above", "attributes", "topic"))
    for above, data, topic, event in zip(*told, numbers, strict=True):
        asked = [indexes[topic] for topic in above if topic in indexes]
        state, attributes = opened(data, EventId(*event), opener) if asked else (None, None)
        about = None if attributes is None else asked_of(attributes, topic, event[0], 0)
        found.append([] if about is None else [each for index in asked for each in index.matches(about)])
        states.append(state)
    columns = [batch.column(name) for name in names]
    return pa.RecordBatch.from_arrays(
        [*columns, pa.array(found, pa.list_(pa.int32())), pa.array(states, pa.string())],
        names=[*names, *(each.name for each in MATCHED)],
    )


def opened(data: bytes | None, event: EventId, opener: Opener | None) -> tuple[State, Attributes | None]:
    """An event's attributes, as far as they can be known."""
    if data is None:
        return "untold", None
    kept = values.read_kept(data)
    plain: bytes | None = kept.data
    if kept.values == "sealed":
        if opener is None or not opener.fits(kept):
            return "locked", None
        plain = opener.open(kept, event)
    attributes = None if plain is None else values.decoded(plain)
    return ("damaged", None) if attributes is None else ("told", attributes)
