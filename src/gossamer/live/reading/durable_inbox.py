"""A reader of a durable subscription: what it is given is its own until it acknowledges, or goes."""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType

from gossamer.core.errors import GossamerError, Misuse
from gossamer.core.topics import Topic
from gossamer.live.reading.bookmarks import Bookmark
from gossamer.live.reading.deliveries import Delivery, Gap
from gossamer.live.reading.feed import DurableFeed
from gossamer.live.reading.inbox import NOT_OPEN
from gossamer.live.reading.turns import ReaderId

LEFT = "acknowledge inside `async with`: what was not acknowledged there comes again, marked, to the next reader"


class DurableInbox:
    """`async with node.subscribe(topic, name=…) as inbox: async for item in inbox: …; await inbox.ack(item)`.

    Several may be open at once under one name, in this process or at clients: they share the work."""

    def __init__(self, topic: Topic, name: str, enter: Callable[[], Awaitable[DurableFeed]]) -> None:
        self.topic, self.name = topic, name
        self._enter = enter
        self._feed: DurableFeed | None = None
        self._reader: ReaderId = 0
        self._left = False
        self._problem: GossamerError | None = None

    async def __aenter__(self) -> "DurableInbox":
        """When this returns the subscription is on disk: it gets everything published from then on."""
        self._feed = await self._enter()
        self._reader, self._left = self._feed.join(), False
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left = True
        await self._open().leave(self._reader)

    def _open(self) -> DurableFeed:
        if self._feed is None:
            raise Misuse(NOT_OPEN)
        return self._feed

    def __aiter__(self) -> "DurableInbox":
        self._open()
        return self

    def fail(self, problem: GossamerError, at_once: bool = True) -> None:
        """Ends this reader's loop with an error; the subscription stays as it is."""
        self._problem = problem
        if self._feed is not None:
            self._feed.wake()

    def at_hand(self) -> bool:
        """Whether the next item is there, and nobody else could take it first."""
        feed = self._open()
        return len(feed.sub.readers) == 1 and feed.first(self._reader) is not None

    async def __anext__(self) -> Delivery | Gap:
        feed = self._open()
        if len(feed.sub.readers) > 1:
            await asyncio.sleep(0)  # each in turn: nobody takes all there is before others have looked
        while True:
            if (problem := self._problem or feed.problem) is not None:
                raise problem
            if self._left or self._reader not in feed.sub.readers:
                raise StopAsyncIteration
            if (item := feed.take(self._reader)) is not None:
                return item
            await feed.wait(self._reader)

    async def ack(self, *items: Delivery | Gap) -> None:
        """These are handled: when this returns it is on disk, and they do not come again."""
        feed, places = self._open(), acknowledged(items)
        if self._left:
            raise Misuse(LEFT)
        await feed.ack(places)

    async def ack_places(self, places: tuple[int, ...]) -> None:
        """The same, as a client says it."""
        await self._open().ack(places)

    def give_back(self, places: list[int]) -> None:
        """Items that were sent to a client, and that it did not look at."""
        self._open().give_back(self._reader, places)

    async def bookmark(self) -> Bookmark:
        """What is acknowledged, in a form with which the same subscription opens at another node."""
        return self._open().bookmark()


def acknowledged(items: tuple[Delivery | Gap, ...]) -> list[int]:
    """The places of what was handled; a Gap needs no acknowledgement."""
    for item in items:
        if not isinstance(item, Delivery | Gap):
            raise Misuse(
                f"acknowledge items the inbox gave you, as in `await inbox.ack(item)`, not {type(item).__name__}"
            )
    return [item.place for item in items if isinstance(item, Delivery)]
