"""Patterns of which those that another one includes are held back.

Invariant: each pattern held back stands under one that is shown and covers it. So whoever acts on the shown ones only
misses nothing, however little `covers` can tell; and when a shown one goes, those that stood under it are looked at
again. Topics are told apart without comparing: only patterns of a topic, and of those above and below it, are.

Filters are compared as long as that is cheap: beyond a number of pairs per change, what is left of it is shown.
One too many shown costs a little; comparing all of what a hostile peer makes up would cost a lot.
"""

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import TypeAlias

from gossamer.core.errors import Misuse
from gossamer.core.patterns import Pattern, Where
from gossamer.core.topics import ROOT, Hierarchy, Topic

SEARCHED_MAX = 256
"Among more filters than this none is compared any more."
FREED_PAIRS_MAX = 64
"Pairs of filters compared for those that come free when one goes: however many these are, it costs less than one more."
COMPARED_MAX = 1 << 16
"Pairs of filters that are compared only once: a table is full of the same few, and so are those of the neighbours."

Covers: TypeAlias = Callable[[Where, Where], bool]


class Group:
    """Patterns held back by one that is shown."""

    def __init__(self, by: Pattern) -> None:
        self.by = by
        self.patterns: dict[Pattern, None] = {}


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
        self.held: dict[Pattern, Group] = {}
        "Those held back."
        self.changed: dict[Pattern, None] = {}
        "Those that came, went or changed sides since somebody last looked."
        self._under: dict[Pattern, Group] = {}
        "Those held back, by the one that covers them."
        self._here: dict[Topic, dict[Pattern, None]] = {}
        "Those shown, by topic."
        self._below: dict[Topic, dict[Topic, None]] = {}
        "Topics of these, by each topic above them but the root: below that are all."
        self._pairs_left = 0
        "How many more pairs this change may compare."

    def __contains__(self, pattern: Pattern) -> bool:
        return pattern in self.shown or pattern in self.held

    def of_topic(self, topic: Topic) -> Collection[Pattern]:
        """Those shown."""
        return self._here.get(topic, ())

    def one_above(self, pattern: Pattern) -> Pattern | None:
        """One that is shown and covers it, if it takes no long search; it may be the pattern itself."""
        self._pairs_left = SEARCHED_MAX
        return self._one_above(pattern)

    def under(self, shown: Pattern) -> Collection[Pattern]:
        """Those that this one holds back."""
        return self._under[shown].patterns if shown in self._under else ()

    def held_by(self, pattern: Pattern) -> Pattern | None:
        """The one that holds it back; None: it is shown."""
        return self.held[pattern].by if pattern in self.held else None

    def add(self, pattern: Pattern) -> None:
        if pattern not in self.shown and pattern not in self.held:
            self._pairs_left = 2 * SEARCHED_MAX  # those above, and those under it
            self._place(pattern)

    def remove(self, pattern: Pattern) -> None:
        group = self.held.pop(pattern, None)
        if group is not None:
            del group.patterns[pattern]
        elif pattern in self.shown:
            self._hide(pattern)
            freed = self._under.pop(pattern, Group(pattern)).patterns
            for each in freed:
                del self.held[each]
            self._pairs_left = FREED_PAIRS_MAX
            for each in freed:
                self._place(each)

    # -- both sides -----------------------------------------------------------------------------------------------

    def _place(self, pattern: Pattern) -> None:
        if self.shown and self.hierarchy is not None:
            above = self._one_above(pattern)
            if above is not None:
                self._hold(pattern, above)
                return
            for each in self._all_under(pattern):
                self._hide(each)
                self._take_over(each, pattern)
                self._hold(each, pattern)
        self._show(pattern)

    def _hold(self, pattern: Pattern, by: Pattern) -> None:
        group = self.held[pattern] = self._under.setdefault(by, Group(by))
        group.patterns[pattern] = None

    def _take_over(self, narrow: Pattern, wide: Pattern) -> None:
        """Those under the one stand under the other from now on. The smaller group moves: so none moves often, even if
        ever wider patterns come."""
        both = [self._under.pop(each, Group(each)) for each in (narrow, wide)]
        small, large = sorted(both, key=lambda group: len(group.patterns))
        self.held.update(dict.fromkeys(small.patterns, large))
        large.patterns.update(small.patterns)
        large.by = wide
        self._under[wide] = large

    def _show(self, pattern: Pattern) -> None:
        self.shown[pattern] = self.changed[pattern] = None
        here = self._here.setdefault(pattern.topic, {})
        if not here and self.hierarchy is not None:
            for above in self.hierarchy.ancestors(pattern.topic)[:-1]:
                self._below.setdefault(above, {})[pattern.topic] = None
        here[pattern] = None

    def _hide(self, pattern: Pattern) -> None:
        topic = pattern.topic
        del self.shown[pattern], self._here[topic][pattern]
        self.changed[pattern] = None
        if not self._here[topic]:
            del self._here[topic]
            for above in () if self.hierarchy is None else self.hierarchy.ancestors(topic)[:-1]:
                del self._below[above][topic]
                if not self._below[above]:
                    del self._below[above]

    # -- comparing ------------------------------------------------------------------------------------------------

    def _one_above(self, pattern: Pattern) -> Pattern | None:
        if self.hierarchy is None:
            return None
        above = (pattern.topic, *self.hierarchy.ancestors(pattern.topic))
        whole = next((each for each in map(Pattern, above) if each in self.shown), None)
        there = [self.of_topic(each) for each in above]
        if whole is not None or not pattern.where or not self._may_compare(sum(map(len, there))):
            return whole
        found = (each for patterns in there for each in patterns)
        return next((each for each in found if self.covers(each.where, pattern.where)), None)

    def _all_under(self, pattern: Pattern) -> list[Pattern]:
        if self.hierarchy is None or (pattern.where and self._pairs_left < 0):
            return []
        below = (pattern.topic, *self._topics_below(pattern.topic))
        if not pattern.where:
            return [each for topic in below for each in self.of_topic(topic)]
        if len(below) > SEARCHED_MAX or not self._may_compare(sum(len(self.of_topic(topic)) for topic in below)):
            return []
        found = (each for topic in below for each in self.of_topic(topic))
        return [each for each in found if each.where and self.covers(pattern.where, each.where)]

    def _topics_below(self, topic: Topic) -> Collection[Topic]:
        return [each for each in self._here if each != ROOT] if topic == ROOT else self._below.get(topic, ())

    def _may_compare(self, pairs: int) -> bool:
        """Where it would be too many, no more are compared until the next change."""
        self._pairs_left = self._pairs_left - pairs if pairs <= min(SEARCHED_MAX, self._pairs_left) else -1
        return self._pairs_left >= 0
