"""One node's part in CAMCAST: infect and die inside the community, sometimes climb (001, Figs 7 and 8)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from gossamer.core.draws import CLIMB, ELECT, LINKS, PICK, chance, distinct, fold
from gossamer.core.events import Carried, Event
from gossamer.core.ids import Peer
from gossamer.core.patterns import Pattern
from gossamer.core.roles import Peers
from gossamer.core.setting import Setting
from gossamer.core.stack import Handler, Layer, Stack
from gossamer.core.topics import Topic, remember
from gossamer.parts.seen import Seen
from gossamer.parts.static import Static
from gossamer.parts.topical import Topical
from gossamer.protocols.camcast import rules
from gossamer.protocols.camcast.messages import Carry
from gossamer.protocols.camcast.params import Params


class Above(Protocol):
    """Super-topic tables: who can be told that events climb."""

    def tables(self, topic: Topic) -> Sequence[Sequence[Peer]]:
        """One table per super-topic of this community."""


class Share(Struct, frozen=True):
    """One of our communities' part in spreading an event."""

    topic: Topic
    tables: Sequence[Sequence[Peer]]
    election: float
    per_link: float
    tells: int
    whole: bool
    "A small community: every link and the whole view are told, nothing is drawn."


class Plan(Struct, frozen=True):
    """What to do with events of one topic."""

    shares: tuple[Share, ...]
    everybody: tuple[Peer, ...] | None
    "Whom to tell, if that needs no draw."


class Camcast(Topical, Layer):
    """The spread. Members come from any membership layer, links from `Links` or fixed tables."""

    relays = False

    def __init__(self, node: Stack, members: Peers, links: Above, params: Callable[[Topic], Params]) -> None:
        super().__init__(node)
        self.members = members
        self.links = links
        self.params = params
        self.tuned_params: dict[Topic, Params] = {}
        self.plans: dict[Topic, Plan] = {}
        self.era = -1
        node.spread = self

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Carry: self.on_carry}

    def takes_packs(self) -> Collection[type[Struct]]:
        return (Carry,)

    def params_of(self, topic: Topic) -> Params:
        return self.tuned_params.get(topic) or self.params(topic)

    def tuned(self, topic: Topic, params: Struct) -> None:
        if isinstance(params, Params):
            self.tuned_params[topic] = params

    def has_place(self, topic: Topic) -> bool:
        return self.members.ready(topic)

    def publish(self, event: Event) -> bool:
        if not self.members.ready(event.topic):
            return False
        carried = Carried(event)
        if self.node.knows(event.id):
            self.carry_on(carried, again=self.node.now_us)
        elif self.node.accept(carried, via=self.node.me):
            self.carry_on(carried)
        return True

    def publish_all(self, events: Sequence[Event]) -> bool:
        if not self.members.ready(events[0].topic):
            return False
        news = self.node.accept(Carried(events[0], more=tuple(events[1:])), via=self.node.me)
        if news is not None:
            self.carry_on(news)
        return True

    def left(self, topic: Topic) -> None:
        self.tuned_params.pop(topic, None)

    def on_carry(self, peer: Peer, carry: Carry) -> None:
        news = self.node.accept(carry.carried, peer)
        if news is not None:
            self.carry_on(news)

    def carry_on(self, carried: Carried, again: int = 0) -> None:
        """Disseminates an event met for the first time (or `again`, with other draws): some go up, some stay. Several
        stay together where no draw parts them."""
        event = carried.event
        plan = self.plan(event.topic)
        if plan.everybody is not None and (event.climb is None or event.climb >= 1) and goes_together(carried):
            told = plan.everybody
        elif carried.more:
            for one in carried.each():
                self.carry_on(one, again)
            return
        else:
            word = event.id.word()
            told = self.chosen(plan, fold(word, again) if again else word, event.climb)
        self.out.send(told, Carry(carried.hop()))

    def towards(self, pattern: Pattern) -> list[Peer]:
        """The view and the links of a community; from below one, the links that lead up to it."""
        topic, includes = pattern.topic, self.node.hierarchy.includes
        found = dict.fromkeys(self.members.about(topic))
        found.update(dict.fromkeys(peer for table in self.links.tables(topic) for peer in table))
        for mine in self.node.interest.mine():
            if mine != topic and includes(topic, mine):
                found.update(dict.fromkeys(peer for table in self.links.tables(mine) for peer in table))
        found.pop(self.node.me, None)
        return [*found]

    def plan(self, topic: Topic) -> Plan:
        """What to do with events of a topic, worked out once for as long as nothing but events happens."""
        if self.era != self.node.era:
            self.era = self.node.era
            self.plans.clear()
        plan = self.plans.get(topic)
        if plan is None:
            shares = tuple(self.share(mine) for mine in self.node.interest.communities(topic))
            plan = remember(self.plans, topic, Plan(shares, self.everybody(shares)))
        return plan

    def share(self, topic: Topic) -> Share:
        params = self.params_of(topic)
        size = self.members.size(topic)
        return Share(
            topic,
            self.links.tables(topic),
            rules.election(size, params.electors, params.small),
            rules.per_link(size, params.targets, params.links, params.small),
            rules.tells(size, params.fanout_extra, params.small),
            whole=size <= params.small,
        )

    def everybody(self, shares: Sequence[Share]) -> tuple[Peer, ...] | None:
        """Whom events go to where no draw is needed: every link and the whole view."""
        if not all(share.whole for share in shares):
            return None
        told: dict[Peer, None] = {}
        for share in shares:
            told.update(dict.fromkeys(peer for table in share.tables for peer in table))
            told.update(dict.fromkeys(self.members.about(share.topic)))
        told.pop(self.node.me, None)
        return tuple(told)

    def chosen(self, plan: Plan, word: int, climb: float | None) -> tuple[Peer, ...]:
        """Whom one event goes to where draws decide: some links, then k members."""
        told: dict[Peer, None] = {}
        for share in plan.shares:
            if any(share.tables):
                told.update(dict.fromkeys(self.climbers(share, word, climb)))
            told.update(dict.fromkeys(self.members.sample(share.topic, share.tells, self.node.key(PICK, word))))
        told.pop(self.node.me, None)
        return tuple(told)

    def climbers(self, share: Share, word: int, climb: float | None) -> list[Peer]:
        """The links this node tells: for each super-topic an election, then a chance per link."""
        election = share.election if climb is None else climb
        elect_key, climb_key = self.node.key(ELECT, word), self.node.key(CLIMB, word)
        return [
            peer
            for ordinal, table in enumerate(share.tables)
            if rules.drawn(chance(elect_key, ordinal), election)
            for peer in table
            if rules.drawn(chance(climb_key, peer), share.per_link)
        ]


def goes_together(carried: Carried) -> bool:
    """Whether the same holds for all these events but for draws."""
    return not carried.more or len({(event.topic, event.climb) for event in carried.events}) == 1


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
