"""Flooding, the smallest protocol: whoever meets an event for the first time tells everybody it knows."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from gossamer.core.events import Carried, Event
from gossamer.core.ids import Peer
from gossamer.core.layer import Handler, Layer
from gossamer.core.patterns import Pattern
from gossamer.core.roles import Members
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.topical import Topical
from gossamer.protocols.flood.messages import Pass


class Flood(Topical, Layer):
    """Stands on any Members: the flood is as good as the graph they make. `back`: also to where an event came from."""

    relays = False

    def __init__(self, node: Stack, members: Members, back: bool = False) -> None:
        super().__init__(node)
        self.members = members
        self.back = back

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Pass: self.on_pass}

    def has_place(self, topic: Topic) -> bool:
        return self.members.ready(topic)

    def publish(self, events: Sequence[Event]) -> bool:
        if not self.members.ready(events[0].topic):
            return False
        me = self.node.me
        for event in events:
            carried = Carried(event)
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
