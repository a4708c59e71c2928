"""What one neighbour is told, change by change: the next one goes out when the last one was answered.

So a lost, repeated or late message never makes two tables differ for good, and what comes and goes between two
answers is not told at all.
"""

from gossamer.core.covering import Covering
from gossamer.core.patterns import Pattern
from gossamer.protocols.dispatch.messages import CHANGES_MAX, Tell, Told

TEXT_MAX = 32_000
"Characters of patterns in one message, but for its last pattern."
STREAM_MAX = 1 << 62


class TableTelling:
    """One neighbour's table of us, as it will be once the change under way has arrived."""

    def __init__(self, stream: int, wanted: Covering, most: int, everything: Pattern) -> None:
        self.wanted = wanted
        "What the neighbour should be told: the shown ones."
        self.most = most
        self.everything = everything
        "What it is told instead where that is too much."
        self.begin(stream)

    def begin(self, stream: int) -> None:
        """Starts over, with nothing told."""
        self.stream = stream
        self.number = 0
        self.told: dict[Pattern, None] = {}
        self.flying: Tell | None = None
        self.wanted.changed.clear()
        self.unsettled: dict[Pattern, None] = {}
        "Those whose place among the told is to be looked at."
        self.full = False
        self._unsettle(self.wanted.shown)

    def settled(self) -> None:
        """Takes all that is to be told for told: an experiment begins with full tables."""
        self.told = dict(self.wanted.shown)
        self.wanted.changed.clear()
        self.unsettled.clear()

    def next(self) -> Tell | None:
        """The next change to send, if nothing is under way."""
        if self.flying is not None:
            return None
        self._unsettle(self.wanted.changed)
        self.wanted.changed.clear()
        add, remove = self._settle()
        if not add and not remove:
            return None
        self.number += 1
        self.flying = Tell(self.stream, self.number, tuple(add), tuple(remove))
        return self.flying

    def heard(self, told: Told) -> bool:
        """Takes an answer. False: the neighbour's table is not ours, it is to be begun anew."""
        if told.stream != self.stream:
            return told.stream < self.stream or told.stream >= STREAM_MAX
        if self.flying is not None and told.number == self.number:
            self.flying = None
            return True
        forgotten = told.number == 0 and self.number > (self.flying is not None)
        return not forgotten

    def _unsettle(self, patterns: dict[Pattern, None]) -> None:
        self.unsettled.update(patterns)

    def _settle(self) -> tuple[list[Pattern], list[Pattern]]:
        """What to add and what to take back, as much as one message holds; nothing is taken back before what stands
        in its place is there."""
        add: list[Pattern] = []
        remove: list[Pattern] = []
        self._judge_room()
        size = 0
        for pattern in [each for each in self.unsettled if self._should(each) and each not in self.told]:
            if len(add) == CHANGES_MAX or size > TEXT_MAX:
                return self._told(add, remove)
            size += len(pattern.topic) + len(pattern.where)
            add.append(pattern)
        for pattern in [each for each in self.unsettled if not self._should(each) and each in self.told]:
            if len(remove) == CHANGES_MAX or size > TEXT_MAX:
                return self._told(add, remove)
            size += len(pattern.topic) + len(pattern.where)
            remove.append(pattern)
        self.unsettled.clear()
        return self._told(add, remove)

    def _told(self, add: list[Pattern], remove: list[Pattern]) -> tuple[list[Pattern], list[Pattern]]:
        for pattern in add:
            self.told[pattern] = None
            self.unsettled.pop(pattern, None)
        for pattern in remove:
            del self.told[pattern]
            self.unsettled.pop(pattern, None)
        return add, remove

    def _judge_room(self) -> None:
        """More than the neighbour would keep: it is asked for everything, and told no pattern besides."""
        full = len(self.wanted.shown) > self.most
        if full != self.full:
            self.full = full
            self.unsettled = {self.everything: None, **self.told, **self.wanted.shown}

    def _should(self, pattern: Pattern) -> bool:
        return pattern == self.everything if self.full else pattern in self.wanted.shown
