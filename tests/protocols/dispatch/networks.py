"""Dispatchers whose links a test makes and breaks, and what their tables should say."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import get_args

from composing import use
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import SECOND_US, Message, Unsubscribe
from gossamer.core.messages import Carrier
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.seen import Seen
from gossamer.protocols.dispatch.layer import Dispatch
from gossamer.protocols.dispatch.messages import Message as Messages
from gossamer.protocols.dispatch.params import Params
from gossamer.protocols.dispatch.static import behind
from gossamer.sim.network import Latency
from gossamer.sim.town import Town
from gossamer.sim.world import Watcher
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


class Routes(Watcher):
    """Over which links each event went."""

    def __init__(self) -> None:
        self.taken: dict[EventId, list[tuple[Peer, Peer]]] = {}

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        if isinstance(message, Carrier):
            self.taken.setdefault(message.carried.event.id, []).append((sender, target))


class Dispatchers(Town):
    """A town of them. Who is whose neighbour, a test says."""

    def __init__(self, size: int, seed: int = 1, loss: float = 0.0, params: Params = QUICK) -> None:
        far = Latency(median_us=10_000, shape="lognormal", spread=0.5)
        make = partial(dispatcher, seed=seed, params=params)
        super().__init__(make, get_args(Messages), seed, latency=far, loss=loss, told_of_failures=False)
        self.world.watch(routes := Routes())
        self.routes = routes
        self.near: dict[Peer, list[Peer]] = {}
        for peer in range(size):
            self.start(peer, contacts=())
            self.near[peer] = []

    def dispatch(self, peer: Peer) -> Dispatch:
        spread = self.node(peer).spread
        assert isinstance(spread, Dispatch)
        return spread

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

    def expected(self, peer: Peer) -> dict[Peer, dict[Pattern, None]]:
        """What lies behind each link, worked out by whoever sees everything."""
        return behind(peer, self.near, {each: [*asked.patterns] for each, asked in self.interests.items()})

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
