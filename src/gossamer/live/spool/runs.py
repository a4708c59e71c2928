"""Packs that were delivered whole, one event after the other: a single row stands for all of them."""

import sqlite3
from collections.abc import Generator, Sequence

from gossamer.core.ids import EventId
from gossamer.live.spool.items import KeptPack, Stored
from gossamer.wire.pack import opened, unpack, unproved

INSERT = "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
APART = "SELECT 1 FROM events WHERE publisher = ? AND incarnation = ? AND sequence BETWEEN ? AND ? LIMIT 1"
NEXT = "SELECT low, content FROM runs WHERE publisher = ? AND incarnation = ? AND high >= ? ORDER BY high LIMIT 1"
"The only run that may have an event, for none has any that another has."
IN_NO_RUN = """ifnull((SELECT low FROM runs WHERE publisher = column2 AND incarnation = column3 AND high >= column4
                       ORDER BY high LIMIT 1) > column4, TRUE)"""
"The same as a condition on rows of events."


class Runs:
    """The table `runs`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._met: dict[EventId, tuple[bytes, bytes]] = {}
        "What was in the run asked for last: whoever misses one of its events often misses all."

    def add(self, first: int, kept: KeptPack) -> bool:
        """Keeps all events of a pack, from this place on. False: some of it is here already, or they do not follow
        each other."""
        low, high, count = kept.pack.ids[0], kept.pack.ids[-1], len(kept.pack.ids)
        if not follow_up(kept.pack.ids):
            return False
        named = (low.publisher, low.incarnation)
        following = self.db.execute(NEXT, (*named, low.sequence)).fetchone()
        if following is not None and following[0] <= high.sequence:
            return False
        if self.db.execute(APART, (*named, low.sequence, high.sequence)).fetchone() is not None:
            return False
        about = (kept.topic, kept.hops, kept.at_us, kept.pack.content, kept.ordinal)
        self.db.execute(INSERT, (first + count - 1, first, *named, low.sequence, high.sequence, *about))
        return True

    def has(self, event_id: EventId) -> bool:
        row = self.db.execute(NEXT, (event_id.publisher, event_id.incarnation, event_id.sequence)).fetchone()
        return row is not None and row[0] <= event_id.sequence

    def alone(self, event_id: EventId) -> bytes:
        """An event of one of these packs, sealed with a proof of its own; nothing if it is in none, or has none."""
        if event_id not in self._met:
            row = self.db.execute(NEXT, (event_id.publisher, event_id.incarnation, event_id.sequence)).fetchone()
            if row is None or row[0] > event_id.sequence:
                return b""
            self._met = opened(unpack(row[1])[0])
        return self._met[event_id][1] if event_id in self._met else b""

    def between(self, start: int, end: int, condition: str, values: Sequence[str]) -> Generator[Stored, None, None]:
        """Events in these places, of topics of which the condition holds, for readers."""
        found = self.db.execute(
            f"""SELECT first, hops, at_us, content FROM runs
                WHERE last >= ? AND first <= ? AND ({condition}) ORDER BY last""",
            (start, end, *values),
        )
        try:
            for first, hops, at_us, content in found:
                for place, sealed in enumerate(unproved(unpack(content)[0]).values(), first):
                    if start <= place <= end:
                        yield Stored(place, sealed, hops, at_us)
        finally:
            found.close()  # or it would stay open on an old state of the file

    def forget(self) -> None:
        """What was in the run asked for last may be deleted."""
        self._met = {}


def follow_up(ids: Sequence[EventId]) -> bool:
    """Whether each sequence is one more than that before it, in one life of the publisher."""
    first, lives = ids[0].sequence, {each.incarnation for each in ids}
    return len(lives) == 1 and [each.sequence for each in ids] == [*range(first, first + len(ids))]
