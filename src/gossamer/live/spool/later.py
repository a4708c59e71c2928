"""Small changes nobody waits for: gathered in memory, the latest word on each thing, written with the next commit.

What could not be written (a full disk) stays here and is tried again; readers of the spool see it all the same.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

from gossamer.core.ids import EventId, Peer
from gossamer.live.spool.published import Published
from gossamer.live.spool.rows import write_rows

RECORDS_MAX = 1000
"Records of other nodes that are kept, the newest."


class Later:
    """Publications handed over, records of peers."""

    def __init__(self, db: sqlite3.Connection, published: Published) -> None:
        self.db, self.published = db, published
        self.handed: list[EventId] = []
        self.records: dict[Peer, bytes] = {}
        self.version = 0
        "Of this node's own record."

    def __bool__(self) -> bool:
        return bool(self.handed or self.records or self.version)

    def hand_over(self, firsts: Sequence[EventId]) -> None:
        self.handed += firsts

    def remember(self, peer: Peer, data: bytes) -> None:
        self.records.pop(peer, None)  # the newest comes last
        self.records[peer] = data

    def renew(self, version: int) -> None:
        self.version = version

    def write(self) -> int:
        """Inside a transaction; `clear` once that is committed. How much less waits then."""
        freed = self.published.hand_over(self.handed)
        if self.records:
            values: list[Any] = []
            for each in self.records.items():
                values += each
            write_rows(self.db, "INSERT OR REPLACE INTO records (peer, data) VALUES", 2, values)
            self.db.execute(FORGET_RECORDS, (RECORDS_MAX,))
        if self.version:
            self.db.execute("INSERT OR REPLACE INTO facts VALUES ('record', ?)", (self.version,))
        return freed

    def clear(self) -> None:
        self.handed, self.records, self.version = [], {}, 0

    def remembered(self) -> list[tuple[Peer, bytes]]:
        """Oldest first."""
        records = dict(self.db.execute("SELECT peer, data FROM records ORDER BY number").fetchall())
        for peer, data in self.records.items():
            records.pop(peer, None)
            records[peer] = data
        return list(records.items())[-RECORDS_MAX:]


FORGET_RECORDS = """DELETE FROM records WHERE number <=
                    (SELECT number FROM records ORDER BY number DESC LIMIT 1 OFFSET ?)"""
