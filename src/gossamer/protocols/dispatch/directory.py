"""Patterns by who holds them, and which of them an event matches."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gossamer.core.ids import Peer
from gossamer.core.pattern_index import PatternIndex
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy, Topic

if TYPE_CHECKING:
    from gossamer.core.filters import Filter


class Directory:
    """Every pattern once, however many hold it: what is asked of all of an event's topics costs as little as it can."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.holders: dict[Pattern, dict[Peer, None]] = {}
        self.counts: dict[Topic, dict[Peer, int]] = {}
        "How many patterns of a topic each holds."
        self.index = PatternIndex(hierarchy)
        self.matching, self.asked = self.index.matching, self.index.asked

    def add(self, pattern: Pattern, wanted: "Filter | None", holder: Peer) -> None:
        holders = self.holders.setdefault(pattern, {})
        if not holders:
            self.index.add(pattern, wanted)
        if holder not in holders:
            counts = self.counts.setdefault(pattern.topic, {})
            counts[holder] = counts.get(holder, 0) + 1
        holders[holder] = None

    def remove(self, pattern: Pattern, holder: Peer) -> None:
        holders = self.holders.get(pattern, {})
        if holder not in holders:
            return
        del holders[holder]
        self._count_down(pattern.topic, holder)
        if not holders:
            del self.holders[pattern]
            self.index.remove(pattern)

    def _count_down(self, topic: Topic, holder: Peer) -> None:
        counts = self.counts[topic]
        counts[holder] -= 1
        if not counts[holder]:
            del counts[holder]
            if not counts:
                del self.counts[topic]

    def concerned(self, topic: Topic) -> Iterator[Peer]:
        """Everybody who holds a pattern that events of this topic may match; some more than once."""
        for each in (topic, *self.index.hierarchy.ancestors(topic)):
            yield from self.counts.get(each, ())
