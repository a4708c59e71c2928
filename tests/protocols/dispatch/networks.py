"""Dispatchers whose links a test makes and breaks, and what their tables should say."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import get_args

from composing import use
from gossamer.core.events import Attribute, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import SECOND_US, Deliver, Effect, Given, Message, Note, Publish, Subscribe, Unsubscribe
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.seen import Seen
from gossamer.protocols.dispatch.layer import Dispatch
from gossamer.protocols.dispatch.messages import Message as Messages
from gossamer.protocols.dispatch.params import Params
from gossamer.protocols.dispatch.static import behind
from gossamer.sim.network import Independent, Latency, Network
from gossamer.sim.world import Watcher, World
from gossamer.wire.codec import Codec

CODEC = Codec(get_args(Messages))
QUICK = Params(linger_us=SECOND_US, agree_every_us=2 * SECOND_US)


class ByHand:
    """A tree that is as the test says."""

    def __init__(self) -> None:
        self.near: dict[Peer, None] = {}
        self.found = True

    def links(self, topic: Topic) -> Sequence[Peer]:
        return tuple(self.near)

    def ready(self, topic: Topic) -> bool:
        return self.found


def dispatcher(me: Peer, seed: int, params: Params) -> Stack:
    node = Stack(me, seed, Hierarchy(), Seen())
    spread = Dispatch(node, params, ByHand())
    return use(node, spread, spread=spread)


class Seeing(Watcher):
    """Who got what, and who only carried it."""

    def __init__(self) -> None:
        self.delivered: dict[EventId, list[Peer]] = {}
        self.relayed: dict[EventId, list[Peer]] = {}
        self.routed: dict[EventId, list[tuple[Peer, Peer]]] = {}
        self.tells = 0

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        self.tells += type(message).__name__ == "Tell"
        carried = getattr(message, "carried", None)
        if carried is not None:
            self.routed.setdefault(carried.event.id, []).append((sender, target))

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        for effect in effects:
            if type(effect) is Deliver:
                self.delivered.setdefault(effect.event.id, []).append(peer)
            elif type(effect) is Note and effect.kind == "relay" and effect.event is not None:
                self.relayed.setdefault(effect.event, []).append(peer)


class Dispatchers:
    """A world of them."""

    def __init__(self, size: int, seed: int = 1, loss: float = 0.0, params: Params = QUICK) -> None:
        losing = Independent(lambda sender, target: 1 - loss) if loss else None
        network = Network(seed, Latency(median_us=10_000, shape="lognormal", spread=0.5), losing)
        self.seeing = Seeing()
        self.world = World(lambda me: dispatcher(me, seed, params), network, [self.seeing], CODEC)
        self.wants: dict[Peer, dict[Pattern, None]] = {}
        self.near: dict[Peer, list[Peer]] = {}
        self.sequence = 0
        for peer in range(size):
            self.world.start(peer)
            self.wants[peer], self.near[peer] = {}, []

    def node(self, peer: Peer) -> Stack:
        machine = self.world.machines[peer]
        assert isinstance(machine, Stack)
        return machine

    def dispatch(self, peer: Peer) -> Dispatch:
        spread = self.node(peer).spread
        assert isinstance(spread, Dispatch)
        return spread

    def run(self, seconds: float) -> None:
        self.world.run(self.world.now_us + round(seconds * SECOND_US))

    def link(self, one: Peer, other: Peer, there: bool = True) -> None:
        for me, peer in ((one, other), (other, one)):
            overlay = self.dispatch(me).overlay
            assert isinstance(overlay, ByHand)
            if there:
                overlay.near[peer] = None
                self.near[me].append(peer)
            else:
                del overlay.near[peer]
                self.near[me].remove(peer)
            self.dispatch(me).links_changed(".")
            self.world.give(me, Unsubscribe(".never"))  # any step: what the change made the layer say goes out

    def subscribe(self, peer: Peer, topic: Topic, where: str = "") -> None:
        self.wants[peer][Pattern(topic, where)] = None
        self.world.give(peer, Subscribe(topic, where))

    def unsubscribe(self, peer: Peer, topic: Topic, where: str = "") -> None:
        self.wants[peer].pop(Pattern(topic, where), None)
        self.world.give(peer, Unsubscribe(topic, where))

    def publish(self, peer: Peer, topic: Topic, **attributes: Attribute) -> EventId:
        self.sequence += 1
        event_id = EventId(peer, 0, self.sequence)
        self.world.give(peer, Publish(Event(event_id, topic, attributes=attributes)))
        return event_id

    def delivered(self, event_id: EventId) -> list[Peer]:
        return sorted(self.seeing.delivered.get(event_id, []))

    def expected(self, peer: Peer) -> dict[Peer, dict[Pattern, None]]:
        """What lies behind each link, worked out by whoever sees everything."""
        return behind(peer, self.near, {each: [*patterns] for each, patterns in self.wants.items()})

    def table(self, peer: Peer) -> dict[Peer, dict[Pattern, None]]:
        """What a node knows of each of its neighbours; nothing may be left of those that are gone."""
        sources = self.dispatch(peer).table.sources
        return {source: patterns for source, patterns in sources.items() if source != peer}


def linked(links: Iterable[tuple[Peer, Peer]], size: int, **options: object) -> Dispatchers:
    net = Dispatchers(size, **options)  # type: ignore[arg-type]
    for one, other in links:
        net.link(one, other)
    return net


def check_tables(net: Dispatchers) -> None:
    for peer in net.near:
        assert net.table(peer) == net.expected(peer), peer


def check_covered_tables(net: Dispatchers, covers: Callable[[Pattern, Pattern], bool]) -> None:
    """With covering, of what lies behind a link the widest patterns are there, and nothing else."""
    for peer in net.near:
        table = net.table(peer)
        expected = net.expected(peer)
        assert table.keys() == expected.keys()
        for neighbour, patterns in expected.items():
            assert sorted(table[neighbour]) == sorted(widest(patterns, covers)), (peer, neighbour)


def widest(patterns: Mapping[Pattern, None], covers: Callable[[Pattern, Pattern], bool]) -> list[Pattern]:
    return [each for each in patterns if not any(other != each and covers(other, each) for other in patterns)]
