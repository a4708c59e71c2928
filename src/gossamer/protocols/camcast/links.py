"""Links that look after themselves: the way up from each community this node is in, or publishes to from outside.

`finding` finds the frontier of a community, `probing` looks after the tables that lead there.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from gossamer.core.draws import KEEP, chance, fold
from gossamer.core.ids import Peer
from gossamer.core.layer import Bound, Handler, Layer
from gossamer.core.roles import Contacts, Members
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.size import is_other_size
from gossamer.protocols.camcast import rules
from gossamer.protocols.camcast.finding import Finding
from gossamer.protocols.camcast.frontier import Frontier
from gossamer.protocols.camcast.messages import ContactList
from gossamer.protocols.camcast.params import Params, Settings
from gossamer.protocols.camcast.probing import Probing

EXCHANGES = 4
"""How often links that somebody else found are exchanged before they count as our own: those who name others while a
community begins know few themselves."""


class Redrawing(Struct):
    """When a community's links are drawn anew: in so many times of looking after them."""

    left: int = 1
    every: int = 1
    size: int | None = None
    "Of the community, when it last had changed."

    def is_other(self, size: int) -> bool:
        """Whether the community is not what it was; what it is now counts from here on."""
        before, other = self.size, self.size is None or is_other_size(size, self.size)
        self.size = size if other else before
        return other and before is not None

    def is_due(self, other: bool, rarely: int) -> bool:
        if other:
            self.left = self.every = 1
        self.left -= 1
        if self.left > 0:
            return False
        self.left = self.every = min(2 * self.every, rarely)
        return True


class Keep(Struct, frozen=True):
    """Timer: look after a community's tables."""

    topic: Topic
    generation: int


