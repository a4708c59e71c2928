"""The spool as its thread sees it: plain calls on one connection, one transaction per round of work."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from gossamer.core.errors import Misuse
from gossamer.core.ids import EventId, peer_of
from gossamer.core.topics import ROOT, Topic
from gossamer.live.spool.events import Events, is_wanted
from gossamer.live.spool.faults import explained, no_folder
from gossamer.live.spool.held import Held
from gossamer.live.spool.items import Delivered, Lost, Outgoing, Page, places
from gossamer.live.spool.later import Later
from gossamer.live.spool.lifetime import Lifetime
from gossamer.live.spool.lock import Lock
from gossamer.live.spool.losses import Losses
from gossamer.live.spool.published import Published
from gossamer.live.spool.retention import NOTHING, Retention
from gossamer.live.spool.rows import write_rows
from gossamer.live.spool.schema import FILE, SYNCHRONOUS, Durability, connect, number, transaction
from gossamer.live.spool.stream_floors import StreamFloors
from gossamer.live.spool.streams import Stretch
from gossamer.live.spool.subscriptions import Key, SubscriptionTable

AHEAD = 1 << 24
"""Places are given out before their events are committed, and a reader may have met one that a crash then undid. They
are reserved this far ahead, and a start after a crash begins beyond: no place ever means two events."""

Batch: TypeAlias = tuple[int, Delivered]
"Events, and the place of the first."


class Store:
    """Open from construction to `close`."""

    def __init__(
        self,
        folder: Path | None,
        durability: Durability,
        keep_s: float,
        keep_bytes: int,
        now_us: Callable[[], int],
        durable_bytes: int,
        node: str,
    ) -> None:
        self.name = "in memory" if folder is None else str(folder / FILE)
        self.now_us = now_us
        self.on_disk = folder is not None
        with ExitStack() as undo:
            try:
                if folder is not None:
                    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                    undo.callback(Lock(folder).release)
                self.db = connect(folder)
                undo.callback(self.db.close)
                self._check_node(node)
                self._begin(keep_s, keep_bytes, durable_bytes)
                self.db.execute(f"PRAGMA synchronous = {SYNCHRONOUS[durability]}")
            except sqlite3.Error as fault:
                raise explained(fault, self.name) from fault
            except OSError as fault:
                raise no_folder(fault, folder) from fault
            self._undo = undo.pop_all()

    def _begin(self, keep_s: float, keep_bytes: int, durable_bytes: int) -> None:
        db = self.db
        self.published = Published(db)
        self.events = Events(db)
        self.later = Later(db, self.published)
        self.losses = Losses(Lost(*row) for row in db.execute("SELECT * FROM lost ORDER BY last").fetchall())
        self.subscriptions = SubscriptionTable(db)
        self.held = Held(db, self.events, self.subscriptions, durable_bytes)
        self.stream_floors = StreamFloors(db)
        self.lifetime = Lifetime(db, self.now_us, self.name)
        self.jumped = self.lifetime.has_jumped(int(keep_s * 1e6))
        "Whether the machine's clock seems to have been set, or the node to have been away for very long."
        self.incarnation = max(self.now_us(), self._fact("incarnation") + 1, self._fact("record") + 1)
        self.floor = self._fact("floor")
        self.retention = Retention(
            db, self.events, self.published, self.held, self.floor, keep_s, keep_bytes, self.lifetime.now_us
        )
        last = max(number(db, "SELECT max(place) FROM events"), number(db, "SELECT max(last) FROM runs"))
        self.settled = max(self._fact("places"), self.floor, last)
        "Every place up to this one is committed or lost."
        self._reserved = self.settled + AHEAD
        self.pruned: list[Stretch] = []
        "What was deleted, for whoever wants to know."
        with transaction(db):
            self._note("node", self._node)
            self._note("incarnation", self.incarnation)
            self._note("places", self._reserved)
            for name, value in self.lifetime.due().items():
                self._note(name, value)

    def _check_node(self, node: str) -> None:
        """Its events wait under the name of one node, which owns subscriptions too: no other goes on with it."""
        before = self._fact("node")
        self._node = peer_of(node) if node else before
        if before not in (0, self._node):
            raise Misuse(
                f"the spool {self.name} is that of a node with another name than {node!r}: give this node another "
                "folder, or its former name"
            )

    def _fact(self, name: str) -> int:
        return number(self.db, "SELECT value FROM facts WHERE name = ?", name)

    def _note(self, name: str, value: int) -> None:
        self.db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def pending(self) -> bool:
        """Whether something was left for the next commit."""
        left = self.later, self.subscriptions, self.stream_floors.changed
        return any(map(bool, left)) or self.losses.changed

    # -- writing ------------------------------------------------------------------------------------------------

    def write(self, publications: Sequence[Sequence[Outgoing]] = (), batches: Sequence[Batch] = ()) -> bool:
        """All of this, what was left for later, and a step of retention, in one commit; True: that step found work."""
        due = self.retention.due()
        if not (publications or batches or due or self.pending()):
            return False
        written = sum(map(len, publications)) + sum(places(batch) for _, batch in batches)
        settled = batches[-1][0] + places(batches[-1][1]) - 1 if batches else self.settled
        reserved = self._reserved if settled + AHEAD // 2 < self._reserved else settled + AHEAD
        with transaction(self.db, undone=self.held.undo):
            step = self.retention.step(written) if due else NOTHING
            self.stream_floors.write(step.pruned)
            at_us = self.lifetime.now_us()
            more = self.published.add(chain.from_iterable(publications), at_us) if publications else 0
            if batches:
                self.events.add(batches)
            more -= self.later.write()
            self.subscriptions.write()
            if self.losses.changed:
                self._write_losses()
            if reserved != self._reserved:
                self._note("places", reserved)
            if step.floor:
                self._note("floor", step.floor)
            lived = self.lifetime.due()
            for name, value in lived.items():
                self._note(name, value)
        self.lifetime.noted(lived)
        self.published.outbox_bytes += more
        self.later.clear()
        self.subscriptions.clear()
        self.stream_floors.clear(step.pruned)
        self.losses.changed = False
        self.settled, self._reserved = max(self.settled, settled), reserved
        if step.deleted:
            self.floor = self.retention.floor = max(self.floor, step.floor)
            self.losses.forget(self.floor)
            self.pruned += step.pruned
            self.retention.again()
        return step.deleted

    def _write_losses(self) -> None:
        self.db.execute("DELETE FROM lost")
        write_rows(self.db, "INSERT INTO lost VALUES", 4, list(chain.from_iterable(self.losses.ranges())))

    def lose(self, ranges: Sequence[Lost]) -> None:
        """These events could not be kept: whoever reads past their places is told."""
        self.losses.extend(ranges)
        self.settled = max(self.settled, *(each.last for each in ranges))

    def give_up(self, gone: Stretch) -> dict[Key, int]:
        """Nobody has these any more: nobody is asked again. Which durable subscriptions lost them, and how many these
        have lost in all their lives."""
        self.stream_floors.rise([gone])
        rows = self.subscriptions.rows
        lost = [key for key, row in rows.items() if is_wanted(gone.topic, row.subtrees)]
        for key in lost:
            self.subscriptions.lose(key, gone.last + 1 - gone.first)
        return {key: rows[key].gone for key in lost}

    def tune(self, keep_s: float, keep_bytes: int, durable_bytes: int) -> None:
        self.held.durable_bytes = durable_bytes
        self.retention.tune(keep_s, keep_bytes)

    def tidy(self) -> None:
        """Deletes everything retention no longer covers."""
        self.retention.again()
        while self.write():
            pass

    # -- reading ------------------------------------------------------------------------------------------------

    def page(self, after: int, topics: Sequence[Topic], limit: int, limit_bytes: int) -> Page:
        if after >= self.settled:
            return Page([], after, [])
        start = max(after, self.floor)
        items, examined = self.events.page(start, self.settled, topics, max(1, limit), limit_bytes)
        gone = [Lost(each.place, each.place, ROOT, 1) for each in items if not each.sealed]
        lost = [*self.losses.between(start, examined, topics), *gone]
        if after < self.floor:
            lost.insert(0, Lost(after + 1, self.floor, ROOT, 0))
        return Page([each for each in items if each.sealed] if gone else items, examined, lost)

    def page_for(self, key: Key, after: int, topics: Sequence[Topic], limit: int, limit_bytes: int) -> tuple[Page, int]:
        """The same for a durable subscription, for which events are held below the floor; and how many of its events
        retention took, ever."""
        row = self.subscriptions.rows.get(key)
        gone = 0 if row is None else row.gone
        if after >= self.settled:
            return Page([], after, []), gone
        items, examined = self.events.page(after, self.settled, topics, max(1, limit), limit_bytes)
        return Page([each for each in items if each.sealed], examined, []), gone

    def find(self, ids: Iterable[EventId]) -> dict[EventId, bytes]:
        """Bodies of these events, of own publications that wait too."""
        bodies = {each: self.events.alone(each) or self.published.alone(each) for each in ids}
        return {each: body for each, body in bodies.items() if body}

    def close(self) -> None:
        """After this the places go on without a jump."""
        with suppress(sqlite3.Error), transaction(self.db):  # on a full disk they jump, which harms nobody
            self._note("places", self.settled)
            for name, value in self.lifetime.due().items():
                self._note(name, value)
        self._undo.close()
