"""Files a node appends records to: one at a time, `<node>-<incarnation>-<n>`, given another ending once finished.

Every append is one write, all or nothing: a record cut short in the middle of a file would hide all that follow.
"""

import errno
import logging
import os
import re
from collections.abc import Callable
from pathlib import Path

log = logging.getLogger("gossamer.traces")

PLAIN = re.compile(r"\w[\w.-]{0,63}")
"Names that are safe as names of files; of a node with another name, the number is used."


class Appender:
    """The file being written, if there is one, and the names of those to come."""

    def __init__(
        self, folder: Path, name: str, node: int, incarnation: int, endings: tuple[str, str], mode: int
    ) -> None:
        self.folder = folder
        self.owner = name if PLAIN.fullmatch(name) else str(node)
        self.stem = f"{self.owner}-{incarnation}"
        self.open_ending, self.sealed_ending = endings
        self.mode = mode
        self.path = folder
        self.bytes = self.number = 0
        self._file: int | None = None

    @property
    def is_open(self) -> bool:
        return self._file is not None

    def append(self, data: bytes, opening: Callable[[], bytes]) -> None:
        """Adds data to the file, or to a new one that begins with `opening`. OSError: nothing was added."""
        if self._file is None:
            self._open()
        try:
            self._write(data if self.bytes else opening() + data)
        except OSError:
            if not self.bytes:
                self._remove()
            raise

    def seal(self) -> None:
        """The file is finished: it gets its other name, and what follows goes into another."""
        if self._file is None:
            return
        os.close(self._file)
        self._file, self.bytes = None, 0
        try:
            self.path.rename(self.path.with_suffix(self.sealed_ending))
        except OSError as problem:  # it can be read as it is
            log.warning("%s could not be sealed: %s", self.path, problem.strerror)

    def _write(self, data: bytes) -> None:
        assert self._file is not None
        if os.write(self._file, data) < len(data):
            os.ftruncate(self._file, self.bytes)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.bytes += len(data)

    def _open(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)  # gone since, or never made: the disk was full
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        while True:
            path = self.folder / f"{self.stem}-{self.number}{self.open_ending}"
            self.number += 1
            if not path.with_suffix(self.sealed_ending).exists():
                try:
                    self._file = os.open(path, flags, self.mode)
                except FileExistsError:  # somebody else's: two nodes of one name
                    continue
                self.path, self.bytes = path, 0
                return

    def _remove(self) -> None:
        """A file without even a head."""
        assert self._file is not None
        os.close(self._file)
        self._file = None
        self.path.unlink(missing_ok=True)
        self.number -= 1
