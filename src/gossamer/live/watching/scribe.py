"""A thread that writes down what a node must not wait for: its trace and its journal, in the order they were given."""

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Protocol

from gossamer.live.watching.watched_loop import WatchedLoop

WAITING_BYTES_MAX = 16 << 20
"What may wait for a slow disk; more is not taken."


class Do(Protocol):
    """Does something now or soon, in order; False: too much waits already, and this never happens."""

    def __call__(self, job: Callable[[], object], size: int = 0) -> bool: ...


class Writing(Protocol):
    """Whoever does such things."""

    def do(self, job: Callable[[], object], size: int = 0) -> bool: ...

    def settled(self) -> None:
        """Waits until everything given so far is done."""


def at_once(job: Callable[[], object], size: int = 0) -> bool:
    job()
    return True


class AtOnce:
    """Where nobody waits: outside a running node."""

    def do(self, job: Callable[[], object], size: int = 0) -> bool:
        return at_once(job)

    def settled(self) -> None:
        """It is done already."""


class Scribe:
    """One node's. It begins with the first job, and ends when it is closed: what waits is written before."""

    def __init__(self, loop: WatchedLoop) -> None:
        self._loop = loop
        self._jobs: SimpleQueue[tuple[Callable[[], object], int] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._given = self._done = 0
        "Bytes: the one counted by whoever gives, the other by the thread."

    def do(self, job: Callable[[], object], size: int = 0) -> bool:
        waiting = self._given - self._done
        if size and waiting and waiting + size > WAITING_BYTES_MAX:
            return False
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="gossamer-traces", daemon=True)
            self._thread.start()
        self._given += size
        self._jobs.put((job, size))
        return True

    def settled(self) -> None:
        """Waits until everything given so far is done."""
        if self._thread is not None:
            done = threading.Event()
            self._jobs.put((done.set, 0))
            done.wait()

    def close(self) -> None:
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        while (given := self._jobs.get()) is not None:
            job, size = given
            try:
                job()
            except Exception as wrong:
                self._tell("a trace could not be written", wrong)
            self._done += size

    def _tell(self, what: str, wrong: BaseException) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody is left to be told
            self._loop.call_soon_threadsafe(self._loop.failed, what, wrong)
