"""Packs of delivered events that have a row each: kept as they came, taken apart when somebody asks for one of them."""

import sqlite3
from collections.abc import Iterable
from itertools import chain

from gossamer.core.ids import EventId
from gossamer.live.spool.items import Kept
from gossamer.live.spool.rows import write_rows
from gossamer.wire.pack import Pack, opened, unpack

NEAR = 8
"Packs looked at for an event: the nearest one has it, unless packs were delivered event by event in turns."


class Packs:
    """The table `packs`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._met: dict[EventId, tuple[bytes, bytes]] = {}
        "What was in the pack asked for last: a reader goes through all of it."

    def add(self, events: Iterable[tuple[int, Kept]]) -> None:
        """Every pack of events in these places, once, under the last place of any of its events."""
        last = {
            each.sealed.mark: (place, each.sealed.content) for place, each in events if isinstance(each.sealed, Pack)
        }
        write_rows(self.db, "INSERT OR REPLACE INTO packs VALUES", 2, [*chain.from_iterable(last.values())])

    def alone(self, place: int, event_id: EventId) -> bytes:
        """The event of this place, sealed with a proof of its own; nothing if its pack is not here."""
        if event_id not in self._met:
            self._met = self._containing(place, event_id)
        return self._met[event_id][1] if event_id in self._met else b""

    def _containing(self, place: int, event_id: EventId) -> dict[EventId, tuple[bytes, bytes]]:
        found = self.db.execute("SELECT content FROM packs WHERE last >= ? ORDER BY last LIMIT ?", (place, NEAR))
        for (content,) in found.fetchall():
            pack, _ = unpack(content)
            if event_id in pack.ids:
                return opened(pack)
        return {}

    def prune(self, up_to: int) -> None:
        self.db.execute("DELETE FROM packs WHERE last <= ?", (up_to,))
