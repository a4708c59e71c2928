"""A town of overlay peers only: each registers for some topics and does nothing else, so that very many fit."""

from collections.abc import Callable, Sequence

from gossamer.core.draws import SAMPLE, distinct, draw, fold
from gossamer.core.events import Event
from gossamer.core.ids import Peer
from gossamer.core.layer import Layer
from gossamer.core.machine import Subscribe
from gossamer.core.messages import Carrier
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.seen import Seen
from gossamer.protocols.pgrid.layer import PGrid
from gossamer.protocols.pgrid.lookup import Lookup
from gossamer.protocols.pgrid.messages import Meet
from gossamer.protocols.pgrid.params import Params
from gossamer.sim.network import Latency, Network
from gossamer.sim.world import Watcher, World

NEAR = Latency(median_us=20_000, shape="lognormal", spread=0.3)


class NoSpread(Layer):
    """Events do not travel here."""

    relays = False

    def publish(self, events: Sequence[Event]) -> bool:
        return True

    def has_place(self, topic: Topic) -> bool:
        return True


def overlay_node(me: Peer, seed: int, params: Params) -> Stack:
    node = Stack(me, seed, Hierarchy(), Seen(16))
    grid, spread = PGrid(node, params), NoSpread(node)
    node.use(grid, spread, members=None, contacts=grid, links=None, spread=spread, outside=None, recover=None)
    return node


class Counted(Watcher):
    """How many messages were sent, and how many of them to keep in touch."""

    def __init__(self) -> None:
        self.all = self.meetings = 0

    def sent(self, sender: Peer, target: Peer, message: object) -> None:
        self.all += 1
        self.meetings += isinstance(message, Meet)
        assert not isinstance(message, Carrier)


class OverlayPeers:
    def __init__(self, seed: int = 1, params: Params | None = None) -> None:
        self.seed, self.params = seed, params or Params()
        self.world = World(lambda me: overlay_node(me, seed, self.params), Network(seed, NEAR), (), None)
        self.topics: dict[Peer, tuple[Topic, ...]] = {}
        self.counted = Counted()
        self.world.watch(self.counted)
        self.draws = 0

    def fresh(self) -> int:
        self.draws += 1
        return fold(fold(self.seed, SAMPLE), self.draws)  # type: ignore[no-any-return]

    def some_up(self, count: int) -> list[Peer]:
        up = [*self.world.up]
        return [up[i] for i in distinct(self.fresh(), len(up), count)]

    def start(self, peer: Peer, *topics: Topic) -> None:
        """Brings a peer up, or up again, that knows three others."""
        self.topics[peer] = topics or self.topics[peer]
        self.world.start(peer, self.some_up(3), ())
        for topic in self.topics[peer]:
            self.world.give(peer, Subscribe(topic))

    def run(self, seconds: float) -> None:
        self.world.run(self.world.now_us + round(seconds * 1e6))

    def grid(self, peer: Peer) -> PGrid:
        node = self.world.machines[peer]
        assert isinstance(node, Stack)
        assert isinstance(node.contacts, PGrid)
        return node.contacts

    def grids(self) -> list[PGrid]:
        return [self.grid(peer) for peer in self.world.up]

    def members(self, topic: Topic) -> list[Peer]:
        return [peer for peer in self.world.up if topic in self.topics[peer]]

    def look_up(self, peer: Peer, topic: Topic, count: int, done: Callable[[Lookup], None]) -> None:
        """A peer looks for members of a topic; what its step comes to is done as the world does it."""
        grid = self.grid(peer)
        grid.node.now_us = self.world.now_us
        grid.members([topic], count, lambda topic, lookup: done(lookup))
        self.world.perform(peer, grid.out.take())

    def searches(self, topics: Sequence[Topic], count: int, k: int, over_s: float) -> list[Lookup | None]:
        """So many searches for k members, each by some peer for some topic, spread over some seconds; what each found:
        None, if its peer is gone or it is not over after ten more seconds."""
        found: list[Lookup | None] = [None] * count

        def begin(number: int) -> None:
            key = self.fresh()
            up = [*self.world.up]
            peer, topic = up[draw(key, 0) % len(up)], topics[draw(key, 1) % len(topics)]

            def done(lookup: Lookup) -> None:
                found[number] = lookup

            self.look_up(peer, topic, k, done)

        for number in range(count):
            at_us = self.world.now_us + round(over_s * 1e6 * number / count)
            self.world.at(at_us, lambda number=number: begin(number))  # type: ignore[misc]
        self.run(over_s + 10)
        return found
