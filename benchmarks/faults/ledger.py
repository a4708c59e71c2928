"""What one process did, in its own words: a line each, appended with one write, so that SIGKILL loses none that was
written and tears at most the last."""

import os
from pathlib import Path
from typing import Any

import msgspec

LIFE, UP, OPEN, LEFT, NUMBERS = "life", "up", "open", "left", "numbers"
TRYING, PUBLISHED, REFUSED, HANDED, DONE = "trying", "published", "refused", "handed", "done"
GOT, ACKED, GAP = "got", "acked", "gap"
BROKEN = "broken"


class Ledger:
    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(self._file, b"\n")  # a former life may have been torn off in the midst of a line

    def write(self, what: str, *about: Any) -> None:
        os.write(self._file, msgspec.json.encode([what, *about]) + b"\n")


def read(path: Path) -> list[list[Any]]:
    """All whole lines."""
    found: list[list[Any]] = []
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        try:
            found.append(msgspec.json.decode(line, type=list[Any]))
        except msgspec.DecodeError:
            continue
    return found
