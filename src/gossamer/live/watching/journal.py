"""The journal of a node: what its machine is given is written down, and a digest of what it answers.

Encoded before the step, so that nothing the step does can change it; handed over at the end of the turn in one record,
and written by a thread. If the step raises, that is waited for. A journal with a hole is of no use, so the first entry
that cannot be written is its end; the node goes on.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from msgspec import Raw
from msgspec.structs import replace

from gossamer.core.ids import peer_of
from gossamer.core.machine import Effect, Given
from gossamer.core.topics import Topic, remember
from gossamer.live.config.config import Config
from gossamer.live.watching.appending import Appender
from gossamer.live.watching.scribe import Writing
from gossamer.protocols.hpmcast.addresses import Address
from gossamer.wire.journal import (
    OPEN,
    SEALED,
    SETTINGS,
    Head,
    Settings,
    digest,
    encoded,
    entry,
    kind_of,
    opening,
    record,
    software,
)

log = logging.getLogger("gossamer.traces")

FILE_BYTES = 64 * 2**20
TURN_BYTES = 4 * 2**20
"A turn that has more to say writes several records."

Spell: TypeAlias = Callable[[Topic], str]


def open_journal(
    config: Config,
    name: str,
    incarnation: int,
    seed: int,
    in_force: Callable[[], Settings],
    granted: Address,
    scribe: Writing,
) -> "Journal | None":
    """A journal of the node with these settings, if they ask for one; `in_force` tells what its machine goes by now."""
    if config.trace.folder is None or config.trace.level != "journal":
        return None
    head = Head(
        network=config.network,
        name=name,
        node=peer_of(name),
        incarnation=incarnation,
        seed=seed,
        parents=config.hierarchy.order().further,
        settings=Settings(config.camcast, config.topics, config.scamp, config.recovery, config.recovery_topics),
        search=config.search,
        catchup=config.catching_up,
        design=config.design_at(granted),
        gossamer=software(),
    )
    return Journal(config.trace.folder, head, in_force, scribe)


class Journal:
    """Writes one life of a node to `<node>-<incarnation>-<n>.journaling`, renamed to `.journal` when finished."""

    def __init__(
        self,
        folder: Path,
        head: Head,
        in_force: Callable[[], Settings],
        scribe: Writing,
        file_bytes: int = FILE_BYTES,
    ) -> None:
        self.head = head
        self.over = self._failed = False
        self._scribe = scribe
        self._do = scribe.do
        self._in_force, self._file_bytes = in_force, file_bytes
        self._settings = head.settings
        self._file = Appender(folder, head.name, head.node, head.incarnation, (OPEN, SEALED), 0o600)
        self._entries: list[bytes] = []
        self._bytes = self._steps = self._steps_given = 0
        self._given: tuple[int, str, Raw] | None = None
        self._spelled: dict[Topic, str] = {}
        self._spellings: dict[Topic, str] = {}

    def noting(self, spell: Spell) -> Spell:
        """The same answers; those the machine gets for the first time are written down with its step."""

        def answer(topic: Topic) -> str:
            spelled = spell(topic)
            if self._spellings.get(topic) != spelled:
                self._spelled[topic] = remember(self._spellings, topic, spelled)
            return spelled

        return answer

    def given(self, at_us: int, given: Given) -> None:
        """A step begins."""
        self.effects([])  # of the step before: one without effects says nothing
        if self.over:
            return
        self._look_at_settings(at_us)
        try:
            self._given = at_us, kind_of(given), encoded(given)
        except (ValueError, OverflowError, TypeError) as wrong:
            self.tick()
            self._end(f"{type(given).__name__} cannot be written ({wrong})")

    def effects(self, effects: list[Effect]) -> None:
        """What the step under way, if there is one, came to."""
        if self._given is not None:
            self._finish(len(effects), digest(effects) if effects else b"")

    def raised(self, wrong: BaseException) -> None:
        """The step under way came to nothing: its cause must not be lost, whatever happens now."""
        if self._given is not None:
            self._finish(None, b"", f"{type(wrong).__name__}: {wrong}".encode(errors="replace").decode())
            self.tick()
            self._scribe.settled()

    def tick(self) -> None:
        """The turn is over."""
        self.effects([])
        entries, self._entries, self._bytes = self._entries, [], 0
        if not entries or self.over:
            return
        data, head = record(entries), replace(self.head, step=self._steps_given)
        self._steps_given = self._steps
        if not self._do(lambda: self._write(data, head), len(data)):
            self._end(f"{self._file.folder} takes it too slowly")

    def close(self) -> None:
        self.tick()
        self._do(self._file.seal)
        self.over = True

    def _write(self, data: bytes, head: Head) -> None:
        """Where files are touched."""
        if self._failed:
            return
        try:
            self._file.append(data, lambda: opening(head))
        except OSError as problem:
            self._failed = True
            self._end(f"it cannot be written to {self._file.folder} ({problem.strerror})")
            return
        if self._file.bytes >= self._file_bytes:
            self._file.seal()

    def _finish(self, effects: int | None, digest: bytes, error: str = "") -> None:
        assert self._given is not None
        at_us, kind, given = self._given
        spelled, self._given, self._spelled = self._spelled, None, {}
        self._steps += 1
        self._add(entry(at_us, kind, given, effects, digest, spelled, error))

    def _look_at_settings(self, at_us: int) -> None:
        before, self._settings = self._settings, self._in_force()
        if self._settings is not before and self._settings != before:
            self._add(entry(at_us, SETTINGS, encoded(self._settings), 0, b""))

    def _add(self, data: bytes) -> None:
        self._entries.append(data)
        self._bytes += len(data)
        if self._bytes >= TURN_BYTES:
            self.tick()

    def _end(self, why: str) -> None:
        log.warning("the journal of %s ends after %d steps: %s; the node goes on", self.head.name, self._steps, why)
        self.over = True
        self._do(self._file.seal)
