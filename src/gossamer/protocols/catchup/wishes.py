"""What our users want, and since when: what was published earlier, nobody here asked for."""

from collections.abc import Sequence

from gossamer.core.covering import text_covers
from gossamer.core.interest import Change
from gossamer.core.patterns import Pattern, Where
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.protocols.catchup.messages import WHERE_MAX, WHERES_MAX


class Wishes:
    """Topic by topic, filter by filter."""

    def __init__(self, node: Stack) -> None:
        self.node = node
        self.begun_us: dict[Topic, dict[Where, int]] = {}

    def reads(self, pattern: Pattern, since_us: int) -> None:
        begun_us = self.begun_us.setdefault(pattern.topic, {})
        begun_us[pattern.where] = min(since_us, begun_us.get(pattern.where, since_us))

    def interest_changed(self, change: Change) -> None:
        for topic, where in ((each.topic, each.where) for each in change.went):
            begun_us = self.begun_us.get(topic, {})
            begun_us.pop(where, None)
            if not begun_us:
                self.begun_us.pop(topic, None)

    def topics(self) -> list[Topic]:
        return [*self.begun_us]

    def _above(self, topic: Topic) -> list[dict[Where, int]]:
        above = (topic, *self.node.hierarchy.ancestors(topic))
        return [self.begun_us[each] for each in above if each in self.begun_us]

    def since_us(self, topic: Topic) -> int | None:
        """Since when events of a topic are wanted, whichever of them; None: they are not."""
        return min((since_us for begun_us in self._above(topic) for since_us in begun_us.values()), default=None)

    def wheres(self, topic: Topic) -> tuple[Where, ...]:
        """Which of them, if only those that match filters are; none: all, or none at all."""
        ours = [*dict.fromkeys(where for begun_us in self._above(topic) for where in begun_us)]
        return () if "" in ours else tuple(ours)

    def include(self, topic: Topic, wheres: Sequence[Where], before_us: int) -> bool:
        """Whether whatever somebody asks for of a topic is wanted here too, and was so before this time."""
        ours = [where for begun_us in self._above(topic) for where, us in begun_us.items() if us < before_us]
        if "" in ours or not wheres:
            return "" in ours
        return all(any(text_covers(wide, narrow) for wide in ours) for narrow in wheres)


def askable(wheres: tuple[Where, ...]) -> tuple[Where, ...]:
    """As they stand in a question; none: everything is asked for."""
    return wheres if len(wheres) <= WHERES_MAX and all(len(each) <= WHERE_MAX for each in wheres) else ()
