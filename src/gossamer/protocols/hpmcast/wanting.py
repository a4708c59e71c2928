"""What a subsystem wants, read from a row: whether an event is among it, and whether it includes what another wants."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from gossamer.core.errors import GossamerError
from gossamer.core.events import Attribute, Event
from gossamer.core.pattern_index import filter_of
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy, Topic

if TYPE_CHECKING:
    from gossamer.core.filters import Filter

Interest: TypeAlias = tuple[Pattern, ...]

KNOWN_MAX = 4096
"Interests that are read only once, however many rows have them."


class WantedPatterns:
    """Patterns by their topics. A value: nobody changes it."""

    def __init__(self, interest: Interest) -> None:
        self.interest = interest
        self.filters: dict[Topic, list[Filter | None]] = {}
        "None: everything of the topic."
        for pattern, each in read(interest).items():
            self.filters.setdefault(pattern.topic, []).append(each)
        there = (each for asked in self.filters.values() for each in asked if each is not None)
        self.asks_besides = any(each.asks_besides for each in there)
        "Whether a filter asks for more than attributes."

    def matches(self, topic: Topic, attributes: Mapping[str, Attribute], hierarchy: Hierarchy) -> bool:
        """Whether an event of this topic with these attributes is wanted."""
        return any(
            each is None or each.matches(attributes)
            for above in (topic, *hierarchy.ancestors(topic))
            for each in self.filters.get(above, ())
        )

    def wants(self, event: Event, hierarchy: Hierarchy) -> bool:
        return self.matches(event.topic, event.asked if self.asks_besides else event.attributes, hierarchy)

    def touches(self, topic: Topic, hierarchy: Hierarchy) -> bool:
        """Whether some event of this topic may be wanted."""
        return any(above in self.filters for above in (topic, *hierarchy.ancestors(topic)))

    def covers(self, topic: Topic, narrow: "Filter | None", hierarchy: Hierarchy) -> bool:
        """Whether all that is asked for here is wanted. False may also mean: could not be told."""
        return any(
            wide is None or (narrow is not None and wide.covers(narrow))
            for above in (topic, *hierarchy.ancestors(topic))
            for wide in self.filters.get(above, ())
        )

    def includes(self, other: "WantedPatterns", hierarchy: Hierarchy) -> bool:
        """Whether everything another wants is wanted here too."""
        return all(self.covers(topic, narrow, hierarchy) for topic, asked in other.filters.items() for narrow in asked)


@lru_cache(KNOWN_MAX)
def wanted(interest: Interest) -> WantedPatterns | None:
    """None: a filter in it cannot be read."""
    try:
        return WantedPatterns(interest)
    except GossamerError:
        return None


def read(interest: Interest) -> "dict[Pattern, Filter | None]":
    """What each pattern asks of attributes."""
    return {pattern: filter_of(pattern) for pattern in interest}
