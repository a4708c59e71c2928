"""Which places were given out but never kept, so that a reader can be told: a bounded list of ranges by topic."""

from collections.abc import Iterable, Sequence

from gossamer.core.topics import ROOT, Topic
from gossamer.live.spool.events import is_wanted
from gossamer.live.spool.items import Lost

LOST_MAX = 256
"Ranges remembered; when there are more, all but the youngest half become one range of any topic."


class Losses:
    """A run of batches that were lost one after the other is one range per topic."""

    def __init__(self, ranges: Iterable[Lost] = ()) -> None:
        self.past = list(ranges)
        self.run: dict[Topic, Lost] = {}
        self.last = 0
        "The place at which the run ends."
        self.changed = False

    def __bool__(self) -> bool:
        return bool(self.past or self.run)

    def ranges(self) -> list[Lost]:
        return [*self.past, *self.run.values()]

    def add(self, first: int, topics: Sequence[Topic]) -> None:
        """A batch: the place of its first event, and the topic of each."""
        if first != self.last + 1:
            self.past, self.run = self.ranges(), {}
        for place, topic in enumerate(topics, first):
            range_ = self.run.get(topic)
            self.run[topic] = Lost(place, place, topic, 1) if range_ is None else _longer(range_, place)
        self.last = first + len(topics) - 1
        self._bound()

    def extend(self, ranges: Sequence[Lost]) -> None:
        """What another list has gathered."""
        self.past, self.run = [*self.ranges(), *ranges], {}
        self.last = 0
        self._bound()

    def _bound(self) -> None:
        self.changed = True
        if len(self.past) + len(self.run) > LOST_MAX:
            ranges = sorted(self.ranges(), key=lambda each: each.last)
            old, young = ranges[: -LOST_MAX // 2], ranges[-LOST_MAX // 2 :]
            first, events = min(each.first for each in old), sum(each.events for each in old)
            self.past, self.run, self.last = [Lost(first, old[-1].last, ROOT, events), *young], {}, 0

    def forget(self, up_to: int) -> None:
        """Retention has passed this place: it tells readers itself."""
        if any(each.first <= up_to for each in self.ranges()):
            self.past = [each for each in self.ranges() if each.last > up_to]
            self.run, self.last, self.changed = {}, 0, True

    def between(self, after: int, examined: int, topics: Sequence[Topic]) -> list[Lost]:
        """What concerns a reader of these subtrees on this page: each range once, where it ends."""
        met = [each for each in self.ranges() if after < each.last <= examined and is_wanted(each.topic, topics)]
        return sorted(met, key=lambda each: each.last)


def _longer(range_: Lost, place: int) -> Lost:
    return Lost(range_.first, place, range_.topic, range_.events + 1)
