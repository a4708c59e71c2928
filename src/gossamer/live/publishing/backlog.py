"""Events that wait in the spool's outbox because memory is short, or since a former life: they go out page by page."""

import asyncio
from typing import TYPE_CHECKING, Protocol

from gossamer.core.ids import EventId
from gossamer.live.spool.items import Waiting

if TYPE_CHECKING:
    from gossamer.live.publishing.handover import HandOver

AT_ONCE = 1_000
AT_ONCE_BYTES = 4 << 20
"What is left to the spool, or read from there, at once."
PAGES_AT_ONCE = 4
"Such pages that are read before somebody must acknowledge something."


class Outbox(Protocol):
    """The part of the spool this needs."""

    def done(self, firsts: list[EventId]) -> None: ...
    async def outbox(self, limit: int, after: int = 0, limit_bytes: int = 0) -> list[Waiting]: ...


class Backlog:
    """Of one node."""

    def __init__(self, handover: "HandOver", spool: Outbox | None) -> None:
        self.handover, self.spool = handover, spool
        self.left = 0
        "How many, about."
        self.task: asyncio.Task[None] | None = None
        self._read_to = 0
        "Where to read on in the outbox. After its end it begins anew, if meanwhile"
        self._left_again = False
        "some was left there."

    def __bool__(self) -> bool:
        return self.left > 0 or self.task is not None

    def leave_one(self) -> None:
        """There is no room for an event any more; the spool has it."""
        self.left += 1
        self._left_again = True

    def look(self) -> None:
        """Somebody is there, or there is room."""
        if self.left and self.task is None:
            self.task = self.handover.loop.create_task(self._take_out())

    async def take_up(self, waiting: int) -> None:
        """So many events of a former life wait: as many as there is room for go out again."""
        self.left = waiting
        self.look()
        if self.task is not None:
            await asyncio.wait([self.task])

    async def _take_out(self) -> None:
        """What waits goes out, while there is room, and not all of it: memory may be full of what nobody takes."""
        assert self.spool is not None
        pages = PAGES_AT_ONCE
        while pages and self.handover.has_room():
            pages -= 1
            page = await self.spool.outbox(AT_ONCE, self._read_to, AT_ONCE_BYTES)
            if not page:
                self._read_to, self.left, self._left_again = 0, self.left if self._left_again else 0, False
                break
            under_way = self.handover.unacked.keys()
            rows = [each for each in page if not under_way >= {*each.ids}]
            self.left = max(1, self.left - sum([1 + each.more for each in rows]))
            self.handover.begin_again(rows)
            self._read_to = page[-1].number
        self.task = None
        if not self.handover.unacked:
            self.look()
        self.handover.changed()

    def close(self) -> None:
        self.left = 0  # that is for the next life
        if self.task is not None:
            self.task.cancel()
