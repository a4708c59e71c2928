"""The contract: a node is a function from one given to a list of effects. No I/O, no clock, no ambient randomness.

Only `live/running/driver` and `sim/world` perform effects, and both record the given first, so any run can be replayed.
Timers are values: there is no cancel, a layer ignores a timer whose generation is no longer the current one.
Time is whole microseconds.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct

from gossamer.core.events import Attribute, Event
from gossamer.core.ids import Count, EventId, Peer
from gossamer.core.patterns import Pattern, Where
from gossamer.core.topics import Topic
from gossamer.core.trace import Kind

Message: TypeAlias = Struct
Timer: TypeAlias = Struct

SECOND_US = 1_000_000


class Run(Struct, frozen=True, array_like=True, order=True, gc=False):
    """Events of one stream (what a publisher publishes on one topic in one life), each ordinal one more than that
    before."""

    topic: Topic
    publisher: Peer
    incarnation: Count
    first: Count
    last: Count


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


class Fired(Struct, frozen=True, gc=False):
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
    since_us: int = 0
    """Since when, by the wall clock: what was published earlier is not asked for. 0: now. Said again of a pattern that
    is subscribed to, the earlier time counts."""


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


class Unkept(Struct, frozen=True):
    """The store could not keep these events, which were delivered or relayed: the next copy of each is news to it."""

    events: tuple[EventId, ...]
    runs: tuple[Run, ...] = ()
    "The same by their streams."


class Logged(Struct, frozen=True):
    """These events are in the log now."""

    runs: tuple[Run, ...]
    former: bool = False
    "Whether a former life of this node kept them: all there is, told at the start."


class Pruned(Struct, frozen=True):
    """These were in the log and are no more, or were given up: they are not wanted back. Told at the start of those of
    former lives, too."""

    runs: tuple[Run, ...]


class FromLog(Struct, frozen=True):
    """The store's answer to `ReadLog`, in one piece or several: events of these runs, in their order."""

    peer: Peer
    number: int
    events: tuple[Event, ...]
    over: bool = True
    "Whether that is all; otherwise there is more to come."
    left: tuple[Run, ...] = ()
    "What was not looked at, because all the rest was enough for one answer."


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
    | Unkept
    | Logged
    | Pruned
    | FromLog
    | PeerDown
    | Leave
)


class Send(Struct, frozen=True, gc=False):
    """The same message to each of these peers (encoded once)."""

    peers: tuple[Peer, ...]
    message: Message


class SetTimer(Struct, frozen=True, gc=False):
    """Give this timer back after a while."""

    after_us: int
    timer: Timer


class Deliver(Struct, frozen=True, gc=False):
    """An event our user subscribed to."""

    event: Event
    hops: int = 0
    again: bool = False
    "It was delivered before, and could not be kept: it is for the store, and for those who read that."


class Relayed(Struct, frozen=True, gc=False):
    """An event carried for others, given to nobody here: it is kept, so that its publisher can be told so."""

    event: Event
    hops: int = 0


class Missing(Struct, frozen=True, gc=False):
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


class ReadLog(Struct, frozen=True):
    """A peer asks for events that are in the log: read them, and give them back as `FromLog`."""

    peer: Peer
    number: int
    "Stands for the question."
    runs: tuple[Run, ...]


class GivenUp(Struct, frozen=True):
    """Events our user subscribed to, and nobody has any more: they will not come. The log is to remember that, as if
    they had been there and were pruned."""

    run: Run
    at_most: bool = False
    "Whether only some of them may have been wanted: our user asked for those that match a filter."


class Settled(Struct, frozen=True):
    """Whatever our user wants of these events is in the log, though not all of them are: the log is to remember that,
    so that the next life of this node does not ask for them."""

    runs: tuple[Run, ...]


class Note(Struct, frozen=True, gc=False):
    """Something worth a trace row; never needed for the protocol to work."""

    kind: Kind
    event: EventId | None = None
    peer: Peer | None = None
    topic: Topic | None = None
    detail: str | None = None


Effect: TypeAlias = Send | SetTimer | Deliver | Relayed | Missing | Fetch | ReadLog | GivenUp | Settled | Note


class Machine(Protocol):
    """A node, seen from a driver."""

    def step(self, given: Given, now_us: int) -> list[Effect]: ...

    def knows(self, event_id: EventId) -> bool: ...

    def knows_any(self, event_ids: Sequence[EventId]) -> bool: ...

    def lacks(self, event_id: EventId) -> bool:
        """Whether an event it knows could not be kept: then the next copy is wanted."""

    def was_kept(self, event_id: EventId) -> bool:
        """Whether it knows this event, had it delivered or relayed, and it could be kept, as far as it was told."""

    def patterns(self, topic: Topic, attributes: Mapping[str, Attribute]) -> tuple[int, ...]:
        """Signatures of what an event about to be published matches: its publisher tags it with them."""

    def claims(self, message: Message, sender: Peer) -> tuple[tuple[Topic, Peer], ...]:
        """Whom this message makes a member of what, if it is believed."""

    def refusal(self, topics: Sequence[Topic], gone: Sequence[Topic] = ()) -> str | None:
        """Why our user cannot subscribe to these topics too, once it has left those, in a sentence; None: it can."""

    @property
    def waiting(self) -> int:
        """Publications that wait for the node to find its place, or somebody to take them."""
