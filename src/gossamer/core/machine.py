"""The contract: a node is a function from one given to a list of effects. No I/O, no clock, no ambient randomness.

Only `live/driver` and `sim/world` perform effects, and both record the given first, so any run can be replayed.
Timers are values: there is no cancel, a layer ignores a timer whose generation is no longer the current one.
Time is whole microseconds.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct

from gossamer.core.events import Attribute, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.patterns import Pattern, Where
from gossamer.core.topics import Topic
from gossamer.core.trace import Kind

Message: TypeAlias = Struct
Timer: TypeAlias = Struct

SECOND_US = 1_000_000


class Started(Struct, frozen=True):
    """The node begins, knowing these peers (uninterested ones are fine)."""

    contacts: tuple[Peer, ...] = ()
    memory: tuple[EventId, ...] = ()
    "Events a former life of this node met: they are not news."


class Contacted(Struct, frozen=True):
    """Further peers to begin with answered, after the start."""

    contacts: tuple[Peer, ...]


class Received(Struct, frozen=True, gc=False):
    """A message arrived from a peer."""

    peer: Peer
    message: Message


class Known(Struct, frozen=True, gc=False):
    """Copies of events the machine knows arrived from a peer; their bytes were not even decoded."""

    peer: Peer
    events: tuple[EventId, ...]


class Introduced(Struct, frozen=True):
    """A peer's record was found genuine; `owner` stands for whoever runs it (0: nobody named)."""

    peer: Peer
    owner: int = 0


class Fired(Struct, frozen=True):
    """A timer went off."""

    timer: Timer


class Publish(Struct, frozen=True, gc=False):
    """Our user publishes an event, or several that are signed together; joining its community comes first."""

    event: Event
    join: bool = True
    """False: this node may not read the topic, so it hands the event to members and never becomes one. An event
    published a second time is spread again: nobody acknowledged it the first time."""
    more: tuple[Event, ...] = ()
    "Those that go with it."


class StartPublishing(Struct, frozen=True):
    """Our user is going to publish on this topic: its community is joined now, so that the first event is quick."""

    topic: Topic


class StopPublishing(Struct, frozen=True):
    """Our user will not publish on this topic any more."""

    topic: Topic


class Subscribe(Struct, frozen=True):
    """Our user wants every event of this topic and its subtopics, or those of them that match a filter."""

    topic: Topic
    where: Where = ""


class Unsubscribe(Struct, frozen=True):
    """Our user no longer wants what it subscribed to in these words."""

    topic: Topic
    where: Where = ""


class Tune(Struct, frozen=True):
    """New parameters for a topic's community, from now on."""

    topic: Topic
    params: Struct


class Fetched(Struct, frozen=True):
    """The store's answer to `Fetch`: those of the events it still has."""

    peer: Peer
    events: tuple[Event, ...]


class PeerDown(Struct, frozen=True):
    """The transport gave a peer up."""

    peer: Peer


class Leave(Struct, frozen=True):
    """The node goes, in good order."""


Given: TypeAlias = (
    Started
    | Contacted
    | Received
    | Known
    | Introduced
    | Fired
    | Publish
    | StartPublishing
    | StopPublishing
    | Subscribe
    | Unsubscribe
    | Tune
    | Fetched
    | PeerDown
    | Leave
)


class Send(Struct, frozen=True, gc=False):
    """The same message to each of these peers (encoded once)."""

    peers: tuple[Peer, ...]
    message: Message


class SetTimer(Struct, frozen=True):
    """Give this timer back after a while."""

    after_us: int
    timer: Timer


class Deliver(Struct, frozen=True, gc=False):
    """An event our user subscribed to."""

    event: Event
    hops: int = 0


class Missing(Struct, frozen=True):
    """Events our user subscribed to were published and have not come: `first` to `last` of that publisher's events of
    the pattern. They may still be found. With 0 for both: the publisher does not count all its events of the pattern,
    so nobody can tell which are missing; they are looked for by comparing ids."""

    publisher: Peer
    incarnation: int
    pattern: Pattern
    first: int
    last: int

    @property
    def counted(self) -> bool:
        return self.first > 0


class Fetch(Struct, frozen=True):
    """Somebody misses events that are no longer at hand: ask the store for them, and give them back as `Fetched`."""

    peer: Peer
    events: tuple[EventId, ...]


class Note(Struct, frozen=True):
    """Something worth a trace row; never needed for the protocol to work."""

    kind: Kind
    event: EventId | None = None
    peer: Peer | None = None
    topic: Topic | None = None
    detail: str | None = None


Effect: TypeAlias = Send | SetTimer | Deliver | Missing | Fetch | Note


class Machine(Protocol):
    """A node, seen from a driver."""

    def step(self, given: Given, now_us: int) -> list[Effect]: ...

    def knows(self, event_id: EventId) -> bool: ...

    def knows_any(self, event_ids: Sequence[EventId]) -> bool: ...

    def patterns(self, topic: Topic, attributes: Mapping[str, Attribute]) -> tuple[int, ...]:
        """Signatures of what an event about to be published matches: its publisher tags it with them."""

    def claims(self, message: Message, sender: Peer) -> tuple[tuple[Topic, Peer], ...]:
        """Whom this message makes a member of what, if it is believed."""

    def refusal(self, topics: Sequence[Topic], gone: Sequence[Topic] = ()) -> str | None:
        """Why our user cannot subscribe to these topics too, once it has left those, in a sentence; None: it can."""

    @property
    def waiting(self) -> int:
        """Publications that wait for the node to find its place, or somebody to take them."""
