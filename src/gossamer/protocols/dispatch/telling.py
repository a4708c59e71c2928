"""What one neighbour is told, change by change: the next one goes out when the last one was answered.

So a lost, repeated or late message never makes two tables differ for good, and what comes and goes between two
answers is not told at all. Very much takes a while to tell. Meanwhile the neighbour is asked for all events of the
topics concerned, or nobody would ever send those that match what it has not heard of yet.
"""

from gossamer.core.covering import Covering
from gossamer.core.patterns import Pattern
from gossamer.protocols.dispatch.messages import CHANGES_MAX, Tell, Told

TEXT_MAX = 32_000
"Characters of patterns in one message, but for its last pattern."
STREAM_MAX = 1 << 62
MUCH = 4
"More messages than this to come are much to tell."
STAND_INS_MAX = 16
"Topics of which all events are asked for while there is much to tell. Where there are more, it is everything."
LESS = 10
"Once there was too much, it is told again only when it is less by this part: each time costs as much as telling all."


class TableTelling:
    """One neighbour's table of us, as it will be once the change under way has arrived."""

    def __init__(self, stream: int, wanted: Covering, most: int, everything: Pattern) -> None:
        self.wanted = wanted
        "What the neighbour should be told: the shown ones."
        self.most = most
        self.everything = everything
        "What it is told where that is too much."
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
        "Whether it is too much."
        self.instead: dict[Pattern, None] = {}
        "What the neighbour is asked for in place of what it was not told."
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
        self._judge_instead()
        size = 0
        for pattern in [each for each in self.unsettled if self._should(each) and each not in self.told]:
            if len(add) == CHANGES_MAX or size > TEXT_MAX:
                return self._told(add, remove)
            size += length(pattern)
            add.append(pattern)
        for pattern in [each for each in self.unsettled if not self._should(each) and each in self.told]:
            if len(remove) == CHANGES_MAX or size > TEXT_MAX:
                return self._told(add, remove)
            size += length(pattern)
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
        full = len(self.wanted.shown) > self.most - (self.most // LESS if self.full else 0)
        if full != self.full:
            self.full = full
            self._unsettle({**self.told, **self.wanted.shown})

    def _judge_instead(self) -> None:
        before = self.instead
        waiting = [each for each in self.unsettled if each in self.wanted.shown and each not in self.told]
        if self.full:
            self.instead = {self.everything: None}
        elif messages(waiting) > (1 if before else MUCH):
            self.instead = self._around(waiting)
        else:
            self.instead = {}
        self.unsettled = {**self.instead, **self.unsettled, **before}

    def _around(self, waiting: list[Pattern]) -> dict[Pattern, None]:
        """All of the topics of these, and whatever was asked for in their place already."""
        topics = dict.fromkeys(each.topic for each in waiting)
        wide = [Pattern(topic, self.everything.where) for topic in topics if Pattern(topic) not in self.told]
        found = {**self.instead, **dict.fromkeys(wide)}
        return {self.everything: None} if self.everything in found or len(found) > STAND_INS_MAX else found

    def _should(self, pattern: Pattern) -> bool:
        return pattern in self.instead or (not self.full and pattern in self.wanted.shown)


def length(pattern: Pattern) -> int:
    return len(pattern.topic) + len(pattern.where)


def messages(patterns: list[Pattern]) -> float:
    """About how many it takes to tell these."""
    return max(len(patterns) / CHANGES_MAX, sum(map(length, patterns)) / TEXT_MAX)
