"""The subscription table: which patterns came from where, and so whom an event is for.

A source is a neighbour, or the ghost of one that is gone: patterns that are still told on for a while, though there is
nobody to send anything to. What our own users asked for stands in the node's interest, and is asked there.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gossamer.core.covering import Covering, covers
from gossamer.core.errors import Misuse
from gossamer.core.events import Attribute, Event
from gossamer.core.ids import Peer
from gossamer.core.interest import Interest
from gossamer.core.pattern_index import PatternIndex, filter_of
from gossamer.core.patterns import Pattern
from gossamer.core.topics import ROOT, Topic
from gossamer.protocols.dispatch.directory import Directory

if TYPE_CHECKING:
    from gossamer.core.filters import Filter

ANSWERS_MAX = 10_000
"Patterns about which answers are remembered: what peers ask about may be made up without end."
ALL = "true"
"The filter that lets everything pass, in its canonical form."
EVERYTHING = Pattern(ROOT, ALL)


def ghost(neighbour: Peer) -> int:
    return ~neighbour


def made_up(pattern: Pattern) -> "Filter | None":
    """What a pattern asks that nobody told of; None where it is no filter at all."""
    try:
        return filter_of(pattern)
    except Misuse:
        return None


class Table:
    """Patterns of one node's neighbours, and of its users: `interest` counts by filters from now on."""

    def __init__(self, interest: Interest, hidden: bool = False, everything: Pattern = EVERYTHING) -> None:
        self.interest = interest
        self.everything = everything
        "What somebody asks for who wants more patterns than it can tell."
        interest.by_content = True
        self.hierarchy = interest.hierarchy
        self.hidden = hidden
        "Whether there are patterns we do not hear of, because others cover them. Else an unknown filter is made up."
        self.filters: dict[Pattern, Filter | None] = {}
        self.sources: dict[Peer, dict[Pattern, None]] = {}
        self.all = Directory(self.hierarchy)
        self.routes = Directory(self.hierarchy)
        "The widest patterns of each neighbour only: an event that matches a covered one matches one of them."
        self.widest: dict[Peer, Covering] = {}
        self._towards: dict[Pattern, tuple[Peer, ...]] = {}
        self._wants: dict[Pattern, bool] = {}
        self._known: list[Pattern] | None = None

    # -- changes ------------------------------------------------------------------------------------------------

    def open(self, neighbour: Peer) -> None:
        self.sources[neighbour] = {}
        self.widest[neighbour] = Covering(self.hierarchy)

    def haunt(self, neighbour: Peer) -> None:
        """The neighbour is gone; its ghost wants what it wanted."""
        for pattern in self.widest.pop(neighbour).shown:
            self.routes.remove(pattern, neighbour)
        self.sources.setdefault(ghost(neighbour), {})
        for pattern in tuple(self.sources[neighbour]):
            self.add(ghost(neighbour), pattern, self.filters[pattern])
            self.remove(neighbour, pattern)
        del self.sources[neighbour]

    def add(self, source: Peer, pattern: Pattern, wanted: "Filter | None") -> None:
        if pattern in self.sources[source]:
            return
        self.filters[pattern] = wanted
        self.sources[source][pattern] = None
        self.all.add(pattern, wanted, source)
        if (widest := self.widest.get(source)) is not None:
            widest.add(pattern)
        self._changed(source)

    def remove(self, source: Peer, pattern: Pattern) -> None:
        if pattern not in self.sources[source]:
            return
        del self.sources[source][pattern]
        self.all.remove(pattern, source)
        if (widest := self.widest.get(source)) is not None:
            widest.remove(pattern)
        self._changed(source)
        if pattern not in self.all.holders:
            del self.filters[pattern]

    def interest_changed(self) -> None:
        """Forgets what was worked out."""
        self._towards.clear()
        self._wants.clear()
        self._known = None

    def _changed(self, source: Peer) -> None:
        self.interest_changed()
        widest = self.widest.get(source)
        if widest is None:
            return
        for pattern in widest.changed:
            if pattern in widest.shown:
                self.routes.add(pattern, self.filters[pattern], source)
            else:
                self.routes.remove(pattern, source)
        widest.changed.clear()

    # -- questions ----------------------------------------------------------------------------------------------

    def every_pattern(self) -> Iterator[Pattern]:
        """All of them, whoever wants them."""
        yield from self.all.holders
        yield from (each for each in self.interest.patterns if each not in self.all.holders)

    def wanted_besides(self, pattern: Pattern, neighbour: Peer) -> bool:
        """Whether anybody but this neighbour wants the pattern: then it must hear of it."""
        holders = self.all.holders.get(pattern, {})
        others = len(holders) > (neighbour in holders) + (ghost(neighbour) in holders)
        return others or pattern in self.interest.patterns

    def targets(self, event: Event, besides: Peer) -> list[Peer]:
        """Neighbours that want an event, or lead to some who do. Looks no further once all are found."""
        others, holders = len(self.widest) - (besides in self.widest), self.routes.holders
        if not others:
            return []
        found: dict[Peer, None] = {}
        for pattern in self.routes.matching(event.topic, self.routes.asked(event)):
            found |= holders[pattern]
            found.pop(besides, None)
            if len(found) == others:
                break
        return sorted(found)

    def matching(self, topic: Topic, attributes: Mapping[str, Attribute]) -> tuple[Pattern, ...]:
        """Every pattern such an event matches, whoever holds it."""
        found = dict.fromkeys(self.all.matching(topic, attributes))
        found.update(dict.fromkeys(self.interest.index.matching(topic, attributes)))
        return tuple(found)

    def known(self) -> Sequence[Pattern]:
        if self._known is None:
            self._known = sorted(self.every_pattern(), key=lambda pattern: pattern.signature)
        return self._known

    def wants(self, pattern: Pattern) -> bool:
        """Whether our users want whatever matches the pattern."""
        known = self._wants.get(pattern)
        if known is None:
            known = pattern in self.interest.patterns or any(self._including(self.interest.index, pattern))
            if len(self._wants) >= ANSWERS_MAX:
                self._wants.clear()
            self._wants[pattern] = known
        return known

    def towards(self, pattern: Pattern) -> tuple[Peer, ...]:
        """Neighbours that hold the pattern, or one that includes it."""
        known = self._towards.get(pattern)
        if known is None:
            including = self._including(self.routes.index, pattern)
            found = dict.fromkeys(peer for wide in including for peer in self.routes.holders[wide])
            found.update(self.routes.holders.get(self.everything, {}))
            known = tuple(peer for peer in sorted(self.widest) if peer in found or pattern in self.sources[peer])
            if len(self._towards) >= ANSWERS_MAX:
                self._towards.clear()
            self._towards[pattern] = known
        return known

    def _including(self, index: PatternIndex, pattern: Pattern) -> Iterator[Pattern]:
        """Those of an index that include a pattern."""
        narrow = self.filters.get(pattern)
        if narrow is None:
            narrow = self.interest.patterns.get(pattern)
        if narrow is None and pattern.where:  # reading what peers make up without end would take all our time
            narrow = made_up(pattern) if self.hidden else None
            pattern = Pattern(pattern.topic) if narrow is None else pattern
        return (wide for wide in index.around(pattern, narrow) if covers(wide, pattern, self.hierarchy))
