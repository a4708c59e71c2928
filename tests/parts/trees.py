"""Nodes that are in a tree and do nothing else, over an overlay that is given; and what is true of every tree."""

from collections.abc import Callable, Mapping, Sequence

from composing import use
from gossamer.core.draws import distinct
from gossamer.core.events import Event
from gossamer.core.ids import Peer
from gossamer.core.layer import Layer
from gossamer.core.machine import SECOND_US, Effect, Given, Message
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts import tree as part
from gossamer.parts.seen import Seen
from gossamer.parts.standing import Stand
from gossamer.parts.tree import Pace, SpanningTree
from gossamer.sim.checked import checked
from gossamer.sim.network import Independent, Latency, Network
from gossamer.sim.world import Watcher, World
from gossamer.wire.codec import Codec

TOPIC: Topic = ".t"
PACE = Pace(beat_every_us=SECOND_US // 2, patience_us=SECOND_US, silent_beats=4, forget_beats=6)


class Offer(part.Offer, frozen=True, tag="test.offer"):
    pass


class Part(part.Part, frozen=True, tag="test.part"):
    pass


CODEC = Codec((Offer, Part))


class Fixed:
    """Members that are given."""

    def __init__(self, near: Sequence[Peer]) -> None:
        self.near = near

    def sure(self, topic: Topic) -> Sequence[Peer]:
        return self.about(topic)

    def about(self, topic: Topic) -> Sequence[Peer]:
        return self.near

    def sample(self, topic: Topic, k: int, key: int) -> list[Peer]:
        return [self.near[i] for i in distinct(key, len(self.near), k)]

    def size(self, topic: Topic) -> int:
        return len(self.near) + 1

    def ready(self, topic: Topic) -> bool:
        return True


class Planting(Layer):
    """Plants the tree when the node starts; spreads nothing."""

    relays = False

    def __init__(self, node: Stack, tree: SpanningTree, told: list[Sequence[Peer]] | None = None) -> None:
        super().__init__(node)
        self.tree, self.told = tree, told

    def links_changed(self, topic: Topic) -> None:
        if self.told is not None:
            self.told.append(self.tree.links(topic))

    def publish(self, events: Sequence[Event]) -> bool:
        return False

    def has_place(self, topic: Topic) -> bool:
        return False

    def started(self, contacts: Sequence[Peer]) -> None:
        self.tree.plant(TOPIC)


def planted(me: Peer, near: Sequence[Peer], seed: int = 1, told: list[Sequence[Peer]] | None = None) -> Stack:
    """`told` is told all links of the node whenever they change."""
    node = Stack(me, seed, Hierarchy(), Seen())
    members = Fixed(near)
    tree = SpanningTree(node, members, PACE, Offer, Part)
    spread = Planting(node, tree, told)
    return use(node, tree, spread, members=members, spread=spread)


def tree_of(machine: object) -> SpanningTree:
    assert isinstance(machine, Stack)
    return next(layer for layer in machine.layers if isinstance(layer, SpanningTree))


class NoCircle(Watcher):
    """After every step: whoever stepped hangs on the root, or on somebody that is gone, never on itself."""

    def __init__(self, world: World, topic: Topic = TOPIC) -> None:
        self.world, self.topic = world, topic
        self.changes = 0
        self.parents: dict[Peer, Peer | None] = {}
        self.sent_kinds: dict[str, int] = {}

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        name = type(message).__name__
        self.sent_kinds[name] = self.sent_kinds.get(name, 0) + 1

    def stand(self, peer: Peer) -> Stand | None:
        machine = self.world.machines.get(peer)
        return None if machine is None else tree_of(machine).stands.get(self.topic)

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        stand = self.stand(peer)
        if stand is None:
            return
        if self.parents.get(peer) != stand.parent:
            self.parents[peer] = stand.parent
            self.changes += 1
        passed = {peer}
        while stand.parent is not None:
            above = self.stand(stand.parent)
            if above is None or above.life != stand.parent_life:
                return
            assert above.rank >= stand.rank
            assert stand.parent not in passed, f"a circle of parents: {passed}"
            passed.add(stand.parent)
            stand = above


def links_of(world: World, topic: Topic = TOPIC) -> dict[Peer, Sequence[Peer]]:
    return {peer: tree_of(machine).links(topic) for peer, machine in world.machines.items()}


def is_tree(links: Mapping[Peer, Sequence[Peer]]) -> bool:
    """Whether each link is known at both ends, there are n - 1, and they connect everybody."""
    arcs = {(peer, other) for peer, others in links.items() for other in others}
    if any((other, peer) not in arcs for peer, other in arcs) or len(arcs) != 2 * (len(links) - 1):
        return False
    ahead = [next(iter(links))]
    for peer in ahead:
        ahead += [other for other in links[peer] if other not in ahead]
    return len(ahead) == len(links)


def world_of(make: Callable[[Peer], Stack], codec: Codec, seed: int = 1, loss: float = 0.0) -> World:
    losing = Independent(lambda sender, target: 1 - loss) if loss else None
    delay = Latency(median_us=20_000, shape="lognormal", spread=0.3)
    return checked(World(make, Network(seed, delay, losing), [], codec))


def seconds_to_rest(world: World, at_most: float, topic: Topic = TOPIC, step: float = 0.25) -> float:
    """Lets time pass until the links are a tree. Says how long that took; infinite if they never were."""
    passed = 0.0
    while not is_tree(links_of(world, topic)):
        if passed >= at_most:
            return float("inf")
        passed += step
        world.run(world.now_us + round(step * SECOND_US))
    return passed
