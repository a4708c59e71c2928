"""A layer: one protocol's part of a node, and the moments it may be told of."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.interest import Change
from gossamer.core.machine import FromLog, Run
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Topic

if TYPE_CHECKING:
    from gossamer.core.stack import Stack

Handler: TypeAlias = Callable[..., None]
Bound: TypeAlias = tuple[str, int, int]
"What is kept: the word for it, how many there are, and how many at most."


class Layer:
    """Override what you need. Each method is a moment in the node's life, or something other layers may ask.

    A layer is given those it asks when it is built. What it wants to be told is a method here: nobody registers with
    anybody. `node.use` makes it part of the node."""

    within: "Sequence[Layer]" = ()
    "Layers this one is made of: they are told of everything before it."

    def __init__(self, node: "Stack") -> None:
        self.node = node
        self.out = node.out

    def hears(self) -> Mapping[type[Struct], Handler]:
        """Message types (handled as `on_x(peer, message)`) and timer types (`on_x(timer)`)."""
        return {}

    # -- the node -----------------------------------------------------------------------------------------------

    def started(self, contacts: Sequence[Peer]) -> None:
        """The node begins, or some of the peers it may begin with answered later."""

    def tuned(self, topic: Topic, params: Struct) -> None:
        """Parameters changed."""

    def introduced(self, peer: Peer) -> None:
        """A peer's record is news: it is new, or has come back."""

    def peer_down(self, peer: Peer) -> None:
        """A peer was given up."""

    def leaving(self) -> None:
        """The node goes."""

    # -- communities --------------------------------------------------------------------------------------------

    def joined(self, topic: Topic) -> None:
        """This node now belongs to the topic's community."""

    def left(self, topic: Topic) -> None:
        """This node no longer belongs to it."""

    def reads(self, pattern: Pattern, since_us: int) -> None:
        """Our users subscribe to a pattern, perhaps once more, and want what was published since then."""

    def interest_changed(self, change: Change) -> None:
        """Our users subscribe to other patterns now, or publish on other topics: what came, and what went."""

    def refuses(self, topics: Sequence[Topic], gone: Sequence[Topic] = ()) -> str | None:
        """Why this node cannot take part in these topics too, once it has left those, in a sentence for its user; None:
        it can."""
        return None

    def contacts_found(self, topic: Topic, peers: Sequence[Peer]) -> None:
        """A search named members of the topic's community."""

    def newcomer(self, topic: Topic, peer: Peer) -> None:
        """A peer is about to join a topic's community, of which this node looks for members."""

    def greeting(self, peer: Peer, topic: Topic) -> None:
        """A membership message goes to a peer of this community: something may be sent along."""

    # -- neighbours ---------------------------------------------------------------------------------------------

    def links_changed(self, topic: Topic) -> None:
        """Those who lead from this topic's community to others are others now."""

    def link_up(self, peer: Peer) -> None:
        """An overlay has a new neighbour."""

    def link_down(self, peer: Peer) -> None:
        """A neighbour of the overlay is one no longer."""

    def wants_changed(self, peer: Peer) -> None:
        """A neighbour of the overlay wants other topics than before."""

    # -- events -------------------------------------------------------------------------------------------------

    def repeated(self, peer: Peer, events: Sequence[EventId]) -> None:
        """A peer sent copies of events this node already has."""

    def unasked(self, peer: Peer, topic: Topic) -> None:
        """A peer sent an event of a topic that no community of ours is concerned with."""

    def strayed(self, peer: Peer, topic: Topic) -> None:
        """A peer that was sent an event of this topic says that it is in no community it concerns."""

    def recovered(self, carried: Carried) -> None:
        """An event came otherwise than it should have: it was found again, or just earlier."""

    def fetched(self, peer: Peer, events: Sequence[Event]) -> None:
        """Events that were asked of the store for this peer; those it no longer has are missing."""

    # -- the log ------------------------------------------------------------------------------------------------

    def logged(self, runs: Sequence[Run], former: bool) -> None:
        """These events are in the log now; in a former life already, and that is all there is."""

    def unkept(self, runs: Sequence[Run]) -> None:
        """These were delivered, or relayed, and are not in the log: there was no room for them."""

    def pruned(self, runs: Sequence[Run]) -> None:
        """These were in the log and are no more."""

    def from_log(self, found: FromLog) -> None:
        """What was to be read from the log."""

    # -- what others ask ----------------------------------------------------------------------------------------

    def named(self, topic: Topic) -> Sequence[Peer]:
        """Members of a topic's community that this layer can name to those who search."""
        return ()

    def meant(self, spelled: str) -> Topic | None:
        """The topic that stands spelled in an answer to a request of this layer."""
        return None

    def gauges(self) -> Mapping[str, int]:
        """Numbers of this layer that are worth watching."""
        return {}

    def bounds(self) -> Iterable[Bound]:
        """Everything this layer keeps that others could make grow."""
        return ()

    def lives_by(self, topic: Topic | None) -> Iterable[Struct]:
        """Timers that must be under way now, or something would never be done again: those about this topic, or about
        none in particular."""
        return ()

    def wanted_topics(self, packed: bytes) -> Sequence[Topic]:
        """Those of the topics known here that a peer's packed wants name."""
        return ()
