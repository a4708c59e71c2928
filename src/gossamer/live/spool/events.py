"""Delivered events by their places: kept, read page by page, found again by id."""

import heapq
import sqlite3
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from typing import Any

from gossamer.core.errors import Misuse
from gossamer.core.ids import EventId
from gossamer.core.topics import ROOT, Topic
from gossamer.live.spool.items import Delivered, Kept, Stored
from gossamer.live.spool.packs import Packs
from gossamer.live.spool.rows import write_rows
from gossamer.live.spool.runs import IN_NO_RUN, Runs
from gossamer.live.spool.streams import NOT_HELD, Streams, Stretch
from gossamer.wire.pack import Pack

SCANNED_MAX = 10_000
"Places one page looks at: a reader of a rare topic asks again rather than keep everybody else waiting."
TOPICS_MAX = 200
"Subtrees one reader may name: SQLite bounds the depth of a condition."


class Events:
    """The table `events`, and `runs`: an event is in one of them."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.packs = Packs(db)
        self.runs = Runs(db)
        self.streams = Streams(db, self.packs)

    def add(self, batches: Sequence[tuple[int, Delivered]]) -> None:
        """Each batch with the place of its first event. An id that is there already stays where it is."""
        apart: list[tuple[int, Kept]] = []
        for place, batch in batches:
            for each in batch:
                if isinstance(each, Kept):
                    apart.append((place, each))
                    place += 1
                    continue
                self._add_apart(apart)  # one of them may be in the pack too
                apart = [] if self.runs.add(place, each) else [*enumerate(each.each(), place)]
                place += len(each.pack.ids)
        self._add_apart(apart)

    def _add_apart(self, events: Sequence[tuple[int, Kept]]) -> None:
        """Events with a row each."""
        rows: list[Any] = []
        for place, (event_id, topic, body, hops, at_us, ordinal) in events:
            rows += (
                *(place, event_id.publisher, event_id.incarnation, event_id.sequence),
                *(topic, hops, at_us, b"" if type(body) is Pack else body, ordinal),
            )
        write_rows(self.db, "INSERT OR IGNORE INTO events SELECT * FROM (VALUES", 9, rows, f") WHERE {IN_NO_RUN}")
        self.packs.add(events)

    def page(
        self, after: int, up_to: int, topics: Sequence[Topic], limit: int, limit_bytes: int
    ) -> tuple[list[Stored], int]:
        """Events of these subtrees in places after one and up to another, and how far it looked."""
        start = self._first_after(after)
        if start is None or start > up_to:
            return [], up_to
        end = min(up_to, start + SCANNED_MAX - 1)
        condition, values = wanted(topics)
        items: list[Stored] = []
        with (
            closing(self._apart(start, end, condition, values)) as apart,
            closing(self.runs.between(start, end, condition, values)) as together,
        ):
            for item in heapq.merge(apart, together):  # by their places
                limit_bytes -= len(item.sealed)
                if items and limit_bytes < 0:
                    return items, items[-1].place
                items.append(item)
                if len(items) == limit:
                    return items, item.place
        return items, end

    def _first_after(self, place: int) -> int | None:
        """The first place after this one that holds something."""
        query = """SELECT min(place) FROM (SELECT min(place) AS place FROM events WHERE place > :place
                                           UNION ALL
                                           SELECT max(first, :place + 1) FROM runs WHERE last =
                                               (SELECT min(last) FROM runs WHERE last > :place))"""
        (first,) = self.db.execute(query, {"place": place}).fetchone()
        return first  # type: ignore[no-any-return]

    def _apart(self, start: int, end: int, condition: str, values: Sequence[str]) -> Generator[Stored, None, None]:
        found = self.db.execute(
            f"""SELECT place, hops, at_us, sealed, publisher, incarnation, sequence FROM events
                WHERE place BETWEEN ? AND ? AND ({condition}) ORDER BY place""",
            (start, end, *values),
        )
        try:
            for place, hops, at_us, sealed, *named in found:
                yield Stored(place, sealed or self.packs.read(place, EventId(*named)), hops, at_us)
        finally:
            found.close()  # or it would stay open on an old state of the file

    def alone(self, event_id: EventId) -> bytes:
        """The body of an event; nothing if it has no place here."""
        row = self.db.execute(BODY, (event_id.publisher, event_id.incarnation, event_id.sequence)).fetchone()
        if row is None:
            return self.runs.alone(event_id)
        return row[0] or self.packs.alone(row[1], event_id)

    def delivered(self, ids: Iterable[EventId]) -> set[EventId]:
        """Those of these events that have a place here."""
        keys = {each: (each.publisher, each.incarnation, each.sequence) for each in ids}
        return {
            each
            for each, key in keys.items()
            if self.db.execute(PLACE, key).fetchone() is not None or self.runs.has(each)
        }

    def prunable(self, limit: int, floor: int) -> tuple[str, dict[str, int]]:
        """The oldest events after this place, as a query for (first, at, at_us, size): a run goes as a whole."""
        query = """SELECT * FROM (SELECT place AS first, place AS at, at_us,
                                         length(sealed) + ifnull(length(content), 0) AS size
                                  FROM events LEFT JOIN packs ON last = place WHERE place > :floor
                                  ORDER BY place LIMIT :limit)
                   UNION ALL
                   SELECT * FROM (SELECT first, last, at_us, length(content) FROM runs WHERE last > :floor
                                  ORDER BY last LIMIT :limit)
                   ORDER BY at LIMIT :limit"""
        return query, {"limit": limit, "floor": floor}

    def prune(self, after: int, up_to: int) -> list[Stretch]:
        """Deletes what stands in these places and is not held; what that was."""
        gone = self.streams.between(after, up_to)
        for table, column in (("events", "place"), ("runs", "last")):
            self.db.execute(
                f"DELETE FROM {table} WHERE {column} > ? AND {column} <= ? AND {column} {NOT_HELD}", (after, up_to)
            )
        self.packs.prune(up_to)
        self.runs.forget()
        return gone

    def delete(self, places: Sequence[int]) -> list[Stretch]:
        """Deletes what was held in these places; what that was."""
        gone = [each for place in places for each in self.streams.between(place - 1, place)]
        self.db.executemany("DELETE FROM events WHERE place = ?", [(place,) for place in places])
        self.db.executemany("DELETE FROM runs WHERE last = ?", [(place,) for place in places])
        self.runs.forget()
        return gone


BODY = "SELECT sealed, place FROM events WHERE publisher = ? AND incarnation = ? AND sequence = ?"
PLACE = "SELECT place FROM events WHERE publisher = ? AND incarnation = ? AND sequence = ?"


def seen(db: sqlite3.Connection, limit: int) -> list[EventId]:
    """The ids met last, delivered or published, newest last."""
    met: dict[EventId, int] = {}
    for query in SEEN:
        count = 0
        for publisher, incarnation, low, high, at_us in db.execute(query, (limit,)).fetchall():
            for sequence in range(high, low - 1, -1):
                each = EventId(publisher, incarnation, sequence)
                met[each] = max(at_us, met.get(each, at_us))
            count += high + 1 - low
            if count >= limit:
                break
    return sorted(met, key=lambda each: (met[each], each))[-limit:]


SEEN = (
    "SELECT publisher, incarnation, sequence, sequence, at_us FROM events ORDER BY place DESC LIMIT ?",
    "SELECT publisher, incarnation, low, high, at_us FROM runs ORDER BY last DESC LIMIT ?",
    "SELECT publisher, incarnation, sequence, sequence + more, at_us FROM published ORDER BY number DESC LIMIT ?",
)


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
