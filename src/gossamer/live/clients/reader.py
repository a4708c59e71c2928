"""A client's inbox: what its node reads for it."""

import asyncio
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING

from gossamer.core.errors import GossamerError, Misuse
from gossamer.live.links.control import AHEAD_DURABLE, PLACES_MAX, Enough, Handled, Item, Mark, Read, Taken
from gossamer.live.reading.bookmarks import Bookmark
from gossamer.live.reading.deliveries import Delivery, Gap, read_delivery
from gossamer.live.reading.durable_inbox import LEFT, acknowledged
from gossamer.live.reading.inbox import NOT_OPEN

if TYPE_CHECKING:
    from gossamer.live.clients.client import Client

TAKEN_EVERY = 100
"Items after which the node is told that there is room for more; of a durable subscription, half of what may be sent."
UNNAMED = "only a named subscription remembers what was acknowledged: subscribe with name=…"


class Reader:
    """`async with`, `async for`; items are `Delivery` or `Gap`."""

    def __init__(self, client: "Client", read: Read) -> None:
        self.client, self.read = client, read
        self.items: deque[Delivery | Gap] = deque()
        self.problem: GossamerError | None = None
        self._taken_every = AHEAD_DURABLE // 2 if read.name else TAKEN_EVERY
        self._taken = 0
        self._open = False
        self._wake: asyncio.Future[None] | None = None
        self._handled: list[int] = []
        self._on_disk: asyncio.Future[None] | None = None
        "Acknowledgements of this turn of the loop, and who waits for them: they go in one message."

    async def __aenter__(self) -> "Reader":
        """A named subscription is on the node's disk when this returns."""
        self.client.readers[self.read.number] = self
        self._open = True
        try:
            self.client.say(self.read)
            if self.read.name:
                await self.client.reply_to(self.read.number)
        except BaseException:
            self.client.readers.pop(self.read.number, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.readers.pop(self.read.number, None)
        if self.client.is_attached:
            self._flush()
            self._tell()
            self.client.say(Enough(self.read.number))

    def __aiter__(self) -> "Reader":
        self._check_open()
        return self

    def _check_open(self) -> None:
        if not self._open:
            raise Misuse(NOT_OPEN)

    async def __anext__(self) -> Delivery | Gap:
        self._check_open()
        while not self.items:
            if self.problem is not None:
                raise self.problem
            self._wake = asyncio.get_running_loop().create_future()
            await self._wake
        self._taken += 1
        if self._taken >= self._taken_every:
            self._tell()
        return self.items.popleft()

    def heard(self, items: tuple[Item, ...], problem: GossamerError | None) -> None:
        for item in items:
            self.items.append(as_read(item))
        self.problem = problem or self.problem
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    def _tell(self) -> None:
        taken, self._taken = self._taken, 0
        if taken:
            self.client.say(Taken(self.read.number, taken))

    # -- a named subscription -----------------------------------------------------------------------------------

    def _check_named(self) -> None:
        if not self.read.name:
            raise Misuse(UNNAMED)
        self._check_open()
        if self.problem is not None:
            raise self.problem
        if self.client.readers.get(self.read.number) is not self:
            raise Misuse(LEFT)

    async def ack(self, *items: Delivery | Gap) -> None:
        """These are handled: when this returns it is on the node's disk, and they do not come again."""
        self._check_named()
        self._handled += acknowledged(items)
        if self._on_disk is None:
            loop = asyncio.get_running_loop()
            self._on_disk = loop.create_future()
            loop.call_soon(self._flush)
        await asyncio.shield(self._on_disk)  # others may wait for it too

    def _flush(self) -> None:
        waiting, self._on_disk = self._on_disk, None
        places, self._handled = self._handled, []
        if waiting is not None:
            sending = asyncio.ensure_future(self._acknowledge(places))
            sending.add_done_callback(lambda sent: pass_on(sent, waiting))

    async def _acknowledge(self, places: list[int]) -> None:
        pages = [tuple(places[start : start + PLACES_MAX]) for start in range(0, len(places), PLACES_MAX)]
        number = self.read.number
        await asyncio.gather(*(self.client.request(Handled(self.client.number(), number, page)) for page in pages))

    async def bookmark(self) -> Bookmark:
        """What is acknowledged, in a form with which the same subscription opens at another node."""
        self._check_named()
        reply = await self.client.request(Mark(self.client.number(), self.read.number))
        assert reply.bookmark is not None
        return reply.bookmark


def pass_on(sent: "asyncio.Future[None]", waiting: "asyncio.Future[None]") -> None:
    if waiting.done():
        return
    if sent.cancelled():
        waiting.cancel()
    elif (wrong := sent.exception()) is not None:
        waiting.set_exception(wrong)
    else:
        waiting.set_result(None)


def as_read(item: Item) -> Delivery | Gap:
    if item.lost:
        return Gap(item.lost, item.sealed.decode(errors="replace"), item.topic, item.publisher)
    return read_delivery(item.sealed, item.place, item.hops, item.redelivered)
