"""What goes into the spool and what comes out of it: plain tuples, since there is one per event."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from gossamer.core.ids import EventId
from gossamer.core.topics import Topic
from gossamer.wire.pack import Pack, opened, unpack


class Outgoing(NamedTuple):
    """A publication of this node (or of a client it speaks for) that must survive until members have it."""

    id: EventId
    topic: Topic
    sealed: bytes | Pack
    "By itself; or a pack it begins, whose events follow each other and have no keys."
    key: str | None = None
    "The publisher's own name for it: the same key on the same topic means the same event."

    @property
    def more(self) -> int:
        """How many events follow the first."""
        return len(self.sealed.ids) - 1 if isinstance(self.sealed, Pack) else 0


class Waiting(NamedTuple):
    """A publication that has not been handed over yet, or several in a pack of which some may have been."""

    number: int
    "Counts what was accepted, oldest first: where to read on."
    id: EventId
    topic: Topic
    sealed: bytes
    more: int = 0
    "So many events follow the first: then these are the bytes of a pack."
    age_us: int = 0
    "How long ago it was accepted, by the time the node has lived through."

    @property
    def ids(self) -> list[EventId]:
        publisher, incarnation, first = self.id.publisher, self.id.incarnation, self.id.sequence
        return [EventId(publisher, incarnation, first + i) for i in range(self.more + 1)]

    def each(self) -> list[tuple[EventId, bytes]]:
        """Every event by itself."""
        if not self.more:
            return [(self.id, self.sealed)]
        return [(event_id, sealed) for event_id, (_, sealed) in opened(unpack(self.sealed)[0]).items()]


class Kept(NamedTuple):
    """An event that was delivered here."""

    id: EventId
    topic: Topic
    sealed: bytes | Pack
    "By itself, or the pack it came in."
    hops: int = 0
    at_us: int = 0
    "When it was delivered, by the time the node has lived through: its age is counted from here."
    ordinal: int = 0
    "Its place in its stream; 0: it has none."


class KeptPack(NamedTuple):
    """All events of a pack that were delivered here, one after the other."""

    pack: Pack
    topic: Topic
    hops: int
    at_us: int
    ordinal: int = 0
    "Of the first: each of the others has one more. 0: they have none."

    def each(self) -> list[Kept]:
        step = 1 if self.ordinal else 0
        return [
            Kept(event_id, self.topic, self.pack, self.hops, self.at_us, self.ordinal + step * i)
            for i, event_id in enumerate(self.pack.ids)
        ]


Delivered: TypeAlias = Sequence[Kept | KeptPack]


def topics(delivered: Delivered) -> list[Topic]:
    """The topic of every event, place after place."""
    found: list[Topic] = []
    for each in delivered:
        found += [each.topic] * len(each.pack.ids) if isinstance(each, KeptPack) else [each.topic]
    return found


def places(delivered: Delivered) -> int:
    """How many events these are."""
    return sum([len(each.pack.ids) if isinstance(each, KeptPack) else 1 for each in delivered])


class Stored(NamedTuple):
    """A kept event as a reader gets it back."""

    place: int
    sealed: bytes
    hops: int
    at_us: int


class Lost(NamedTuple):
    """Events that had places and are not in the spool (any more)."""

    first: int
    last: int
    "No place outside these two is meant; not every place between them is."
    topic: Topic
    "Theirs; the root stands for any."
    events: int
    "How many; 0: not known, retention took them and other readers' events alike."


class Page(NamedTuple):
    """One answer to a reader."""

    items: list[Stored]
    examined: int
    "Read on after this place: everything up to here is in `items`, in `lost`, or of no interest to this reader."
    lost: list[Lost]
    "What this reader cannot have any more, told once to a reader that goes from page to page."
