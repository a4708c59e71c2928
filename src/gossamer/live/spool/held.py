"""Events that retention would delete, and that a durable subscription still needs: kept for it, within a budget.

They are noted in the table `held`, by their places (of packs delivered whole: the last). Everything up to the floor
that is not there is deleted. When the budget is used up the oldest go, and whoever needed them is told how many.
"""

import sqlite3
from collections.abc import Sequence

from gossamer.core.ids import EventId
from gossamer.live.spool.events import Events
from gossamer.live.spool.schema import number
from gossamer.live.spool.subscriptions import Key, SubscriptionTable

PAGE_BYTES = 4096
ROW_BYTES = 200
LOOKED_AT = 256
"Held events looked at in one step."


class Held:
    """Works inside a transaction of whoever calls it."""

    def __init__(
        self, db: sqlite3.Connection, events: Events, subscriptions: SubscriptionTable, durable_bytes: int
    ) -> None:
        self.db, self.events, self.subscriptions, self.durable_bytes = db, events, subscriptions, durable_bytes
        self.bytes = number(db, "SELECT sum(bytes) FROM held")
        self._looked_at = 0
        "How far those held were looked at, of which some may no longer be needed; -1: they all were."
        self._lost: list[tuple[Key, int]] = []
        "What this step took from whom."

    def due(self) -> bool:
        if self.subscriptions.moved and self._looked_at < 0:
            self.subscriptions.moved, self._looked_at = False, 0
        return self.bytes > self.durable_bytes or (self.bytes > 0 and self._looked_at >= 0)

    def undo(self) -> None:
        """The transaction came to nothing."""
        self.bytes = number(self.db, "SELECT sum(bytes) FROM held")
        self._looked_at = 0
        for key, events in self._lost:
            self.subscriptions.lose(key, -events)
        self._lost = []

    def hold(self, after: int, up_to: int) -> None:
        """Notes what is still needed in places after one and up to another, before these are deleted."""
        if not self.subscriptions.rows:
            return
        for first, last, topic, size in self.db.execute(CANDIDATES, {"after": after, "up_to": up_to}).fetchall():
            if self.subscriptions.needing(first, last, topic):
                size = room_of(size + self._unpack(last))
                self.db.execute("INSERT OR IGNORE INTO held VALUES (?, ?, ?, ?)", (last, first, topic, size))
                self.bytes += size

    def _unpack(self, place: int) -> int:
        """An event with a row of its own whose bytes are in a pack gets them itself: the pack will go. How many."""
        row = self.db.execute(PACKED, (place,)).fetchone()
        if row is None:
            return 0
        event_id = EventId(*row)
        body = self.events.packs.alone(place, event_id) or self.events.packs.read(place, event_id)
        self.db.execute("UPDATE events SET sealed = ? WHERE place = ?", (body, place))
        return len(body)

    def step(self) -> list[int]:
        """Lets go of some that are not needed any more, and of the oldest of what is too much: their places."""
        self._lost = []
        return [*self._unneeded(), *self._too_much()]

    def _unneeded(self) -> list[int]:
        if self._looked_at < 0:
            return []
        looked_at = self.db.execute(HELD, (self._looked_at, LOOKED_AT)).fetchall()
        self._looked_at = looked_at[-1][0] if len(looked_at) == LOOKED_AT else -1
        return self._let_go([row for row in looked_at if not self.subscriptions.needing(row[1], row[0], row[2])])

    def _too_much(self) -> list[int]:
        if self.bytes <= self.durable_bytes:
            return []
        over, oldest = self.bytes - self.durable_bytes, []
        for row in self.db.execute(HELD, (0, LOOKED_AT)).fetchall():
            if over <= 0:
                break
            over -= row[3]
            oldest.append(row)
            for key, events in self.subscriptions.needing(row[1], row[0], row[2]):
                self.subscriptions.lose(key, events)
                self._lost.append((key, events))
        return self._let_go(oldest)

    def _let_go(self, rows: Sequence[tuple[int, int, str, int]]) -> list[int]:
        self.db.executemany("DELETE FROM held WHERE place = ?", [row[:1] for row in rows])
        self.bytes -= sum(row[3] for row in rows)
        return [row[0] for row in rows]


def room_of(size: int) -> int:
    """What a row takes up in the file, about: one that does not fit a page has pages of its own."""
    return size + ROW_BYTES if size < PAGE_BYTES // 4 else -(-(size + ROW_BYTES) // PAGE_BYTES) * PAGE_BYTES


CANDIDATES = """SELECT place AS first, place AS last, topic, length(sealed) FROM events
                WHERE place > :after AND place <= :up_to
                UNION ALL
                SELECT first, last, topic, length(content) FROM runs WHERE last > :after AND last <= :up_to"""
PACKED = "SELECT publisher, incarnation, sequence FROM events WHERE place = ? AND sealed = x''"
HELD = "SELECT place, first, topic, bytes FROM held WHERE place > ? ORDER BY place LIMIT ?"
