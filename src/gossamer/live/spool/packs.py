"""Packs of delivered events that have a row each: kept as they came, taken apart when somebody asks for one of them."""

import sqlite3
from collections.abc import Iterable
from itertools import chain

from gossamer.core.ids import EventId
from gossamer.live.spool.items import Kept
from gossamer.live.spool.rows import write_rows
from gossamer.wire.pack import Pack, unpack, unproved

NEAR = 8
"Packs looked at for an event: the nearest one has it, unless packs were delivered event by event in turns."


class Packs:
    """The table `packs`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._met: Pack | None = None
        self._read: dict[EventId, bytes] = {}
        "The pack asked for last, and what a reader finds in it: one goes through all of it."

    def add(self, events: Iterable[tuple[int, Kept]]) -> None:
        """Every pack of events in these places, once, under the last place of any of its events."""
        last = {
            each.sealed.mark: (place, each.sealed.content) for place, each in events if isinstance(each.sealed, Pack)
        }
        write_rows(self.db, "INSERT OR REPLACE INTO packs VALUES", 2, [*chain.from_iterable(last.values())])

    def read(self, place: int, event_id: EventId) -> bytes:
        """The event of this place, for a reader; nothing if its pack is not here."""
        if event_id not in self._read:
            pack = self._containing(place, event_id)
            self._read = {} if pack is None else unproved(pack)
        return self._read.get(event_id, b"")

    def alone(self, place: int, event_id: EventId) -> bytes:
        """The event of this place, sealed with a proof of its own; nothing if its pack is not here, or proves none."""
        pack = self._containing(place, event_id)
        alone = None if pack is None else pack.alone(event_id)
        return b"" if alone is None else alone[1]

    def _containing(self, place: int, event_id: EventId) -> Pack | None:
        if self._met is None or event_id not in self._met.ids:
            query = "SELECT content FROM packs WHERE last >= ? ORDER BY last LIMIT ?"
            near = (unpack(content)[0] for (content,) in self.db.execute(query, (place, NEAR)).fetchall())
            self._met = next((pack for pack in near if event_id in pack.ids), None)
        return self._met

    def prune(self, up_to: int) -> None:
        self._met, self._read = None, {}
        self.db.execute("DELETE FROM packs WHERE last <= ?", (up_to,))
