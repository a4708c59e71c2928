"""One node per spool: a lock on a file beside it, held for life, which the system frees however the process ends."""

import os
import sys
from pathlib import Path

from gossamer.core.errors import Misuse

NAME = "spool.lock"

if sys.platform == "win32":
    import msvcrt

    FAR = 1 << 30
    "The byte that is locked: not one of those that name the holder, which others want to read."

    def _seize(handle: int) -> None:
        os.lseek(handle, FAR, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        os.lseek(handle, 0, os.SEEK_SET)
else:
    import fcntl

    def _seize(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


class Lock:
    """Held from construction to `release`."""

    def __init__(self, folder: Path) -> None:
        self._handle = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            _seize(self._handle)
        except OSError as refused:
            holder = os.read(self._handle, 32).decode(errors="replace").strip()
            os.close(self._handle)
            if not isinstance(refused, BlockingIOError | PermissionError):
                raise
            raise Misuse(
                f"the spool in {folder} belongs to another node that is running"
                f"{f' (process {holder})' if holder else ''}: stop that one, or give this node a folder of its own"
            ) from None
        os.truncate(self._handle, 0)
        os.write(self._handle, b"%d\n" % os.getpid())

    def release(self) -> None:
        os.close(self._handle)  # the file stays: to remove it would race with whoever locks it next
