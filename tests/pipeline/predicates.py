"""Random predicates, as Spark hands them to a source and as SQL says them, and events to ask them of."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as f
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from gossamer.core.events import Event
from gossamer.core.ids import EventId

DECLARED = "s string, b boolean, d double, n bigint, t timestamp, `net price` double"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
STAMPS = [0, 1_795_032_000_000_000, 1_795_032_000_000_001, -5_000_000, 1_793_496_600_000_000]
"The last is an hour that comes twice where clocks go back."
TEXTS = ["", "a", "A", "ab", "b", "ab%", "a_b", "a\\b", "ß", "é", "\U0001f600", "\ue000", "'", '"', "\n"]
NUMBERS = [0, -0.0, 1, 1.5, -2, 5, 2**53, 2**53 + 1, -(2**63), 2**63 - 1, 1e308, float("inf"), float("nan"), 0.1]
WHOLES = [0, 1, -2, 5, 2**53, 2**53 + 1, -(2**63), 2**63 - 1]
TOPICS = [".stocks", ".stocks.now", ".stocks.é"]
ANY = [*TEXTS, *NUMBERS, *STAMPS, True, False]

VALUES: dict[tuple[str, ...], list[Any]] = {
    ("topic",): [*TOPICS, "", ".", ".stocks."],
    ("publisher",): [1, 2, -1, 2**63 - 1],
    ("published",): [EPOCH + timedelta(microseconds=each) for each in STAMPS],
    ("attributes", "s"): TEXTS,
    ("attributes", "b"): [True, False],
    ("attributes", "d"): [float(each) for each in NUMBERS],
    ("attributes", "n"): WHOLES,
    ("attributes", "t"): [EPOCH + timedelta(microseconds=each) for each in STAMPS],
    ("attributes", "net price"): [0.0, 1.0, 5.0],
}
"What predicates compare each column with."
TEXTUAL = (("topic",), ("attributes", "s"))


def event(draws: random.Random, number: int) -> Event:
    """Mostly of the declared types; now and then of another, or not there."""
    usual: dict[str, list[Any]] = {
        "s": TEXTS, "b": [True, False], "d": NUMBERS, "n": WHOLES, "t": STAMPS, "net price": [0, 1.5, 5],
    }  # fmt: skip
    told = {name: draws.choice(values if draws.random() < 0.7 else ANY) for name, values in usual.items()}
    told = {name: value for name, value in told.items() if draws.random() < 0.8}
    return Event(
        EventId(draws.choice([1, 2]), 1, number + 1),
        draws.choice(TOPICS),
        b"",
        told,
        published_us=draws.choice(STAMPS[:3]),
    )


def drawn(draws: random.Random) -> tuple[Filter, Column]:
    """A predicate, and the same as a column of truths."""
    path = draws.choice([*VALUES])
    column = f.col(".".join(f"`{each}`" for each in path))
    predicate, said = _plain(draws, path, column)
    for _ in range(draws.choice([0, 0, 1, 1, 2])):
        predicate, said = Not(predicate), ~said
    return predicate, said


def _plain(draws: random.Random, path: tuple[str, ...], column: Column) -> tuple[Filter, Column]:
    value = draws.choice(VALUES[path])
    said = f.lit(value)
    orders = [
        (GreaterThan, column > said),
        (GreaterThanOrEqual, column >= said),
        (LessThan, column < said),
        (LessThanOrEqual, column <= said),
    ]
    match draws.randrange(8 if path in TEXTUAL else 6):
        case 0:
            return EqualTo(path, value), column == said
        case 1:
            null = draws.random() < 0.3
            return EqualNullSafe(path, None if null else value), column.eqNullSafe(f.lit(None) if null else said)
        case 2:
            listed = draws.choices(VALUES[path], k=draws.randrange(1, 4))
            listed += [None] if draws.random() < 0.2 else []
            return In(path, tuple(listed)), column.isin([f.lit(each) for each in listed])
        case 3:
            return draws.choice([(IsNull(path), column.isNull()), (IsNotNull(path), column.isNotNull())])
        case 4 | 5:
            made, order = draws.choice(orders)
            return made(path, value), order
    made, fits = draws.choice(
        [
            (StringStartsWith, column.startswith(said)),
            (StringEndsWith, column.endswith(said)),
            (StringContains, column.contains(said)),
        ]
    )
    return made(path, value), fits
