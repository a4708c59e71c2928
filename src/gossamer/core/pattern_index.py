"""Patterns, and which of them an event matches: by its topic and those above, however many patterns there are."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from gossamer.core.events import Attribute, Event
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy, Topic

if TYPE_CHECKING:
    from gossamer.core.filters import Filter, Index


def filter_of(pattern: Pattern) -> "Filter | None":
    """What a pattern asks of attributes; None: nothing. Raises Misuse where the text is no filter."""
    if not pattern.where:
        return None
    from gossamer.core.filters import parse  # a node that filters nothing need not load the grammar

    return parse(pattern.where)


class PatternIndex:
    """An event's topic has few topics above it: each is looked up, and where there are filters their index is asked."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.hierarchy = hierarchy
        self.plain: dict[Topic, Pattern] = {}
        "Those that ask for everything of a topic."
        self.filtered: dict[Topic, Index[Pattern]] = {}
        self._besides: dict[Pattern, None] = {}
        "Those whose filters ask for more than attributes."

    def add(self, pattern: Pattern, wanted: "Filter | None") -> None:
        if wanted is None:
            self.plain[pattern.topic] = pattern
            return
        index = self.filtered.get(pattern.topic)
        if index is None:
            from gossamer.core.filters import Index  # a node that filters nothing need not load the grammar

            index = self.filtered[pattern.topic] = Index()
        index.add(pattern, wanted)
        if wanted.asks_besides:
            self._besides[pattern] = None

    def remove(self, pattern: Pattern) -> None:
        topic = pattern.topic
        if self.plain.get(topic) == pattern:
            del self.plain[topic]
            return
        self.filtered[topic].remove(pattern)
        self._besides.pop(pattern, None)
        if not len(self.filtered[topic]):
            del self.filtered[topic]

    def asked(self, event: Event) -> Mapping[str, Attribute]:
        """What filters here may ask of an event. Most ask for attributes only, and those are at hand."""
        return event.asked if self._besides else event.attributes

    def matches(self, topic: Topic, attributes: Mapping[str, Attribute]) -> bool:
        """Whether an event of this topic with these attributes matches any."""
        plain, filtered, above = self.plain, self.filtered, self.hierarchy.ancestors(topic)
        if plain and (topic in plain or not plain.keys().isdisjoint(above)):
            return True
        for each in (topic, *above) if filtered else ():
            index = filtered.get(each)
            if index is not None and index.matches_any(attributes):
                return True
        return False

    def matching(self, topic: Topic, attributes: Mapping[str, Attribute]) -> Iterator[Pattern]:
        """The patterns such an event matches, the cheapest to find first."""
        above = (topic, *self.hierarchy.ancestors(topic))
        for each in above:
            if each in self.plain:
                yield self.plain[each]
        for each in above:
            if each in self.filtered:
                yield from self.filtered[each].matches(attributes)

    def around(self, pattern: Pattern, narrow: "Filter | None") -> Iterator[Pattern]:
        """Those that may include all that a pattern asks for: each that does is among them, and few others are. What
        includes a filter wants every event that it wants, and so one that is easily found."""
        above = (pattern.topic, *self.hierarchy.ancestors(pattern.topic))
        for each in above:
            if each in self.plain:
                yield self.plain[each]
        if narrow is None or not self.filtered:
            return
        from gossamer.core.filters.examples import example

        wanted = example(narrow)
        for each in above:
            if each in self.filtered:
                yield from self.filtered[each] if wanted is None else self.filtered[each].matches(wanted)
