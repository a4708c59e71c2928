"""Content-based routing: events follow the subscriptions back, along a tree (003, section 2.1)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from gossamer.core.events import Attribute, Carried, Event
from gossamer.core.ids import Peer
from gossamer.core.patterns import Pattern
from gossamer.core.setting import Setting
from gossamer.core.stack import Handler, Layer, Stack
from gossamer.core.topics import ROOT, Topic
from gossamer.parts.seen import Seen
from gossamer.protocols.dispatch.messages import Route
from gossamer.protocols.dispatch.params import Params
from gossamer.protocols.dispatch.static import behind, breadth_first
from gossamer.protocols.dispatch.subscriptions import Subscriptions

ROUTE_MAX = 32
"Carriers of an event that stand beside it, the latest ones."


class Overlay(Protocol):
    """What this layer asks of the tree it stands on."""

    linked: list[Callable[[Topic, Sequence[Peer]], None]]

    def ready(self, topic: Topic) -> bool: ...


class Dispatch(Layer):
    """One dispatcher. Its clients are the node's own users.

    Without an overlay its links are given once (see `fill`), and no timer runs."""

    relays = True
    tree = True

    def __init__(self, node: Stack, params: Params, overlay: Overlay | None = None, topic: Topic = ROOT) -> None:
        super().__init__(node)
        self.subscriptions = Subscriptions(node, params, topic)
        self.table = self.subscriptions.table
        self.overlay = overlay
        self.topic = topic
        "The community of all dispatchers, on which the tree stands."
        self.linked_us = 0
        "When its links were last others."
        if overlay is not None:
            overlay.linked.append(self.on_links)
        node.spread = self

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Route: self.on_route}

    # -- events -------------------------------------------------------------------------------------------------

    def has_place(self, topic: Topic) -> bool:
        return self.ready()

    def publish(self, event: Event) -> bool:
        if not self.ready():
            return False
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

    def on_links(self, topic: Topic, links: Sequence[Peer]) -> None:
        """The tree changed, or this node has found its place in it."""
        if topic != self.topic:
            return
        if self.subscriptions.tellings.keys() != {*links}:
            self.linked_us = self.node.now_us
        self.subscriptions.set_links(links)
        if self.ready():
            for waiting in dict.fromkeys(event.topic for event in self.node.pending.values()):
                self.node.is_ready(waiting)

    # -- what recovery asks -------------------------------------------------------------------------------------

    def patterns(self, topic: Topic, attributes: Mapping[str, Attribute]) -> tuple[Pattern, ...]:
        return self.table.matching(topic, attributes)

    def local(self) -> Sequence[Pattern]:
        return self.table.local()

    def known(self) -> Sequence[Pattern]:
        return self.table.known()

    def wants(self, pattern: Pattern) -> bool:
        return self.table.wants(pattern)

    def towards(self, pattern: Pattern) -> Sequence[Peer]:
        return self.table.towards(pattern)


# -- experiments ----------------------------------------------------------------------------------------------------


def fill(
    dispatch: Dispatch, neighbours: Mapping[Peer, Sequence[Peer]], subscriptions: Mapping[Peer, Sequence[Pattern]]
) -> None:
    """Links and tables as they are once everybody in a given tree has told everything, without a message."""
    interest = dispatch.node.interest
    for pattern in subscriptions.get(dispatch.node.me, ()):
        interest.subscribe(pattern)
    interest.changed()
    dispatch.subscriptions.fill(behind(dispatch.node.me, neighbours, subscriptions))


def static_node(setting: Setting, me: Peer, seed: int) -> Stack:
    """A node of an experiment: all processes in one tree filled breadth-first, everybody subscribed to its topic."""
    home = next(c for c in setting.communities if me in c.members)
    node = Stack(me, seed, setting.hierarchy(), Seen())
    topics = {peer: (Pattern(c.topic),) for c in setting.communities for peer in c.members}
    fill(Dispatch(node, home.params), breadth_first(setting.processes, home.params.degree), topics)
    return node
