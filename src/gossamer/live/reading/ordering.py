"""Order per publisher and topic, for readers that ask for it: what comes too early waits for what it follows."""

from collections.abc import Iterator
from typing import TypeAlias

from gossamer.core.ids import Peer
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Topic
from gossamer.live.reading.deliveries import Delivery, Gap

PATIENCE_S = 1.0
"How long an event waits for those before it; then they count as lost, and a Gap says so."
HELD_MAX = 10_000
PASSED_MAX = 10_000
"Events of one stream that a reader does not want and that came before those they follow; then these are given up."

Stream: TypeAlias = tuple[Peer, int, Topic]
"A publisher in one incarnation, and a topic: what ordinals count."


class Order:
    """Puts items into order. Time is given, never asked."""

    def __init__(self, patience_s: float = PATIENCE_S, counted: Pattern | None = None) -> None:
        self.patience_s = patience_s
        self.counted = counted
        "A pattern that only some events of a topic match, where no others come: their place among these counts."
        self.next: dict[Stream, int] = {}
        self.held: dict[Stream, dict[int, tuple[float, Delivery]]] = {}
        self.count = 0
        self.passed: dict[Stream, dict[int, None]] = {}
        "Ordinals of events the reader does not want, ahead of those that are expected: nobody waits for them."

    def offer(self, item: Delivery | Gap, now_s: float) -> Iterator[Delivery | Gap]:
        """What may be read now that this item has come."""
        if isinstance(item, Gap):
            yield item
            return
        stream, ordinal = self._spot(item)
        if ordinal == 0 or ordinal < self.next.get(stream, 1):
            yield item  # it has no place, or that was given up already: better late than never
            return
        waiting = self.held.setdefault(stream, {})
        if ordinal not in waiting:
            waiting[ordinal] = (now_s, item)
            self.count += 1
        yield from self._in_order(stream)
        if self.count > HELD_MAX:
            yield from self.due(float("inf"))

    def pass_over(self, item: Delivery) -> Iterator[Delivery | Gap]:
        """What may be read now that this one has come, which the reader does not want."""
        stream, ordinal = self._spot(item)
        if ordinal < self.next.get(stream, 1):
            return
        passed = self.passed.setdefault(stream, {})
        passed[ordinal] = None
        if len(passed) > PASSED_MAX and stream not in self.held:
            self.next[stream] = min(passed)
        yield from self._in_order(stream)

    def _spot(self, item: Delivery) -> tuple[Stream, int]:
        """Which stream an event belongs to, and its number there; 0: it has none."""
        if self.counted is None:
            return (item.id.publisher, item.id.incarnation, item.topic), item.ordinal
        signature = self.counted.signature
        number = next((tag.sequence for tag in item.tags if tag.pattern == signature), 0)
        return (item.id.publisher, item.id.incarnation, self.counted.topic), number

    def _in_order(self, stream: Stream) -> Iterator[Delivery | Gap]:
        waiting, passed = self.held.get(stream, {}), self.passed.get(stream, {})
        expected = self.next.get(stream, 1)
        while expected in waiting or expected in passed:
            if expected in passed:
                del passed[expected]
            else:
                yield waiting.pop(expected)[1]
                self.count -= 1
            expected += 1
            self.next[stream] = expected
        if not waiting:
            self.held.pop(stream, None)
        if not passed:
            self.passed.pop(stream, None)

    def _give_up(self, stream: Stream, first: int) -> int:
        """Goes on with this ordinal; how many before it are missing, of those the reader may have wanted."""
        passed = self.passed.get(stream, {})
        over = [ordinal for ordinal in passed if ordinal < first]
        for ordinal in over:
            del passed[ordinal]
        missing = first - self.next[stream] - len(over) if stream in self.next else 0
        self.next[stream] = first
        return missing

    def due(self, now_s: float) -> Iterator[Delivery | Gap]:
        """What has waited long enough: the missing are given up."""
        for stream in tuple(self.held):
            waiting = self.held[stream]
            while waiting and min(since for since, _ in waiting.values()) + self.patience_s <= now_s:
                first = min(waiting)
                if missing := self._give_up(stream, first):
                    yield Gap(missing, f"events of {stream[2]} did not come in time")
                yield from self._in_order(stream)
                waiting = self.held.get(stream, {})

    def wait_s(self, now_s: float) -> float | None:
        """How long until something is due; None: nothing waits."""
        since = [each for waiting in self.held.values() for each, _ in waiting.values()]
        return max(0.0, min(since) + self.patience_s - now_s) if since else None
