"""Gossip without communities: tell a few of your group, and, where it is cut into clusters, one of some others."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from gossamer.core.draws import CROSS, PICK, distinct, draw, upper_pick
from gossamer.core.events import Carried, Event
from gossamer.core.ids import Peer
from gossamer.core.layer import Handler, Layer
from gossamer.core.setting import Setting
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.sampling import fanout
from gossamer.protocols.gossip.messages import Rumour
from gossamer.protocols.gossip.params import Params
from gossamer.protocols.gossip.rules import cluster_size


class Population:
    """Everybody, in ranges per topic; an event's audience is all of it or the part that wants the event."""

    def __init__(self, setting: Setting) -> None:
        self.order = setting.hierarchy()
        self.groups = [(community.topic, community.members) for community in setting.communities]

    def audience(self, params: Params, topic: Topic) -> Sequence[range]:
        everybody = params.audience == "everybody"
        return [members for wide, members in self.groups if everybody or self.order.includes(wide, topic)]


class Gossip(Layer):
    """Broadcast, multicast or hierarchical broadcast, as its parameters say."""

    def __init__(self, node: Stack, population: Population, params: Params) -> None:
        super().__init__(node)
        self.population = population
        self.params = params
        self.relays = params.audience == "everybody"

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Rumour: self.on_rumour}

    def has_place(self, topic: Topic) -> bool:
        return True

    def publish(self, events: Sequence[Event]) -> bool:
        for event in events:
            self.meet(Carried(event), via=self.node.me)
        return True

    def on_rumour(self, peer: Peer, rumour: Rumour) -> None:
        self.meet(rumour.carried, via=peer)

    def meet(self, carried: Carried, via: Peer) -> None:
        if self.node.accept(carried, via):
            self.out.send(self.told(carried.event), Rumour(carried.hop()))

    def told(self, event: Event) -> list[Peer]:
        ranges = self.population.audience(self.params, event.topic)
        size, clusters = sum(map(len, ranges)), self.params.clusters
        mine = self.position(ranges, self.node.me)
        home = mine % clusters
        word = event.id.word()
        near = cluster_size(size, clusters, home)
        k = fanout(near, self.params.fanout_extra)
        inside = distinct(self.node.key(PICK, word), near - 1, k)
        positions = [home + clusters * (i + (i >= mine // clusters)) for i in inside]
        cross_key = self.node.key(CROSS, word)
        for i in distinct(cross_key, clusters - 1, fanout(clusters, self.params.cross_extra)):
            cluster = i + (i >= home)
            there = cluster_size(size, clusters, cluster)
            if there > 0:
                positions.append(cluster + clusters * upper_pick(draw(cross_key, clusters + cluster), there))
        return [self.process(ranges, position) for position in positions]

    @staticmethod
    def position(ranges: Sequence[range], me: Peer) -> int:
        before = 0
        for members in ranges:
            if me in members:
                return before + me - members.start
            before += len(members)
        raise LookupError(me)

    @staticmethod
    def process(ranges: Sequence[range], position: int) -> Peer:
        for members in ranges:
            if position < len(members):
                return members.start + position
            position -= len(members)
        raise LookupError(position)
