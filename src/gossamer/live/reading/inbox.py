"""A reader's inbox: what fits waits in memory, the rest in the spool, and what not even that could keep is a Gap.

Offering never waits, so a slow reader never holds up the network. Once the memory is full nothing more is put into
it until the reader has caught up with the spool, so the order is that of the places throughout. A filter is asked
before an event takes up any room. Whoever must not miss anything names the subscription: see `durable_inbox.py`.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from gossamer.core.errors import GossamerError, Misuse, TransportDown
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy, Topic
from gossamer.live.reading.bookmarks import Bookmark
from gossamer.live.reading.deliveries import Delivery, Gap, read_delivery
from gossamer.live.reading.ordering import Order
from gossamer.live.spool.items import Page
from gossamer.wire.sealed import TooDeep

if TYPE_CHECKING:
    from gossamer.core.filters import Filter

NOT_OPEN = "a subscription is open inside `async with node.subscribe(…) as inbox:`: read from `inbox` there"
REFILL_ITEMS = 256
REFILL_BYTES = 4 << 20


class Shelf(Protocol):
    """The part of the spool an inbox reads."""

    async def read(self, after_place: int, topics: Sequence[Topic], limit: int, limit_bytes: int) -> Page: ...


class Inbox:
    """Events of one topic and its subtopics that match its filter, in the order they were delivered at this node.

    `async with node.subscribe(topic) as inbox: async for item in inbox: ...` gives `Delivery` and `Gap` items."""

    def __init__(
        self,
        topic: Topic,
        hierarchy: Hierarchy,
        shelf: Shelf | None,
        last_place: Callable[[], int],
        *,
        gave: Callable[[Delivery | Gap], None],
        entered: Callable[["Inbox"], Awaitable[None]],
        left: Callable[["Inbox"], None],
        filter: "Filter | None" = None,
        after: int | None = None,
        ordered: bool = False,
        recover: bool = True,
        counted: Pattern | None = None,
        items_max: int = 1000,
        bytes_max: int = 64 << 20,
    ) -> None:
        self.topic, self.hierarchy, self.shelf, self.last_place = topic, hierarchy, shelf, last_place
        self.filter, self.recover = filter, recover
        self.subtrees = [topic, *hierarchy.joined_below(topic)]
        self.behind = after
        "The place up to which the spool has been read; None: memory holds everything since."
        self.items_max, self.bytes_max = items_max, bytes_max
        self.memory: deque[Delivery | Gap] = deque()
        self.ready: deque[Delivery | Gap] = deque()
        self.size = 0
        self.spills = 0
        self.lost = 0
        self.order = Order(counted=counted) if ordered else None
        self._loop = asyncio.get_running_loop()
        self._wake: asyncio.Future[None] | None = None
        self._open = self._closed = False
        self._problem: GossamerError | None = None
        self._at_once = False
        self._gave, self._entered, self._left = gave, entered, left

    @property
    def where(self) -> str:
        """The filter, in its canonical form."""
        return "" if self.filter is None else self.filter.text

    # -- the node's side ----------------------------------------------------------------------------------------

    def wants(self, topic: Topic) -> bool:
        return self.hierarchy.includes(self.topic, topic)

    def offer(self, items: Sequence[Delivery]) -> None:
        """Takes events without ever waiting: all at once if there is nothing to look at, the usual case."""
        if self.behind is not None:
            return  # the reader is still reading the spool, where these stand too
        size = sum([len(item.payload) for item in items])
        has_room = len(self.memory) + len(items) <= self.items_max and self.size + size < self.bytes_max
        if self.filter is None and has_room and not self.lost:
            self.memory.extend(items)
            self.size += size
            self._notify()
            return
        for item in items:
            self._offer(item)

    def _offer(self, item: Delivery) -> None:
        if self.behind is not None:
            return
        if self.filter is not None and not self.filter.wants(item):
            self._pass_over(item)
        elif len(self.memory) < self.items_max and self.size < self.bytes_max:
            if self.lost:
                self._lose_no_more()
            self.memory.append(item)
            self.size += len(item.payload)
            self._notify()
        elif self.shelf is not None:
            self.spills += 1
            self.behind = item.place - 1
        else:
            self.lost += 1

    def offer_gap(self, gap: Gap) -> None:
        """Tells of events that have not come, unless the reader is busy with older ones: they may be there by then."""
        if self.behind is None and len(self.memory) < self.items_max:
            self.memory.append(gap)
            self._notify()

    def _pass_over(self, item: Delivery) -> None:
        """Nothing for this reader: nobody waits for it, and nobody need look at it again."""
        if self.order is not None:
            self.ready.extend(self.order.pass_over(item))
            if self.ready:
                self._notify()

    def _lose_no_more(self) -> None:
        self.memory.append(Gap(self.lost, "the reader was slower than the events, and there is no spool to wait in"))
        self.lost = 0

    def fail(self, problem: GossamerError, at_once: bool = False) -> None:
        """Ends the reader's loop with an error: once it has read what is there, unless that is not for it any more."""
        self._problem, self._at_once = problem, at_once
        self._notify()

    def close(self) -> None:
        """Ends the reader's loop once it has read what is there."""
        self._closed = True
        self._notify()

    def _notify(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    # -- the reader's side --------------------------------------------------------------------------------------

    async def __aenter__(self) -> "Inbox":
        await self._entered(self)
        self._open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        self._left(self)

    def __aiter__(self) -> "Inbox":
        self._check_open()
        return self

    def _check_open(self) -> None:
        if not self._open:
            raise Misuse(NOT_OPEN)

    def at_hand(self) -> bool:
        """Whether the next item is there without waiting."""
        return bool(self.ready or (self.memory and self.order is None))

    async def __anext__(self) -> Delivery | Gap:
        self._check_open()
        while True:
            if self._problem is not None and self._at_once:
                raise self._problem
            if self.ready:
                return self._hand(self.ready.popleft())
            if self.order is not None:
                self.ready.extend(self.order.due(self._loop.time()))
            elif self.memory:
                return self._hand(self._next())
            if self.ready:
                continue
            if self.memory and self.order is not None:
                self.ready.extend(self.order.offer(self._next(), self._loop.time()))
            elif self.behind is not None and not self._closed:
                await self._refill()
            elif self._problem is not None:
                raise self._problem
            elif self._closed:
                raise StopAsyncIteration
            else:
                await self._sleep()

    def _next(self) -> Delivery | Gap:
        item = self.memory.popleft()
        if isinstance(item, Delivery):
            self.size -= len(item.payload)
        if self.lost and not self.memory:
            self._lose_no_more()
        return item

    def _hand(self, item: Delivery | Gap) -> Delivery | Gap:
        if isinstance(item, Gap):
            self._gave(item)
        return item

    async def _sleep(self) -> None:
        self._wake = self._loop.create_future()
        patience_s = self.order.wait_s(self._loop.time()) if self.order is not None else None
        handle = self._loop.call_later(patience_s, self._notify) if patience_s is not None else None
        try:
            await self._wake
        finally:
            self._wake = None
            if handle is not None:
                handle.cancel()

    async def _refill(self) -> None:
        """Reads on in the spool; says what retention has removed meanwhile."""
        assert self.shelf is not None
        assert self.behind is not None
        page = await self.shelf.read(self.behind, self.subtrees, REFILL_ITEMS, REFILL_BYTES)
        if page.lost:
            lost = sum(each.events for each in page.lost)
            self.memory.append(Gap(lost, "the spool kept them no longer: give it a larger budget, or read faster"))
        for each in page.items:
            try:
                item = read_delivery(each.sealed, each.place, each.hops, False)
            except TooDeep:
                self.memory.append(Gap(1, "an event goes deeper than can be read from where this reader is called"))
                continue
            if self.filter is None or self.filter.wants(item):
                self.memory.append(item)
                self.size += len(item.payload)
            elif self.order is not None:
                self.ready.extend(self.order.pass_over(item))
        self.behind = None if page.examined >= self.last_place() else page.examined

    async def ack(self, *items: Delivery | Gap) -> None:
        """Only a named subscription remembers."""
        raise Misuse("only a named subscription remembers what was acknowledged: subscribe with name=…")

    async def bookmark(self) -> Bookmark:
        raise Misuse("only a named subscription has a position: subscribe with name=…")


def closed_inbox() -> TransportDown:
    return TransportDown("the node was closed: open another one to read on")
