"""The paper's algorithms along a tree: events go to everybody, on a small spread made for this."""

from collections.abc import Mapping, Sequence

import pytest
from msgspec import Struct

from composing import use
from gossamer.core.events import Attribute, Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.layer import Handler, Layer
from gossamer.core.machine import Publish, Subscribe
from gossamer.core.messages import Carrier
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.seen import Seen
from gossamer.parts.tagging import Tagger
from gossamer.parts.topical import Below
from gossamer.protocols.recovery.layer import Recovery
from gossamer.protocols.recovery.params import Method, Params
from gossamer.sim.checked import checked
from gossamer.sim.chronicle import Chronicle
from gossamer.sim.network import Independent, Latency, Network
from gossamer.sim.world import World

TOPIC: Topic = ".t"
ALL = Pattern(TOPIC)
NODES = 15
T = 30_000
GOSSIP = ("Digest", "Lost", "Ask")


class Branch(Carrier, frozen=True, tag="branch.carry"):
    """An event."""


class Branches(Layer):
    """Whoever hears an event tells its other neighbours, and says which way it came."""

    relays = True
    tree = True
    instead = None

    def __init__(self, node: Stack, near: Sequence[Peer]) -> None:
        super().__init__(node)
        self.near = near

    def has_place(self, topic: Topic) -> bool:
        return True

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Branch: self.on_branch}

    def on_branch(self, peer: Peer, branch: Branch) -> None:
        self.meet(branch.carried, peer)

    def publish(self, events: Sequence[Event]) -> bool:
        for event in events:
            self.meet(Carried(event), self.node.me)
        return True

    def meet(self, carried: Carried, via: Peer) -> None:
        if self.node.accept(carried, via):
            onward = Carried(carried.event, carried.hops + 1, (*carried.route, self.node.me))
            self.out.send([peer for peer in self.near if peer != via], Branch(onward))

    def patterns(self, topic: Topic, attributes: Mapping[str, Attribute]) -> tuple[Pattern, ...]:
        return (ALL,)

    def local(self) -> Sequence[Pattern]:
        return [*self.node.interest.patterns]

    def known(self) -> Sequence[Pattern]:
        return [ALL]

    def wants(self, pattern: Pattern) -> bool:
        return pattern in self.node.interest.patterns

    def towards(self, pattern: Pattern) -> Sequence[Peer]:
        return self.near

    def picked(self, k: int, key: int) -> tuple[Sequence[tuple[Peer, Below]], bool]:
        return [(peer, Below(self.node.hierarchy, TOPIC)) for peer in self.near], True

    def carries(self, topic: Topic, besides: Peer) -> bool:
        return len(self.near) > 1


def near(me: Peer) -> list[Peer]:
    """A binary tree, filled breadth-first."""
    around = [(me - 1) // 2] if me else []
    return around + [child for child in (2 * me + 1, 2 * me + 2) if child < NODES]


def run(params: Params, loss: float, seed: int = 1, events: int = 80) -> tuple[float, Chronicle]:
    """The share of (subscriber, event) pairs delivered, of all but the last events of each publisher, which only show
    losses of others; and what was sent."""

    def make(me: Peer) -> Stack:
        node = Stack(me, seed, Hierarchy(), Seen())
        spread = Branches(node, near(me))
        recover = Recovery(node, spread, lambda topic: params)
        return use(node, spread, recover, spread=spread, recover=recover)

    network = Network(seed, Latency(median_us=1000), Independent(lambda sender, target: 1 - loss))
    world = World(make, network)
    checked(world, seen := Chronicle(world, lambda peer, event: True))
    for peer in range(NODES):
        world.start(peer)
        world.give(peer, Subscribe(TOPIC))
    taggers = [Tagger() for _ in range(3)]

    def publish(number: int) -> None:
        peer = (0, 8, 14)[number % 3]
        tags = taggers[number % 3].tags(world.machines[peer].patterns(TOPIC, {}), world.now_us)
        world.give(peer, Publish(Event(EventId(peer, 0, number), TOPIC, tags=tags)))

    for number in range(events):
        world.at(number * 5_000, lambda number=number: publish(number))  # type: ignore[misc]
    world.run(events * 5_000 + 1_000_000)
    judged = range(9, max(10, events - 20))
    ids = [EventId((0, 8, 14)[n % 3], 0, n) for n in judged]
    got = sum(len(seen.fates[each].got) for each in ids if each in seen.fates)
    return got / (NODES * len(judged)), seen


def gossip(seen: Chronicle) -> int:
    return sum(seen.sends.get(kind, 0) for kind in GOSSIP)


@pytest.mark.parametrize("method", ["push", "subscriber-pull", "publisher-pull", "combined"])
def test_every_method_finds_most_of_what_a_lossy_tree_loses(method: Method) -> None:
    without, _ = run(Params(method="none", interval_us=T), loss=0.1)
    share, _ = run(Params(method=method, interval_us=T), loss=0.1)
    assert without < 0.8
    assert share > 0.97


@pytest.mark.parametrize("method", ["subscriber-pull", "publisher-pull", "combined"])
def test_without_loss_pulls_say_nothing_at_all(method: Method) -> None:
    share, seen = run(Params(method=method, interval_us=T), loss=0.0)
    assert share == 1
    assert seen.sends.keys() == {"Branch"}


def test_push_gossips_without_loss_but_sends_nothing_again() -> None:
    share, seen = run(Params(method="push", interval_us=T), loss=0.0)
    assert share == 1
    assert gossip(seen) > 0
    assert seen.sends.get("Again", 0) == 0


def test_a_publisher_pull_is_answered_on_the_way() -> None:
    """By the first who has it, and nobody else is asked."""
    _, seen = run(Params(method="publisher-pull", interval_us=T), loss=0.1)
    assert seen.sends["Ask"] > 0
    assert "Lost" not in seen.sends
    assert "Digest" not in seen.sends


def test_an_immediate_round_finds_as_much_with_a_long_interval() -> None:
    slow, _ = run(Params(method="combined", interval_us=2_000_000), loss=0.1)
    quick, _ = run(Params(method="combined", interval_us=2_000_000, immediate=True), loss=0.1)
    assert quick > slow


def test_an_adaptive_push_says_less_when_nothing_is_lost() -> None:
    _, steady = run(Params(method="push", interval_us=T), loss=0.0)
    _, adaptive = run(Params(method="push", interval_us=T, adaptive=True), loss=0.0)
    assert gossip(adaptive) * 4 < gossip(steady)


@pytest.mark.parametrize("eviction", ["fifo", "random", "subscriber-first"])
def test_a_small_cache_recovers_less(eviction: str) -> None:
    small, _ = run(Params(method="combined", interval_us=T, cache=4, eviction=eviction), loss=0.1)  # type: ignore[arg-type]
    large, _ = run(Params(method="combined", interval_us=T, eviction=eviction), loss=0.1)  # type: ignore[arg-type]
    assert small < large


def test_tails_reach_everybody_along_the_tree() -> None:
    """The last events, too; they are judged here by the whole run of a short one."""
    params = Params(interval_us=T, tail_after_us=50_000, push_every_us=50_000)
    _, seen = run(params, loss=0.1, events=12)
    assert sum(len(fate.got) for fate in seen.fates.values()) == 12 * NODES
