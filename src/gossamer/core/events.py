"""Events, and how they travel.

`gc=False`: they hold nothing that could hold them, and there are too many for the collector to look at each.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct, field

from gossamer.core.ids import EventId, Peer
from gossamer.core.patterns import Tag
from gossamer.core.topics import Topic

Attribute: TypeAlias = str | int | float | bool
ABOUT_TOPIC, ABOUT_PUBLISHER, ABOUT_PUBLISHED = "@topic", "@publisher", "@published"
ASKED_BESIDES = (ABOUT_TOPIC, ABOUT_PUBLISHER, ABOUT_PUBLISHED)
"What a filter may ask of an event beside its attributes: no attribute is called so."
HOPS_MAX = 2**32
Hops: TypeAlias = Annotated[int, Meta(ge=0, le=HOPS_MAX)]
"Bounded where it comes in, and not counted beyond: what a peer sends with the greatest number there is can go on."
Chance: TypeAlias = Annotated[float, Meta(ge=0, le=1)]


class Event(Struct, frozen=True, gc=False):
    """What users publish. Everything in it is the publisher's and never changes on the way."""

    id: EventId
    topic: Topic
    payload: bytes = b""
    attributes: dict[str, Attribute] = field(default_factory=dict)
    climb: Chance | None = None
    "The chance with which each process carries this event upwards; None leaves it to the community's parameters."
    published_us: int = 0
    "When, by its publisher's clock: microseconds since 1970."
    ordinal: int = 0
    "Counts this publisher's events of this topic, from 1, within one incarnation: what ordered reading goes by."
    tags: tuple[Tag, ...] = ()
    "Its place among the publisher's events of each pattern it matches: what recovery sees losses by."

    @property
    def asked(self) -> dict[str, Attribute]:
        """Its attributes, and what else a filter may ask of it."""
        return asked_of(self.attributes, self.topic, self.id.publisher, self.published_us)


def asked_of(
    attributes: Mapping[str, Attribute], topic: Topic, publisher: Peer, published_us: int
) -> dict[str, Attribute]:
    """All that a filter may ask of an event. What the event says of itself cannot be hidden by an attribute."""
    return {**attributes, ABOUT_TOPIC: topic, ABOUT_PUBLISHER: publisher, ABOUT_PUBLISHED: published_us}


class Carried(Struct, frozen=True, gc=False):
    """An event on its way, or several of one publisher that travel together: what the carriers add stands beside."""

    event: Event
    hops: Hops = 0
    route: tuple[Peer, ...] = ()
    more: tuple[Event, ...] = ()
    "Those that travel with it."

    @property
    def events(self) -> tuple[Event, ...]:
        return (self.event, *self.more)

    def each(self) -> "list[Carried]":
        """The same events, every one by itself."""
        return [Carried(event, self.hops, self.route) for event in self.events]

    def only(self, events: Sequence[Event]) -> "Carried | None":
        """Some of these events, if there are any."""
        return Carried(events[0], self.hops, self.route, tuple(events[1:])) if events else None

    def hop(self) -> "Carried":
        """The same events, one transmission further."""
        return Carried(self.event, min(self.hops + 1, HOPS_MAX), self.route, self.more)
