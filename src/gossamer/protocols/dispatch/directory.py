"""Patterns by who holds them, and which of them an event matches."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from gossamer.core.events import Attribute
from gossamer.core.ids import Peer
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy, Topic

if TYPE_CHECKING:
    from gossamer.core.filters import Filter, Index


class Directory:
    """Every pattern once, however many hold it: what is asked of all of an event's topics costs as little as it can."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.hierarchy = hierarchy
        self.holders: dict[Pattern, dict[Peer, None]] = {}
        self._plain: dict[Topic, Pattern] = {}
        "Those that ask for everything of a topic."
        self._filtered: dict[Topic, Index[Pattern]] = {}

    def add(self, pattern: Pattern, wanted: "Filter | None", holder: Peer) -> None:
        holders = self.holders.setdefault(pattern, {})
        if not holders:
            if wanted is None:
                self._plain[pattern.topic] = pattern
            else:
                self._index(pattern.topic).add(pattern, wanted)
        holders[holder] = None

    def remove(self, pattern: Pattern, holder: Peer) -> None:
        holders = self.holders.get(pattern, {})
        if holder not in holders:
            return
        del holders[holder]
        if not holders:
            del self.holders[pattern]
            if self._plain.get(pattern.topic) == pattern:
                del self._plain[pattern.topic]
            else:
                self._filtered[pattern.topic].remove(pattern)
                if not len(self._filtered[pattern.topic]):
                    del self._filtered[pattern.topic]

    def matching(self, topic: Topic, attributes: Mapping[str, Attribute]) -> Iterator[Pattern]:
        """The patterns an event of this topic with these attributes matches, the cheapest to find first."""
        above = (topic, *self.hierarchy.ancestors(topic))
        for each in above:
            if each in self._plain:
                yield self._plain[each]
        for each in above:
            if each in self._filtered:
                yield from self._filtered[each].matches(attributes)

    def _index(self, topic: Topic) -> "Index[Pattern]":
        index = self._filtered.get(topic)
        if index is None:
            from gossamer.core.filters import Index  # a node that filters nothing need not load the grammar

            index = self._filtered[topic] = Index()
        return index
