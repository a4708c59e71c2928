"""One node's part in CAMCAST: infect and die inside the community, sometimes climb (001, Figs 7 and 8)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from gossamer.core.draws import CLIMB, ELECT, LINKS, PICK, chance, distinct, fold
from gossamer.core.events import Carried, Event
from gossamer.core.ids import Peer
from gossamer.core.setting import Setting
from gossamer.core.stack import Handler, Layer, Peers, Stack
from gossamer.core.topics import Topic
from gossamer.parts.seen import Seen
from gossamer.parts.static import Static
from gossamer.protocols.camcast import rules
from gossamer.protocols.camcast.messages import Carry
from gossamer.protocols.camcast.params import Params


class Above(Protocol):
    """Super-topic tables: who can be told that events climb."""

    def tables(self, topic: Topic) -> Sequence[Sequence[Peer]]:
        """One table per super-topic of this community."""


class Camcast(Layer):
    """The spread. Members come from any membership layer, links from `Links` or fixed tables."""

    relays = False

    def __init__(self, node: Stack, members: Peers, links: Above, params: Callable[[Topic], Params]) -> None:
        super().__init__(node)
        self.members = members
        self.links = links
        self.params = params
        self.tuned_params: dict[Topic, Params] = {}
        node.spread = self

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Carry: self.on_carry}

    def params_of(self, topic: Topic) -> Params:
        return self.tuned_params.get(topic) or self.params(topic)

    def tuned(self, topic: Topic, params: Struct) -> None:
        if isinstance(params, Params):
            self.tuned_params[topic] = params

    def publish(self, event: Event) -> bool:
        if not self.members.ready(event.topic):
            return False
        if self.node.knows(event.id):
            self.carry_on(Carried(event), fold(event.id.word(), self.node.now_us))
        else:
            self.meet(Carried(event), via=self.node.me)
        return True

    def left(self, topic: Topic) -> None:
        self.tuned_params.pop(topic, None)

    def on_carry(self, peer: Peer, carry: Carry) -> None:
        self.meet(carry.carried, via=peer)

    def meet(self, carried: Carried, via: Peer) -> None:
        if self.node.accept(carried, via):
            self.carry_on(carried, carried.event.id.word())

    def carry_on(self, carried: Carried, word: int) -> None:
        """Disseminates an event met for the first time, or again with another word for other draws: some copies go
        up, some stay."""
        told: dict[Peer, None] = {}
        for topic in self.node.interest.communities(carried.event.topic):
            params = self.params_of(topic)
            size = self.members.size(topic)
            told.update(dict.fromkeys(self.climbers(topic, params, size, word, carried.event.climb)))
            k = rules.tells(size, params.fanout_extra, params.small)
            told.update(dict.fromkeys(self.members.sample(topic, k, self.node.key(PICK, word))))
        told.pop(self.node.me, None)
        self.out.send(told, Carry(carried.hop()))

    def climbers(self, topic: Topic, params: Params, size: int, word: int, climb: float | None) -> list[Peer]:
        """The links this node tells: for each super-topic an election, then a chance per link."""
        election = rules.election(size, params.electors, params.small) if climb is None else climb
        per_link = rules.per_link(size, params.targets, params.links, params.small)
        elect_key, climb_key = self.node.key(ELECT, word), self.node.key(CLIMB, word)
        return [
            peer
            for ordinal, table in enumerate(self.links.tables(topic))
            if rules.drawn(chance(elect_key, ordinal), election)
            for peer in table
            if rules.drawn(chance(climb_key, peer), per_link)
        ]


class FixedLinks:
    """Super-topic tables drawn once, as the papers' simulations have them."""

    def __init__(self, tables: Sequence[Sequence[Peer]]) -> None:
        self.drawn = tables

    def tables(self, topic: Topic) -> Sequence[Sequence[Peer]]:
        return self.drawn


def static_node(setting: Setting, me: Peer, seed: int) -> Stack:
    """A node of an experiment with fixed tables: the same one the kernel computes with."""
    home = next(c for c in setting.communities if me in c.members)
    node = Stack(me, seed, setting.hierarchy(), Seen())
    tables = []
    for ordinal, above in enumerate(home.supers):
        there = setting.communities[above].members
        key = fold(fold(fold(seed, LINKS), ordinal), me)
        tables.append([there.start + i for i in distinct(key, len(there), home.params.links)])
    members = Static(node, {home.topic: home.members})
    Camcast(node, members=members, links=FixedLinks(tables), params=lambda topic: home.params)
    return node
