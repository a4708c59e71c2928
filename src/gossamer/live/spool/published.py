"""Publications of this node: all of them by id and key within retention, with their bodies while they wait.

Those that were accepted in a pack share a row, under the id of the first."""

import sqlite3
from collections.abc import Iterable
from typing import Any

from gossamer.core.ids import EventId
from gossamer.core.topics import Topic
from gossamer.live.spool.items import Outgoing, Waiting
from gossamer.live.spool.rows import write_rows
from gossamer.live.spool.schema import number
from gossamer.wire.pack import Pack, opened, unpack

BODY = """SELECT sequence, more, sealed FROM outbox JOIN
          (SELECT number, sequence, more FROM published WHERE publisher = ? AND incarnation = ? AND sequence <= ?
           ORDER BY sequence DESC LIMIT 1) USING (number)"""
"Of the only row an event may be in."


class Published:
    """The tables `published` and `outbox`, which share their numbers."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._next = number(db, "SELECT max(number) FROM published") + 1

    def add(self, publications: Iterable[Outgoing], at_us: int) -> None:
        rows: list[Any] = []
        bodies: list[Any] = []
        for each in publications:
            (event_id, topic, body, key), count = each, self._next
            rows += count, event_id.publisher, event_id.incarnation, event_id.sequence, topic, key, at_us, each.more
            bodies += count, body.content if isinstance(body, Pack) else body
            self._next = count + 1  # a number that was rolled back is not used again
        write_rows(self.db, "INSERT INTO published VALUES", 8, rows)
        write_rows(self.db, "INSERT INTO outbox VALUES", 2, bodies)

    def hand_over(self, firsts: Iterable[EventId]) -> None:
        """The rows that begin with these wait no longer: their bodies go."""
        values: list[Any] = []
        for each in firsts:
            values += each.publisher, each.incarnation, each.sequence
        write_rows(
            self.db,
            "DELETE FROM outbox WHERE number IN (SELECT number FROM (VALUES",
            3,
            values,
            ") CROSS JOIN published ON publisher = column1 AND incarnation = column2 AND sequence = column3)",
        )

    def waiting(self, after: int, limit: int) -> list[Waiting]:
        """The rows of at most so many events (or of one row, however many it has), after that with a number."""
        found = self.db.execute(
            """SELECT number, publisher, incarnation, sequence, topic, sealed, more
               FROM outbox CROSS JOIN published USING (number) WHERE number > ? ORDER BY number LIMIT ?""",
            (after, limit),
        )
        rows: list[Waiting] = []
        for count, publisher, incarnation, sequence, *about in found:  # one by one: a row may hold 256 KiB
            rows.append(Waiting(count, EventId(publisher, incarnation, sequence), *about))
            limit -= 1 + rows[-1].more
            if limit <= 0:
                break
        found.close()  # or it would stay open on an old state of the file
        return rows if limit >= 0 else rows[:-1] or rows

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

    def prunable(self, limit: int) -> tuple[str, dict[str, int]]:
        """The oldest publications, up to the first that still waits, as a query for (first, at, at_us, size)."""
        query = """SELECT number AS first, number AS at, at_us, 0 AS size FROM published
                   WHERE number < ifnull((SELECT min(number) FROM outbox), :next) ORDER BY number LIMIT :limit"""
        return query, {"limit": limit, "next": self._next}

    def prune(self, up_to: int) -> None:
        self.db.execute("DELETE FROM published WHERE number <= ?", (up_to,))
