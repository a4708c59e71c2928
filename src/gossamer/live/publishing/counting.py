"""The numbers of a publisher's events: given when they go to the disk, and taken back if they do not get there.

A number that was given and never came to an event would be a loss to every reader of the network.
"""

from asyncio import Future
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gossamer.core.errors import Misuse
from gossamer.core.events import Attribute, Event, asked_of
from gossamer.core.ids import EventId, Peer
from gossamer.core.topics import Topic
from gossamer.live.clients.arguments import too_large
from gossamer.parts.tagging import Tagger
from gossamer.wire.sealed import HEAD_BYTES_MAX, head_of

HEAD_ROOM = 16 << 10
"No head without attributes is larger, tags and all: only of larger events the size is worked out before their turn."
LETTER_BYTES = 9
"No letter of a name or a value takes more, a short number least of all."


class Draft(Struct, frozen=True, gc=False):
    """A publication without its numbers, and whom to tell."""

    topic: Topic
    payload: bytes
    attributes: Mapping[str, Attribute]
    climb: float | None
    at_us: int
    key: str | None
    future: "Future[EventId]"


class Counting:
    """Of one life of a publisher: every event has the next sequence, the next ordinal of its topic, and the next place
    in the count of every pattern it matches."""

    def __init__(self, me: Peer, incarnation: int, event_bytes_max: int) -> None:
        self.me, self.incarnation, self.event_bytes_max = me, incarnation, event_bytes_max
        self.sequence = 0
        self.ordinals: dict[Topic, int] = {}
        self.tagger = Tagger()

    def refusal(self, draft: Draft, patterns: Callable[[Draft], Sequence[int]]) -> Misuse | None:
        """Why an event cannot be published; None: it can be."""
        if len(draft.payload) + 2 * HEAD_ROOM < self.event_bytes_max:
            if not draft.attributes:
                return None
            about = sum([len(name) + len(str(value)) for name, value in draft.attributes.items()])
            if LETTER_BYTES * about < HEAD_ROOM:
                return None
        event, head = self.number(draft, patterns(draft), draft.at_us)
        self.take_back([event])
        return too_large(head, draft.payload, self.event_bytes_max)

    def number(self, draft: Draft, patterns: Sequence[int], now_us: int) -> tuple[Event, bytes]:
        """The next event, and its head."""
        topic = draft.topic
        self.sequence += 1
        ordinal = self.ordinals[topic] = self.ordinals.get(topic, 0) + 1
        event_id, tags = EventId(self.me, self.incarnation, self.sequence), self.tagger.tags(patterns, now_us)
        about = dict(draft.attributes)
        event = Event(event_id, topic, draft.payload, about, draft.climb, draft.at_us, ordinal, tags)
        head = head_of(event)
        if event.tags and len(head) > HEAD_BYTES_MAX:
            self.tagger.take_back(event.tags)  # what others want must not keep an event from being published
            event = replace(event, tags=self.tagger.tags(patterns, now_us, room=0))
            head = head_of(event)
        return event, head

    def asked(self, draft: Draft) -> Mapping[str, Attribute]:
        """What filters may ask of the event to be."""
        return asked_of(draft.attributes, draft.topic, self.me, draft.at_us)

    def take_back(self, events: Sequence[Event]) -> None:
        """The events numbered last are not published after all: the next ones get their numbers."""
        for event in reversed(events):
            self.sequence -= 1
            self.ordinals[event.topic] -= 1
            self.tagger.take_back(event.tags)
