"""Publications of this node: all of them by id and key within retention, with their bodies while they wait."""

import sqlite3
from collections.abc import Iterable
from typing import Any

from gossamer.core.ids import EventId
from gossamer.core.topics import Topic
from gossamer.live.spool.items import Outgoing, Waiting
from gossamer.live.spool.rows import write_rows
from gossamer.live.spool.schema import number


class Published:
    """The tables `published` and `outbox`, which share their numbers."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._next = number(db, "SELECT max(number) FROM published") + 1

    def add(self, publications: Iterable[Outgoing], at_us: int) -> None:
        rows: list[Any] = []
        bodies: list[Any] = []
        for each in publications:
            event_id, count = each.id, self._next
            rows += count, event_id.publisher, event_id.incarnation, event_id.sequence, each.topic, each.key, at_us
            bodies += count, each.sealed
            self._next = count + 1  # a number that was rolled back is not used again
        write_rows(self.db, "INSERT INTO published VALUES", 7, rows)
        write_rows(self.db, "INSERT INTO outbox VALUES", 2, bodies)

    def hand_over(self, ids: Iterable[EventId]) -> None:
        """These wait no longer: their bodies go."""
        values: list[Any] = []
        for each in ids:
            values += each.publisher, each.incarnation, each.sequence
        write_rows(
            self.db,
            "DELETE FROM outbox WHERE number IN (SELECT number FROM (VALUES",
            3,
            values,
            ") CROSS JOIN published ON publisher = column1 AND incarnation = column2 AND sequence = column3)",
        )

    def waiting(self, after: int, limit: int) -> list[Waiting]:
        found = self.db.execute(
            """SELECT number, publisher, incarnation, sequence, topic, sealed
               FROM outbox CROSS JOIN published USING (number) WHERE number > ? ORDER BY number LIMIT ?""",
            (after, limit),
        )
        return [Waiting(count, EventId(p, i, s), topic, sealed) for count, p, i, s, topic, sealed in found]

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
