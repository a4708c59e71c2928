"""Which items are out with which reader, and since when: they come back when it goes, or does not acknowledge in time.

A reader may be given many items ahead and handles them one after the other, so the time is not counted from when each
was given. It is counted from its last sign of life: a reader that has items and acknowledges nothing for so long loses
all of them. An item it has passed over (it acknowledged a later one) comes back alone, so long after that.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from gossamer.live.reading.deliveries import Delivery
from gossamer.live.reading.turns import ReaderId, Turn


class Given(NamedTuple):
    """An item with a reader."""

    turn: Turn
    item: Delivery


class Hands:
    """What one reader has, by place, in the order it was given."""

    def __init__(self) -> None:
        self.ahead: OrderedDict[int, Given] = OrderedDict()
        self.passed: OrderedDict[int, tuple[int, Given]] = OrderedDict()
        "What it has passed over, and when."
        self.heard_us = 0
        "Its last sign of life."

    def __len__(self) -> int:
        return len(self.ahead) + len(self.passed)

    def acknowledge(self, place: int, now_us: int) -> Given:
        self.heard_us = now_us
        if place in self.passed:
            return self.passed.pop(place)[1]
        while (first := next(iter(self.ahead))) != place:
            self.passed[first] = (now_us, self.ahead.pop(first))
        return self.ahead.pop(place)

    def give_back(self) -> list[Given]:
        items = [*(given for _, given in self.passed.values()), *self.ahead.values()]
        self.passed.clear()
        self.ahead.clear()
        return items

    def give_back_if(self, chosen: Callable[[Given], bool]) -> list[Given]:
        passed = [place for place, (_, given) in self.passed.items() if chosen(given)]
        ahead = [place for place, given in self.ahead.items() if chosen(given)]
        return [*(self.passed.pop(place)[1] for place in passed), *(self.ahead.pop(place) for place in ahead)]

    def overdue(self, before_us: int) -> list[Given]:
        if len(self) and self.heard_us <= before_us:
            return self.give_back()
        late = [place for place, (since_us, _) in self.passed.items() if since_us <= before_us]
        return [self.passed.pop(place)[1] for place in late]


class HandedOut:
    """What is out. Time is given, never asked."""

    def __init__(self, patience_us: int) -> None:
        self.patience_us = patience_us
        self.readers: dict[ReaderId, Hands] = {}
        self.whose: dict[int, ReaderId] = {}

    def __len__(self) -> int:
        return len(self.whose)

    def give(self, reader: ReaderId, turn: Turn, item: Delivery, now_us: int) -> None:
        hands = self.readers[reader]
        if not len(hands):
            hands.heard_us = now_us
        hands.ahead[item.place] = Given(turn, item)
        self.whose[item.place] = reader

    def acknowledged(self, place: int, now_us: int) -> tuple[ReaderId, Given]:
        """One that is out; whose it was."""
        reader = self.whose.pop(place)
        return reader, self.readers[reader].acknowledge(place, now_us)

    def take_back(self, reader: ReaderId) -> list[Given]:
        """Everything a reader has."""
        return self._out_no_more(self.readers[reader].give_back())

    def take_back_if(self, reader: ReaderId, chosen: Callable[[Given], bool]) -> list[Given]:
        """Some of it."""
        return self._out_no_more(self.readers[reader].give_back_if(chosen))

    def overdue(self, now_us: int) -> list[tuple[ReaderId, Given]]:
        """What has been out for too long; it is out no more."""
        before_us = now_us - self.patience_us
        return [
            (reader, given)
            for reader, hands in self.readers.items()
            for given in self._out_no_more(hands.overdue(before_us))
        ]

    def _out_no_more(self, back: list[Given]) -> list[Given]:
        for given in back:
            del self.whose[given.item.place]
        return back

    def due_us(self) -> int | None:
        """When something will have been out for too long; None: nothing is out."""
        since = [hands.heard_us for hands in self.readers.values() if len(hands)]
        since += [next(iter(hands.passed.values()))[0] for hands in self.readers.values() if hands.passed]
        return min(since) + self.patience_us if since else None
