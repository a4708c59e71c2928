"""Events kept for others, within a bound: found by id, by their place in a publisher's count, by pattern.

Most events are never asked for, so what arrives is only put aside. It is entered in the index when somebody asks.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from gossamer.core.ids import EventId
from gossamer.core.patterns import Tag

TAGS_MAX = 32
"Tags an event is found by; further ones only its publisher counts."

Item = TypeVar("Item")
Tags = tuple[Tag, ...]


class Queue(Protocol):
    """Says which event leaves."""

    def put(self, event_id: EventId, ours: bool) -> EventId | None:
        """Takes one in; the one that has to go for it, if any."""

    def drop(self) -> EventId:
        """Lets one go, though there is room."""


class Drawn:
    """A drawn one goes, so that an event does not leave everywhere at about the same time."""

    def __init__(self, size: int, draw: Callable[[EventId, int], int]) -> None:
        self.size, self.draw = size, draw
        self.slots: list[EventId] = []

    def put(self, event_id: EventId, ours: bool) -> EventId | None:
        if len(self.slots) < self.size:
            self.slots.append(event_id)
            return None
        slot = self.draw(event_id, self.size)
        gone, self.slots[slot] = self.slots[slot], event_id
        return gone

    def drop(self) -> EventId:
        return self.slots.pop(0)


class OthersFirst:
    """The oldest of those that are not ours goes, and may be the new one; with none of them left, the oldest."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.ours: deque[EventId] = deque()
        self.others: deque[EventId] = deque()

    def put(self, event_id: EventId, ours: bool) -> EventId | None:
        (self.ours if ours else self.others).append(event_id)
        if len(self.ours) + len(self.others) <= self.size:
            return None
        return self.drop()

    def drop(self) -> EventId:
        return (self.others or self.ours).popleft()


class Cache(Generic[Item]):
    """Events with their tags and something to remember of each. An id must not be put twice while it is there.

    Without a queue of its own the oldest goes."""

    def __init__(self, size: int, queue: Queue | None = None) -> None:
        self.size = size
        self.queue = queue
        self.order: deque[EventId] = deque()
        self.fresh: dict[EventId, tuple[Tags, Item]] = {}
        self.kept: dict[EventId, tuple[Tags, Item]] = {}
        "Those in the index."
        self.places: dict[tuple[int, int, int, int], EventId] = {}
        self.by_pattern: dict[int, dict[EventId, None]] = {}
        self.last: tuple[Tags, Item]
        "What was kept of the event that left last."

    def __len__(self) -> int:
        return len(self.fresh) + len(self.kept)

    def __contains__(self, event_id: EventId) -> bool:
        return event_id in self.fresh or event_id in self.kept

    def put(self, event_id: EventId, entry: tuple[Tags, Item], ours: bool = True) -> EventId | None:
        """Keeps an event; the one that had to leave for it, if any (see `last`)."""
        self.fresh[event_id] = entry
        if self.queue is None:
            order = self.order
            order.append(event_id)
            if len(order) <= self.size:
                return None
            gone = order.popleft()
        elif (drawn := self.queue.put(event_id, ours)) is not None:
            gone = drawn
        else:
            return None
        return self._leave(gone)

    def drop(self) -> EventId:
        """Lets the one go whose turn it is, though there is room (see `last`)."""
        return self._leave(self.order.popleft() if self.queue is None else self.queue.drop())

    def _leave(self, gone: EventId) -> EventId:
        self.last = self.fresh.pop(gone) if gone in self.fresh else self._take_out(gone)
        return gone

    def get(self, event_id: EventId) -> Item | None:
        entry = self.kept.get(event_id) or self.fresh.get(event_id)
        return None if entry is None else entry[1]

    def at(self, source: int, incarnation: int, pattern: int, sequence: int) -> EventId | None:
        """The event that has this place in its publisher's count of the pattern."""
        self._index()
        return self.places.get((source, incarnation, pattern, sequence))

    def tagged(self, pattern: int) -> Sequence[EventId]:
        """Events of this pattern, in the order they came."""
        self._index()
        return [*self.by_pattern.get(pattern, ())]

    def newest(self, pattern: int) -> EventId | None:
        """The last of them."""
        self._index()
        return next(reversed(self.by_pattern.get(pattern, {})), None)

    def _index(self) -> None:
        for event_id, entry in self.fresh.items():
            self.kept[event_id] = entry
            for tag in entry[0][:TAGS_MAX]:
                self.places[event_id.publisher, event_id.incarnation, tag.pattern, tag.sequence] = event_id
                self.by_pattern.setdefault(tag.pattern, {})[event_id] = None
        self.fresh.clear()

    def _take_out(self, event_id: EventId) -> tuple[Tags, Item]:
        entry = self.kept.pop(event_id)
        for tag in entry[0][:TAGS_MAX]:
            place = (event_id.publisher, event_id.incarnation, tag.pattern, tag.sequence)
            if self.places.get(place) == event_id:  # a publisher that lies may give one place to two events
                del self.places[place]
            same = self.by_pattern.get(tag.pattern, {})
            same.pop(event_id, None)
            if not same:
                self.by_pattern.pop(tag.pattern, None)
        return entry
