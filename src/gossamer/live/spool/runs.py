"""Packs that were delivered whole, one event after the other: a single row stands for all of them."""

import sqlite3
from collections.abc import Generator, Sequence

from gossamer.core.ids import EventId
from gossamer.live.spool.items import Kept, Stored
from gossamer.wire.pack import Pack, opened, unpack

INSERT = "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
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

    def add(self, first: int, run: Sequence[Kept]) -> bool:
        """Keeps what `whole` found, from this place on. False: some of it is here already."""
        low, high, kept, content = run[0].id, run[-1].id, run[0], run[0].sealed
        named = (low.publisher, low.incarnation)
        following = self.db.execute(NEXT, (*named, low.sequence)).fetchone()
        if following is not None and following[0] <= high.sequence:
            return False
        if self.db.execute(APART, (*named, low.sequence, high.sequence)).fetchone() is not None:
            return False
        assert isinstance(content, Pack)
        places = (first + len(run) - 1, first)
        self.db.execute(
            INSERT,
            (*places, *named, low.sequence, high.sequence, kept.topic, kept.hops, kept.at_us, content.content),
        )
        return True

    def alone(self, event_id: EventId) -> bytes:
        """An event of one of these packs, sealed with a proof of its own; nothing if it is in none."""
        if event_id not in self._met:
            row = self.db.execute(NEXT, (event_id.publisher, event_id.incarnation, event_id.sequence)).fetchone()
            if row is None or row[0] > event_id.sequence:
                return b""
            self._met = opened(unpack(row[1])[0])
        return self._met[event_id][1]

    def between(self, start: int, end: int, condition: str, values: Sequence[str]) -> Generator[Stored, None, None]:
        """Events in these places, of topics of which the condition holds."""
        found = self.db.execute(
            f"SELECT first, hops, at_us, content FROM runs WHERE last >= ? AND first <= ? AND ({condition}) ORDER BY last",
            (start, end, *values),
        )
        try:
            for first, hops, at_us, content in found:
                for place, (_, sealed) in enumerate(opened(unpack(content)[0]).values(), first):
                    if start <= place <= end:
                        yield Stored(place, sealed, hops, at_us)
        finally:
            found.close()  # or it would stay open on an old state of the file

    def prune(self, up_to: int) -> None:
        self._met = {}
        self.db.execute("DELETE FROM runs WHERE last <= ?", (up_to,))


def whole(batch: Sequence[Kept], start: int) -> Sequence[Kept]:
    """The events from there on that are a pack as a whole, one after the other and alike; none if they are not."""
    pack = batch[start].sealed
    if type(pack) is not Pack:
        return ()
    run = batch[start : start + len(pack.ids)]
    first = pack.ids[0]
    following = [*range(first.sequence, first.sequence + len(run))]
    alike = len({each[1:] for each in run}) == len({each.incarnation for each in pack.ids}) == 1
    in_order = alike and [each.id for each in run] == [*pack.ids]
    return run if in_order and [each.sequence for each in pack.ids] == following else ()
