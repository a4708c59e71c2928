"""Events others say they have, and this node has not: waited for, then asked for, then given up."""

from collections.abc import Callable, Iterator

from msgspec import Struct

from gossamer.core.ids import EventId, Peer
from gossamer.core.topics import Topic

MISSING_MAX = 10_000
"Events waited for."
PER_PEER = 2000
"Of these, such that one peer told of first: one that makes events up takes no more room."
HOLDERS_MAX = 8
"Peers remembered for one of them."
TRIES = 8
"How often one is asked for, each time of the next who has it."


class Miss(Struct):
    """One of them."""

    topic: Topic
    holders: list[Peer]
    due_us: int
    tries: int = 0


class Missing:
    """In the order in which they are due: everything waits equally long."""

    def __init__(self) -> None:
        self.waited: dict[EventId, Miss] = {}
        self.told_by: dict[Peer, int] = {}

    def __len__(self) -> int:
        return len(self.waited)

    def add(self, event_id: EventId, topic: Topic, holder: Peer, due_us: int) -> None:
        miss = self.waited.get(event_id)
        if miss is not None:
            if miss.topic == topic and holder not in miss.holders and len(miss.holders) < HOLDERS_MAX:
                miss.holders.append(holder)
        elif len(self.waited) < MISSING_MAX and self.told_by.get(holder, 0) < PER_PEER:
            self.waited[event_id] = Miss(topic, [holder], due_us)
            self.told_by[holder] = self.told_by.get(holder, 0) + 1

    def found(self, event_id: EventId) -> None:
        miss = self.waited.pop(event_id, None)
        if miss is not None:
            first = miss.holders[0]
            left = self.told_by.pop(first) - 1
            if left:
                self.told_by[first] = left

    def next_us(self) -> int | None:
        """When the first is due."""
        return next((miss.due_us for miss in self.waited.values()), None)

    def ask(
        self, now_us: int, again_us: int, wanted: Callable[[EventId, Topic], bool]
    ) -> Iterator[tuple[Peer, Topic, EventId]]:
        """Whom to ask for what, of all that is due and still wanted; it is due again then."""
        due = []
        for event_id, miss in self.waited.items():
            if miss.due_us > now_us:
                break
            due.append((event_id, miss))
        for event_id, miss in due:
            if miss.tries >= TRIES or not wanted(event_id, miss.topic):
                self.found(event_id)
                continue
            yield miss.holders[miss.tries % len(miss.holders)], miss.topic, event_id
            miss.tries += 1
            miss.due_us = again_us
            self.waited[event_id] = self.waited.pop(event_id)
