"""Checkers watch a world from outside and stop it the moment a promise is broken."""

from collections.abc import Iterator

from gossamer.core.errors import GossamerError
from gossamer.core.ids import Peer
from gossamer.core.machine import Effect, Given, Leave, Message, Note
from gossamer.core.messages import Carrier
from gossamer.core.publications import PENDING_MAX
from gossamer.core.stack import OWNERS_MAX, Stack
from gossamer.protocols.interests.layer import Interests
from gossamer.protocols.scamp.layer import Scamp
from gossamer.protocols.search.layer import SOUGHT_MAX, Search
from gossamer.sim.world import Watcher, World

LOOK_EVERY = 97
"Steps between two looks at a node's tables: each look costs more than a step."


class CheckFailed(GossamerError):
    """A promise was broken."""


class Promises(Watcher):
    """Nobody gets an event unasked, or carries one, unless its design says that nodes carry for others; nobody sends to
    itself; tables keep their bounds."""

    def __init__(self, world: World) -> None:
        self.world = world

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        if sender == target:
            raise CheckFailed(f"process {sender} sent {type(message).__name__} to itself")
        if not isinstance(message, Carrier) or message.carried.event.id.publisher == sender:
            return
        node, topic = self.world.machines[sender], message.carried.event.topic
        if not isinstance(node, Stack) or node.spread.relays:
            return
        if not node.interest.communities(topic):
            raise CheckFailed(f"process {sender} forwarded an event of {topic} without being a member")

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        for effect in effects:
            if type(effect) is Note and effect.kind == "parasite":
                raise CheckFailed(f"process {peer} received an event of {effect.topic} unasked from {effect.peer}")
        if self.world.steps % LOOK_EVERY == 0 and type(given) is not Leave:
            self.look(peer)

    def look(self, peer: Peer) -> None:
        """Whether the tables of a node are within their bounds."""
        node = self.world.machines[peer]
        for what, size, most in bounds(node) if isinstance(node, Stack) else ():
            if size > most:
                raise CheckFailed(f"process {peer} keeps {size} {what}, {most} at most")
        for topic, view in views(node) if isinstance(node, Stack) else ():
            if peer in view or len(view) != len(set(view)):
                raise CheckFailed(f"the view of {peer} on {topic} is out of bounds: {view}")


def views(node: Stack) -> Iterator[tuple[str, list[Peer]]]:
    """Whom it knows in each community."""
    for layer in node.layers:
        if isinstance(layer, Scamp):
            for topic, view in layer.views.items():
                yield topic, view.known()
        elif isinstance(layer, Interests):
            yield "everything", [*layer.entries()]


def bounds(node: Stack) -> Iterator[tuple[str, int, int]]:
    """What a node keeps: the word for it, how many, and how many at most."""
    yield "publications that wait", node.waiting, PENDING_MAX
    yield "owners", len(node.owners), OWNERS_MAX
    for layer in node.layers:
        if isinstance(layer, Scamp):
            for topic, view in layer.views.items():
                most = layer.params_of(topic).view_max
                yield f"members of {topic}", len(view.held), most
                yield f"holders in {topic}", len(view.holders), most
        elif isinstance(layer, Search):
            yield "acquaintances", len(layer.acquaintances), layer.params.acquaintances
            yield "peers to begin with", len(layer.seeds), layer.params.remembered
            yield "peers given up", len(layer.lost), layer.params.remembered
            yield "topics asked for", len(layer.sought), SOUGHT_MAX
        elif isinstance(layer, Interests):
            yield "nodes known", len(layer.view.known), layer.params.view_max
