"""Recent events, kept for those who ask; and their ids, gathered before they are told over lazy links."""

from collections import deque
from collections.abc import Sequence

from msgspec import Struct

from gossamer.core.events import Carried
from gossamer.core.ids import EventId, Peer
from gossamer.core.topics import Topic
from gossamer.protocols.flood.messages import Have

BYTES_MAX = 16 << 20
"Payloads kept: where events are large, fewer of them."


class KeptEvent(Struct, frozen=True):
    """An event, as it came, and whose copy was the first."""

    carried: Carried
    via: Peer


class Recent:
    """The last events this node met, within a bound."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.size = 0
        self.kept: dict[EventId, KeptEvent] = {}
        self.order: deque[EventId] = deque()

    def put(self, carried: Carried, via: Peer) -> None:
        event = carried.event
        if event.id in self.kept:
            return  # it is news once more where this remembers for longer than the door does
        self.kept[event.id] = KeptEvent(carried, via)
        self.order.append(event.id)
        self.size += len(event.payload)
        while len(self.order) > self.most or (self.size > BYTES_MAX and len(self.order) > 1):
            gone = self.kept.pop(self.order.popleft())
            self.size -= len(gone.carried.event.payload)

    def get(self, event_id: EventId) -> KeptEvent | None:
        return self.kept.get(event_id)


class LazyTelling:
    """What is about to be told of one topic: ids, how far each had come, and who is known to have it."""

    def __init__(self) -> None:
        self.hops: dict[EventId, int] = {}
        self.had_by: dict[EventId, dict[Peer, None]] = {}

    def __len__(self) -> int:
        return len(self.hops)

    def add(self, event_id: EventId, hops: int, had_by: Sequence[Peer]) -> None:
        self.hops[event_id] = hops
        self.had_by[event_id] = dict.fromkeys(had_by)

    def has(self, peer: Peer, event_id: EventId) -> None:
        """A peer need not be told of it: it told us, or asked for it."""
        if event_id in self.had_by:
            self.had_by[event_id][peer] = None

    def told(self, topic: Topic, peers: Sequence[Peer]) -> list[tuple[list[Peer], Have]]:
        """One message for all who lack the same."""
        lacking: dict[tuple[EventId, ...], list[Peer]] = {}
        for peer in peers:
            ids = tuple([event_id for event_id, had_by in self.had_by.items() if peer not in had_by])
            if ids:
                lacking.setdefault(ids, []).append(peer)
        return [
            (those, Have(topic, ids, tuple([self.hops[event_id] for event_id in ids])))
            for ids, those in lacking.items()
        ]