class Links(Layer):
    def __init__(self, node: Stack, members: Members, contacts: Contacts, settings: Settings) -> None:
        super().__init__(node)
        self.members = members
        self.settings = settings
        self.finding = Finding(node, contacts, settings)
        self.probing = Probing(node, members, self.finding)
        self.within = (self.finding, self.probing)
        self.frontiers = self.finding.frontiers
        self.generation = 0
        self.keeps: dict[Topic, int] = {}
        self.redrawings: dict[Topic, Redrawing] = {}

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {ContactList: self.on_contacts, Keep: self.on_keep}

    def lives_by(self, topic: Topic | None) -> Iterator[Struct]:
        if topic in self.keeps:
            yield Keep(topic, self.keeps[topic])

    def bounds(self) -> Iterator[Bound]:
        outside = () if self.node.outside is None else self.node.outside.topics()
        yield "frontiers", len(self.frontiers), len(self.node.interest.mine()) + len(outside)

    # -- what other layers ask ----------------------------------------------------------------------------------

    def tables(self, topic: Topic) -> list[list[Peer]]:
        return [*self.leads(topic).values()]

    def leads(self, topic: Topic) -> dict[Topic, list[Peer]]:
        """The nearest populated topics above a community, each with our links to it."""
        frontier, most = self.frontiers.get(topic), self.settings.of(topic).links
        return {} if frontier is None else {table.topic: table.entries[:most] for table in frontier.leads()}

    def searching(self, topic: Topic) -> bool:
        """Whether somebody nearer, or on another branch, is looked for."""
        frontier = self.frontiers.get(topic)
        return frontier is not None and frontier.search is not None

    def explored(self, topic: Topic) -> bool:
        """Whether the nearest communities above have been looked for, and whoever heard of it had time to answer."""
        frontier = self.frontiers.get(topic)
        return frontier is not None and (frontier.asks > 1 or frontier.tables.keys() >= {*frontier.above[:1]})

    def named(self, topic: Topic) -> list[Peer]:
        table = self.finding.tables.get(topic)
        return [] if table is None else table.sure()

    # -- life -------------------------------------------------------------------------------------------------

    def joined(self, topic: Topic) -> None:
        self.open(topic, self.node.hierarchy.ancestors(topic))

    def open(self, topic: Topic, above: Sequence[Topic]) -> None:
        """Begins to look for, and after, links to the nearest populated of these."""
        frontier = self.finding.open(topic, above)
        self.generation += 1
        self.keeps[topic] = self.generation
        self.redrawings[topic] = Redrawing()
        self.out.timer(self.settings.of(topic).keep_every_us, Keep(topic, self.generation))
        for above_topic in frontier.open():  # what this node knows anyway, events may climb to at once
            known = [peer for layer in self.node.layers for peer in layer.named(above_topic)]
            self.take(topic, frontier, above_topic, known)
        self.finding.settle(topic)

    def left(self, topic: Topic) -> None:
        self.finding.close(topic)
        self.keeps.pop(topic, None)
        self.redrawings.pop(topic, None)

    def leaving(self) -> None:
        for topic in tuple(self.frontiers):
            self.left(topic)

    def tuned(self, topic: Topic, params: Struct) -> None:
        if isinstance(params, Params) and (frontier := self.frontiers.get(topic)) is not None:
            for above, table in frontier.tables.items():
                others = [self.settings.of(each).links for each in self.finding.linked[above] if each != topic]
                table.trim(max([params.links, *others]))

    def on_keep(self, timer: Keep) -> None:
        """The community shares the probing: each time about `electors` of all its members probe, however many there
        are, and whoever has just come. Of links in use, each hears otherwise: from the transport, or from who is no
        member any more."""
        if self.keeps.get(timer.topic) != timer.generation:
            return
        params, now_us = self.settings.of(timer.topic), self.node.now_us
        self.out.timer(params.keep_every_us, timer)
        election = rules.election(self.members.size(timer.topic), params.electors, small=0)
        for ordinal, table in enumerate(tuple(self.frontiers[timer.topic].tables.values())):
            if table.checked_us is not None and now_us - table.checked_us < params.keep_every_us // 2:
                continue  # another community of ours just did
            drawn = rules.drawn(chance(self.node.key(KEEP, fold(now_us, timer.generation)), ordinal), election)
            if drawn or table.exchanges:
                self.probing.check(table)
        self.renew(timer.topic)

    # -- contacts come ----------------------------------------------------------------------------------------

    def renew(self, topic: Topic) -> None:
        """Too few links would lead to whoever came late above. So while a community changes, for then those above may,
        too, its links are exchanged for others that they name. Where contacts are drawn evenly, links are drawn
        from them instead, and again ever more rarely while nothing changes."""
        due, size = self.redrawings[topic], self.members.size(topic)
        other, leads = due.is_other(size), self.frontiers[topic].leads()
        if self.finding.contacts.uniform:
            if due.is_due(other, rules.rarely(size, self.settings.of(topic).electors)):
                self.finding.contacts.ask([table.topic for table in leads])
        elif other:
            for table in leads:
                table.exchanges = max(1, table.exchanges)

    def contacts_found(self, found: Topic, peers: Sequence[Peer]) -> None:
        if self.finding.contacts.uniform and (table := self.finding.tables.get(found)) is not None:
            self.probing.exchange(table, peers)
        taken = [self.take(topic, frontier, found, peers) for topic, frontier in self.finding.under(found)]
        if any(taken):
            self.finding.moved(found)

    def newcomer(self, topic: Topic, peer: Peer) -> None:
        self.contacts_found(topic, [peer])

    def take(self, topic: Topic, frontier: Frontier, above: Topic, peers: Sequence[Peer], asked: bool = False) -> bool:
        """Merges contacts of a topic above, if they are of use. True: there are links now that were not before. Unless
        a link was asked for others, they are those that somebody else found, and are exchanged."""
        others = [peer for peer in peers if peer != self.node.me]
        if not others or not frontier.wants(above):
            return False
        new = above not in frontier.tables
        table = self.finding.table(topic, above)
        changed = table.merge(others, self.node.owners)
        if changed:
            table.exchanges = 0 if asked else EXCHANGES
            self.probing.meet(table)
        return changed or new

    def on_contacts(self, peer: Peer, contacts: ContactList) -> None:
        """A fellow's links, or members that a link names."""
        topic, frontier = contacts.below, self.frontiers.get(contacts.below)
        if frontier is None or contacts.topic not in frontier.above:
            return
        table = frontier.tables.get(contacts.topic)
        asked = table is not None and peer in table.asked
        if table is not None:
            if asked and self.probing.answered(table, peer, contacts.peers):
                return
            if doubted := [gone for gone in contacts.failed if gone in table.entries]:
                self.probing.doubt(table, doubted)
        if self.take(topic, frontier, contacts.topic, contacts.peers, asked):
            self.finding.moved(contacts.topic)

    def greeting(self, peer: Peer, topic: Topic) -> None:
        """Rides along with a membership message: the newcomer learns the way up without a search."""
        frontier = self.frontiers.get(topic)
        for table in frontier.leads() if frontier is not None else ():
            if table.sure():
                self.probing.greet([peer], topic, table)
