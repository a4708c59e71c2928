"""What one identity has in the node's outbox: at most half of it, so that others can publish although nobody takes what
it published."""

import asyncio
from collections.abc import Callable
from itertools import islice

from gossamer.core.ids import EventId
from gossamer.live.spool.jobs import ROW_BYTES

SHARES = 2
"One identity may fill the outbox to one of so many parts."
LOOKED_AT = 1_000
"Of its events, when there is no room: each look goes on where the one before ended."


class OutboxShare:
    """One identity's. `is_over` says of an event whether it has left the outbox."""

    def __init__(self) -> None:
        self.events: dict[EventId, int] = {}
        "With the bytes of each."
        self.bytes = 0
        "Of these, and of what is being published."
        self.in_turn = asyncio.Lock()
        "Whoever waits for room is served first, so that events go out in the order in which they came."

    def has_room(self, outbox_bytes: int, is_over: Callable[[EventId], bool]) -> bool:
        if self.bytes >= outbox_bytes // SHARES:
            self._look(LOOKED_AT, is_over)
        return self.bytes < outbox_bytes // SHARES

    def reserve(self, payload: bytes) -> int:
        """How much an event will take."""
        size = len(payload) + ROW_BYTES
        self.bytes += size
        return size

    def release(self, size: int) -> None:
        self.bytes -= size

    def keep(self, event_id: EventId, size: int, is_over: Callable[[EventId], bool]) -> None:
        """It is in the outbox. Under a key it may have been there before."""
        self.bytes -= self.events.pop(event_id, 0)
        self.events[event_id] = size
        self._look(2, is_over)  # more than came: what is remembered is what waits

    def _look(self, most: int, is_over: Callable[[EventId], bool]) -> None:
        for event_id in [*islice(self.events, most)]:
            size = self.events.pop(event_id)
            if is_over(event_id):
                self.bytes -= size
            else:
                self.events[event_id] = size
