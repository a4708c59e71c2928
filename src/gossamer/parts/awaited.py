"""Events others say they have, and this node has not: waited for, then asked for, then given up."""

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Generic, TypeVar

from msgspec import Struct

from gossamer.core.ids import EventId, Peer

AWAITED_MAX = 10_000
"Events waited for."
PER_PEER = 2000
"Of these, such that one peer told of first: one that makes events up takes no more room."
HOLDERS_MAX = 8
"Peers remembered for one of them."
TRIES = 8
"How often one is asked for, each time of the next who has it."

About = TypeVar("About")
"What events are asked for by: a topic, or a pattern."


class AwaitedEvent(Struct, Generic[About]):
    """One of them."""

    about: About
    holders: list[Peer]
    due_us: int
    tries: int = 0


class Awaited(Generic[About]):
    """In the order in which they are due: everything waits equally long."""

    def __init__(self) -> None:
        self.waited: dict[EventId, AwaitedEvent[About]] = {}
        self.told_by: dict[Peer, int] = {}

    def __len__(self) -> int:
        return len(self.waited)

    def add(self, event_id: EventId, about: About, holder: Peer, due_us: int) -> None:
        awaited = self.waited.get(event_id)
        if awaited is not None:
            if awaited.about == about and holder not in awaited.holders and len(awaited.holders) < HOLDERS_MAX:
                awaited.holders.append(holder)
        elif len(self.waited) < AWAITED_MAX and self.told_by.get(holder, 0) < PER_PEER:
            self.waited[event_id] = AwaitedEvent(about, [holder], due_us)
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
        self, now_us: int, again_us: int, most: int, wanted: Callable[[EventId, About], bool]
    ) -> Iterator[tuple[Peer, About, tuple[EventId, ...]]]:
        """Whom to ask for what, so much at once, of all that is due and still wanted; it is due again then."""
        asked: dict[tuple[Peer, About], list[EventId]] = {}
        for event_id, awaited in [*takewhile(lambda each: each[1].due_us <= now_us, self.waited.items())]:
            if awaited.tries >= TRIES or not wanted(event_id, awaited.about):
                self.found(event_id)
                continue
            holder = awaited.holders[awaited.tries % len(awaited.holders)]
            asked.setdefault((holder, awaited.about), []).append(event_id)
            awaited.tries += 1
            awaited.due_us = again_us
            self.waited[event_id] = self.waited.pop(event_id)
        for (holder, about), ids in asked.items():
            yield from ((holder, about, tuple(ids[start : start + most])) for start in range(0, len(ids), most))
