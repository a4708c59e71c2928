"""Nodes that gossip what they want, and nothing else."""

from collections.abc import Sequence
from typing import get_args

from composing import use
from gossamer.core.ids import Peer
from gossamer.core.machine import Effect, Received, Send, Started
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.seen import Seen
from gossamer.protocols.interests import messages
from gossamer.protocols.interests.layer import Interests
from gossamer.protocols.interests.params import Params
from gossamer.protocols.interests.ring import Ring, position_of_topic
from gossamer.sim.town import Town


def node_of(me: Peer, params: Params | None = None, seed: int = 1) -> tuple[Stack, Interests]:
    node = Stack(me, seed, Hierarchy(), Seen())
    interests = Interests(node, params or Params())
    return use(node, interests), interests


class Alone:
    """One node, and what it sends."""

    def __init__(self, me: Peer = 1, params: Params | None = None, contacts: Sequence[Peer] = ()) -> None:
        self.node, self.interests = node_of(me, params)
        self.now_us = 1000
        self.step(Started(tuple(contacts)))

    def step(self, given: object) -> list[Effect]:
        return self.node.step(given, self.now_us)  # type: ignore[arg-type]

    def hears(self, peer: Peer, message: messages.Message) -> list[object]:
        """What it answers."""
        effects = self.step(Received(peer, message))
        return [effect.message for effect in effects if isinstance(effect, Send)]


class GossipTown(Town):
    """Many of them. Nobody is told who is gone: gossip finds that out."""

    def __init__(self, size: int, seed: int = 1, loss: float = 0.0, params: Params | None = None) -> None:
        self.params = params
        self.nodes: dict[Peer, Interests] = {}
        super().__init__(self.make, get_args(messages.Message), seed, loss=loss, told_of_failures=False)
        for peer in range(size):
            self.come(peer)

    def make(self, me: Peer) -> Stack:
        node, self.nodes[me] = node_of(me, self.params, self.seed)
        return node

    def topics(self, peer: Peer) -> list[Topic]:
        return [f".t{(peer * 7 + i * 13) % 50}" for i in range(5)]

    def come(self, peer: Peer) -> None:
        self.start(peer, *self.topics(peer), of=2)

    @property
    def views(self) -> dict[Peer, Interests]:
        """What each that is up knows of others."""
        return {peer: self.nodes[peer] for peer in self.up}

    def ring(self) -> Ring:
        ring = Ring()
        for peer in self.up:
            ring.add(peer)
        return ring

    def right(self) -> bool:
        """Nobody knows a node that is gone, everybody knows those next to it, and what is known of anybody is what
        it wants now."""
        up, ring = self.views, self.ring()
        return all(
            set(each.view.around()) == set(ring.around(peer, each.params.leaves))
            and all(there in up and up[there].mine == wants for there, wants in each.entries().items())
            for peer, each in up.items()
        )

    def seconds_until_right(self, at_most: float) -> float:
        return self.seconds_until(self.right, at_most)

    def home(self, word: int, start: Peer) -> tuple[Peer, int]:
        """Where the way to a topic's home ends, and how many steps it is."""
        at, steps = start, 0
        while (there := self.nodes[at].towards_home(word)) is not None:
            assert steps < 50, "the way goes in circles"
            at, steps = there, steps + 1
        return at, steps

    def true_home(self, word: int) -> Peer | None:
        return self.ring().following(position_of_topic(word))
