"""What a node holds for others: recent events themselves, and beyond them what it can ask of the store."""

from collections.abc import Sequence

from gossamer.core.draws import EVICT
from gossamer.core.events import Carried
from gossamer.core.ids import EventId
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.cache import Cache, Drawn, OthersFirst, Queue
from gossamer.protocols.recovery import rules
from gossamer.protocols.recovery.messages import DIGEST_MAX
from gossamer.protocols.recovery.params import Params

STORED_TAGS = 8
"Patterns by which an event in the store can be asked for."
STORED = 10
"So many times as many events are known to be in the store as are in the cache."
BYTES_MAX = 32 << 20
"Payloads in the cache: where events are large, fewer of them."


class Holding:
    """The cache, and the topics of events that left it for the store."""

    def __init__(self, node: Stack, params: Params) -> None:
        self.node = node
        self.cache: Cache[tuple[Carried, int]] = Cache(params.cache, queue(node, params))
        "Events, and when they came."
        self.size = 0
        self.stored: Cache[tuple[Topic, int]] | None = Cache(STORED * params.cache) if params.store else None

    def keep(self, carried: Carried, ours: bool) -> None:
        event = carried.event
        if event.id in self.cache:
            return  # it is news once more where a cache remembers for longer than the door does
        self.size += len(event.payload)
        gone = self.cache.put(event.id, (event.tags, (carried, self.node.now_us)), ours)
        if gone is not None:
            self._leave(gone)
        while self.size > BYTES_MAX and len(self.cache) > 1:
            self._leave(self.cache.drop())

    def _leave(self, gone: EventId) -> None:
        tags, (left, _) = self.cache.last
        size = len(left.event.payload)
        self.size -= size
        if self.stored is not None and gone not in self.stored:
            self.stored.put(gone, (tags[:STORED_TAGS], (left.event.topic, size)))

    def get(self, event_id: EventId) -> Carried | None:
        found = self.cache.get(event_id)
        return None if found is None else found[0]

    def in_store(self, event_id: EventId) -> tuple[Topic, int] | None:
        """The topic and the size of an event that only the store has by now."""
        return None if self.stored is None else self.stored.get(event_id)

    def at(self, source: int, incarnation: int, signature: int, sequence: int) -> EventId | None:
        """The event at this place in its publisher's count, if it can be had here."""
        found = self.cache.at(source, incarnation, signature, sequence)
        if found is None and self.stored is not None:
            found = self.stored.at(source, incarnation, signature, sequence)
        return found

    def digest(self, signature: int, until_us: int) -> tuple[EventId, ...]:
        """The newest cached events of a pattern that came by then, in the order they came."""
        ids: Sequence[EventId] = self.cache.tagged(signature)
        last = len(ids)
        while last and self._came_us(ids[last - 1]) > until_us:
            last -= 1
        return tuple(ids[max(0, last - DIGEST_MAX) : last])

    def age_us(self, event_id: EventId) -> int:
        """How long ago a cached event came."""
        return max(0, self.node.now_us - self._came_us(event_id))

    def newest(self, signature: int) -> EventId | None:
        """The cached event of a pattern that came last."""
        return self.cache.newest(signature)

    def _came_us(self, event_id: EventId) -> int:
        found = self.cache.get(event_id)
        return 0 if found is None else found[1]


def queue(node: Stack, params: Params) -> Queue | None:
    match params.eviction:
        case "random":
            return Drawn(params.cache, lambda event_id, n: rules.evicted(node.key(EVICT, event_id.word()), n))
        case "subscriber-first":
            return OthersFirst(params.cache)
        case _:
            return None
