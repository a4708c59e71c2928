"""Patterns of which those that another one includes are held back.

Invariant: each pattern held back stands under one that is shown and covers it. So whoever acts on the shown ones only
misses nothing, however little `covers` can tell; and when a shown one goes, those that stood under it are looked at
again.
"""

from collections.abc import Callable

from gossamer.core.patterns import Pattern

SEARCHED_MAX = 256
"""Among more shown patterns than this nothing is compared any more: one too many shown costs a little, comparing all of
what a hostile peer makes up would cost a lot."""


class Covering:
    """A set of patterns, and the widest of them."""

    def __init__(self, covers: Callable[[Pattern, Pattern], bool] | None) -> None:
        self.covers = covers
        "Whether the first pattern includes all of the second; None: nothing is ever held back."
        self.shown: dict[Pattern, None] = {}
        self.held: dict[Pattern, Pattern] = {}
        "Those held back, each with one that is shown and covers it."
        self.changed: dict[Pattern, None] = {}
        "Those that came, went or changed sides since somebody last looked."

    def __contains__(self, pattern: Pattern) -> bool:
        return pattern in self.shown or pattern in self.held

    def add(self, pattern: Pattern) -> None:
        if pattern in self:
            return
        above = self._one_above(pattern)
        if above is not None:
            self.held[pattern] = above
            return
        under = dict.fromkeys(self._all_under(pattern))
        for each, by in self.held.items():
            if by in under:
                self.held[each] = pattern
        for each in under:
            del self.shown[each]
            self.held[each] = pattern
        self.shown[pattern] = None
        self.changed.update(under)
        self.changed[pattern] = None

    def remove(self, pattern: Pattern) -> None:
        if self.held.pop(pattern, None) is not None or pattern not in self.shown:
            return
        del self.shown[pattern]
        self.changed[pattern] = None
        freed = [each for each, by in self.held.items() if by == pattern]
        for each in freed:
            del self.held[each]
        for each in freed:
            self.add(each)

    def _one_above(self, pattern: Pattern) -> Pattern | None:
        if self.covers is None or len(self.shown) > SEARCHED_MAX:
            return None
        return next((each for each in self.shown if self.covers(each, pattern)), None)

    def _all_under(self, pattern: Pattern) -> list[Pattern]:
        if self.covers is None or len(self.shown) > SEARCHED_MAX:
            return []
        return [each for each in self.shown if self.covers(pattern, each)]
