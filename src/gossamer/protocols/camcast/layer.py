"""One node's part in CAMCAST: infect and die inside the community, sometimes climb (001, Figs 7 and 8)."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from gossamer.core.draws import CLIMB, ELECT, PICK, chance, fold
from gossamer.core.events import Carried, Event
from gossamer.core.ids import Peer
from gossamer.core.layer import Handler, Layer
from gossamer.core.patterns import Pattern
from gossamer.core.roles import Links, Members
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic, remember
from gossamer.parts.bucket import Buckets
from gossamer.parts.topical import Topical
from gossamer.protocols.camcast import rules
from gossamer.protocols.camcast.messages import Away, Carry
from gossamer.protocols.camcast.params import Params, Settings

AWAYS_PER_S, AWAYS_BURST = 1, 1
"Peers are told so often that this node is in no community their events concern."


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

    def __init__(self, node: Stack, members: Members, links: Links, settings: Settings) -> None:
        super().__init__(node)
        self.members = members
        self.links = links
        self.settings = settings
        self.plans: dict[Topic, Plan] = {}
        self.era = -1
        self.answers = Buckets(AWAYS_PER_S, AWAYS_BURST)

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Carry: self.on_carry}

    def tuned(self, topic: Topic, params: Struct) -> None:
        if isinstance(params, Params):
            self.settings.tune(topic, params)

    def has_place(self, topic: Topic) -> bool:
        return self.members.ready(topic)

    def publish(self, events: Sequence[Event]) -> bool:
        """Nobody waits without need: an event goes to whoever is known now. Until the node has its place in the
        community, it goes on to whoever is found."""
        carried = Carried(events[0], more=tuple(events[1:]))
        if self.node.knows(events[0].id):
            self.carry_on(carried, again=self.node.now_us)
        elif (news := self.node.accept(carried, via=self.node.me)) is not None:
            self.carry_on(news)
        return self.members.ready(events[0].topic)

    def links_changed(self, topic: Topic) -> None:
        """There is somebody above now whom events can climb to that wait for the community."""
        for event_id in self.node.publications.by_topic.get(topic, ()):
            self.carry_on(Carried(self.node.publications.pending[event_id]), again=self.node.now_us)

    def left(self, topic: Topic) -> None:
        self.settings.forget(topic)

    def on_carry(self, peer: Peer, carry: Carry) -> None:
        news = self.node.accept(carry.carried, peer)
        if news is not None:
            self.carry_on(news)

    def unasked(self, peer: Peer, topic: Topic) -> None:
        """Whoever sends what nobody here wants takes us for a member: it should not from now on."""
        if self.answers.take(peer, self.node.now_us):
            self.out.send([peer], Away(topic))

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
        if event.id.publisher == self.node.me and self.waits(event):
            told = tuple(self.node.publications.not_yet(event, told))
        self.out.send(told, Carry(carried.hop()))

    def waits(self, event: Event) -> bool:
        """Whether an event of our own waits for its community: then it goes on to whoever is found."""
        return event.id in self.node.publications.pending or not self.members.ready(event.topic)

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
        params = self.settings.of(topic)
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
        tables = 0
        for number, share in enumerate(plan.shares):
            if any(share.tables):
                told.update(dict.fromkeys(self.climbers(share, word, climb, tables)))
            tables += len(share.tables)
            key = self.node.key(PICK, rules.of_table(word, number))
            told.update(dict.fromkeys(self.members.sample(share.topic, share.tells, key)))
        told.pop(self.node.me, None)
        return tuple(told)

    def climbers(self, share: Share, word: int, climb: float | None, first: int) -> list[Peer]:
        """The links this node tells: for each super-topic an election, then a chance per link. `first`: the number of
        its first table among all that draw for this event, each for itself."""
        election = share.election if climb is None else climb
        elect_key, climb_key = self.node.key(ELECT, word), self.node.key(CLIMB, word)
        return [
            peer
            for ordinal, table in enumerate(share.tables, first)
            if rules.drawn(chance(elect_key, ordinal), election)
            for peer in table
            if rules.drawn(chance(rules.of_table(climb_key, ordinal), peer), share.per_link)
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
