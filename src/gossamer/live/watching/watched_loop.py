"""The event loop as the parts of a node use it. A node may live in the loop of a user's program, whose exception
handler is not ours to replace: what nobody caught in the node's own tasks and timers goes to the node instead."""

import asyncio
from asyncio import Future, Handle, Task, TimerHandle
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from gossamer.live.watching.failures import Failures

T = TypeVar("T")
Do = Callable[..., object]


class WatchedLoop:
    """One node's."""

    def __init__(self, noting: Failures) -> None:
        self._loop, self._noting = asyncio.get_running_loop(), noting
        self.time = self._loop.time

    def create_future(self) -> "Future[Any]":
        return self._loop.create_future()

    def create_task(self, work: Coroutine[Any, Any, T]) -> "Task[T]":
        task = self._loop.create_task(work)
        task.add_done_callback(self._over)
        return task

    def call_soon(self, do: Do, *given: Any) -> Handle:
        return self._loop.call_soon(self._do, do, given)

    def call_later(self, delay_s: float, do: Do, *given: Any) -> TimerHandle:
        return self._loop.call_later(delay_s, self._do, do, given)

    def call_at(self, when_s: float, do: Do, *given: Any) -> TimerHandle:
        return self._loop.call_at(when_s, self._do, do, given)

    def call_soon_threadsafe(self, do: Do, *given: Any) -> Handle:
        return self._loop.call_soon_threadsafe(self._do, do, given)

    def when_done(self, future: "Future[T]", do: "Callable[[Future[T]], object]") -> None:
        future.add_done_callback(lambda done: self._do(do, (done,)))

    def failed(self, what: str, wrong: BaseException, for_good: bool = False) -> None:
        """Somebody noticed it, and there is nothing to be done about it but to tell; `for_good`: the work has ended."""
        self._noting.tell(what, wrong, for_good)

    def _do(self, do: Do, given: tuple[Any, ...]) -> None:
        try:
            do(*given)
        except Exception as wrong:
            self.failed(f"{named(do)} failed", wrong)

    def _over(self, task: "Task[Any]") -> None:
        if not task.cancelled() and (wrong := task.exception()) is not None:
            self.failed(f"{named(task.get_coro())} failed", wrong)


def named(work: object) -> str:
    return str(getattr(work, "__qualname__", type(work).__name__))
