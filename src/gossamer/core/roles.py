"""What layers are to each other: small interfaces, so that any membership serves any spread, and any spread can be
recovered from its losses. A protocol's `node.py` says who has which role; `Stack.use` is told all of them."""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from gossamer.core.events import Attribute, Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Topic

Wanting = TypeVar("Wanting", covariant=True)
"What a node wants, in whatever words a view keeps it (`parts.wants.Wants`)."


class Members(Protocol):
    """Who else is in a community, as far as this node knows."""

    def about(self, topic: Topic) -> Sequence[Peer]:
        """Every peer known in the topic's community."""

    def sure(self, topic: Topic) -> Sequence[Peer]:
        """Those of them that gave a sign of life lately: whom this node may name to others."""

    def sample(self, topic: Topic, k: int, key: int) -> list[Peer]:
        """k different ones of them (all, if there are fewer), the same for the same key."""

    def size(self, topic: Topic) -> int:
        """How many processes the community has, this one included; an estimate where views are partial."""

    def ready(self, topic: Topic) -> bool:
        """Whether this node has found its place in the community."""


class Contacts(Protocol):
    """First members of a topic, and of the nearest populated topics above it, for who knows none yet."""

    uniform: bool
    "Whether every member of a topic has the same chance to be found: then tables may be filled with whoever is."

    def ask(self, wanted: Sequence[Topic], joining: bool = False) -> None:
        """Looks for members of any of these topics; all layers are told who was found (`Layer.contacts_found`).
        `joining`: this node is about to be a member of them itself."""


class Links(Protocol):
    """Who leads from a community of ours to others: for CAMCAST, upwards."""

    def tables(self, topic: Topic) -> Sequence[Sequence[Peer]]:
        """One table of live links for each topic that events of this one climb to."""


class InterestView(Protocol[Wanting]):
    """Some of the other nodes, with what they want: whom an overlay may link to."""

    @property
    def changes(self) -> int:
        """Goes up whenever an entry came, went or changed: what was worked out from the entries holds until then."""

    def entries(self) -> Mapping[Peer, Wanting]:
        """Every node known, this one left out."""

    def towards_home(self, word: int) -> Peer | None:
        """Who is nearer to the node that keeps this topic's notice board; None: this node keeps it."""


class Spread(Protocol):
    """How events travel."""

    relays: bool
    "False: a process never carries what it does not want."

    def publish(self, events: Sequence[Event]) -> bool:
        """Spreads an event of our own, or several new ones of one topic; one spread before goes out again where the
        protocol can. False: there is more to do once this node has found its place in the community."""

    def has_place(self, topic: Topic) -> bool:
        """Whether this node has found its place where events of the topic travel."""


class Selecting(Protocol):
    """What somebody wants, or those it leads to, as far as is known."""

    def matches(self, event: Event) -> bool: ...


class Matching(Protocol):
    """A spread that knows which events its peers are to have."""

    def picked(self, k: int, key: int) -> tuple[Sequence[tuple[Peer, Selecting]], bool]:
        """Some peers, about k where links make cycles, each with what is wanted on its side; and whether they are to
        hear of all that is held, or only of what is our own."""

    def carries(self, topic: Topic, besides: Peer) -> bool:
        """Whether this node is to have events of the topic for the sake of anybody but this peer and our users."""


class Ground(Spread, Matching, Protocol):
    """A spread whose losses can be recovered: it knows which patterns events match, and where each is wanted."""

    tree: bool
    """True: links make a tree, and what is gossiped is passed on along it. False: they make cycles, where it goes to a
    few peers and no further."""

    @property
    def instead(self) -> Pattern | None:
        """What a node asks for that wants more patterns than it can tell: others do not hear of these, and do not count
        by them. None: every pattern is told."""

    def patterns(self, topic: Topic, attributes: Mapping[str, Attribute]) -> tuple[Pattern, ...]:
        """Every pattern an event of this topic with these attributes matches, as far as this node knows."""

    def local(self) -> Sequence[Pattern]:
        """What our own users subscribed to, sorted by signature; none that another one of them includes."""

    def known(self) -> Sequence[Pattern]:
        """Every pattern this node could tell somebody about, sorted by signature."""

    def wants(self, pattern: Pattern) -> bool:
        """Whether whatever matches this pattern is wanted here."""

    def towards(self, pattern: Pattern) -> Sequence[Peer]:
        """Neighbours that want what matches the pattern, or lead to some who do."""


class Recover(Protocol):
    """Finds again what a spread lost."""

    def heard(self, carried: Carried, via: Peer, wanted: bool) -> None:
        """An event passed the door, or several: spread, recovered, or our own. Delivered, if wanted."""

    def goes_back(self, on: bool) -> None:
        """What passes the door until this is taken back was asked for: it may be older than what is known otherwise."""

    def patterns(self, topic: Topic, attributes: Mapping[str, Attribute]) -> tuple[int, ...]:
        """Signatures of the patterns such an event is to be tagged with."""

    def follow(self, pattern: Pattern, on: bool) -> None:
        """This node has to get what matches the pattern from now on, or no longer, whatever its users subscribed to."""


class Outside(Protocol):
    """How events of our own travel on topics this node is not a member of."""

    def publish(self, event: Event) -> bool:
        """Hands an event, new or not, to members of its topic. False: nothing was done yet, none is known."""

    def has_place(self, topic: Topic) -> bool:
        """Whether anybody is known to hand them to."""

    def close(self, topic: Topic) -> None:
        """There will be no more of them."""

    def topics(self) -> Sequence[Topic]:
        """Those on which events were handed over lately."""


class Memory(Protocol):
    """Ids already met."""

    def __contains__(self, event_id: EventId) -> bool: ...

    def add(self, event_id: EventId) -> bool: ...

    def has_any(self, event_ids: Sequence[EventId]) -> bool: ...

    def add_all(self, event_ids: Sequence[EventId]) -> bool:
        """Remembers them if all are new, and otherwise none."""
