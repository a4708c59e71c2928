"""Events that were handed over lately, and how many members have each."""

from collections.abc import Callable, Sequence

from gossamer.core.ids import EventId
from gossamer.live.publishing.parcel import HandedOver, Parcel

TAKEN_REMEMBERED = 20_000
"Events whose copies are remembered after they were handed over (up to twice as many)."
NOBODY = (0, 0)


class Taken:
    """Copies on disk and in memory, by event; and the fewest of all since somebody asked."""

    def __init__(self) -> None:
        self.copies: dict[EventId, tuple[int, int]] = {}
        self._fewest: tuple[int, int] | None = None
        self._given_up = 0
        "Events that nobody has."

    def __contains__(self, event_id: EventId) -> bool:
        return event_id in self.copies

    def add(self, parcel: Parcel) -> None:
        copies = parcel.copies()
        if copies == NOBODY:
            self._given_up += len(parcel.events)
        else:
            self._fewest = copies if self._fewest is None else min(self._fewest, copies)
        self.copies.update(dict.fromkeys(parcel.ids, copies))
        if len(self.copies) > 2 * TAKEN_REMEMBERED:
            self.copies = dict([*self.copies.items()][TAKEN_REMEMBERED:])

    def everything(self, waiting: int) -> HandedOver:
        """What was handed over since this was asked last."""
        told = HandedOver(waiting, *(self._fewest or NOBODY), self._given_up)
        self._fewest, self._given_up = None, 0
        return told

    def these(self, events: Sequence[EventId], is_taken: Callable[[EventId], bool]) -> HandedOver:
        waiting = sum(not is_taken(each) for each in events)
        copies = [self.copies[each] for each in events if each in self.copies]
        fewest = min([each for each in copies if each != NOBODY], default=NOBODY)
        return HandedOver(waiting, *fewest, copies.count(NOBODY))
