"""Recovery without counts, for a spread that matches events on their way: each subscriber gets what its own filters
match, and nobody could see a gap."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.events import Attribute, Carried, Event
from gossamer.core.ids import Peer
from gossamer.core.interest import Change
from gossamer.core.layer import Bound, Handler, Layer
from gossamer.core.patterns import Pattern
from gossamer.core.roles import Matching
from gossamer.core.stack import Stack
from gossamer.core.topics import ROOT, Topic
from gossamer.protocols.recovery.holding import Holding
from gossamer.protocols.recovery.listing import List, Listing
from gossamer.protocols.recovery.messages import Again, Listed, Want
from gossamer.protocols.recovery.params import Params
from gossamer.protocols.recovery.reading import Reading
from gossamer.protocols.recovery.resending import Resending
from gossamer.protocols.recovery.settings import Settings

METHODS = ("exchange", "none")


class Exchange(Layer):
    """Whoever holds events tells those that want them which."""

    def __init__(self, node: Stack, ground: Matching, params: Callable[[Topic], Params]) -> None:
        own = params(ROOT)
        if own.method not in METHODS:
            raise Misuse(f"{own.method} needs counts, and this spread makes none: choose exchange, or none")
        self.settings = Settings(params)
        self.holding = Holding(node, own)
        self.resending = Resending(node, self.holding, own.answers_per_s)
        self.reading = Reading(node)
        self.listing = Listing(node, ground, self.holding, self.settings.of, self.reading)
        super().__init__(node)

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {
            Listed: self.listing.on_listed,
            Want: self.on_want,
            Again: self.on_again,
            List: self.listing.on_list,
        }

    def bounds(self) -> Iterator[Bound]:
        yield from self.holding.bounds()
        yield from self.listing.bounds()

    def lives_by(self, topic: Topic | None) -> Sequence[Struct]:
        return self.listing.pulse.under_way() if topic is None else ()

    def tuned(self, topic: Topic, params: Struct) -> None:
        self.settings.tune(topic, params)

    def interest_changed(self, change: Change) -> None:
        self.reading.interest_changed(change)

    # -- events -----------------------------------------------------------------------------------------------

    def heard(self, carried: Carried, via: Peer, wanted: bool) -> None:
        """Whatever this node does for itself, others may need it."""
        if self.settings.network(carried.event.topic).method == "exchange":
            self.holding.keep(carried, wanted or via == self.node.me)
            self.listing.add(carried)

    def patterns(self, topic: Topic, attributes: Mapping[str, Attribute]) -> tuple[int, ...]:
        return ()

    def goes_back(self, on: bool) -> None:
        """It counts nothing: old and new are the same to it."""

    def follow(self, pattern: Pattern, on: bool) -> None:
        """It follows nothing."""

    def on_want(self, peer: Peer, want: Want) -> None:
        self.listing.hurry()
        self.resending.give(peer, want)

    def on_again(self, peer: Peer, again: Again) -> None:
        self.resending.take(peer, again)

    def fetched(self, peer: Peer, events: Sequence[Event]) -> None:
        self.resending.fetched(peer, events)
