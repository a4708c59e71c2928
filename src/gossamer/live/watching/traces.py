"""The trace of a node: rows gathered while it works, one record per turn of its loop, in files sealed by a new name.

A record goes out in one write, so that SIGKILL costs the rows of a few turns and no more. In a live node a thread
touches the files, and a turn only hands bytes over. A disk that is full stops the trace, not the node: what could not
be written is counted, missed in `seq` by whoever reads, and tried again later.
"""

import builtins
import errno
import logging
import platform
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gossamer.core.errors import Misuse
from gossamer.core.events import Attribute
from gossamer.core.ids import EventId
from gossamer.core.trace import FULL_ONLY, KINDS, Head, Kind, Level
from gossamer.live.watching.appending import Appender
from gossamer.live.watching.pruning import Budget, prune
from gossamer.live.watching.scribe import Do
from gossamer.wire import values
from gossamer.wire.segment import OPEN, SEALED, opening, records
from gossamer.wire.values import Sealer

log = logging.getLogger("gossamer.traces")

SEGMENT_BYTES = 16 * 2**20
AGE_US = 600_000_000
PULSE_US = 1_000_000
"A node that had nothing to tell for so long tells that it is alive."
AGAIN_US = 1_000_000
"How long to wait after a write failed before the next is tried."
ROWS_MAX = 50_000
"Rows that may wait for the end of a turn; more are written at once."
DETAIL_MAX = 500
"Letters of a detail: it may quote a peer, and peers may talk without end."
OWN_WORDS = frozenset(("subscribe", "unsubscribe"))
"Whose detail is a filter of our own user's: judged by less than all of it, it would be another."

NOT_KEPT: dict[Level, frozenset[str]] = {
    "off": frozenset(KINDS),
    "deliveries": FULL_ONLY,
    "full": frozenset(),
    "journal": frozenset(),
}
FULL_DISK = (errno.ENOSPC, errno.EDQUOT)


def host() -> str:
    """This machine since it was switched on: nodes that give the same answer share a monotonic clock."""
    try:
        booted = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        booted = ""
    return f"{platform.node()} {booted}".strip()


def encoded(rows: list[tuple[Any, ...]]) -> bytes:
    """Rows as records; one that cannot be written, such as half a letter quoted from a peer, costs only itself."""
    try:
        return records(rows)
    except (ValueError, OverflowError):
        return b"".join(part for each in rows if (part := _alone(each)))


def _alone(row: tuple[Any, ...]) -> bytes:
    try:
        return records([row])
    except (ValueError, OverflowError):
        return b""


