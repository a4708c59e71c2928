"""Many publications under way at once, within bounds, so that neither end waits for the other's every answer."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias

from gossamer.core.errors import GossamerError
from gossamer.core.ids import EventId

WINDOW = 512
WINDOW_BYTES = 32 << 20

Publish: TypeAlias = Callable[[bytes], Awaitable[EventId]]


async def publish_all(publish: Publish, batches: AsyncIterator[list[bytes]], told: Callable[[EventId], None]) -> None:
    """Publishes everything that comes; the first refusal ends it, also while nothing comes."""
    in_flight = InFlight(publish, told)
    coming: asyncio.Future[list[bytes] | None]
    while not in_flight.failed.done():
        coming = asyncio.ensure_future(anext(batches, None))
        either: list[asyncio.Future[Any]] = [coming, in_flight.failed]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not coming.done():
            coming.cancel()
            break
        if (batch := coming.result()) is None:
            break
        for payload in batch:
            await in_flight.add(payload)
    await in_flight.end()


class InFlight:
    """Publications that are not answered yet, up to a number and a size."""

    def __init__(self, publish: Publish, told: Callable[[EventId], None]) -> None:
        self.publish, self.told = publish, told
        self.under_way = self.bytes = self.accepted = 0
        self.failed: asyncio.Future[GossamerError] = asyncio.get_running_loop().create_future()
        self._answer = asyncio.Event()

    async def add(self, payload: bytes) -> None:
        while self.under_way >= WINDOW or self.bytes >= WINDOW_BYTES:
            await self._next_answer()
        if self.failed.done():
            return
        try:
            answer = asyncio.ensure_future(self.publish(payload))
        except GossamerError as wrong:
            self._fail(wrong)
            return
        self.under_way += 1
        self.bytes += len(payload)
        answer.add_done_callback(partial(self._answered, len(payload)))

    def _answered(self, size: int, answer: "asyncio.Future[EventId]") -> None:
        self.under_way -= 1
        self.bytes -= size
        self._answer.set()
        if answer.cancelled():
            return
        match answer.exception():
            case None:
                self.accepted += 1
                self.told(answer.result())
            case GossamerError() as wrong:
                self._fail(wrong)
            case fault:
                raise fault

    def _fail(self, wrong: GossamerError) -> None:
        if not self.failed.done():
            self.failed.set_result(wrong)

    async def _next_answer(self) -> None:
        self._answer.clear()
        await self._answer.wait()

    async def end(self) -> None:
        """Waits for the answers that are still to come."""
        while self.under_way:
            await self._next_answer()
        if self.failed.done():
            wrong = self.failed.result()
            raise type(wrong)(f"{wrong} ({self.accepted} events before it were taken)" if self.accepted else str(wrong))
