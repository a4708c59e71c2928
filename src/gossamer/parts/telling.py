"""Which rows a node's steps leave in its trace, in a living network and in a simulated world alike."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from gossamer.core.events import ABOUT_PUBLISHED, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Deliver, Effect, Given, Missing, Note, Publish
from gossamer.core.topics import Topic
from gossamer.core.trace import Kind
from gossamer.parts.bucket import Buckets

REJECTS_PER_S = 2.0
REJECTS_BURST = 20
"Rows about refusals for one reason: whoever sends rubbish must not fill the disk. Metrics count them all."
REASONS_MAX = 100


Rows: TypeAlias = Callable[..., None]
"Takes a row: its kind and time, then the columns of `core.trace.Row` in order or by name, attributes as they are."


class Telling:
    """One node's."""

    def __init__(self, row: Rows) -> None:
        self.row = row
        self._rejects = Buckets(REJECTS_PER_S, REJECTS_BURST, REASONS_MAX)

    def effects(self, now_us: int, given: Given, effects: Sequence[Effect]) -> None:
        """What came of it: a step."""
        published: dict[EventId, Event] | None = None
        for effect in effects:
            kind = type(effect)
            if kind is Deliver and not effect.again:  # type: ignore[union-attr]
                self.delivered(now_us, effect.event, effect.hops)  # type: ignore[union-attr, arg-type]
            elif kind is Note:
                if effect.kind == "publish":  # type: ignore[union-attr]
                    published = events_of(given) if published is None else published
                    self._published(now_us, effect, published)  # type: ignore[arg-type]
                else:
                    self._noted(now_us, effect)  # type: ignore[arg-type]
            elif kind is Missing:
                self._missing(now_us, effect)  # type: ignore[arg-type]

    def delivered(self, now_us: int, event: Event, hops: int, detail: str | None = None) -> None:
        who, size = event.id, len(event.payload)  # without keywords: they cost a third more, at every delivery
        self.row("deliver", now_us, None, event.topic, who.publisher, who.incarnation, who.sequence, hops, size, detail)

    def lost(self, now_us: int, topic: Topic, lost: int, why: str) -> None:
        """A reader was told of a loss."""
        self.row("gap", now_us, topic=topic, detail=f"{lost}: {why}")

    def refused(self, now_us: int, peer: Peer | None, why: str) -> None:
        """Something from outside was turned away."""
        if self._rejects.take(why, now_us):
            self.row("reject", now_us, peer=peer, detail=why)

    def copy(self, kind: Kind, now_us: int, peer: Peer, who: EventId, hops: int, topic: str | None, size: int) -> None:
        """A copy of an event left, or came."""
        self.row(kind, now_us, peer, topic, who.publisher, who.incarnation, who.sequence, hops, size)

    def _missing(self, now_us: int, missing: Missing) -> None:
        """By the numbers of the pattern: which ids these are, nobody here knows."""
        self.row(
            "gap",
            now_us,
            topic=missing.pattern.topic,
            publisher=missing.publisher,
            incarnation=missing.incarnation,
            detail=f"{missing.first}-{missing.last}" if missing.counted else "uncounted",
        )

    def _published(self, now_us: int, note: Note, published: Mapping[EventId, Event]) -> None:
        """With all that a filter may ask of it and the row does not tell: when it says it was published, too."""
        who = note.event
        assert who is not None
        event = published.get(who)
        self.row(
            "publish",
            now_us,
            topic=note.topic,
            publisher=who.publisher,
            incarnation=who.incarnation,
            sequence=who.sequence,
            attributes=None if event is None else {**event.attributes, ABOUT_PUBLISHED: event.published_us},
        )

    def _noted(self, now_us: int, note: Note) -> None:
        who = note.event
        if who is None:
            if note.kind != "reject" or self._rejects.take(note.detail or "", now_us):
                self.row(note.kind, now_us, peer=note.peer, topic=note.topic, detail=note.detail)
            return
        self.row(
            note.kind,
            now_us,
            peer=note.peer,
            topic=note.topic,
            publisher=who.publisher,
            incarnation=who.incarnation,
            sequence=who.sequence,
            detail=note.detail,
        )


def events_of(given: Given) -> dict[EventId, Event]:
    """What our user publishes by this, by its ids."""
    return {event.id: event for event in (given.event, *given.more)} if isinstance(given, Publish) else {}
