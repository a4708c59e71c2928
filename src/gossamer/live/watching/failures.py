"""What nobody caught: an exception in a timer, a task, a callback or a thread of a node.

None of them ends the process, so each must be seen: it is logged, counted, and `/healthz` says no. A node's own work
tells them by its `WatchedLoop`. A daemon is the whole process: it also notices what the loop and other threads tell.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gossamer.live.watching.metrics import Metrics

log = logging.getLogger("gossamer.node")

TOLD_S = 60.0
"How long `/healthz` tells of a failure after which the work goes on. What has ended is told until a restart."


class Failures:
    """Those of one node, and in a daemon those of its process."""

    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self.ended = ""
        "What will not go on."
        self._last, self._last_s = "", -TOLD_S
        self._logged = Logged()

    def tell(self, what: str, wrong: BaseException, for_good: bool = False) -> None:
        what = sentence(what, wrong)
        self._logged.say(what, wrong)
        self.note(what, for_good)

    def note(self, what: str, for_good: bool = False) -> None:
        self.metrics.failures += 1
        self._last, self._last_s = what, time.monotonic()
        if for_good:
            self.ended = self.ended or what

    def told(self) -> str:
        """In one sentence, or nothing."""
        recent = self._last if time.monotonic() < self._last_s + TOLD_S else ""
        return self.ended or recent


@contextmanager
def noticed(all_of_them: Sequence[Failures]) -> Iterator[None]:
    """As long as this lasts, whatever fails in this loop or in a thread is noticed."""
    loop, logged = asyncio.get_running_loop(), Logged()
    before, threads_before = loop.get_exception_handler(), threading.excepthook

    def failed(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        wrong = context.get("exception")
        what = sentence(str(context.get("message") or "something failed"), wrong)
        logged.say(what, wrong)
        for each in all_of_them:
            each.note(what)

    def thread_failed(told: threading.ExceptHookArgs) -> None:
        what = sentence(f"the thread {told.thread.name if told.thread else '?'} has ended", told.exc_value)
        logged.say(what, told.exc_value)
        for each in all_of_them:
            each.note(what, for_good=True)

    loop.set_exception_handler(failed)
    threading.excepthook = thread_failed
    try:
        yield
    finally:
        loop.set_exception_handler(before)
        threading.excepthook = threads_before


class Logged:
    """What is wrong may be wrong many times a second: the same is logged once in a while, and counted each time."""

    def __init__(self) -> None:
        self._said: dict[str, float] = {}

    def say(self, what: str, wrong: BaseException | None) -> None:
        now_s = time.monotonic()
        if self._said.get(what, -TOLD_S) + TOLD_S <= now_s:
            self._said = {each: at_s for each, at_s in self._said.items() if at_s + TOLD_S > now_s} | {what: now_s}
            log.error("%s", what, exc_info=wrong)


def sentence(what: str, wrong: BaseException | None) -> str:
    first = what.splitlines()[0].rstrip(".:")
    return f"{first}: {type(wrong).__name__}: {wrong}"[:300] if wrong is not None else first[:300]
