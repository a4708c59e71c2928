"""Flooding, the smallest protocol: whoever meets an event for the first time tells everybody it knows."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from gossamer.core.events import Carried, Event
from gossamer.core.ids import Peer
from gossamer.core.patterns import Pattern
from gossamer.core.roles import Peers
from gossamer.core.setting import Setting
from gossamer.core.stack import Handler, Layer, Stack
from gossamer.core.topics import Topic
from gossamer.parts.seen import Seen
from gossamer.parts.static import Static
from gossamer.parts.topical import Topical
from gossamer.protocols.flood.messages import Pass
from gossamer.protocols.flood.params import refuse_tree


class Flood(Topical, Layer):
    """Stands on any Peers: the flood is as good as the graph they make. `back`: also to where an event came from."""

    relays = False

    def __init__(self, node: Stack, members: Peers, back: bool = False) -> None:
        super().__init__(node)
        self.members = members
        self.back = back
        node.spread = self

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Pass: self.on_pass}

    def has_place(self, topic: Topic) -> bool:
        return self.members.ready(topic)

    def publish(self, event: Event) -> bool:
        if not self.members.ready(event.topic):
            return False
        carried, me = Carried(event), self.node.me
        if self.node.knows(event.id) or self.node.accept(carried, via=me):
            self.carry_on(carried, via=me)
        return True

    def on_pass(self, peer: Peer, message: Pass) -> None:
        if self.node.accept(message.carried, via=peer):
            self.carry_on(message.carried, via=peer)

    def towards(self, pattern: Pattern) -> Sequence[Peer]:
        return [peer for peer in self.members.about(pattern.topic) if peer != self.node.me]

    def carry_on(self, carried: Carried, via: Peer) -> None:
        had_by = () if self.back else (via, carried.event.id.publisher)
        told = [peer for peer in self.members.about(carried.event.topic) if peer not in had_by]
        self.out.send(told, Pass(carried.hop()))


def static_node(setting: Setting, me: Peer, seed: int) -> Stack:
    """A node of an experiment: it knows `neighbours` members of its community, drawn once, and tells all of them."""
    home = next(c for c in setting.communities if me in c.members)
    refuse_tree(home.params)
    node = Stack(me, seed, setting.hierarchy(), Seen())
    Flood(node, Static(node, {home.topic: home.members}, view=home.params.neighbours), back=True)
    return node
