"""Checkers watch a world from outside and stop it the moment a promise is broken."""

from collections.abc import Iterator, Sequence

from gossamer.core.errors import GossamerError
from gossamer.core.ids import Peer
from gossamer.core.layer import Bound
from gossamer.core.machine import Effect, Given, Leave, Message, Note
from gossamer.core.messages import Carrier
from gossamer.core.publications import PENDING_MAX, PUBLISHED_MAX
from gossamer.core.stack import OWNERS_MAX, Stack
from gossamer.core.topics import Topic
from gossamer.sim.parting import Parting
from gossamer.sim.world import Watcher, World

LOOK_EVERY = 97
"Steps between two looks at a node's tables: each look costs more than a step."
AT_ONCE = 8
"Topics of a node that are looked at after one step; of more, these many have their turn."


class CheckFailed(GossamerError):
    """A promise was broken."""


def in_turn(topics: Sequence[Topic], steps: int) -> Sequence[Topic]:
    """All of a node's topics, or those that have their turn."""
    if len(topics) <= AT_ONCE:
        return topics
    first = steps * AT_ONCE % len(topics)
    return topics[first : first + AT_ONCE]


class Promises(Watcher):
    """Nobody gets an event unasked, or carries one, unless its design says that nodes carry for others; nobody sends to
    itself; tables keep their bounds. What is on its way to one that has just left a community is nobody's fault."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.parting = Parting(world)

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        if sender == target:
            raise CheckFailed(f"process {sender} sent {type(message).__name__} to itself")
        if not isinstance(message, Carrier):
            return
        node, topic = self.world.machines[sender], message.carried.event.topic
        if not isinstance(node, Stack) or node.spread.relays:
            return
        self.parting.sent(sender, target, topic)
        if message.carried.event.id.publisher != sender and not node.interest.communities(topic):
            raise CheckFailed(f"process {sender} forwarded an event of {topic} without being a member")

    def lost(self, sender: Peer, target: Peer, message: Message) -> None:
        self.parting.lost(sender, target)

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        self.parting.stepped(peer, given)
        for effect in effects:
            if type(effect) is Note and effect.kind == "parasite" and not self.parting.excuses(peer, effect):
                raise CheckFailed(f"process {peer} received an event of {effect.topic} unasked from {effect.peer}")
        if self.world.steps % LOOK_EVERY == 0 and type(given) is not Leave:
            self.look(peer)

    def look(self, peer: Peer) -> None:
        """Whether the tables of a node are within their bounds."""
        node = self.world.machines[peer]
        if not isinstance(node, Stack):
            return
        for what, size, most in bounds(node):
            if size > most:
                raise CheckFailed(f"process {peer} keeps {size} {what}, {most} at most")
        for topic in in_turn(node.interest.mine(), self.world.steps) if node.members is not None else ():
            view = node.members.about(topic)  # type: ignore[union-attr]
            if peer in view or len(view) != len({*view}):
                raise CheckFailed(f"the view of {peer} on {topic} is out of bounds: {view}")


def bounds(node: Stack) -> Iterator[Bound]:
    """What a node keeps, and its layers."""
    yield "publications that wait", node.waiting, PENDING_MAX
    yield "communities to publish in", len(node.publications.used), PUBLISHED_MAX
    yield "owners", len(node.owners), OWNERS_MAX
    for layer in node.layers:
        yield from layer.bounds()
