"""Checkers watch a world of CAMCAST nodes from outside and stop it the moment a promise is broken."""

from gossamer.core.errors import GossamerError
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Deliver, Effect, Given, Message, Note, Started
from gossamer.core.stack import Stack
from gossamer.protocols.camcast.layer import Camcast
from gossamer.sim.world import Watcher, World

LOOK_EVERY = 97
"Steps between two looks at a node's tables: each look costs more than a step."


class CheckFailed(GossamerError):
    """A promise was broken."""


class Promises(Watcher):
    """No parasite, no event delivered twice in one life, only members and publishers send, tables within bounds."""

    def __init__(self, world: World, view_max: int) -> None:
        self.world = world
        self.view_max = view_max
        self.lives: dict[Peer, int] = {}
        self.delivered: set[tuple[Peer, int, EventId]] = set()
        world.watchers.append(self)

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        if sender == target:
            raise CheckFailed(f"process {sender} sent {type(message).__name__} to itself")
        carried = getattr(message, "carried", None)
        if carried is None or carried.event.id.publisher == sender:
            return
        if not self._node(sender).interest.communities(carried.event.topic):
            raise CheckFailed(f"process {sender} forwarded an event of {carried.event.topic} without being a member")

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        if type(given) is Started:
            self.lives[peer] = self.lives.get(peer, 0) + 1
        for effect in effects:
            if type(effect) is Deliver:
                self._delivers(peer, effect.event.id)
            elif type(effect) is Note and effect.kind == "parasite":
                raise CheckFailed(f"process {peer} received an event of {effect.topic} unasked from {effect.peer}")
        if self.world.steps % LOOK_EVERY == 0:
            self._look(peer)

    def _delivers(self, peer: Peer, event_id: EventId) -> None:
        this = (peer, self.lives.get(peer, 0), event_id)
        if this in self.delivered:
            raise CheckFailed(f"process {peer} delivered event {event_id} twice")
        self.delivered.add(this)

    def _node(self, peer: Peer) -> Stack:
        node = self.world.machines[peer]
        assert isinstance(node, Stack)
        return node

    def _look(self, peer: Peer) -> None:
        node = self._node(peer)
        spread = node.spread
        if not isinstance(spread, Camcast):
            return
        for topic in node.interest.mine():
            view = spread.members.about(topic)
            if len(view) > self.view_max or peer in view or len(view) != len(set(view)):
                raise CheckFailed(f"the view of {peer} on {topic} is out of bounds: {list(view)}")
            for table in spread.links.tables(topic):
                most = spread.params_of(topic).links
                if len(table) > most or peer in table or len(table) != len(set(table)):
                    raise CheckFailed(f"a super-topic table of {peer} on {topic} is out of bounds: {list(table)}")
