"""A file that a running node keeps in its folder of keys. A thread writes it: the event loop never waits for a disk."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Lock

from gossamer.core.errors import Misuse
from gossamer.live.keys import files

log = logging.getLogger("gossamer.keys")


class KeptFile:
    """Only the newest content matters: what still waits to be written gives way to what comes."""

    def __init__(self, path: Path, what: str, pause_s: float = 0.0) -> None:
        self.path, self.what, self.pause_s = path, what, pause_s
        self._lock = Lock()
        self._waiting: Callable[[], bytes] | None = None
        self._thread = ThreadPoolExecutor(
            1, "gossamer-keys"
        )  # begins with the first write; finishes before the process
        self._last: Future[None] | None = None
        self._written_s = -pause_s
        self._told = False

    def keep(self, content: Callable[[], bytes]) -> None:
        """Asked for the content, by the thread, when it is written."""
        with self._lock:
            begin, self._waiting = self._waiting is None, content
        if begin:
            self._last = self._thread.submit(self._write)

    def settled(self) -> None:
        """Waits until everything asked for so far is on disk, or could not be written."""
        if self._last is not None:
            self._last.result()

    def _write(self) -> None:
        time.sleep(max(0.0, self._written_s + self.pause_s - time.monotonic()))
        with self._lock:
            content, self._waiting = self._waiting, None
        try:
            if content is not None:
                files.write(self.path, content())
            self._told = False
        except Misuse as trouble:  # it counts nevertheless, for as long as this process lives
            if not self._told:
                log.warning("%s is not kept: %s", self.what, trouble)
            self._told = True
        self._written_s = time.monotonic()
