"""Content-based routing by subscription forwarding: what our users and the other neighbours want, each neighbour is
told; an event follows the patterns back.

Invariant at rest: on each link, what one end was told of is what everybody on the other end's side wants (covered
patterns left out where covering is on). Links come from a tree, so no pattern and no event comes back in a circle.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.events import Attribute, Carried, Event
from gossamer.core.ids import Peer
from gossamer.core.patterns import Pattern
from gossamer.core.setting import Setting
from gossamer.core.stack import Handler, Layer, Stack
from gossamer.core.topics import Topic
from gossamer.parts.seen import Seen
from gossamer.protocols.dispatch.covering import Covering
from gossamer.protocols.dispatch.messages import Route, Tell, Told
from gossamer.protocols.dispatch.params import Params
from gossamer.protocols.dispatch.static import behind, breadth_first
from gossamer.protocols.dispatch.table import Table, read
from gossamer.protocols.dispatch.telling import Telling

ROUTE_MAX = 32
"Carriers of an event that stand beside it, the latest ones."


class Overlay(Protocol):
    """What this layer asks of the tree it stands on."""

    linked: list[Callable[[Topic, Sequence[Peer]], None]]

    def ready(self, topic: Topic) -> bool: ...


class Repeat(Struct, frozen=True):
    """Timer: a change was not answered. Stale once it was."""

    neighbour: Peer
    stream: int
    number: int


class Agree(Struct, frozen=True):
    """Timer: neighbours make sure that they mean the same tables."""


class Dispatch(Layer):
    """One dispatcher. Its clients are the node's own users.

    Without an overlay its links are given once (see `fill`), and no timer runs."""

    relays = True
    tree = True

    def __init__(self, node: Stack, params: Params, overlay: Overlay | None = None, topic: Topic = ".") -> None:
        super().__init__(node)
        self.params = params
        self.overlay = overlay
        self.topic = topic
        "The community of all dispatchers, on which the tree stands."
        self.table = Table(node.me, node.hierarchy)
        self.tellings: dict[Peer, Telling] = {}
        self.heard: dict[Peer, Told] = {}
        "How far each neighbour's changes came."
        self.streams = 0
        self.running = False
        if overlay is not None:
            overlay.linked.append(self.on_links)
        node.spread = self

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {
            Route: self.on_route,
            Tell: self.on_tell,
            Told: self.on_told,
            Repeat: self.on_repeat,
            Agree: self.on_agree,
        }

    # -- events -------------------------------------------------------------------------------------------------

    def publish(self, event: Event) -> bool:
        if self.overlay is not None and not self.overlay.ready(self.topic):
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

    # -- life ---------------------------------------------------------------------------------------------------

    def started(self, contacts: Sequence[Peer]) -> None:
        if not self.running and self.overlay is not None:
            self.running = True
            self.out.timer(self.params.agree_every_us, Agree())

    def interest_changed(self) -> None:
        mine, me = self.node.interest.patterns, self.node.me
        for pattern in [each for each in self.table.sources[me] if each not in mine]:
            self.forget(me, pattern)
        for pattern, wanted in mine.items():
            self.table.add(me, pattern, wanted)
            self.want(pattern)
        self.tell_all()

    # -- links --------------------------------------------------------------------------------------------------

    def on_links(self, topic: Topic, links: Sequence[Peer]) -> None:
        """The tree changed: these are our neighbours now."""
        if topic != self.topic:
            return
        for peer in [each for each in self.tellings if each not in links]:
            self.link_down(peer)
        for peer in links:
            if peer not in self.tellings:
                self.link_up(peer)
        self.tell_all()
        if self.overlay is not None and self.overlay.ready(self.topic):
            for waiting in dict.fromkeys(event.topic for event in self.node.pending.values()):
                self.node.is_ready(waiting)

    def link_up(self, peer: Peer) -> None:
        self.table.open(peer)
        wanted = Covering(self.table.covers if self.params.covering else None)
        for pattern in self.table.all.holders:
            wanted.add(pattern)
        self.tellings[peer] = Telling(self.fresh_stream(), wanted, self.params.patterns_max)

    def link_down(self, peer: Peer) -> None:
        del self.tellings[peer]
        self.heard.pop(peer, None)
        for pattern in tuple(self.table.sources[peer]):
            self.forget(peer, pattern)
        self.table.close(peer)

    def fresh_stream(self, after: int = 0) -> int:
        self.streams = max(self.node.now_us, self.streams + 1, after + 1)
        return self.streams

    # -- what neighbours are told -------------------------------------------------------------------------------

    def want(self, pattern: Pattern) -> None:
        """Somebody wants this: every neighbour besides hears of it."""
        for peer, telling in self.tellings.items():
            if self.table.wanted_besides(pattern, peer):
                telling.wanted.add(pattern)

    def forget(self, source: Peer, pattern: Pattern) -> None:
        """A source no longer wants this; whom nobody else told of it need not send it any more."""
        self.table.remove(source, pattern)
        for peer, telling in self.tellings.items():
            if not self.table.wanted_besides(pattern, peer):
                telling.wanted.remove(pattern)

    def tell_all(self) -> None:
        for peer in self.tellings:
            self.tell(peer)

    def tell(self, peer: Peer) -> None:
        change = self.tellings[peer].next()
        if change is not None:
            self.out.send([peer], change)
            self.out.timer(self.params.repeat_us, Repeat(peer, change.stream, change.number))

    def on_told(self, peer: Peer, told: Told) -> None:
        telling = self.tellings.get(peer)
        if telling is None:
            return
        if not telling.heard(told):
            telling.begin(self.fresh_stream(told.stream))
        self.tell(peer)

    def on_repeat(self, timer: Repeat) -> None:
        telling = self.tellings.get(timer.neighbour)
        if telling is None or telling.flying is None:
            return
        if (telling.stream, telling.number) == (timer.stream, timer.number):
            self.out.send([timer.neighbour], telling.flying)
            self.out.timer(self.params.repeat_us, timer)

    def on_agree(self, timer: Agree) -> None:
        self.out.timer(self.params.agree_every_us, timer)
        for peer, telling in self.tellings.items():
            if telling.flying is None:
                self.out.send([peer], telling.agree())

    # -- what neighbours tell -----------------------------------------------------------------------------------

    def on_tell(self, peer: Peer, tell: Tell) -> None:
        if peer not in self.tellings:
            self.out.note("reject", peer=peer, detail="not a neighbour on the tree")
            return
        heard = self.heard.get(peer)
        if tell.number <= 1 and (heard is None or tell.stream > heard.stream):
            for pattern in tuple(self.table.sources[peer]):
                self.forget(peer, pattern)
            heard = self.heard[peer] = Told(tell.stream, 0)
        if heard is not None and tell.stream == heard.stream and tell.number == heard.number + 1:
            self.take(peer, tell)
            heard = self.heard[peer] = Told(tell.stream, tell.number)
            self.tell_all()
        if heard is None or tell.stream > heard.stream:
            heard = Told(tell.stream, 0)  # we know nothing of what came before: it must begin anew
        self.out.send([peer], heard)

    def take(self, peer: Peer, tell: Tell) -> None:
        for pattern in tell.add:
            if len(self.table.sources[peer]) >= self.params.patterns_max:
                self.out.note("reject", peer=peer, topic=pattern.topic, detail="too many patterns")
                continue
            try:
                wanted = read(pattern)
            except Misuse as wrong:
                self.out.note("reject", peer=peer, topic=pattern.topic, detail=f"bad filter: {wrong}"[:200])
                continue
            self.table.add(peer, pattern, wanted)
            self.want(pattern)
        for pattern in tell.remove:
            self.forget(peer, pattern)


# -- experiments ----------------------------------------------------------------------------------------------------


def fill(
    dispatch: Dispatch, neighbours: Mapping[Peer, Sequence[Peer]], subscriptions: Mapping[Peer, Sequence[Pattern]]
) -> None:
    """Links and tables as they are once everybody in a given tree has told everything, without a message."""
    node = dispatch.node
    for pattern in subscriptions.get(node.me, ()):
        node.interest.subscribe(pattern)
    node.interest.changed()
    beyond = behind(node.me, neighbours, subscriptions)
    for peer in beyond:
        dispatch.link_up(peer)
    for pattern, wanted in node.interest.patterns.items():
        dispatch.table.add(node.me, pattern, wanted)
        dispatch.want(pattern)
    for peer, patterns in beyond.items():
        for pattern in patterns:
            dispatch.table.add(peer, pattern, read(pattern))
            dispatch.want(pattern)
    if dispatch.params.covering:
        raise Misuse("tables of a given tree hold every pattern: leave covering off")
    for telling in dispatch.tellings.values():
        telling.settled()


def static_node(setting: Setting, me: Peer, seed: int) -> Stack:
    """A node of an experiment: all processes in one tree filled breadth-first, everybody subscribed to its topic."""
    home = next(c for c in setting.communities if me in c.members)
    node = Stack(me, seed, setting.hierarchy(), Seen())
    topics = {peer: (Pattern(c.topic),) for c in setting.communities for peer in c.members}
    fill(Dispatch(node, home.params), breadth_first(setting.processes, home.params.degree), topics)
    return node
