"""Predicates of Spark as filters of ours, so that they can be asked inside the network.

SQL has three truths, we have two: Spark's NOT passes over nulls, ours takes in what is missing. So each NOT is moved
down to a condition that says the same in both. A column is null where its attribute is missing or of another type, and
where a number is NaN. What does not map exactly is given back: Spark asks it of the rows that come. Where a condition
maps to one that lets through more, both ask.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

from pyspark.sql.datasource import (
    ColumnPath,
    EqualNullSafe,
    EqualTo,
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
from pyspark.sql.datasource import Filter as Predicate

from gossamer.core.errors import Misuse
from gossamer.core.filters import Filter, parse
from gossamer.core.filters.building import Asked, Attr

EXACT = 2**53
"Below it every whole number is a float of its own."
NEVER = parse("false")
TEXT, TRUTH, FLOAT, WHOLE, TIME = "string", "boolean", "double", "bigint", "timestamp"
"What a column can be."


class Column(NamedTuple):
    """What a column of Spark stands for."""

    attr: Attr
    kind: str
    always: bool = False
    "Whether it is never null and always of its kind: so are those that every event has."

    @property
    def exact(self) -> bool:
        """Whether the column is null exactly where a filter takes the attribute for missing or of another type: a
        filter does not tell whole numbers from others."""
        return self.always or self.kind not in (WHOLE, TIME)

    def there(self) -> Filter:
        """That it is not null."""
        return {TEXT: self.attr.is_text, TRUTH: self.attr.is_bool}.get(self.kind, self.attr.is_number)()


Columns: TypeAlias = dict[ColumnPath, Column]


class Asking(NamedTuple):
    """What the network is asked, and what Spark asks after it."""

    wanted: Filter
    left: list[Predicate]


def asking(predicates: Iterable[Predicate], columns: Columns) -> Asking:
    """Predicates that must all hold. A filter may not become longer than filters are: what comes later is left."""
    wanted, left = parse("true"), []
    for predicate in predicates:
        try:
            found = translated(predicate, columns)
            joined = None if found is None else wanted & found
        except Misuse:  # a number no filter can say, or too much in all
            found = joined = None
        wanted = wanted if joined is None else joined
        if found is None or not columns[column_of(predicate)].exact:
            left.append(predicate)
    return Asking(wanted, left)


def column_of(predicate: Predicate) -> ColumnPath:
    while isinstance(predicate, Not):
        predicate = predicate.child
    path: ColumnPath = getattr(predicate, "attribute", ())
    return path


def translated(predicate: Predicate, columns: Columns) -> Filter | None:
    """The filter that holds exactly where the predicate is true, or, of a column that is not exact, there and perhaps
    elsewhere. None: there is none."""
    positive = True
    while isinstance(predicate, Not):
        predicate, positive = predicate.child, not positive
    column = columns.get(column_of(predicate))
    return None if column is None else _said(predicate, column, positive)


def _said(predicate: Predicate, column: Column, positive: bool) -> Filter | None:
    match predicate:
        case IsNull() | IsNotNull():
            there = isinstance(predicate, IsNotNull) is positive
            if column.always:
                return parse("true") if there else NEVER
            return column.there() if there else (~column.there() if column.exact else None)
        case EqualNullSafe(path, None):
            return _said(IsNull(path), column, positive)
        case In(_, values):
            return _member(column, values, positive)
    value = _constant(getattr(predicate, "value", None), column.kind)
    return None if value is None else _compared(predicate, column, value, positive)


def _member(column: Column, values: Sequence[object], positive: bool) -> Filter | None:
    """Of a list with a null in it nothing is known to be outside; whether anything is outside of none, is a setting."""
    there = [value for value in values if value is not None]
    constants = [each for value in there if (each := _constant(value, column.kind)) is not None]
    if len(constants) < len(there):
        return None
    if not positive and len(there) < len(values):
        return NEVER
    if not values:
        return NEVER if positive else None
    if not constants:
        return NEVER
    return column.attr.isin(constants) if positive else column.attr.notin(constants)


def _compared(predicate: Predicate, column: Column, value: Asked, positive: bool) -> Filter | None:
    attr = column.attr
    if isinstance(predicate, EqualNullSafe) and not positive:
        return ~(attr == value) if column.exact else None
    fits: dict[type[Predicate], Callable[[str], Filter]] = {
        StringStartsWith: attr.startswith,
        StringEndsWith: attr.endswith,
        StringContains: attr.contains,
    }
    if type(predicate) in fits:
        if column.kind != TEXT or not isinstance(value, str):
            return None
        found = fits[type(predicate)](value)
        return found if positive else attr.is_text() & ~found
    if isinstance(predicate, EqualTo | EqualNullSafe):
        return attr == value if positive else attr != value
    if column.kind == TRUTH:
        return None
    orders: dict[type[Predicate], tuple[Callable[[Asked], Filter], Callable[[Asked], Filter]]] = {
        GreaterThan: (attr.__gt__, attr.__le__),
        GreaterThanOrEqual: (attr.__ge__, attr.__lt__),
        LessThan: (attr.__lt__, attr.__ge__),
        LessThanOrEqual: (attr.__le__, attr.__gt__),
    }
    if type(predicate) not in orders:
        return None
    return orders[type(predicate)][0 if positive else 1](value)


def _constant(value: object, kind: str) -> Asked | None:
    """A constant as a filter compares with it. None: Spark compares otherwise."""
    if kind == TEXT:
        return value if isinstance(value, str) else None
    if kind == TRUTH:
        return value if isinstance(value, bool) else None
    if kind == TIME:
        return value.astimezone(UTC) if isinstance(value, datetime) else None  # without a zone it is local time
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if kind == WHOLE:
        return value if isinstance(value, int) else None
    return value if math.isfinite(value) and abs(value) < EXACT else None
