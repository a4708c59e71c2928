"""Publications of this node: all of them by id and key within retention, with their bodies while they wait.

Those that were accepted in a pack share a row, under the id of the first."""

import sqlite3
from collections.abc import Iterable
from typing import Any

from gossamer.core.ids import EventId
from gossamer.core.topics import Topic
from gossamer.live.spool.items import Outgoing, Waiting
from gossamer.live.spool.rows import sum_rows, write_rows
from gossamer.live.spool.schema import number
from gossamer.wire.pack import Pack, opened, unpack

BODY = """SELECT sequence, more, sealed FROM outbox JOIN
          (SELECT number, sequence, more FROM published WHERE publisher = ? AND incarnation = ? AND sequence <= ?
           ORDER BY sequence DESC LIMIT 1) USING (number)"""
"Of the only row an event may be in."
SIZE = "CASE WHEN length(sealed) > 3000 THEN (length(sealed) / 4092 + 1) * 4096 ELSE length(sealed) + 32 END"
"What a row of the outbox takes up in the file, about: beyond most of a page it has pages of its own."
BY_FIRSTS = "WHERE number IN (SELECT number FROM (VALUES"
BY_ID = ") CROSS JOIN published ON publisher = column1 AND incarnation = column2 AND sequence = column3)"
IDS = """SELECT publisher, incarnation, sequence, more FROM outbox CROSS JOIN published USING (number)
         ORDER BY number LIMIT ?"""


def row_bytes(body: bytes) -> int:
    """The same."""
    return (len(body) // 4092 + 1) * 4096 if len(body) > 3000 else len(body) + 32


class Published:
    """The tables `published` and `outbox`, which share their numbers."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._next = number(db, "SELECT max(number) FROM published") + 1
        self.outbox_bytes = number(db, f"SELECT sum({SIZE}) FROM outbox")
        "What waits, as far as it is committed."

    def add(self, publications: Iterable[Outgoing], at_us: int) -> int:
        """How much more waits."""
        rows: list[Any] = []
        bodies: list[Any] = []
        for each in publications:
            (event_id, topic, body, key), count = each, self._next
            rows += count, event_id.publisher, event_id.incarnation, event_id.sequence, topic, key, at_us, each.more
            bodies += count, body.content if isinstance(body, Pack) else body
            self._next = count + 1  # a number that was rolled back is not used again
        write_rows(self.db, "INSERT INTO published VALUES", 8, rows)
        write_rows(self.db, "INSERT INTO outbox VALUES", 2, bodies)
        return sum(map(row_bytes, bodies[1::2]))

    def hand_over(self, firsts: Iterable[EventId]) -> int:
        """The rows that begin with these wait no longer: their bodies go. How much less waits."""
        values: list[Any] = []
        for each in {*firsts}:
            values += each.publisher, each.incarnation, each.sequence
        freed = sum_rows(self.db, f"SELECT sum({SIZE}) FROM outbox {BY_FIRSTS}", 3, values, BY_ID)
        write_rows(self.db, f"DELETE FROM outbox {BY_FIRSTS}", 3, values, BY_ID)
        return freed

    def waiting_ids(self, limit: int) -> tuple[list[EventId], int]:
        """The events of the oldest rows, at most about so many, and how many wait in all."""
        found = self.db.execute(IDS, (limit,)).fetchall()
        ids = [
            EventId(publisher, incarnation, first + i)
            for publisher, incarnation, first, more in found
            for i in range(more + 1)
        ]
        return ids[:limit], number(self.db, "SELECT sum(more + 1) FROM outbox CROSS JOIN published USING (number)")

    def waiting(self, after: int, limit: int, limit_bytes: int, now_us: int) -> list[Waiting]:
        """The rows of at most so many events and bytes (or one row, whatever it has), after that with a number."""
        found = self.db.execute(
            """SELECT number, publisher, incarnation, sequence, topic, sealed, more, ? - at_us
               FROM outbox CROSS JOIN published USING (number) WHERE number > ? ORDER BY number LIMIT ?""",
            (now_us, after, limit),
        )
        rows: list[Waiting] = []
        for count, publisher, incarnation, sequence, *about in found:  # one by one: a row may hold 256 KiB
            rows.append(Waiting(count, EventId(publisher, incarnation, sequence), *about))
            limit -= 1 + rows[-1].more
            limit_bytes -= len(rows[-1].sealed)
            if limit <= 0 or limit_bytes <= 0:
                break
        found.close()  # or it would stay open on an old state of the file
        return rows if limit >= 0 and limit_bytes >= 0 else rows[:-1] or rows

    def alone(self, event_id: EventId) -> bytes:
        """A publication that waits, or shares a row with one; nothing if it is neither."""
        found = self.db.execute(BODY, (event_id.publisher, event_id.incarnation, event_id.sequence)).fetchone()
        if found is None:
            return b""
        first, more, sealed = found
        if not more:
            return sealed if first == event_id.sequence else b""
        return opened(unpack(sealed)[0]).get(event_id, (b"", b""))[1]

    def keyed(self, topic: Topic, key: str) -> EventId | None:
        """The first publication under this key."""
        row = self.db.execute(
            """SELECT publisher, incarnation, sequence FROM published
               WHERE topic = ? AND key = ? ORDER BY number LIMIT 1""",
            (topic, key),
        ).fetchone()
        return row and EventId(*row)

    def prunable(self, limit: int, floor: int) -> tuple[str, dict[str, int]]:
        """The oldest publications, up to the first that still waits, as a query for (first, at, at_us, size)."""
        query = """SELECT number AS first, number AS at, at_us, 0 AS size FROM published
                   WHERE number < ifnull((SELECT min(number) FROM outbox), :next) ORDER BY number LIMIT :limit"""
        return query, {"limit": limit, "next": self._next}

    def prune(self, up_to: int) -> None:
        self.db.execute("DELETE FROM published WHERE number <= ?", (up_to,))
