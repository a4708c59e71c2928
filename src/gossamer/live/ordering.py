"""Order per publisher and topic, for readers that ask for it: what comes too early waits for what it follows."""

from collections.abc import Iterator
from typing import TypeAlias

from gossamer.core.ids import Peer
from gossamer.core.topics import Topic
from gossamer.live.deliveries import Delivery, Gap

PATIENCE_S = 1.0
"How long an event waits for those before it; then they count as lost, and a Gap says so."
HELD_MAX = 10_000

Stream: TypeAlias = tuple[Peer, int, Topic]
"A publisher in one incarnation, and a topic: what ordinals count."


class Order:
    """Puts items into order. Time is given, never asked."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self.patience_s = patience_s
        self.next: dict[Stream, int] = {}
        self.held: dict[Stream, dict[int, tuple[float, Delivery]]] = {}
        self.count = 0

    def offer(self, item: Delivery | Gap, now_s: float) -> Iterator[Delivery | Gap]:
        """What may be read now that this item has come."""
        if isinstance(item, Gap) or item.ordinal == 0:
            yield item
            return
        stream = (item.id.publisher, item.id.incarnation, item.topic)
        expected = self.next.get(stream, 1)
        if item.ordinal < expected:
            yield item  # its place was given up already: better late than never
            return
        waiting = self.held.setdefault(stream, {})
        if item.ordinal not in waiting:
            waiting[item.ordinal] = (now_s, item)
            self.count += 1
        yield from self._in_order(stream)
        if self.count > HELD_MAX:
            yield from self.due(float("inf"))

    def _in_order(self, stream: Stream) -> Iterator[Delivery | Gap]:
        waiting = self.held[stream]
        expected = self.next.get(stream, 1)
        while expected in waiting:
            yield waiting.pop(expected)[1]
            self.count -= 1
            expected += 1
            self.next[stream] = expected
        if not waiting:
            del self.held[stream]

    def due(self, now_s: float) -> Iterator[Delivery | Gap]:
        """What has waited long enough: the missing are given up."""
        for stream in tuple(self.held):
            waiting = self.held[stream]
            while waiting and min(since for since, _ in waiting.values()) + self.patience_s <= now_s:
                first = min(waiting)
                if stream in self.next:
                    yield Gap(first - self.next[stream], f"events of {stream[2]} did not come in time")
                self.next[stream] = first
                yield from self._in_order(stream)
                waiting = self.held.get(stream, {})

    def wait_s(self, now_s: float) -> float | None:
        """How long until something is due; None: nothing waits."""
        since = [each for waiting in self.held.values() for each, _ in waiting.values()]
        return max(0.0, min(since) + self.patience_s - now_s) if since else None
