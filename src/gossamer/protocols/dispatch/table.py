"""The subscription table: which patterns came from where, and so whom an event is for.

A source is a neighbour, or ourselves for what our own users asked for. Or the ghost of a neighbour that is gone:
patterns that are still told on for a while, though there is nobody to send anything to.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from gossamer.core.errors import Misuse
from gossamer.core.events import Attribute, Event
from gossamer.core.ids import Peer
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy, Topic
from gossamer.protocols.dispatch.covering import Covering
from gossamer.protocols.dispatch.directory import Directory

if TYPE_CHECKING:
    from gossamer.core.filters import Filter

ANSWERS_MAX = 10_000
"Patterns about which answers are remembered: what peers ask about may be made up without end."
COMPARED_MAX = 1 << 16
"Pairs of filters that are compared only once: a table is full of the same few, and so are those of the neighbours."


def ghost(neighbour: Peer) -> int:
    return ~neighbour


def read(pattern: Pattern) -> "Filter | None":
    """What a pattern asks of attributes; None: nothing. Raises Misuse where the text is no filter."""
    if not pattern.where:
        return None
    from gossamer.core.filters import parse  # a node that filters nothing need not load the grammar

    return parse(pattern.where)


@lru_cache(COMPARED_MAX)
def text_covers(wide: str, narrow: str) -> bool:
    """Whether one filter covers another; what somebody else asks about need not be a filter."""
    from gossamer.core.filters import parse
    from gossamer.core.filters.examples import may_cover

    try:
        one, other = parse(wide), parse(narrow)
    except Misuse:
        return False
    return may_cover(one, other) and one.covers(other)


class Table:
    """Patterns of one node's neighbours and users."""

    def __init__(self, me: Peer, hierarchy: Hierarchy, hidden: bool = False) -> None:
        self.me = me
        self.hierarchy = hierarchy
        self.hidden = hidden
        "Whether there are patterns we do not hear of, because others cover them. Else an unknown filter is made up."
        self.filters: dict[Pattern, Filter | None] = {}
        self.sources: dict[Peer, dict[Pattern, None]] = {me: {}}
        self.all = Directory(hierarchy)
        self.routes = Directory(hierarchy)
        "The widest patterns of each neighbour only: an event that matches a covered one matches one of them."
        self.widest: dict[Peer, Covering] = {}
        self.own = Covering(self.covers)
        self._towards: dict[Pattern, tuple[Peer, ...]] = {}
        self._wants: dict[Pattern, bool] = {}
        self._known: list[Pattern] | None = None
        self._local: list[Pattern] | None = None

    # -- changes ------------------------------------------------------------------------------------------------

    def open(self, neighbour: Peer) -> None:
        self.sources[neighbour] = {}
        self.widest[neighbour] = Covering(self.covers)

    def haunt(self, neighbour: Peer) -> None:
        """The neighbour is gone; its ghost wants what it wanted."""
        self.sources.setdefault(ghost(neighbour), {})
        for pattern in tuple(self.sources[neighbour]):
            self.add(ghost(neighbour), pattern, self.filters[pattern])
            self.remove(neighbour, pattern)
        del self.sources[neighbour], self.widest[neighbour]

    def add(self, source: Peer, pattern: Pattern, wanted: "Filter | None") -> None:
        if pattern in self.sources[source]:
            return
        self.filters[pattern] = wanted
        self.sources[source][pattern] = None
        self.all.add(pattern, wanted, source)
        if (widest := self._widest(source)) is not None:
            widest.add(pattern)
        self._changed(source)

    def remove(self, source: Peer, pattern: Pattern) -> None:
        if pattern not in self.sources[source]:
            return
        del self.sources[source][pattern]
        self.all.remove(pattern, source)
        if (widest := self._widest(source)) is not None:
            widest.remove(pattern)
        self._changed(source)
        if pattern not in self.all.holders:
            del self.filters[pattern]

    def _changed(self, source: Peer) -> None:
        self._towards.clear()
        self._wants.clear()
        self._known = self._local = None
        self.own.changed.clear()
        widest = self.widest.get(source)
        if widest is None:
            return
        for pattern in widest.changed:
            if pattern in widest.shown:
                self.routes.add(pattern, self.filters[pattern], source)
            else:
                self.routes.remove(pattern, source)
        widest.changed.clear()

    def _widest(self, source: Peer) -> Covering | None:
        return self.own if source == self.me else self.widest.get(source)

    # -- questions ----------------------------------------------------------------------------------------------

    def covers(self, wide: Pattern, narrow: Pattern) -> bool:
        """True only if whatever matches the second matches the first."""
        if wide == narrow:
            return True
        if not self.hierarchy.includes(wide.topic, narrow.topic):
            return False
        return not wide.where or (narrow.where != "" and text_covers(wide.where, narrow.where))

    def wanted_besides(self, pattern: Pattern, neighbour: Peer) -> bool:
        """Whether anybody but this neighbour wants the pattern: then it must hear of it."""
        holders = self.all.holders.get(pattern, {})
        return len(holders) > (neighbour in holders) + (ghost(neighbour) in holders)

    def targets(self, event: Event, besides: Peer) -> list[Peer]:
        """Neighbours that want an event, or lead to some who do. Looks no further once all are found."""
        left = dict.fromkeys(self.widest)
        left.pop(besides, None)
        found: list[Peer] = []
        if left:
            for pattern in self.routes.matching(event.topic, event.attributes):
                fresh = [peer for peer in self.routes.holders[pattern] if peer in left]
                for peer in fresh:
                    del left[peer]
                found += fresh
                if not left:
                    break
        return sorted(found)

    def matching(self, topic: Topic, attributes: Mapping[str, Attribute]) -> tuple[Pattern, ...]:
        """Every pattern such an event matches, whoever holds it."""
        return tuple(self.all.matching(topic, attributes))

    def known(self) -> Sequence[Pattern]:
        if self._known is None:
            self._known = sorted(self.all.holders, key=lambda pattern: pattern.signature)
        return self._known

    def local(self) -> Sequence[Pattern]:
        if self._local is None:
            self._local = sorted(self.own.shown, key=lambda pattern: pattern.signature)
        return self._local

    def wants(self, pattern: Pattern) -> bool:
        """Whether our users want whatever matches the pattern."""
        known = self._wants.get(pattern)
        if known is None:
            known = self._included(self.own.shown, pattern)
            if len(self._wants) >= ANSWERS_MAX:
                self._wants.clear()
            self._wants[pattern] = known
        return known

    def towards(self, pattern: Pattern) -> tuple[Peer, ...]:
        """Neighbours that hold the pattern, or one that includes it."""
        known = self._towards.get(pattern)
        if known is None:
            known = tuple(peer for peer in sorted(self.widest) if self._included(self.widest[peer].shown, pattern))
            if len(self._towards) >= ANSWERS_MAX:
                self._towards.clear()
            self._towards[pattern] = known
        return known

    def _included(self, widest: Mapping[Pattern, None], pattern: Pattern) -> bool:
        if pattern in widest:
            return True
        if not self.hidden and pattern not in self.filters:
            pattern = Pattern(pattern.topic)  # reading what peers make up without end would take all our time
        return any(self.covers(wide, pattern) for wide in widest)
