"""Whose turn it is: items that wait for a reader, first come first served.

An item that came back keeps its turn, so it goes before those that came after it. Where order was asked for, a stream
stays with one reader while anything of it is out: a later event must not overtake an earlier one at somebody else.
"""

from heapq import heappop, heappush
from typing import Protocol, TypeAlias

from gossamer.live.reading.bookmarks import Stream, stream_of
from gossamer.live.reading.deliveries import Delivery
from gossamer.live.reading.ordering import Order

Turn: TypeAlias = int
ReaderId: TypeAlias = int


class Turns(Protocol):
    """Items that wait."""

    def put(self, turn: Turn, item: Delivery) -> None: ...

    def first(self, reader: ReaderId) -> tuple[Turn, Delivery] | None:
        """What this reader would get next."""

    def take(self, reader: ReaderId) -> None:
        """It gets that."""

    def settled(self, item: Delivery, reader: ReaderId) -> None:
        """An item this reader had is out no longer: acknowledged, or to be put here again."""

    def remove(self, turn: Turn, item: Delivery) -> None:
        """One that waits need not be handed out any more."""


class AnyOrder:
    """Every item to whoever asks first."""

    def __init__(self) -> None:
        self.heap: list[tuple[Turn, Delivery]] = []
        self.removed: set[Turn] = set()

    def put(self, turn: Turn, item: Delivery) -> None:
        heappush(self.heap, (turn, item))

    def first(self, reader: ReaderId) -> tuple[Turn, Delivery] | None:
        return self.heap[0] if self.heap else None

    def take(self, reader: ReaderId) -> None:
        heappop(self.heap)
        drop_removed(self.heap, self.removed)

    def settled(self, item: Delivery, reader: ReaderId) -> None:
        """It stood in nobody's way."""

    def remove(self, turn: Turn, item: Delivery) -> None:
        self.removed.add(turn)
        drop_removed(self.heap, self.removed)


class StreamOrder:
    """The events of a stream one after the other, those out at one time all with one reader."""

    def __init__(self) -> None:
        self.lanes: dict[Stream, list[tuple[Turn, Delivery]]] = {}
        "What waits of each stream."
        self.holders: dict[Stream, tuple[ReaderId, int]] = {}
        "Who has events of a stream, and how many."
        self.free: list[tuple[Turn, Stream]] = []
        self.mine: dict[ReaderId, list[tuple[Turn, Stream]]] = {}
        "Lanes by the turn of their first item, for everybody, and for who holds them. What is outdated is passed over."
        self.removed: set[Turn] = set()

    def put(self, turn: Turn, item: Delivery) -> None:
        stream = stream_of(item)
        lane = self.lanes.setdefault(stream, [])
        heappush(lane, (turn, item))
        if lane[0][0] == turn:
            self._announce(stream)

    def _announce(self, stream: Stream) -> None:
        """A lane has another first item, or another holder."""
        if lane := self.lanes.get(stream):
            holder = self.holders.get(stream)
            heap = self.free if holder is None else self.mine.setdefault(holder[0], [])
            heappush(heap, (lane[0][0], stream))

    def first(self, reader: ReaderId) -> tuple[Turn, Delivery] | None:
        found = self._first(reader)
        return None if found is None else self.lanes[found[1]][0]

    def _first(self, reader: ReaderId) -> tuple[Turn, Stream] | None:
        heads = [self._head(self.free, None), self._head(self.mine.get(reader, []), reader)]
        return min((head for head in heads if head is not None), key=lambda head: head[0], default=None)

    def _head(self, heap: list[tuple[Turn, Stream]], reader: ReaderId | None) -> tuple[Turn, Stream] | None:
        while heap:
            turn, stream = heap[0]
            lane = self.lanes.get(stream)
            holder = self.holders.get(stream)
            if lane and lane[0][0] == turn and (holder and holder[0]) == reader:
                return heap[0]
            heappop(heap)
        return None

    def take(self, reader: ReaderId) -> None:
        found = self._first(reader)
        assert found is not None
        stream = found[1]
        heappop(self.lanes[stream])
        self.holders[stream] = (reader, self.holders.get(stream, (reader, 0))[1] + 1)
        self._advance(stream)

    def _advance(self, stream: Stream) -> None:
        drop_removed(self.lanes[stream], self.removed)
        if not self.lanes[stream]:
            del self.lanes[stream]
        self._announce(stream)

    def settled(self, item: Delivery, reader: ReaderId) -> None:
        stream = stream_of(item)
        _, out = self.holders[stream]
        if out > 1:
            self.holders[stream] = (reader, out - 1)
        else:
            del self.holders[stream]
            self._announce(stream)
        if not any(holder == reader for holder, _ in self.holders.values()):
            self.mine.pop(reader, None)

    def remove(self, turn: Turn, item: Delivery) -> None:
        self.removed.add(turn)
        self._advance(stream_of(item))


def drop_removed(heap: list[tuple[Turn, Delivery]], removed: set[Turn]) -> None:
    """Takes away what was removed, as far as it comes first."""
    while heap and heap[0][0] in removed:
        removed.discard(heappop(heap)[0])


def turns_for(order: Order | None) -> Turns:
    return AnyOrder() if order is None else StreamOrder()
