"""An event that a filter wants, if one is easily found: whatever does not want that event does not cover the filter.

One look at an example is far cheaper than a comparison of two filters, and settles most of them.
"""

from collections.abc import Iterator
from functools import lru_cache

from gossamer.core.filters.compiling import Attributes
from gossamer.core.filters.filter import KNOWN_MAX, Filter
from gossamer.core.filters.text_parts import sample
from gossamer.core.filters.values import NOTHING, Value, Values


def may_cover(wide: Filter, narrow: Filter) -> bool:
    """False only if the first does not cover the second: it does not want an event that the second wants."""
    found = example(narrow)
    return found is None or wide.matches(found)


@lru_cache(KNOWN_MAX)
def example(wanted: Filter) -> Attributes | None:
    """Attributes the filter matches; None: none were found, there may be some."""
    for term in wanted.terms:
        found = {name: next(_some(values), None) for name, values in term.items() if not values.missing}
        attributes = {name: value for name, value in found.items() if value is not None}
        if len(attributes) == len(found) and wanted.matches(attributes):
            return attributes
    return None


def _some(values: Values) -> Iterator[Value]:
    """Some of these values."""
    if values != NOTHING:
        yield from (value for value in _guesses(values) if values.holds(value))


def _guesses(values: Values) -> Iterator[Value]:
    yield from (True, False)
    for low, high in values.numbers.intervals():
        least = -1 if low is None else low[0]
        most = 1 if high is None else high[0]
        if not isinstance(least, str) and not isinstance(most, str):
            yield from (0, least, most, least + 1, most - 1, least + most / 2 - least / 2)
    wanted = "".join(map(sample, values.musts))
    for first, _ in values.texts.intervals():
        start = "" if first is None else str(first[0])
        yield from (start, start + wanted, start + "a" + wanted, wanted, *map(sample, values.musts))
