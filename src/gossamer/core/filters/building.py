"""Filters built in Python: `F.attr("price") > 100`. Names and values are quoted here, whatever is in them.

What is built is a filter like any other: it is written, and read.
"""

from collections.abc import Iterable
from datetime import datetime
from math import isfinite
from typing import TypeAlias

from gossamer.core.errors import Misuse
from gossamer.core.events import ABOUT_PUBLISHED, ABOUT_PUBLISHER, ABOUT_TOPIC, ASKED_BESIDES
from gossamer.core.filters.constants import microseconds
from gossamer.core.filters.filter import Filter, parse
from gossamer.core.filters.wildcards import ESCAPE
from gossamer.core.filters.writing import name_text, value_text

Asked: TypeAlias = str | int | float | bool | datetime
"What an attribute can be compared with. A time needs its zone."


class Attr:
    """An attribute that a filter asks for."""

    __slots__ = ("_called",)
    __hash__ = None  # type: ignore[assignment]  # `==` gives a filter, so it is no key

    def __init__(self, called: str) -> None:
        self._called = called

    def __repr__(self) -> str:
        return f"F.attr({self._called})"

    def __eq__(self, other: Asked) -> Filter:  # type: ignore[override]
        return self._compared("==", other)

    def __ne__(self, other: Asked) -> Filter:  # type: ignore[override]
        """Another value of the same type: `~(attr == value)` also holds where it is missing."""
        return self._compared("!=", other)

    def __lt__(self, other: Asked) -> Filter:
        return self._compared("<", other)

    def __le__(self, other: Asked) -> Filter:
        return self._compared("<=", other)

    def __gt__(self, other: Asked) -> Filter:
        return self._compared(">", other)

    def __ge__(self, other: Asked) -> Filter:
        return self._compared(">=", other)

    def isin(self, values: Iterable[Asked]) -> Filter:
        """It equals one of these; of none, nothing does."""
        return self._listed("in", values, "false")

    def notin(self, values: Iterable[Asked]) -> Filter:
        """It has the type of one of these and equals none; where there are none, it is there."""
        return self._listed("not in", values, f"has {self._called}")

    def between(self, low: Asked, high: Asked) -> Filter:
        """Both ends belong to it."""
        return self._said(f"between {quoted(low)} and {quoted(high)}")

    def startswith(self, start: str) -> Filter:
        return self._fits("startswith", start)

    def endswith(self, end: str) -> Filter:
        return self._fits("endswith", end)

    def contains(self, part: str) -> Filter:
        return self._fits("contains", part)

    def like(self, pattern: str, escape: str = ESCAPE) -> Filter:
        """`%` stands for any letters, `_` for one; after `escape` they stand for themselves."""
        return self._fits("like", pattern, escape)

    def ilike(self, pattern: str, escape: str = ESCAPE) -> Filter:
        """The same, where large and small letters are one. Without wildcards: equal but for that."""
        return self._fits("ilike", pattern, escape)

    def is_null(self) -> Filter:
        return self._said("is null")

    def is_not_null(self) -> Filter:
        return self._said("is not null")

    def is_true(self) -> Filter:
        return self._compared("==", True)

    def is_number(self) -> Filter:
        return self._said("is number")

    def is_text(self) -> Filter:
        return self._said("is text")

    def is_bool(self) -> Filter:
        return self._said("is bool")

    def _compared(self, how: str, other: Asked) -> Filter:
        return self._said(f"{how} {quoted(other)}")

    def _listed(self, how: str, values: Iterable[Asked], none: str) -> Filter:
        if isinstance(values, str):
            raise Misuse("isin and notin take a list of values, not one text: write [text]")
        listed = ", ".join(map(quoted, values))
        return self._said(f"{how} ({listed})") if listed else parse(none)

    def _fits(self, how: str, sought: str, escape: str = ESCAPE) -> Filter:
        for each in (sought, escape):
            if not isinstance(each, str):
                raise Misuse(f"{how} takes a text, not {type(each).__name__}")
        with_escape = "" if escape == ESCAPE else f" escape {quoted(escape)}"
        return self._said(f"{how} {quoted(sought)}{with_escape}")

    def _said(self, what: str) -> Filter:
        return parse(f"{self._called} {what}")


class Building:
    """Where filters begin: `F`."""

    topic = Attr(ABOUT_TOPIC)
    publisher = Attr(ABOUT_PUBLISHER)
    "A number, or to compare with, the name it is made of."
    published = Attr(ABOUT_PUBLISHED)
    "When, by its publisher's clock: microseconds since 1970, or to compare with, a time."

    def attr(self, name: str) -> Attr:
        """An attribute by its name, whatever letters that has."""
        if not isinstance(name, str) or not name or name in ASKED_BESIDES:
            raise Misuse(
                f"an attribute's name is a text of 1 to 255 letters, not {name!r}; topic, publisher and time are "
                "F.topic, F.publisher and F.published"
            )
        return Attr(name_text(name))

    def every(self, *filters: Filter) -> Filter:
        """All of these hold; of none, they do."""
        return parse(" and ".join(f"({each.text})" for each in filters) or "true")

    def some(self, *filters: Filter) -> Filter:
        """Some of these holds; of none, it does not."""
        return parse(" or ".join(f"({each.text})" for each in filters) or "false")


F = Building()


def quoted(value: Asked) -> str:
    """A constant as the language writes it."""
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise Misuse(f"the time {value} has no zone: give it one, as in datetime(…, tzinfo=UTC)")
        return str(microseconds(value))
    if isinstance(value, bool):
        return value_text(value)
    if isinstance(value, int):
        return value_text(int.__int__(value))
    if isinstance(value, float):
        if not isfinite(value):
            raise Misuse(f"{value} is no number to compare with: a filter's numbers are finite")
        return value_text(float.__float__(value))
    if isinstance(value, str):
        return value_text(str.__str__(value))
    raise Misuse(f"filters compare with texts, numbers, truths and times, not {type(value).__name__}")
