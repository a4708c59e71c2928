"""The time a node has lived through, kept with its data: ages are counted by it.

It goes on where the former life ended, whatever the machine's clock says by then: that may be days ahead or behind, or
the node may have been away, and nothing is deleted because of either.
"""

import logging
import sqlite3
from collections.abc import Callable

from gossamer.live.spool.schema import number

log = logging.getLogger("gossamer.spool")

NOTED_EVERY_US = 1_000_000
"How exactly it is kept: a crash costs no more, but for what a node at rest does not write down."
TABLES = ("events", "runs", "published")
LAST = (
    "SELECT at_us FROM events ORDER BY place DESC LIMIT 1",
    "SELECT at_us FROM runs ORDER BY last DESC LIMIT 1",
    "SELECT at_us FROM published ORDER BY number DESC LIMIT 1",
)


class Lifetime:
    """Microseconds. A new spool begins with the time of the machine's clock, so that it can be read."""

    def __init__(self, db: sqlite3.Connection, clock: Callable[[], int], name: str) -> None:
        self._clock, self._opened_us, self.name = clock, clock(), name
        facts = dict(db.execute("SELECT name, value FROM facts WHERE name IN ('lived', 'wall')").fetchall())
        if "lived" not in facts and any(number(db, query) for query in LAST):
            for table in TABLES:  # written by the clock alone, which may have been wrong
                db.execute(f"UPDATE {table} SET at_us = :now WHERE at_us > :now", {"now": self._opened_us})
        last_us = max(number(db, query) for query in LAST)
        self._before_us = max(facts.get("lived", 0), last_us) or self._opened_us
        self._noted_us = 0
        self.away_us = self._opened_us - facts["wall"] if "wall" in facts else 0
        "How long it was away, by the machine's clock; below 0: that was set back."

    def now_us(self) -> int:
        return self._before_us + self._clock() - self._opened_us

    def due(self) -> dict[str, int]:
        """What is to be written down, if it is time for that."""
        now_us = self.now_us()
        return {"lived": now_us, "wall": self._clock()} if now_us - self._noted_us >= NOTED_EVERY_US else {}

    def noted(self, facts: dict[str, int]) -> None:
        self._noted_us = facts.get("lived", self._noted_us)

    def has_jumped(self, keep_us: int) -> bool:
        """Whether the clock is not where it should be, or the node was away for longer than events are kept: nobody can
        tell. It is said, and nothing is deleted because of it."""
        if self.away_us < -NOTED_EVERY_US:
            log.warning(
                "by the machine's clock it is %.0f s earlier than when the spool %s was last written: nothing is "
                "deleted because of that; is the clock right?",
                *(-self.away_us / 1e6, self.name),
            )
        elif self.away_us > keep_us:
            log.warning(
                "by the machine's clock nobody used the spool %s for %.1f days: what is in it is kept as if that time "
                "had not passed; is the clock right?",
                *(self.name, self.away_us / 86_400e6),
            )
        else:
            return False
        return True
