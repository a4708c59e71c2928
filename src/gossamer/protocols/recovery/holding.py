"""What a node holds for others: recent events themselves, and beyond them what it can ask of the store."""

from collections.abc import Iterable, Iterator, Sequence

from gossamer.core.draws import EVICT
from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId
from gossamer.core.layer import Bound
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.cache import TAG_BYTES, Cache, Drawn, OthersFirst, Queue, Tags
from gossamer.protocols.recovery import rules
from gossamer.protocols.recovery.messages import DIGEST_MAX
from gossamer.protocols.recovery.params import Params

STORED = 10
"So many times as many events are known to be in the store as are in the cache."
BYTES_MAX = 32 << 20
"Of the cache: payloads, tags, and what finds events by these. The same again of what is known to be in the store."


class Held:
    """Events as they came."""

    __slots__ = ("came_us", "carried", "size")

    def __init__(self, carried: Carried, came_us: int) -> None:
        self.carried, self.came_us = carried, came_us
        event = carried.event
        self.size = len(event.payload) + TAG_BYTES * len(event.tags)
        for event in carried.more:
            self.size += len(event.payload) + TAG_BYTES * len(event.tags)

    def __len__(self) -> int:
        return 1 + len(self.carried.more)

    def entries(self) -> Sequence[tuple[EventId, Tags]]:
        event, more = self.carried.event, self.carried.more
        return [(event.id, event.tags), *[(each.id, each.tags) for each in more]] if more else [(event.id, event.tags)]


class Stored:
    """What is still known of events that left for the store: id, tags, topic and size of each."""

    __slots__ = ("events", "size")

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = [(each.id, each.tags, each.topic, len(each.payload)) for each in events]
        self.size = TAG_BYTES * sum([len(each.tags) for each in events])

    def __len__(self) -> int:
        return len(self.events)

    def entries(self) -> Sequence[tuple[EventId, Tags]]:
        return [(event_id, tags) for event_id, tags, _, _ in self.events]


class Holding:
    """The cache, and the topics of events that left it for the store."""

    def __init__(self, node: Stack, params: Params) -> None:
        self.node = node
        self.cache: Cache[Held] = Cache(params.cache, BYTES_MAX, queue(node, params))
        self.stored: Cache[Stored] | None = Cache(STORED * params.cache, BYTES_MAX) if params.store else None

    def bounds(self) -> Iterator[Bound]:
        for what, cache in (("held", self.cache), ("stored", self.stored)):
            if cache is not None and len(cache.order) > 1:  # one parcel may be larger than all that fits otherwise
                yield f"events {what}", cache.count, cache.size
                yield f"bytes of events {what}", cache.bytes, cache.bytes_max

    def keep(self, carried: Carried, ours: bool) -> None:
        if carried.more and self.cache.queue is not None:
            for one in carried.each():
                self.keep(one, ours)
            return
        for gone in self.cache.put(Held(carried, self.node.now_us), ours):
            if self.stored is not None:
                self.stored.put(Stored(gone.carried.events))

    def get(self, event_id: EventId) -> Carried | None:
        held = self.cache.get(event_id)
        if held is None:
            return None
        carried = held.carried
        return next(one for one in carried.each() if one.event.id == event_id) if carried.more else carried

    def in_store(self, event_id: EventId) -> tuple[Topic, int] | None:
        """The topic and the size of an event that only the store has by now."""
        found = None if self.stored is None else self.stored.get(event_id)
        return (
            None if found is None else next((topic, size) for each, _, topic, size in found.events if each == event_id)
        )

    def at(self, source: int, incarnation: int, signature: int, sequence: int) -> EventId | None:
        """The event at this place in its publisher's count, if it can be had here."""
        found = self.cache.at(source, incarnation, signature, sequence)
        if found is None and self.stored is not None:
            found = self.stored.at(source, incarnation, signature, sequence)
        return found

    def digest(self, signature: int, until_us: int) -> list[tuple[EventId, int]]:
        """The newest cached events of a pattern that came by then, in the order they came, and how long ago."""
        found = []
        for event_id, held in self.cache.backwards(signature):
            if held.came_us <= until_us:
                found.append((event_id, max(0, self.node.now_us - held.came_us)))
                if len(found) == DIGEST_MAX:
                    break
        return found[::-1]

    def age_us(self, event_id: EventId) -> int:
        """How long ago a cached event came."""
        held = self.cache.get(event_id)
        return 0 if held is None else max(0, self.node.now_us - held.came_us)

    def patterns(self) -> Sequence[int]:
        """Signatures of those of which events are cached."""
        return self.cache.patterns()

    def news(self) -> Iterable[int]:
        """Signatures of those of which some came since this was last asked."""
        return self.cache.news()

    def newest(self, signature: int) -> EventId | None:
        """The cached event of a pattern that came last."""
        return next((event_id for event_id, _ in self.cache.backwards(signature)), None)


def queue(node: Stack, params: Params) -> Queue[Held] | None:
    match params.eviction:
        case "random":
            return Drawn(params.cache, lambda held, n: rules.evicted(node.key(EVICT, held.carried.event.id.word()), n))
        case "subscriber-first":
            return OthersFirst(params.cache)
        case _:
            return None
