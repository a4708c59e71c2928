"""Content-based routing: events follow the subscriptions back, along a tree (003, section 2.1)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct

from gossamer.core.events import Attribute, Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.layer import Handler, Layer
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.core.topics import ROOT, Topic
from gossamer.protocols.dispatch.messages import Route
from gossamer.protocols.dispatch.params import Params
from gossamer.protocols.dispatch.subscriptions import Subscriptions

ROUTE_MAX = 32
"Carriers of an event that stand beside it, the latest ones."


class DispatchTree(Protocol):
    """What this layer asks of the tree it stands on."""

    def ready(self, topic: Topic) -> bool: ...

    def links(self, topic: Topic) -> Sequence[Peer]: ...


class Dispatch(Layer):
    """One dispatcher. Its clients are the node's own users.

    Without an overlay its links are given once (see `fill`), and no timer runs."""

    relays = True
    tree = True

    def __init__(self, node: Stack, params: Params, overlay: DispatchTree | None = None, topic: Topic = ROOT) -> None:
        super().__init__(node)
        self.subscriptions = Subscriptions(node, params, topic)
        self.table = self.subscriptions.table
        self.overlay = overlay
        self.topic = topic
        "The community of all dispatchers, on which the tree stands."
        self.linked_us = 0
        "When its links were last others."
        self.within = (self.subscriptions,)

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Route: self.on_route}

    # -- events -------------------------------------------------------------------------------------------------

    def has_place(self, topic: Topic) -> bool:
        return self.ready()

    def publish(self, events: Sequence[Event]) -> bool:
        if not self.ready():
            return False
        for event in events:
            carried = Carried(event)
            if self.node.knows(event.id) or self.node.accept(carried, via=self.node.me):
                self.carry_on(carried, self.node.me)
        return True

    def on_route(self, peer: Peer, message: Route) -> None:
        if self.node.accept(message.carried, peer):
            self.carry_on(message.carried, peer)

    def carry_on(self, carried: Carried, via: Peer) -> None:
        told = self.table.targets(carried.event, via)
        if told:
            route = (*carried.route, self.node.me)[-ROUTE_MAX:]
            self.out.send(told, Route(Carried(carried.event, carried.hops + 1, route)))

    # -- the tree -----------------------------------------------------------------------------------------------

    def ready(self) -> bool:
        return self.overlay is None or self.overlay.ready(self.topic)

    def linked(self) -> bool:
        """Whether there is anybody who could want something."""
        return self.overlay is None or bool(self.subscriptions.tellings)

    def settled(self) -> bool:
        """Whether its links have stood for as long as a tree takes to mend: by then it has heard what others want."""
        stood_us = self.node.now_us - self.linked_us
        return self.overlay is None or (self.linked() and stood_us >= self.subscriptions.params.linger_us)

    def links_changed(self, topic: Topic) -> None:
        """The tree changed, or this node has found its place in it."""
        if topic != self.topic or self.overlay is None:
            return
        links = self.overlay.links(topic)
        if self.subscriptions.tellings.keys() != {*links}:
            self.linked_us = self.node.now_us
        self.subscriptions.set_links(links)
        if self.ready():
            self.node.ready_for_all()

    # -- what recovery asks -------------------------------------------------------------------------------------

    def patterns(self, topic: Topic, attributes: Mapping[str, Attribute]) -> tuple[Pattern, ...]:
        return self.table.matching(topic, attributes)

    @property
    def instead(self) -> Pattern:
        return self.subscriptions.everything

    def local(self) -> Sequence[Pattern]:
        return self.node.interest.local()

    def known(self) -> Sequence[Pattern]:
        return self.table.known()

    def wants(self, pattern: Pattern) -> bool:
        asked = self.subscriptions
        return asked.full or pattern in asked.instead or self.table.wants(pattern)

    def towards(self, pattern: Pattern) -> Sequence[Peer]:
        return self.table.towards(pattern)

    def picked(self, k: int, key: int) -> tuple[Sequence[tuple[Peer, "Side"]], bool]:
        """All neighbours: each leads elsewhere."""
        targets: dict[EventId, list[Peer]] = {}
        return [(peer, Side(self, peer, targets)) for peer in self.table.widest], True

    def carries(self, topic: Topic, besides: Peer) -> bool:
        held_by = self.table.all.concerned(topic)
        return any(holder in self.table.widest and holder != besides for holder in held_by)


class Side(NamedTuple):
    """What is wanted behind one neighbour."""

    dispatch: Dispatch
    neighbour: Peer
    targets: dict[EventId, list[Peer]]
    "Found once for all neighbours."

    def matches(self, event: Event) -> bool:
        if event.id not in self.targets:
            self.targets[event.id] = self.dispatch.table.targets(event, besides=self.dispatch.node.me)
        return self.neighbour in self.targets[event.id]