class SegmentWriter:
    """Writes the rows of one life of a node to `<node>-<incarnation>-<n>.open`, renamed to `.segment` when finished."""

    def __init__(
        self,
        folder: Path,
        head: Head,
        *,
        now_us: Callable[[], int],
        segment_bytes: int = SEGMENT_BYTES,
        age_us: int = AGE_US,
        budget: Budget | None = None,
        sealer: Callable[[], Sealer] | None,
        do: Do,
    ) -> None:
        """`sealer` makes one for each file, where attributes are sealed."""
        self.folder, self.head, self.budget = folder, head, budget
        self.seq = 0
        "The next row's number: rows that could not be written keep theirs."
        self.rows_written = 0
        self._rows_failed = self._rows_refused = 0
        "Rows the disk did not take, and rows that could not even wait for it."
        self._do = do
        self.now_us, self._segment_bytes, self._age_us = now_us, segment_bytes, age_us
        self._not_kept = NOT_KEPT[head.level]
        self._rows: list[tuple[Any, ...]] = []
        self._file = Appender(folder, head.name, head.node, head.incarnation, (OPEN, SEALED), 0o640)
        self._make_sealer = sealer
        self._sealer: Sealer | None = None
        self._given_bytes = 0
        self._began_us: int | None = None
        self._begin_file()
        self._wrote_us = now_us()
        self._again_us: int | None = None
        if head.level != "off":
            self._make_folder()
            self._do(self._prune)

    @property
    def rows_lost(self) -> int:
        return self._rows_failed + self._rows_refused

    def row(
        self,
        kind: Kind,
        at_us: int,
        peer: int | None = None,
        topic: str | None = None,
        publisher: int | None = None,
        incarnation: int | None = None,
        sequence: int | None = None,
        hops: int | None = None,
        bytes: int | None = None,
        detail: str | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        """Remembers a row for the end of this turn, if the level keeps its kind. `attributes` of the event it is about,
        as far as the head lets them be told."""
        if kind in self._not_kept:
            return
        if detail is not None and kind not in OWN_WORDS:
            detail = detail[:DETAIL_MAX]
        rows = self._rows
        # A tuple is encoded as a Row is, and costs half as much to make.
        row = (self.seq, at_us, kind, peer, topic, publisher, incarnation, sequence, hops, bytes, detail)
        if attributes is not None and self.head.values in ("plain", "sealed"):
            event = EventId(publisher or 0, incarnation or 0, sequence or 0)
            row = (*row, self._told(event, attributes))  # type: ignore[assignment]
        rows.append(row)
        self.seq += 1
        if len(rows) >= ROWS_MAX:
            self.tick(at_us)

    def _told(self, event: EventId, attributes: Mapping[str, Attribute]) -> builtins.bytes | None:
        data = values.encoded(attributes)
        return data if data is None or self._sealer is None else self._sealer.seal(self.seq, event, data)

    def tick(self, now_us: int | None = None) -> None:
        """The turn is over: what it left goes to the file. To be called once a second even if nothing happens."""
        now = self.now_us() if now_us is None else now_us
        if not self._rows:
            if now - self._wrote_us < PULSE_US:
                return
            self.row("alive", now)
        rows, self._rows = self._rows, []
        if rows:
            data, head, self._wrote_us = encoded(rows), self.head, now
            if self._began_us is None:
                self._began_us = now
            if not self._do(lambda: self._write(data, len(rows), head, now), len(data)):
                self._rows_refused += len(rows)
            elif self._holds(len(data)) >= self._segment_bytes or now - self._began_us >= self._age_us:
                self._end_file()
                self._do(self._prune)

    def keep(self, level: Level) -> None:
        """Another level from now on: in another segment, since a head holds for all of its rows."""
        if level == self.head.level:
            return
        self.tick()
        self.head = replace(self.head, level=level)
        self._end_file()
        self._not_kept = NOT_KEPT[level]
        if level != "off":
            self._make_folder()

    def close(self) -> None:
        """Writes what is left and seals the file; the writer may be used on, in another."""
        self._do(self._hurry)
        self.tick()
        self._end_file()

    def _begin_file(self) -> None:
        """What follows goes into another file, under a head of its own."""
        self._given_bytes, self._began_us = 0, None
        if self._make_sealer is not None:
            self._sealer = self._make_sealer()
            self.head = replace(self.head, sealed_to=self._sealer.sealed_to, sealed_by=self._sealer.sealed_by)

    def _end_file(self) -> None:
        self._do(self._file.seal)
        self._begin_file()

    def _holds(self, more: int) -> int:
        """Bytes of the file, once these are in it too."""
        self._given_bytes += more
        return self._given_bytes

    # -- whatever touches files ---------------------------------------------------------------------------------

    def _hurry(self) -> None:
        if self._again_us is not None:
            self._again_us = 0  # a last try, however soon

    def _write(self, data: bytes, rows: int, head: Head, now: int) -> None:
        if self._again_us is not None and now < self._again_us:
            self._rows_failed += rows
            return
        try:
            self._file.append(data, lambda: opening(head))
        except OSError as problem:
            self._fail(problem, rows, now)
            return
        self.rows_written += rows
        if self._again_us is not None:
            self._again_us = None
            log.warning("traces are written to %s again; %d rows are lost so far", self.folder, self.rows_lost)

    def _prune(self) -> None:
        if self.budget is not None:
            try:
                prune(self.folder, self._file.owner, self.head.incarnation, self.budget, self.now_us() / 1e6)
            except OSError as problem:
                log.warning("old traces in %s could not be looked at: %s", self.folder, problem.strerror)

    def _fail(self, problem: OSError, rows: int, now: int) -> None:
        self._rows_failed += rows
        if self._again_us is None:
            log.warning("traces cannot be written to %s (%s): the node goes on without", self.folder, problem.strerror)
        self._again_us = now + AGAIN_US

    def _make_folder(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            if problem.errno not in FULL_DISK:
                raise Misuse(
                    f"cannot make the folder for traces {self.folder}: {problem.strerror}; "
                    "name another, or set the level of traces to off"
                ) from None
