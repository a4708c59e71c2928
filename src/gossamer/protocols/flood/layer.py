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


class Flood(Topical, Layer):
    """Stands on any Peers: the flood is as good as the graph they make."""

    relays = False

    def __init__(self, node: Stack, members: Peers) -> None:
        super().__init__(node)
        self.members = members
        node.spread = self

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Pass: self.on_pass}

    def has_place(self, topic: Topic) -> bool:
        return self.members.ready(topic)

    def publish(self, event: Event) -> bool:
        self.meet(Carried(event), via=self.node.me)
        return True

    def on_pass(self, peer: Peer, message: Pass) -> None:
        self.meet(message.carried, via=peer)

    def towards(self, pattern: Pattern) -> Sequence[Peer]:
        return [peer for peer in self.members.about(pattern.topic) if peer != self.node.me]

    def meet(self, carried: Carried, via: Peer) -> None:
        if self.node.accept(carried, via):
            self.out.send(self.members.about(carried.event.topic), Pass(carried.hop()))


def static_node(setting: Setting, me: Peer, seed: int) -> Stack:
    """A node of an experiment: it knows `neighbours` members of its community, drawn once."""
    home = next(c for c in setting.communities if me in c.members)
    node = Stack(me, seed, setting.hierarchy(), Seen())
    Flood(node, Static(node, {home.topic: home.members}, view=home.params.neighbours))
    return node
