"""Old traces give way to new ones: those of one node, by age and by size.

A segment goes by itself. A journal is replayed from its first file on, so that of a former life goes as a whole, and
that of this life stays.
"""

import logging
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from gossamer.wire import journal, segment

log = logging.getLogger("gossamer.traces")


class Budget(Struct, frozen=True):
    """How much of a node's traces is kept."""

    keep_s: float
    keep_bytes: int


class Piece(Struct):
    """What goes together."""

    paths: list[Path]
    bytes: int
    written_s: float
    "When its newest file was."
    stays: bool


def prune(folder: Path, name: str, incarnation: int, budget: Budget, now_s: float) -> None:
    """Deletes what is too old, then the oldest until the rest fits. Files of other nodes are left alone."""
    pieces = sorted(pieces_of(folder, name, incarnation), key=lambda each: (each.written_s, each.paths))
    left = sum(each.bytes for each in pieces)
    for each in pieces:
        if not each.stays and (each.written_s < now_s - budget.keep_s or left > budget.keep_bytes):
            left -= each.bytes
            for path in each.paths:
                remove(path)


def pieces_of(folder: Path, name: str, incarnation: int) -> Iterator[Piece]:
    rows, steps = (segment.OPEN, segment.SEALED), (journal.OPEN, journal.SEALED)
    endings = "|".join(map(re.escape, (*rows, *steps)))
    ours = re.compile(rf"{re.escape(name)}-([0-9]+)-[0-9]+({endings})")
    journals: dict[str, Piece] = {}
    for path in folder.iterdir():
        if (found := ours.fullmatch(path.name)) is None:
            continue
        try:
            facts = path.stat()
        except OSError:  # gone meanwhile
            continue
        current, ending = found[1] == str(incarnation), found[2]
        if ending in steps:
            piece = journals.setdefault(found[1], Piece([], 0, 0.0, current))
            piece.paths.append(path)
            piece.bytes += facts.st_size
            piece.written_s = max(piece.written_s, facts.st_mtime)
        else:
            yield Piece([path], facts.st_size, facts.st_mtime, current and ending == segment.OPEN)
    yield from journals.values()


def remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as problem:
        log.warning("%s is too old to be kept, and could not be deleted: %s", path, problem.strerror)
