"""Events kept for others, within a bound: found by id, by their place in a publisher's count, by pattern.

Most events are never asked for, so what arrives is only put aside, in the parcels it came in. Parcels are opened, and
their events entered in the index, when somebody asks. Where bytes are short, the index gives way before events do: the
oldest are then found by id only.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, Protocol, TypeAlias, TypeVar

from gossamer.core.ids import EventId
from gossamer.core.patterns import Tag

TAG_BYTES = 140
"What one more tag of an event takes (measured): an event of many tags counts like a large one."
PLACE_BYTES = 110
"What it takes to find an event by it, too,"
PATTERN_BYTES = 330
"and to find the first of a pattern."

Tags: TypeAlias = tuple[Tag, ...]
Place: TypeAlias = tuple[int, int, int]
"Publisher, incarnation, sequence."


class Parcel(Protocol):
    """Events that came together, and leave together. A parcel is itself and equals no other."""

    @property
    def size(self) -> int:
        """The bytes it takes, without what finds its events."""

    def __len__(self) -> int: ...

    def entries(self) -> Sequence[tuple[EventId, Tags]]:
        """Its events, in their order, with their tags."""


P = TypeVar("P", bound=Parcel)


class Queue(Protocol[P]):
    """Says which parcel leaves."""

    def put(self, parcel: P, ours: bool) -> P | None:
        """Takes one in; the one that has to go for it, if any."""

    def drop(self) -> P:
        """Lets one go, though there is room."""


class Drawn(Generic[P]):
    """A drawn one goes, so that an event does not leave everywhere at about the same time."""

    def __init__(self, size: int, draw: Callable[[P, int], int]) -> None:
        self.size, self.draw = size, draw
        self.slots: list[P] = []

    def put(self, parcel: P, ours: bool) -> P | None:
        if len(self.slots) < self.size:
            self.slots.append(parcel)
            return None
        slot = self.draw(parcel, self.size)
        gone, self.slots[slot] = self.slots[slot], parcel
        return gone

    def drop(self) -> P:
        return self.slots.pop(0)


class OthersFirst(Generic[P]):
    """The oldest of those that are not ours goes, and may be the new one; with none of them left, the oldest."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.ours: deque[P] = deque()
        self.others: deque[P] = deque()

    def put(self, parcel: P, ours: bool) -> P | None:
        (self.ours if ours else self.others).append(parcel)
        if len(self.ours) + len(self.others) <= self.size:
            return None
        return self.drop()

    def drop(self) -> P:
        return (self.others or self.ours).popleft()


class Cache(Generic[P]):
    """At most `size` events, or a single parcel, and at most so many bytes. A queue counts parcels: with one, each
    should hold one event.

    Without a queue of its own the oldest goes. Of two parcels with the same event the later one counts."""

    def __init__(self, size: int, bytes_max: int, queue: Queue[P] | None = None) -> None:
        self.size, self.bytes_max = size, bytes_max
        self.queue = queue
        self.count = 0
        self.bytes = 0
        self.order: deque[P] = deque()
        self.fresh: dict[P, None] = {}
        "Parcels not opened yet, in the order they came; all others came before them."
        self.kept: dict[EventId, P] = {}
        "The events of those that were."
        self.indexed: dict[P, None] = {}
        "Those of which events are found by their tags too, in the order they came."
        self.places: dict[int, dict[Place, EventId]] = {}
        "The same by pattern, in the order they came, and by their places in its counts."
        self.touched: dict[int, None] = {}
        "Those of the patterns of which something came since somebody last asked."

    def __len__(self) -> int:
        return self.count

    def put(self, parcel: P, ours: bool = True) -> list[P]:
        """Keeps a parcel; those that had to leave for it."""
        self.fresh[parcel] = None
        self.count += len(parcel)
        self.bytes += parcel.size
        gone = []
        if self.queue is None:
            self.order.append(parcel)
            while (self.count > self.size or not self._has_room()) and len(self.order) > 1:
                gone.append(self._leave(self.order.popleft()))
            return gone
        if (drawn := self.queue.put(parcel, ours)) is not None:
            gone.append(self._leave(drawn))
        while self.count > len(parcel) and not self._has_room():
            gone.append(self._leave(self.queue.drop()))
        return gone

    def _leave(self, gone: P) -> P:
        self.count -= len(gone)
        self.bytes -= gone.size
        if gone in self.fresh:
            del self.fresh[gone]
            return gone
        if gone in self.indexed:
            self._take_out(gone)
        for event_id, _ in gone.entries():
            if self.kept.get(event_id) is gone:
                del self.kept[event_id]
        return gone

    def _has_room(self) -> bool:
        """Whether all fits; as much of the index is given up for that as need be."""
        while self.bytes > self.bytes_max and self.indexed:
            self._take_out(next(iter(self.indexed)))
        return self.bytes <= self.bytes_max

    def get(self, event_id: EventId) -> P | None:
        """The parcel of an event."""
        self._open()
        return self.kept.get(event_id)

    def at(self, source: int, incarnation: int, pattern: int, sequence: int) -> EventId | None:
        """The event that has this place in its publisher's count of the pattern."""
        if self.fresh:
            self._open()
        same = self.places.get(pattern)
        return None if same is None else same.get((source, incarnation, sequence))

    def backwards(self, pattern: int) -> Iterator[tuple[EventId, P]]:
        """Events of this pattern with their parcels, the last to come first."""
        self._open()
        for event_id in reversed(self.places.get(pattern, {}).values()):
            yield event_id, self.kept[event_id]

    def patterns(self) -> Sequence[int]:
        """Those of which there are events."""
        self._open()
        return [*self.places]

    def news(self) -> Iterable[int]:
        """Those of which some came since this was last asked."""
        self._open()
        touched, self.touched = self.touched, {}
        return touched

    def _open(self) -> None:
        if not self.fresh:
            return
        for parcel in self.fresh:
            self.indexed[parcel] = None
            for event_id, tags in parcel.entries():
                self.kept[event_id] = parcel
                self._enter(event_id, tags)
        self.fresh.clear()
        self._has_room()

    def _enter(self, event_id: EventId, tags: Tags) -> None:
        publisher, incarnation, places, touched = event_id.publisher, event_id.incarnation, self.places, self.touched
        for tag in tags:
            pattern, place = tag.pattern, (publisher, incarnation, tag.sequence)
            touched[pattern] = None
            same = places.get(pattern)
            if same is None:
                same = places[pattern] = {}
                self.bytes += PATTERN_BYTES
            if same.pop(place, None) is None:  # what is known by it came before
                self.bytes += PLACE_BYTES
            same[place] = event_id

    def _take_out(self, parcel: P) -> None:
        """Its events are not found by their tags any more."""
        del self.indexed[parcel]
        for event_id, tags in parcel.entries():
            if self.kept.get(event_id) is not parcel:
                continue
            for tag in tags:
                same = self.places.get(tag.pattern, {})
                place = (event_id.publisher, event_id.incarnation, tag.sequence)
                if same.get(place) == event_id:  # a publisher that lies may give one place to two events
                    del same[place]
                    self.bytes -= PLACE_BYTES
                    if not same:
                        del self.places[tag.pattern]
                        self.touched.pop(tag.pattern, None)
                        self.bytes -= PATTERN_BYTES
