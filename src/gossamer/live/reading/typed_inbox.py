"""An inbox of objects: the same items as of its topic, each event read as its type.

An object remembers its delivery beside its fields, so that any name is free for these, and equal objects are equal
however they came.
"""

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Protocol

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.topics import Topic, remember
from gossamer.core.typed import T, Typed, kinds_below, types_below
from gossamer.core.typed_payloads import check_filter, layout_of, read
from gossamer.live.reading.bookmarks import Bookmark
from gossamer.live.reading.deliveries import Delivery, Gap

if TYPE_CHECKING:
    from gossamer.core.filters import Filter

DELIVERY = "__delivery__"


class Unreadable(Struct, frozen=True):
    """An event whose payload is not what its type says: another program may have sent it, or another version."""

    delivery: Delivery
    why: str


class AnyInbox(Protocol):
    """Of a node or a client, durable or not."""

    async def __aenter__(self) -> Any: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def __aiter__(self) -> Any: ...

    async def __anext__(self) -> Delivery | Gap: ...

    async def ack(self, *items: Delivery | Gap) -> None: ...

    async def bookmark(self) -> Bookmark: ...


class TypedInbox(Generic[T]):
    """`async with node.subscribe(Sport) as inbox: async for item in inbox: …` gives objects, `Gap` and `Unreadable`."""

    def __init__(
        self, kind: type[T], filter: "Filter | None", inner: AnyInbox, above: Callable[[Topic], Iterable[Topic]]
    ) -> None:
        self.kind, self.inner, self._above = kind, inner, above
        self._kinds = kinds_below(kind)
        "What the program knew when it subscribed."
        self._read_as: dict[Topic, type[T]] = {}
        layout_of(kind)  # says what is wrong with it now, rather than of every event
        if filter is not None:
            check_filter(filter, kind, types_below(kind))

    async def __aenter__(self) -> "TypedInbox[T]":
        await self.inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.inner.__aexit__(kind, wrong, trace)

    def __aiter__(self) -> "TypedInbox[T]":
        self.inner.__aiter__()
        return self

    async def __anext__(self) -> T | Gap | Unreadable:
        item = await self.inner.__anext__()
        return item if isinstance(item, Gap) else self._object(item)

    def _object(self, delivery: Delivery) -> T | Unreadable:
        found = read(self._kind_of(delivery.topic), delivery.payload)
        if isinstance(found, str):
            return Unreadable(delivery, found)
        found.__dict__[DELIVERY] = delivery
        return found

    def _kind_of(self, topic: Topic) -> type[T]:
        """The type of a topic, or the nearest above that this program knows."""
        known = self._read_as.get(topic)
        if known is None:
            near = (self._kinds[each] for each in (topic, *self._above(topic)) if each in self._kinds)
            known = remember(self._read_as, topic, next(near, self.kind))
        return known

    async def ack(self, *items: T | Gap | Unreadable) -> None:
        """These are handled: when this returns it is on disk, and they do not come again."""
        await self.inner.ack(*map(_as_given, items))

    async def bookmark(self) -> Bookmark:
        """What is acknowledged, in a form with which the same subscription opens at another node."""
        return await self.inner.bookmark()


def delivery_of(item: Typed | Unreadable) -> Delivery:
    """The event an inbox gave as this object: its id, topic, place, and whether it was redelivered."""
    if isinstance(item, Unreadable):
        return item.delivery
    found = item.__dict__.get(DELIVERY) if isinstance(item, Typed) else None
    if not isinstance(found, Delivery):
        raise Misuse(f"this {type(item).__name__} came from no inbox: acknowledge, or ask about, what one gave you")
    return found


def _as_given(item: Typed | Gap | Unreadable) -> Delivery | Gap:
    return item if isinstance(item, Gap) else delivery_of(item)
