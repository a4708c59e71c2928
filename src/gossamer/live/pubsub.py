"""Publishing and subscribing, as a node and a client offer them alike: by topic, or by type."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack, overload

from gossamer.core.errors import Misuse
from gossamer.core.events import Attribute
from gossamer.core.ids import EventId
from gossamer.core.topics import Topic
from gossamer.core.typed import T, Typed, TypedMeta, named_above, parents_above, parents_below, topic_of
from gossamer.core.typed_payloads import written
from gossamer.live.clients.arguments import Publication, Subscription, publication, subscription
from gossamer.live.reading.bookmarks import Bookmark
from gossamer.live.reading.typed_inbox import AnyInbox, TypedInbox

if TYPE_CHECKING:
    from gossamer.core.filters import Filter

Inner = TypeVar("Inner", bound=AnyInbox)


class Choices(TypedDict, total=False):
    """What may be said of a subscription beside its topic."""

    where: "str | Filter"
    name: str
    from_start: bool
    ordered: bool
    recover: bool
    bookmark: Bookmark | str | None


class PubSub(ABC, Generic[Inner]):
    """`Inner` is what it reads with."""

    @abstractmethod
    def offer(self, wish: Publication) -> Awaitable[EventId]:
        """Publishes what was looked at."""

    @abstractmethod
    def open(self, wish: Subscription) -> Inner:
        """An inbox for what was looked at."""

    def above(self, topic: Topic) -> Iterable[Topic]:
        """The topics above one, as far as they are known here, nearest first. A client knows what names tell."""
        return named_above(topic)

    @overload
    def publish(self, topic: Typed, *, key: str | None = None, climb: float | None = None) -> Awaitable[EventId]: ...
    @overload
    def publish(
        self,
        topic: str,
        payload: bytes | str = b"",
        *,
        attributes: Mapping[str, Attribute] | None = None,
        key: str | None = None,
        climb: float | None = None,
    ) -> Awaitable[EventId]: ...
    def publish(
        self,
        topic: str | Typed,
        payload: bytes | str = b"",
        *,
        attributes: Mapping[str, Attribute] | None = None,
        key: str | None = None,
        climb: float | None = None,
    ) -> Awaitable[EventId]:
        """Publishes an event: a payload on a topic, or an object of a type (`gossamer.Typed`), which says its topic.
        Await the result: then the event is spooled, and is spread until 3 members (all, if there are fewer) have it.
        What nobody takes for as long as the spool keeps events (`spool.keep_s`, a day) is given up.

        The same `key` on the same topic, within the spool's retention, is the same event: publish again after an
        error without fear of doubles. Where there is no spool, a key is refused. Many publications may be under way at
        once, and then share a signature: call `publish` several times and await the results afterwards.

        `climb` is the chance with which each process carries this event to communities above, where events climb
        (CAMCAST): 1 is surest, 0 keeps it in its own community. Without it the community's parameters decide."""
        if isinstance(topic, TypedMeta):
            raise Misuse(f"publish an object, as in {topic.__name__}(…), not the class itself")
        if not isinstance(topic, Typed):
            return self.offer(publication(topic, payload, attributes, key, climb))
        if payload != b"" or attributes is not None:
            raise Misuse(
                f"an object of {type(topic).__name__} is payload and attributes at once: mark fields as Filterable, "
                "and publish it alone"
            )
        kind, told = type(topic), written(topic)
        return self.offer(publication(topic_of(kind), told.payload, told.attributes, key, climb, parents_above(kind)))

    @overload
    def subscribe(self, topic: type[T], **choices: Unpack[Choices]) -> TypedInbox[T]: ...
    @overload
    def subscribe(self, topic: str, **choices: Unpack[Choices]) -> Inner: ...
    def subscribe(
        self,
        topic: str | type[Typed],
        *,
        where: "str | Filter" = "",
        name: str = "",
        from_start: bool = False,
        ordered: bool = False,
        recover: bool = True,
        bookmark: Bookmark | str | None = None,
    ) -> Inner | TypedInbox[Any]:
        """Events of a topic and all its subtopics: use it with `async with`, then `async for`.

        Items are `Delivery` (an event) or `Gap` (events lost to this reader, or missing until they are found; they are
        looked for unless every reader of the topic says `recover=False`). They come in no particular order, or per
        publisher and topic with `ordered=True`. `where` is a filter on attributes, as a text or built with `F`, such as
        `'symbol in ("IBM", "SAP") and price > 100'`: other events are passed over. `from_start` also gives what the
        spool still has.

        Of a type (`gossamer.Typed`), items are its objects and those of types below it, `Gap`, and `Unreadable`.

        A `name` makes the subscription durable: it is on disk when `async with` is entered, and gets everything from
        then on, also what comes while nobody reads it, until it is deleted. `await inbox.ack(item)` returns when that
        is on disk; what was not acknowledged comes again, marked `redelivered`. Several that open one name share it:
        each event goes to one of them. A `bookmark` of the same subscription at another node says what it has had."""
        choices = (where, name, from_start, ordered, recover, bookmark)
        if not isinstance(topic, TypedMeta):
            return self.open(subscription(topic, *choices))
        wish = subscription(topic_of(topic), *choices, parents_below(topic))
        return TypedInbox(topic, wish.filter, self.open(wish), self.above)
