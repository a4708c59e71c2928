"""What `publish` returns. The event is on its way whether or not anybody waits, but only who waits knows that it is
spooled: who forgets to is told so, as with a coroutine that was never awaited."""

import asyncio
import warnings
from collections.abc import Callable, Generator
from typing import Any

from gossamer.core.ids import EventId

FORGOTTEN = "the result of publish() was never awaited: nobody knows whether the event was accepted"


class Accepted(asyncio.Future[EventId]):
    """Done once the event is spooled; its id."""

    _awaited = False

    def __await__(self) -> Generator[Any, None, EventId]:
        self._awaited = True
        return super().__await__()

    __iter__ = __await__

    def add_done_callback(self, fn: Callable[[Any], object], **context: Any) -> None:
        """`asyncio.gather` and its like wait so."""
        self._awaited = True
        super().add_done_callback(fn, **context)

    def result(self) -> EventId:
        self._awaited = True
        return super().result()

    def exception(self) -> BaseException | None:
        self._awaited = True
        return super().exception()

    def __del__(self) -> None:
        if not self._awaited and not self.cancelled():
            warnings.warn(FORGOTTEN, RuntimeWarning, stacklevel=2, source=self)
        super().__del__()


def following(first: "asyncio.Future[EventId]") -> Accepted:
    """Comes to the same end; whoever stops waiting for this one does not stop that one."""
    accepted = Accepted(loop=first.get_loop())

    def pass_on(first: "asyncio.Future[EventId]") -> None:
        if accepted.done():
            return
        if first.cancelled():
            accepted.cancel()
        elif (wrong := first.exception()) is not None:
            accepted.set_exception(wrong)
        else:
            accepted.set_result(first.result())

    first.add_done_callback(pass_on)
    return accepted


def refused(why: Exception) -> Accepted:
    """It is over already: whoever awaits it is told why."""
    accepted = Accepted(loop=asyncio.get_running_loop())
    accepted.set_exception(why)
    return accepted
