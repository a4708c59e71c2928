"""Events as rows: the columns of the network as a table, and what an attribute is in a column of a type."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from gossamer.core.errors import Misuse
from gossamer.core.events import Attribute, Event
from gossamer.core.filters import F
from gossamer.pipeline.source_predicates import FLOAT, TEXT, TIME, TRUTH, WHOLE, Column, Columns

KINDS: dict[type[DataType], str] = {
    StringType: TEXT,
    BooleanType: TRUTH,
    DoubleType: FLOAT,
    LongType: WHOLE,
    TimestampType: TIME,
}
SAID = {**{kind: kind for kind in KINDS.values()}, "long": WHOLE}
FIELD = re.compile(r"\s*(?:(?P<name>\w+)|`(?P<quoted>(?:[^`]|``)+)`)(?:\s*:\s*|\s+)(?P<type>[^,]+?)\s*(?:,|$)")
"Spark reads its own declarations in the JVM, which is not at hand where a source is planned."
ATTRIBUTES = "attributes"


class Table(NamedTuple):
    """How events become rows."""

    kinds: Mapping[str, str] | None
    "Of each attribute that is a field of the struct; None: attributes are a map of texts."

    @property
    def schema(self) -> StructType:
        told: DataType = MapType(StringType(), StringType())
        if self.kinds is not None:
            types = {kind: made for made, kind in KINDS.items()}
            told = StructType([StructField(name, types[kind]()) for name, kind in self.kinds.items()])
        return StructType(
            [
                StructField("topic", StringType()),
                StructField("publisher", LongType()),
                StructField("id", StringType()),
                StructField("published", TimestampType()),
                StructField("payload", BinaryType()),
                StructField(ATTRIBUTES, told),
            ]
        )

    @property
    def columns(self) -> Columns:
        """Those that predicates can be pushed for. `id` and `payload` no filter can ask for, and look-ups in a map
        never come."""
        found: Columns = {
            ("topic",): Column(F.topic, TEXT, always=True),
            ("publisher",): Column(F.publisher, WHOLE, always=True),
            ("published",): Column(F.published, TIME, always=True),
        }
        for name, kind in (self.kinds or {}).items():
            found[ATTRIBUTES, name] = Column(F.attr(name), kind)
        return found

    def row(self, event: Event) -> tuple[object, ...]:
        """Times are microseconds: what Arrow keeps."""
        told: object = {name: text_of(value) for name, value in event.attributes.items()}
        if self.kinds is not None:
            told = {name: told_as(kind, event.attributes.get(name)) for name, kind in self.kinds.items()}
        return event.topic, event.id.publisher, id_text(event), event.published_us, event.payload, told


def table_of(declared: str | None) -> Table:
    """A struct as SQL declares one: `symbol string, price double`. Nothing declared: a map."""
    if declared is None:
        return Table(None)
    kinds: dict[str, str] = {}
    rest = declared
    while rest.strip():
        found = FIELD.match(rest)
        if found is None:
            raise Misuse(
                f"attributes = {declared!r} declares no columns: write them as in 'symbol string, `net price` double'"
            )
        name, said = found["name"] or found["quoted"].replace("``", "`"), found["type"].lower()
        if said not in SAID:
            raise Misuse(f"the attribute {name} cannot be {found['type']}: use {', '.join(KINDS.values())}")
        kinds[name] = SAID[said]
        rest = rest[found.end() :]
    return Table(kinds)


def told_as(kind: str, value: Attribute | None) -> object:
    """The attribute, if it is of the column's type; else null, and so is NaN: filters too take it for missing."""
    match value:
        case str():
            return value if kind == TEXT else None
        case bool():
            return value if kind == TRUTH else None
        case int() if kind in (WHOLE, TIME):
            return value if value < 1 << 63 else None
        case int() | float() if kind == FLOAT and value == value:
            return float(value)
    return None


def text_of(value: Attribute) -> str:
    """In a map everything is text, as filters write it."""
    return value if isinstance(value, str) else str(value).lower()


def id_text(event: Event) -> str:
    """An event's id as one word, the same wherever it is read."""
    return f"{event.id.publisher}-{event.id.incarnation}-{event.id.sequence}"
