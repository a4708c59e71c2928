"""What is too old, or too much, goes: the oldest first, in small steps, and never what still waits to be sent.

Size is counted in pages of the file that are in use, but for what waits: that has a limit of its own. The file itself
does not shrink: its free pages are filled again.
"""

import sqlite3
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gossamer.live.spool.events import Events
from gossamer.live.spool.held import Held
from gossamer.live.spool.published import Published
from gossamer.live.spool.schema import number
from gossamer.live.spool.streams import Stretch

STEP_ROWS = 256
STEP_BYTES = 4 << 20
"A step deletes no more than this, and one event; it stands in the way of others' commits."
LOOK_US_MAX = 60_000_000
"How often age is looked at, at least."


class Step(NamedTuple):
    """What one step did."""

    floor: int
    "Events up to this place were deleted; 0: none were."
    deleted: bool
    pruned: Sequence[Stretch] = ()
    "Those events, by their streams."


NOTHING = Step(0, False)


class Retention:
    """Deletes inside a transaction of whoever calls it."""

    def __init__(
        self,
        db: sqlite3.Connection,
        events: Events,
        published: Published,
        held: Held,
        floor: int,
        keep_s: float,
        keep_bytes: int,
        now_us: Callable[[], int],
    ) -> None:
        self.db, self.events, self.published, self.held, self.now_us = db, events, published, held, now_us
        self.floor = floor
        "Up to here only what is held is left."
        self._page_bytes = number(db, "PRAGMA page_size")
        self.used = 0
        "Bytes of the file in use when last looked at."
        self.tune(keep_s, keep_bytes)

    def tune(self, keep_s: float, keep_bytes: int) -> None:
        """New bounds, from now on."""
        self.keep_us, self.keep_bytes = int(keep_s * 1e6), keep_bytes
        self.again()

    def again(self) -> None:
        """There may be more to do: the next round looks."""
        self._look_at_us = 0

    def patience_s(self) -> float:
        """How long until it should look again."""
        return max(0.0, min(LOOK_US_MAX, self._look_at_us - self.now_us()) / 1e6)

    def due(self) -> bool:
        self.used = (number(self.db, "PRAGMA page_count") - number(self.db, "PRAGMA freelist_count")) * self._page_bytes
        return self._too_much() > 0 or self.held.due() or self.now_us() >= self._look_at_us

    def _too_much(self) -> int:
        """Bytes by which what is kept is over its bound, beside what waits and what durable subscriptions hold."""
        return max(0, self.used - self.published.outbox_bytes - self.held.bytes - self.keep_bytes)

    def step(self, written: int) -> Step:
        """Deletes a little of what must go, but more than the rows just written, so that it keeps up."""
        freed = self.held.step() if self.held.due() else []
        pruned = self.events.delete(freed)
        step = self._step(written)
        return Step(step.floor, step.deleted or bool(freed), [*pruned, *step.pruned])

    def _step(self, written: int) -> Step:
        now_us = self.now_us()
        self._look_at_us = now_us + min(LOOK_US_MAX, max(1_000_000, self.keep_us // 10))
        limit = STEP_ROWS + 2 * written
        over = self._too_much()
        kept_us = self._oldest(self.events)
        own_us = self._oldest(self.published)
        if kept_us is not None and ((over and (own_us is None or kept_us <= own_us)) or self._stale(kept_us, now_us)):
            return self._delete(self.events, limit, over, now_us)
        if own_us is not None and (over or self._stale(own_us, now_us)):
            return Step(0, self._delete(self.published, limit, over, now_us).deleted)
        return NOTHING

    def _oldest(self, table: Events | Published) -> int | None:
        query, values = table.prunable(1, self.floor)
        row = self.db.execute(query, values).fetchone()
        return None if row is None else int(row[2])

    def _stale(self, at_us: int, now_us: int) -> bool:
        return now_us - at_us > self.keep_us

    def _delete(self, table: Events | Published, limit: int, over: int, now_us: int) -> Step:
        query, values = table.prunable(limit, self.floor)
        last, young = self.db.execute(
            f"""SELECT max(at), min(CASE WHEN :now_us - at_us <= :keep_us THEN first END) FROM (
                    SELECT first, at, at_us, sum(size) OVER (ORDER BY at) - size AS before FROM ({query}))
                WHERE before < :bytes""",
            {**values, "now_us": now_us, "keep_us": self.keep_us, "bytes": min(STEP_BYTES, over or STEP_BYTES)},
        ).fetchone()
        up_to = last if over or young is None else young - 1
        if isinstance(table, Published):
            table.prune(up_to)
            return Step(up_to, True)
        self.held.hold(self.floor, up_to)
        return Step(up_to, True, table.prune(self.floor, up_to))
