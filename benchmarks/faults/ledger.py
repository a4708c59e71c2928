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
    return Following(path).lines()


class Following:
    """A ledger that is read again and again while it grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines: list[list[Any]] = []
        self._at = 0

    def lines(self) -> list[list[Any]]:
        """All whole ones there are by now."""
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self._at)
                new = file.read()
            whole = new[: new.rfind(b"\n") + 1]
            self._at += len(whole)
            self._lines += [line for line in map(decoded, whole.splitlines()) if line]
        return self._lines


def decoded(line: bytes) -> list[Any]:
    """Nothing, of what was torn off when its writer was killed."""
    try:
        return msgspec.json.decode(line, type=list[Any])
    except msgspec.DecodeError:
        return []
