"""Delivered events by their places: kept, read page by page, found again by id."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from gossamer.core.errors import Misuse
from gossamer.core.ids import EventId
from gossamer.core.topics import ROOT, Topic
from gossamer.live.spool.items import Kept, Stored
from gossamer.live.spool.packs import Packs
from gossamer.live.spool.rows import write_rows
from gossamer.live.spool.schema import number
from gossamer.wire.pack import Pack

SCANNED_MAX = 10_000
"Places one page looks at: a reader of a rare topic asks again rather than keep everybody else waiting."
TOPICS_MAX = 200
"Subtrees one reader may name: SQLite bounds the depth of a condition."


class Events:
    """The table `events`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.packs = Packs(db)

    def add(self, batches: Sequence[tuple[int, Sequence[Kept]]]) -> None:
        """Each batch with the place of its first event. An id that is there already stays where it is."""
        rows: list[Any] = []
        for first, batch in batches:
            for place, (event_id, topic, body, hops, at_us) in enumerate(batch, first):
                rows += (
                    *(place, event_id.publisher, event_id.incarnation, event_id.sequence),
                    *(topic, hops, at_us, b"" if type(body) is Pack else body),
                )
        write_rows(self.db, "INSERT OR IGNORE INTO events VALUES", 8, rows)
        self.packs.add(batches)

    def page(
        self, after: int, up_to: int, topics: Sequence[Topic], limit: int, limit_bytes: int
    ) -> tuple[list[Stored], int]:
        """Events of these subtrees in places after one and up to another, and how far it looked."""
        start = number(self.db, "SELECT min(place) FROM events WHERE place > ? AND place <= ?", after, up_to)
        if not start:
            return [], up_to
        end = min(up_to, start + SCANNED_MAX - 1)
        condition, values = wanted(topics)
        found = self.db.execute(
            f"""SELECT place, hops, at_us, sealed, publisher, incarnation, sequence FROM events
                WHERE place BETWEEN ? AND ? AND ({condition}) ORDER BY place LIMIT ?""",
            (start, end, *values, limit),
        )
        items: list[Stored] = []
        for place, hops, at_us, sealed, *named in found:
            body = sealed or self.packs.alone(place, EventId(*named))
            limit_bytes -= len(body)
            if items and limit_bytes < 0:
                found.close()  # or it would stay open on an old state of the file
                return items, items[-1].place
            items.append(Stored(place, body, hops, at_us))
        return items, items[-1].place if len(items) == limit else end

    def find(self, ids: Iterable[EventId]) -> dict[EventId, bytes]:
        """Bodies of these events, of own publications that wait too."""
        found: dict[EventId, bytes] = {}
        for each in ids:
            key = (each.publisher, each.incarnation, each.sequence)
            row = self.db.execute(BODY, key).fetchone() or self.db.execute(OWN_BODY, key).fetchone()
            if row is not None:
                found[each] = row[0] or self.packs.alone(row[1], each)
        return found

    def delivered(self, ids: Iterable[EventId]) -> set[EventId]:
        """Those of these events that have a place here."""
        keys = {each: (each.publisher, each.incarnation, each.sequence) for each in ids}
        return {each for each, key in keys.items() if self.db.execute(BODY, key).fetchone() is not None}

    def prunable(self, limit: int) -> tuple[str, dict[str, int]]:
        """The oldest events, as a query for (at, at_us, size)."""
        query = """SELECT place AS at, at_us, length(sealed) + ifnull(length(content), 0) AS size
                   FROM events LEFT JOIN packs ON last = place ORDER BY place LIMIT :limit"""
        return query, {"limit": limit}

    def prune(self, up_to: int) -> None:
        self.db.execute("DELETE FROM events WHERE place <= ?", (up_to,))
        self.packs.prune(up_to)


NAMED = "publisher = ? AND incarnation = ? AND sequence = ?"
BODY = f"SELECT sealed, place FROM events WHERE {NAMED}"
OWN_BODY = f"SELECT sealed, 0 FROM published JOIN outbox USING (number) WHERE {NAMED}"


def seen(db: sqlite3.Connection, limit: int) -> list[EventId]:
    """The ids met last, delivered or published, newest last."""
    rows = db.execute(
        """SELECT publisher, incarnation, sequence, max(at_us) FROM (
               SELECT * FROM (SELECT publisher, incarnation, sequence, at_us FROM events
                              ORDER BY place DESC LIMIT :n)
               UNION ALL
               SELECT * FROM (SELECT publisher, incarnation, sequence, at_us FROM published
                              ORDER BY number DESC LIMIT :n)
           ) GROUP BY publisher, incarnation, sequence ORDER BY max(at_us) DESC LIMIT :n""",
        {"n": limit},
    ).fetchall()
    return [EventId(publisher, incarnation, sequence) for publisher, incarnation, sequence, _ in reversed(rows)]


def wanted(topics: Sequence[Topic]) -> tuple[str, list[str]]:
    """The condition on a topic to lie in one of these subtrees, and its values."""
    if ROOT in topics:
        return "TRUE", []
    if not 0 < len(topics) <= TOPICS_MAX:
        raise Misuse(f"a reader names 1 to {TOPICS_MAX} topics, not {len(topics)}: read their common super-topic")
    condition = " OR ".join(["topic = ? OR (topic >= ? AND topic < ?)"] * len(topics))
    return condition, [bound for each in topics for bound in (each, f"{each}.", f"{each}/")]  # after "." comes "/"


def is_wanted(topic: Topic, topics: Sequence[Topic]) -> bool:
    """The same of one topic; the root, standing for any, is always wanted."""
    return topic == ROOT or any(wide == ROOT or topic == wide or topic.startswith(f"{wide}.") for wide in topics)
