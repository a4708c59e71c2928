"""How far streams need not be asked for again: what was pruned, or given up, would otherwise come back after a restart;
and where filters are asked, nothing but this tells what was lost in a crash from what was never for us.

They stand among the facts, each under the name of its stream."""

import sqlite3
from collections.abc import Iterable, Mapping

from gossamer.live.spool.streams import Stretch

FLOORS_MAX = 10_000
"Streams of which that is remembered; those of the oldest lives are forgotten."
PREFIX = "stream "


class StreamFloors:
    """For each stream the last ordinal that is gone, or is known to be here if it is wanted."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        found = db.execute("SELECT name, value FROM facts WHERE name >= ? AND name < ?", (PREFIX, PREFIX[:-1] + "!"))
        self.floors: dict[str, int] = dict(found.fetchall())
        self.changed: dict[str, int] = {}
        "Those that the next commit makes higher."

    def rise(self, gone: Iterable[Stretch]) -> None:
        """These need not be asked for."""
        self.changed.update(self._higher(gone))

    def _higher(self, gone: Iterable[Stretch]) -> dict[str, int]:
        found: dict[str, int] = {}
        for each in gone:
            name = f"{PREFIX}{each.incarnation:019d} {each.publisher} {each.topic}"
            if each.last > max(found.get(name, 0), self.floors.get(name, 0), self.changed.get(name, 0)):
                found[name] = each.last
        return found

    def write(self, pruned: Iterable[Stretch]) -> None:
        """Inside a transaction, which deletes these; `clear` once that is committed."""
        rows = self.changed | self._higher(pruned)
        if not rows:
            return  # as in most commits
        self.db.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", rows.items())
        known = {**self.floors, **rows}
        self.db.executemany("DELETE FROM facts WHERE name = ?", [(name,) for name in too_many(known)])

    def clear(self, pruned: Iterable[Stretch]) -> None:
        self.floors.update(self.changed | self._higher(pruned))
        for name in too_many(self.floors):
            del self.floors[name]
        self.changed.clear()

    def all(self) -> list[Stretch]:
        """As stretches from the first event on."""
        found = []
        for name, value in sorted(self.floors.items()):
            incarnation, publisher, topic = name.removeprefix(PREFIX).split(" ", 2)
            found.append(Stretch(topic, int(publisher), int(incarnation), 1, value))
        return found


def too_many(floors: Mapping[str, int]) -> list[str]:
    """Those of the oldest lives, if there are more than are remembered."""
    return sorted(floors)[: len(floors) - FLOORS_MAX] if len(floors) > FLOORS_MAX else []
