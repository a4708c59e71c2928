"""Small changes nobody waits for: gathered in memory, the latest word on each thing, written with the next commit.

What could not be written (a full disk) stays here and is tried again; readers of the spool see it all the same.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

from gossamer.core.ids import EventId, Peer
from gossamer.live.spool.items import Cursor
from gossamer.live.spool.published import Published
from gossamer.live.spool.rows import write_rows

RECORDS_MAX = 1000
"Records of other nodes that are kept, the newest."


class Later:
    """Publications handed over, cursors advanced, records of peers."""

    def __init__(self, db: sqlite3.Connection, published: Published) -> None:
        self.db, self.published = db, published
        self.handed: list[EventId] = []
        self.cursors: dict[str, Cursor] = {}
        self.records: dict[Peer, bytes] = {}

    def __bool__(self) -> bool:
        return bool(self.handed or self.cursors or self.records)

    def hand_over(self, firsts: Sequence[EventId]) -> None:
        self.handed += firsts

    def advance(self, name: str, cursor: Cursor) -> None:
        self.cursors[name] = further(cursor, self.cursors.get(name))

    def remember(self, peer: Peer, data: bytes) -> None:
        self.records.pop(peer, None)  # the newest comes last
        self.records[peer] = data

    def write(self) -> None:
        """Inside a transaction; `clear` once that is committed."""
        self.published.hand_over(self.handed)
        for name, cursor in self.cursors.items():
            self.db.execute(ADVANCE, (name, *cursor))
        if self.records:
            values: list[Any] = []
            for each in self.records.items():
                values += each
            write_rows(self.db, "INSERT OR REPLACE INTO records (peer, data) VALUES", 2, values)
            self.db.execute(FORGET_RECORDS, (RECORDS_MAX,))

    def clear(self) -> None:
        self.handed, self.cursors, self.records = [], {}, {}

    def cursor(self, name: str) -> Cursor | None:
        row = self.db.execute("SELECT acked, offered FROM cursors WHERE name = ?", (name,)).fetchone()
        pending = self.cursors.get(name)
        return pending if row is None else further(Cursor(*row), pending)

    def forget_cursor(self, name: str) -> None:
        self.cursors.pop(name, None)
        self.db.execute("DELETE FROM cursors WHERE name = ?", (name,))

    def remembered(self) -> list[tuple[Peer, bytes]]:
        """Oldest first."""
        records = dict(self.db.execute("SELECT peer, data FROM records ORDER BY number").fetchall())
        for peer, data in self.records.items():
            records.pop(peer, None)
            records[peer] = data
        return list(records.items())[-RECORDS_MAX:]


def further(cursor: Cursor, other: Cursor | None) -> Cursor:
    """Cursors never go back."""
    return cursor if other is None else Cursor(*map(max, cursor, other))


ADVANCE = """INSERT INTO cursors VALUES (?, ?, ?) ON CONFLICT (name)
             DO UPDATE SET acked = max(acked, excluded.acked), offered = max(offered, excluded.offered)"""
FORGET_RECORDS = """DELETE FROM records WHERE number <=
                    (SELECT number FROM records ORDER BY number DESC LIMIT 1 OFFSET ?)"""
