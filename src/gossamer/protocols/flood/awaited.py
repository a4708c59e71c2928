"""Events others say they have, and this node has not: waited for, then asked for, then given up."""

from collections.abc import Callable, Iterator

from msgspec import Struct

from gossamer.core.ids import EventId, Peer
from gossamer.core.topics import Topic

AWAITED_MAX = 10_000
"Events waited for."
PER_PEER = 2000
"Of these, such that one peer told of first: one that makes events up takes no more room."
HOLDERS_MAX = 8
"Peers remembered for one of them."
TRIES = 8
"How often one is asked for, each time of the next who has it."


class AwaitedEvent(Struct):
    """One of them."""

    topic: Topic
    holders: list[Peer]
    due_us: int
    tries: int = 0


class Awaited:
    """In the order in which they are due: everything waits equally long."""

    def __init__(self) -> None:
        self.waited: dict[EventId, AwaitedEvent] = {}
        self.told_by: dict[Peer, int] = {}

    def __len__(self) -> int:
        return len(self.waited)

    def add(self, event_id: EventId, topic: Topic, holder: Peer, due_us: int) -> None:
        awaited = self.waited.get(event_id)
        if awaited is not None:
            if awaited.topic == topic and holder not in awaited.holders and len(awaited.holders) < HOLDERS_MAX:
                awaited.holders.append(holder)
        elif len(self.waited) < AWAITED_MAX and self.told_by.get(holder, 0) < PER_PEER:
            self.waited[event_id] = AwaitedEvent(topic, [holder], due_us)
            self.told_by[holder] = self.told_by.get(holder, 0) + 1

    def found(self, event_id: EventId) -> None:
        awaited = self.waited.pop(event_id, None)
        if awaited is not None:
            first = awaited.holders[0]
            left = self.told_by.pop(first) - 1
            if left:
                self.told_by[first] = left

    def next_us(self) -> int | None:
        """When the first is due."""
        return next((awaited.due_us for awaited in self.waited.values()), None)

    def ask(
        self, now_us: int, again_us: int, wanted: Callable[[EventId, Topic], bool]
    ) -> Iterator[tuple[Peer, Topic, EventId]]:
        """Whom to ask for what, of all that is due and still wanted; it is due again then."""
        due = []
        for event_id, awaited in self.waited.items():
            if awaited.due_us > now_us:
                break
            due.append((event_id, awaited))
        for event_id, awaited in due:
            if awaited.tries >= TRIES or not wanted(event_id, awaited.topic):
                self.found(event_id)
                continue
            yield awaited.holders[awaited.tries % len(awaited.holders)], awaited.topic, event_id
            awaited.tries += 1
            awaited.due_us = again_us
            self.waited[event_id] = self.waited.pop(event_id)
