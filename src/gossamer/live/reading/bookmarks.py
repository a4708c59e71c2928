"""A position that means the same at every node: which events of which publisher a subscription is done with.

A place counts what one node delivered. An ordinal counts what a publisher published on a topic in one life, so ranges
of ordinals are understood everywhere. They say no more than what was acknowledged (or did not match the filter): where
there are too many ranges to remember, the oldest are forgotten, and what they covered may come again.
"""

import base64
from collections.abc import Iterable
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct

from gossamer.core.errors import Misuse
from gossamer.core.events import Event
from gossamer.core.ids import Count, Peer
from gossamer.core.patterns import Where
from gossamer.core.topics import Topic
from gossamer.live.spool.progress import StreamRanges
from gossamer.live.spool.subscriptions import described
from gossamer.parts.stretches import Stretches

STREAMS_MAX = 4096
"Streams a subscription remembers: those it read last."
STRETCHES_MAX = 64
"Ranges of ordinals it remembers of each: the highest."
TEXT_MARK = "gossamer-bookmark-1:"
TEXT_LETTERS_MAX = 8 << 20

Stream: TypeAlias = tuple[Peer, int, Topic]
"A publisher in one incarnation, and a topic: what ordinals count."
Range: TypeAlias = tuple[Count, Count]


class StreamRead(Struct, frozen=True, array_like=True):
    """Ordinals of one stream, as ranges from a first to a last."""

    publisher: Peer
    incarnation: Count
    topic: Topic
    ranges: Annotated[tuple[Range, ...], Meta(max_length=STRETCHES_MAX)]


class Bookmark(Struct, frozen=True, array_like=True):
    """How far a durable subscription has come, for opening it at another node: `subscribe(…, bookmark=…)`."""

    topic: Topic
    where: Where
    "Which subscription: what did not match its filter counts as read, so another one would miss that."
    since_us: Count
    "When the subscription began, in microseconds since 1970: it does not want what was published before. 0: it does."
    streams: Annotated[tuple[StreamRead, ...], Meta(max_length=STREAMS_MAX)]

    def text(self) -> str:
        """The same in one word, to be written down."""
        return TEXT_MARK + base64.urlsafe_b64encode(msgspec.msgpack.encode(self)).decode()

    __str__ = text


_decoder = msgspec.msgpack.Decoder(Bookmark)


def bookmark_of(said: "Bookmark | str | None") -> Bookmark | None:
    """A bookmark in either form; Misuse says what is wrong with it."""
    if said is None or isinstance(said, Bookmark):
        return said
    if not isinstance(said, str):
        raise Misuse(f"a bookmark is what inbox.bookmark() gave, or its text, not {type(said).__name__}")
    if not said.startswith(TEXT_MARK) or len(said) > TEXT_LETTERS_MAX:
        raise Misuse(f"a bookmark's text begins with {TEXT_MARK!r}: give what inbox.bookmark().text() gave")
    try:
        return _decoder.decode(base64.urlsafe_b64decode(said.removeprefix(TEXT_MARK)))
    except (ValueError, msgspec.DecodeError):
        raise Misuse("this bookmark is damaged: give all of what inbox.bookmark().text() gave") from None


def bookmark_for(said: "Bookmark | str | None", name: str, topic: Topic, where: str) -> Bookmark | None:
    """The bookmark with which this subscription is to be opened; Misuse if it is of another."""
    if (mark := bookmark_of(said)) is None:
        return None
    if not name:
        raise Misuse("a bookmark says how far a named subscription came: subscribe with name=…")
    if (mark.topic, mark.where) != (topic, where):
        raise Misuse(
            f"this bookmark is of a subscription to {described(mark.topic, mark.where)}, not to "
            f"{described(topic, where)}: open the same one with it, or leave the bookmark out"
        )
    return mark


class Coverage:
    """What a subscription is done with, stream by stream, and which of it the disk does not know yet."""

    def __init__(self, streams: Iterable[StreamRanges] = ()) -> None:
        self.streams: dict[Stream, Stretches] = {}
        "Those read last come last."
        self.changed: dict[Stream, None] = {}
        for each in streams:
            self.streams[each.publisher, each.incarnation, each.topic] = Stretches(each.ranges)

    def __contains__(self, event: Event) -> bool:
        stretches = self.streams.get(stream_of(event))
        return stretches is not None and event.ordinal in stretches

    def add(self, event: Event) -> None:
        if event.ordinal:  # one without a number cannot be told from others
            self._add(stream_of(event), event.ordinal, event.ordinal)

    def merge(self, bookmark: Bookmark) -> None:
        for each in bookmark.streams:
            for first, last in each.ranges:
                if first <= last:
                    self._add((each.publisher, each.incarnation, each.topic), first, last)

    def _add(self, stream: Stream, first: int, last: int) -> None:
        stretches = self.streams.pop(stream, None)
        if stretches is None:
            stretches = Stretches()
        self.streams[stream] = stretches
        stretches.add(first, last)
        self.changed[stream] = None
        while len(stretches) > STRETCHES_MAX:
            stretches.forget_lowest()
        while len(self.streams) > STREAMS_MAX:
            oldest = next(iter(self.streams))
            del self.streams[oldest]
            self.changed[oldest] = None

    def began(self, event: Event) -> bool:
        """Whether something of its stream, from before it, was read."""
        stretches = self.streams.get(stream_of(event))
        return stretches is not None and event.ordinal > stretches.firsts[0]

    def changes(self) -> tuple[StreamRanges, ...]:
        """What the disk does not know; told once. Of a stream that was forgotten: nothing."""
        changed, self.changed = self.changed, {}
        return tuple(StreamRanges(*each, tuple(self.streams.get(each, ()))) for each in changed)

    def not_written(self, changes: Iterable[StreamRanges]) -> None:
        """The disk could not be told these."""
        self.changed.update({each[:3]: None for each in changes})

    def read(self) -> tuple[StreamRead, ...]:
        """All of it, as a bookmark has it."""
        return tuple(StreamRead(*each, tuple(found)) for each, found in self.streams.items())


def stream_of(event: Event) -> Stream:
    return event.id.publisher, event.id.incarnation, event.topic
