"""Patterns of which those that another one includes are held back.

Invariant: each pattern held back stands under one that is shown and covers it. So whoever acts on the shown ones only
misses nothing, however little `covers` can tell; and when a shown one goes, those that stood under it are looked at
again. Topics are told apart without comparing: only patterns of a topic, and of those above and below it, are.
"""

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import TypeAlias

from gossamer.core.errors import Misuse
from gossamer.core.patterns import Pattern, Where
from gossamer.core.topics import Hierarchy, Topic

SEARCHED_MAX = 256
"""Among more filters than this none is compared any more: one too many shown costs a little, comparing all of what a
hostile peer makes up would cost a lot."""
COMPARED_MAX = 1 << 16
"Pairs of filters that are compared only once: a table is full of the same few, and so are those of the neighbours."

Covers: TypeAlias = Callable[[Where, Where], bool]


@lru_cache(COMPARED_MAX)
def text_covers(wide: Where, narrow: Where) -> bool:
    """Whether one filter covers another; what somebody else asks about need not be a filter."""
    from gossamer.core.filters import parse  # a node that filters nothing need not load the grammar
    from gossamer.core.filters.examples import may_cover

    try:
        one, other = parse(wide), parse(narrow)
    except Misuse:
        return False
    return may_cover(one, other) and one.covers(other)


def covers(wide: Pattern, narrow: Pattern, hierarchy: Hierarchy) -> bool:
    """True only if whatever matches the second matches the first."""
    if wide == narrow:
        return True
    if not hierarchy.includes(wide.topic, narrow.topic):
        return False
    return not wide.where or (narrow.where != "" and text_covers(wide.where, narrow.where))


class Covering:
    """A set of patterns, and the widest of them."""

    def __init__(self, hierarchy: Hierarchy | None, covers: Covers = text_covers) -> None:
        self.hierarchy = hierarchy
        "None: nothing is ever held back."
        self.covers = covers
        "Whether the first filter includes all of the second."
        self.shown: dict[Pattern, None] = {}
        self.held: dict[Pattern, Pattern] = {}
        "Those held back, each with one that is shown and covers it."
        self.changed: dict[Pattern, None] = {}
        "Those that came, went or changed sides since somebody last looked."
        self._under: dict[Pattern, dict[Pattern, None]] = {}
        "Those held back, by the one that covers them."
        self._here: dict[Topic, dict[Pattern, None]] = {}
        "Those shown, by topic."
        self._below: dict[Topic, dict[Topic, None]] = {}
        "Topics of these, by each topic above them."

    def __contains__(self, pattern: Pattern) -> bool:
        return pattern in self.shown or pattern in self.held

    def of_topic(self, topic: Topic) -> Collection[Pattern]:
        """Those shown."""
        return self._here.get(topic, ())

    def one_above(self, pattern: Pattern) -> Pattern | None:
        """One that is shown and covers it; it may be the pattern itself."""
        if self.hierarchy is None:
            return None
        above = (pattern.topic, *self.hierarchy.ancestors(pattern.topic))
        whole = next((each for each in map(Pattern, above) if each in self.shown), None)
        if whole is not None or not pattern.where or sum(len(self.of_topic(each)) for each in above) > SEARCHED_MAX:
            return whole
        found = (each for topic in above for each in self.of_topic(topic))
        return next((each for each in found if self.covers(each.where, pattern.where)), None)

    def add(self, pattern: Pattern) -> None:
        if pattern in self:
            return
        above = self.one_above(pattern)
        if above is not None:
            self._hold(pattern, above)
            return
        for each in self._all_under(pattern):
            self._hide(each)
            for held in (each, *self._under.pop(each, ())):
                self._hold(held, pattern)
        self._show(pattern)

    def remove(self, pattern: Pattern) -> None:
        by = self.held.pop(pattern, None)
        if by is not None:
            del self._under[by][pattern]
        elif pattern in self.shown:
            self._hide(pattern)
            freed = self._under.pop(pattern, {})
            for each in freed:
                del self.held[each]
            for each in freed:
                self.add(each)

    # -- both sides -----------------------------------------------------------------------------------------------

    def _hold(self, pattern: Pattern, by: Pattern) -> None:
        self.held[pattern] = by
        self._under.setdefault(by, {})[pattern] = None

    def _show(self, pattern: Pattern) -> None:
        self.shown[pattern] = self.changed[pattern] = None
        here = self._here.setdefault(pattern.topic, {})
        if not here and self.hierarchy is not None:
            for above in self.hierarchy.ancestors(pattern.topic):
                self._below.setdefault(above, {})[pattern.topic] = None
        here[pattern] = None

    def _hide(self, pattern: Pattern) -> None:
        topic = pattern.topic
        del self.shown[pattern], self._here[topic][pattern]
        self.changed[pattern] = None
        if not self._here[topic]:
            del self._here[topic]
            for above in () if self.hierarchy is None else self.hierarchy.ancestors(topic):
                del self._below[above][topic]
                if not self._below[above]:
                    del self._below[above]

    # -- comparing ------------------------------------------------------------------------------------------------

    def _all_under(self, pattern: Pattern) -> list[Pattern]:
        if self.hierarchy is None:
            return []
        below = (pattern.topic, *self._below.get(pattern.topic, ()))
        if not pattern.where:
            return [each for topic in below for each in self.of_topic(topic)]
        if len(below) > SEARCHED_MAX or sum(len(self.of_topic(topic)) for topic in below) > SEARCHED_MAX:
            return []
        found = (each for topic in below for each in self.of_topic(topic))
        return [each for each in found if each.where and self.covers(pattern.where, each.where)]
