"""Where a subscription stands in the log: everything up to a place is done with, and some places beyond it."""

from bisect import bisect_left, bisect_right
from itertools import pairwise

from gossamer.live.spool.progress import Progress
from gossamer.parts.stretches import Stretches


class Position:
    """Of places that were examined, only those that are open are not done with."""

    def __init__(self, progress: Progress) -> None:
        self.examined = progress.acked
        "The log was read up to here."
        self.done = Stretches(progress.beyond)
        "What was done with before it was examined in this life, or again."
        self.open: dict[int, int] = {}
        "Places with something that is not acknowledged, and its size."
        self.size = 0
        self._places: list[int] = []
        "The same places in their order."

    @property
    def acked(self) -> int:
        """Everything up to here is acknowledged, or not wanted."""
        return self._places[0] - 1 if self._places else self.examined

    def begin(self, place: int, size: int) -> None:
        """There is something here; places come in their order."""
        self.open[place] = size
        self.size += size
        self._places.append(place)

    def finish(self, place: int) -> None:
        """It is acknowledged."""
        if place in self.open:
            self.size -= self.open.pop(place)
            del self._places[bisect_left(self._places, place)]
        elif place > self.examined:
            self.done.add(place)

    def beyond(self, handed: int) -> Stretches:
        """What is done with beyond the position. It stops at the highest place handed out: what follows is looked at
        again anyway."""
        up_to = min(self.examined, max(handed, self.done.top))
        edges = [self.acked, *self._places[: bisect_right(self._places, up_to)], up_to + 1]
        found = Stretches((low + 1, high - 1) for low, high in pairwise(edges) if low + 1 < high)
        for first, last in self.done:
            if last > self.examined:
                found.add(max(first, self.examined + 1), last)
        return found

    def rewind(self, handed: int) -> None:
        """The log will be read again from the position on."""
        self.done = self.beyond(handed)
        self.examined = self.acked
        self.open.clear()
        self._places.clear()
        self.size = 0
