"""Worlds of dynamic nodes for tests: everything through the codec, everything watched from outside."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from gossamer.core.draws import CHURN, distinct, fold
from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import SECOND_US, Deliver, Effect, Given, Message, Note, Publish, Started, Subscribe
from gossamer.core.stack import Layer, Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.protocols.assemble import DYNAMIC_MESSAGES, dynamic_node
from gossamer.protocols.camcast.links import Links
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.scamp.layer import Scamp
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.protocols.search.params import Params as SearchParams
from gossamer.sim.network import Independent, Latency, Loss, Network
from gossamer.sim.world import Watcher, World
from gossamer.wire.codec import Codec

SomeLayer = TypeVar("SomeLayer", bound=Layer)
CODEC = Codec(DYNAMIC_MESSAGES)
CHAIN: dict[Topic, int] = {".": 4, ".d": 8, ".d.g": 14}


def layer(node: Stack, kind: type[SomeLayer]) -> SomeLayer:
    return next(each for each in node.layers if isinstance(each, kind))


class Watch(Watcher):
    """Counts messages by type; remembers deliveries, parasites and repeated deliveries."""

    def __init__(self) -> None:
        self.sends: dict[str, int] = {}
        self.log: list[tuple[Peer, Peer, Message]] = []
        self.keep_log = False
        self.delivered: dict[EventId, list[Peer]] = {}
        self.twice: list[tuple[EventId, Peer]] = []
        self.parasites: list[tuple[int, Peer, Note]] = []
        self.had: set[tuple[int, EventId, Peer]] = set()
        self.life: dict[Peer, int] = {}

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        name = type(message).__name__
        self.sends[name] = self.sends.get(name, 0) + 1
        if self.keep_log:
            self.log.append((sender, target, message))

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        if type(given) is Started:
            self.life[peer] = self.life.get(peer, 0) + 1
        for effect in effects:
            if type(effect) is Deliver:
                self._delivered(peer, effect.event.id)
            elif type(effect) is Note and effect.kind == "parasite":
                self.parasites.append((now_us, peer, effect))

    def _delivered(self, peer: Peer, event_id: EventId) -> None:
        this = (self.life.get(peer, 0), event_id, peer)
        if this in self.had:
            self.twice.append((event_id, peer))
        self.had.add(this)
        self.delivered.setdefault(event_id, []).append(peer)


class Town:
    """A world of dynamic nodes, started with a few random contacts each."""

    def __init__(
        self,
        seed: int = 1,
        *,
        hierarchy: Hierarchy | None = None,
        params: Callable[[Topic], CamcastParams] | CamcastParams | None = None,
        scamp: ScampParams | None = None,
        search: SearchParams | None = None,
        latency: Latency | None = None,
        loss: float = 0.0,
        duplicated: float = 0.0,
        make: Callable[[Peer], Stack] | None = None,
    ) -> None:
        self.seed = seed
        self.watch = Watch()
        losing: Loss | None = Independent(lambda sender, target: 1 - loss) if loss else None
        delay = latency or Latency(median_us=20_000, shape="lognormal", spread=0.3)
        self.network = Network(seed, delay, losing, duplicated)
        build = make or (lambda me: dynamic_node(me, seed, hierarchy, params, scamp, search))
        self.world = World(build, self.network, [self.watch], CODEC)
        self.sequence = 0

    def start(self, peer: Peer, *topics: Topic, contacts: Iterable[Peer] | None = None, of: int = 3) -> None:
        """Starts a node that knows `of` random running ones, and subscribes it."""
        if contacts is None:
            up = [other for other in self.world.up if other != peer]
            key = fold(fold(self.seed, CHURN), fold(self.world.now_us, peer))
            contacts = [up[i] for i in distinct(key, len(up), of)]
        self.world.start(peer, contacts)
        for topic in topics:
            self.world.give(peer, Subscribe(topic))

    def run(self, seconds: float) -> None:
        self.world.run(self.world.now_us + round(seconds * SECOND_US))

    def publish(self, peer: Peer, topic: Topic, climb: float | None = None) -> EventId:
        self.sequence += 1
        event_id = EventId(peer, 0, self.sequence)
        self.world.give(peer, Publish(Event(event_id, topic, b"news", climb=climb)))
        return event_id

    def node(self, peer: Peer) -> Stack:
        machine = self.world.machines[peer]
        assert isinstance(machine, Stack)
        return machine

    def members(self, topic: Topic) -> list[Peer]:
        return [peer for peer in self.world.up if self.node(peer).interest.takes_part(topic)]

    def scamp(self, peer: Peer) -> Scamp:
        return layer(self.node(peer), Scamp)

    def links(self, peer: Peer) -> Links:
        return layer(self.node(peer), Links)

    def view(self, peer: Peer, topic: Topic) -> list[Peer]:
        return [*self.scamp(peer).views[topic].held]

    def views(self, topic: Topic) -> dict[Peer, list[Peer]]:
        return {peer: self.view(peer, topic) for peer in self.members(topic)}

    def missing(self, event_id: EventId, wanted: Iterable[Peer]) -> list[Peer]:
        got = self.watch.delivered.get(event_id, [])
        return [peer for peer in wanted if peer not in got]


def components(views: dict[Peer, Sequence[Peer]] | dict[Peer, list[Peer]]) -> int:
    """Pieces of the view graph, arcs taken both ways; entries that are not members any more are left out."""
    near: dict[Peer, set[Peer]] = {peer: set() for peer in views}
    for peer, view in views.items():
        for other in view:
            if other in near:
                near[peer].add(other)
                near[other].add(peer)
    unseen = set(near)
    count = 0
    while unseen:
        count += 1
        edge = [unseen.pop()]
        while edge:
            fresh = near[edge.pop()] & unseen
            unseen -= fresh
            edge.extend(fresh)
    return count


def populated(sizes: dict[Topic, int], seed: int = 1, settle: float = 15, **options: object) -> Town:
    """Nodes of all topics, mixed, started at once with three random contacts each."""
    town = Town(seed, **options)  # type: ignore[arg-type]
    plan = [topic for topic, size in sizes.items() for _ in range(size)]
    step = next(step for step in (7, 11, 13) if len(plan) % step)
    for i in range(len(plan)):
        peer = i * step % len(plan)
        town.start(peer, plan[peer])
    town.run(settle)
    return town


def tables(town: Town, topic: Topic) -> dict[Peer, list[list[Peer]]]:
    return {peer: town.links(peer).tables(topic) for peer in town.members(topic)}


def readers(town: Town, topic: Topic) -> list[Peer]:
    return [peer for peer in town.world.up if town.node(peer).interest.wants(topic)]
