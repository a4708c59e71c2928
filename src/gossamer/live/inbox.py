"""A reader's inbox: what fits waits in memory, the rest in the spool, and what not even that could keep is a Gap.

Offering never waits, so a slow reader never holds up the network. Once the memory is full nothing more is put into
it until the reader has caught up with the spool, so the order is that of the places throughout. A filter is asked
before an event takes up any room; a cursor moves past what it turns away.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from gossamer.core.errors import GossamerError, Misuse, TransportDown
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy, Topic
from gossamer.live.deliveries import Delivery, Gap, read_delivery
from gossamer.live.ordering import Order
from gossamer.live.spool.items import Page
from gossamer.wire.sealed import TooDeep

if TYPE_CHECKING:
    from gossamer.core.filters import Filter

REFILL_ITEMS = 256
REFILL_BYTES = 4 << 20


class Shelf(Protocol):
    """The part of the spool an inbox reads."""

    async def read(self, after_place: int, topics: Sequence[Topic], limit: int, limit_bytes: int) -> Page: ...
    def advance(self, name: str, acked: int, offered: int) -> None: ...


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
        filter: "Filter | None" = None,
        name: str = "",
        after: int | None = None,
        offered: int = 0,
        ordered: bool = False,
        recover: bool = True,
        counted: Pattern | None = None,
        items_max: int = 1000,
        bytes_max: int = 64 << 20,
        gave: Callable[[Delivery | Gap], None] | None = None,
        entered: Callable[["Inbox"], Awaitable[None]] | None = None,
        left: Callable[["Inbox"], None] | None = None,
    ) -> None:
        self.topic, self.hierarchy, self.shelf, self.last_place = topic, hierarchy, shelf, last_place
        self.filter, self.name, self.recover = filter, name, recover
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
        self.handed = 0
        "The highest place given to the reader."
        self._offered_before = offered
        self._outstanding: dict[int, bool] = {}
        "Places on their way to the reader, or with it, and whether it acknowledged them."
        self._passed = 0
        "The highest place known to hold nothing for this reader."
        self._loop = asyncio.get_running_loop()
        self._wake: asyncio.Future[None] | None = None
        self._closed = False
        self._problem: GossamerError | None = None
        self._gave, self._entered, self._left = gave, entered, left

    def resume(self, acked: int, offered: int) -> None:
        """A named subscription that was here before goes on behind what it acknowledged."""
        self.behind, self.handed, self._offered_before = acked, acked, offered

    def begin(self, place: int) -> None:
        """A named subscription that is new begins here, unless it asked for everything."""
        if self.behind is None:
            self.handed = place

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
        if self.filter is not None and not self.filter.matches(item.attributes):
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
        self._examined(item.place)

    def _examined(self, place: int) -> None:
        """Up to this place there is nothing for a named subscription beyond what is on its way to the reader."""
        self._passed = place
        if self.name and self.shelf is not None and not self._outstanding and not self.memory:
            self.shelf.advance(self.name, self._acked_to(), self.handed)

    def _lose_no_more(self) -> None:
        self.memory.append(Gap(self.lost, "the reader was slower than the events, and there is no spool to wait in"))
        self.lost = 0

    def fail(self, problem: GossamerError) -> None:
        """Ends the reader's loop with an error."""
        self._problem = problem
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
        if self._entered is not None:
            await self._entered(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if self._left is not None:
            self._left(self)

    def __aiter__(self) -> "Inbox":
        return self

    def at_hand(self) -> bool:
        """Whether the next item is there without waiting."""
        return bool(self.ready or (self.memory and self.order is None))

    async def __anext__(self) -> Delivery | Gap:
        while True:
            if self.ready:
                return self._hand(self.ready.popleft())
            if self.order is not None:
                self.ready.extend(self.order.due(self._loop.time()))
            elif self.memory:
                return self._hand(self._next())
            if self.ready:
                continue
            if self.memory and self.order is not None:
                item = self._next()
                self._is_outstanding(item)
                self.ready.extend(self.order.offer(item, self._loop.time()))
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

    def _is_outstanding(self, item: Delivery | Gap) -> None:
        if self.name and isinstance(item, Delivery):
            self._outstanding[item.place] = False

    def _hand(self, item: Delivery | Gap) -> Delivery | Gap:
        if self._gave is not None and (isinstance(item, Gap) or item.redelivered):
            self._gave(item)
        if self.name and isinstance(item, Delivery):
            self.handed = max(self.handed, item.place)
            self._is_outstanding(item)
            if self.shelf is not None:
                self.shelf.advance(self.name, self._acked_to(), self.handed)
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
                item = read_delivery(each.sealed, each.place, each.hops, each.place <= self._offered_before)
            except TooDeep:
                self.memory.append(Gap(1, "an event goes deeper than can be read from where this reader is called"))
                continue
            if self.filter is None or self.filter.matches(item.attributes):
                self.memory.append(item)
                self.size += len(item.payload)
            elif self.order is not None:
                self.ready.extend(self.order.pass_over(item))
        self._examined(page.examined)
        self.behind = None if page.examined >= self.last_place() else page.examined

    async def ack(self, item: Delivery | Gap) -> None:
        """A named subscription goes on behind what was acknowledged, after a restart too."""
        if not self.name:
            raise Misuse("only a named subscription remembers what was acknowledged: subscribe with name=…")
        if isinstance(item, Gap):
            return
        self.ack_place(item.place)

    def ack_place(self, place: int) -> None:
        if place in self._outstanding:
            self._outstanding[place] = True
            while self._outstanding and self._outstanding[next(iter(self._outstanding))]:
                del self._outstanding[next(iter(self._outstanding))]
        if self.shelf is not None:
            self.shelf.advance(self.name, self._acked_to(), self.handed)

    def _acked_to(self) -> int:
        """Everything up to here is done with. Places come in order unless the reader asked for another one."""
        if not self._outstanding:
            if not self.memory:
                self.handed = max(self.handed, self._passed)
            return self.handed
        return (min(self._outstanding) if self.order is not None else next(iter(self._outstanding))) - 1


def closed_inbox() -> TransportDown:
    return TransportDown("the node was closed: open another one to read on")
