"""What our own users asked for, as this participant's row says it: exactly, or wider where it is too long.

Condensing many patterns takes long. So while they come one after the other, what came is added to what was said before,
once a second; when they have come to rest, all of them are looked at together, and the row gets as narrow as it can be.
"""

from gossamer.core.interest import Change, Interest
from gossamer.core.machine import SECOND_US
from gossamer.core.patterns import Pattern
from gossamer.protocols.hpmcast import wanting
from gossamer.protocols.hpmcast.condensing import fits, of_many
from gossamer.protocols.hpmcast.messages import PATTERNS_MAX

GATHER_US = SECOND_US
"How long what came is waited for, where it is too much to be said exactly."


class Asked:
    """One participant's."""

    def __init__(self, interest: Interest) -> None:
        self.interest = interest
        self.row: wanting.Interest = ()
        "What was said last,"
        self.size = 0
        "of this size."
        self.came: dict[Pattern, None] = {}
        "What it may not cover yet."
        self.tight = False
        "Whether it was made of just what is asked for."
        self.due_us = 0
        "Until when what came is waited for."

    @property
    def few(self) -> bool:
        """Whether a row may hold all of it."""
        return len(self.interest.patterns) <= PATTERNS_MAX

    def changed(self, change: Change) -> None:
        self.tight = False
        self.came.update(dict.fromkeys(change.came))
        for pattern in change.went:
            self.came.pop(pattern, None)

    def said(self, size: int, now_us: int, calm: bool) -> wanting.Interest:
        """What to say now; `calm`: there is time to say it as well as can be."""
        if size != self.size or not (self.tight or self._suffices(now_us, calm)):
            self.row, self.tight = self._made(size, calm)
            self.size, self.due_us = size, now_us + GATHER_US
            self.came.clear()
        return self.row

    def _suffices(self, now_us: int, calm: bool) -> bool:
        """Whether what was said covers all that came, or it is too early for anything better."""
        if calm or self.few:
            return False
        if now_us < self.due_us:
            return True
        said, patterns, hierarchy = wanting.wanted(self.row), self.interest.patterns, self.interest.hierarchy
        return said is not None and all(said.covers(each.topic, patterns[each], hierarchy) for each in self.came)

    def _made(self, size: int, calm: bool) -> tuple[wanting.Interest, bool]:
        patterns, hierarchy = self.interest.patterns, self.interest.hierarchy
        if self.few and fits(exactly := tuple(sorted(patterns))):
            return exactly, True
        if calm or self.few or size != self.size or len(self.came) == len(patterns):
            return of_many(patterns, size, hierarchy), True
        both = {**wanting.read(self.row), **{each: patterns[each] for each in self.came}}
        return of_many(both, size, hierarchy), False
