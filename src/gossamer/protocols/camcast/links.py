"""Links that look after themselves: KEEP_TABLE_UPDATED (001, Fig. 6) on the frontier that `finding` finds.

Invariant: a table never holds this node, never more than `links` entries, and only members of its topic.
"""

from collections.abc import Mapping, Sequence
from itertools import islice

from msgspec import Struct

from gossamer.core.draws import KEEP, LINKS, ROTATE, chance, distinct, fold
from gossamer.core.ids import Peer
from gossamer.core.layer import Handler, Layer
from gossamer.core.roles import Contacts as FirstContacts
from gossamer.core.roles import Members
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.liveness import Unanswered
from gossamer.parts.owners import crowd
from gossamer.protocols.camcast import rules
from gossamer.protocols.camcast.finding import Finding
from gossamer.protocols.camcast.frontier import Frontier
from gossamer.protocols.camcast.messages import PEERS_MAX, Alive, Away, Contacts, NewProcess, Probe
from gossamer.protocols.camcast.params import Params, Settings
from gossamer.protocols.camcast.table import Table

NEWS_TO = 3
"Members told when a table changed, so that one node's discovery serves its whole community."


LOOKED_MAX = 64
"Communities of ours whose links to a topic above are looked at to name some: where there are thousands, these will do."


class Keep(Struct, frozen=True):
    """Timer: look after a community's tables."""

    topic: Topic
    generation: int


class Check(Struct, frozen=True):
    """Timer: whoever has not answered the probes so far is probed again, or has failed."""

    topic: Topic
    above: Topic
    nonce: int


class Links(Layer):
    """The way up from each community this node is in, or publishes to from outside."""

    def __init__(self, node: Stack, members: Members, contacts: FirstContacts, settings: Settings) -> None:
        super().__init__(node)
        self.members = members
        self.settings = settings
        self.finding = Finding(node, contacts, settings)
        self.within = (self.finding,)
        self.frontiers = self.finding.frontiers
        self.generation = self.checks = 0
        self.keeps: dict[Topic, int] = {}

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {
            Probe: self.on_probe,
            Alive: self.on_alive,
            Away: self.on_away,
            NewProcess: self.on_new_process,
            Contacts: self.on_contacts,
            Keep: self.on_keep,
            Check: self.on_check,
        }

    # -- what other layers ask ----------------------------------------------------------------------------------

    def tables(self, topic: Topic) -> list[list[Peer]]:
        frontier = self.frontiers.get(topic)
        return [] if frontier is None else [[*table.entries] for table in frontier.leads()]

    def leads(self, topic: Topic) -> dict[Topic, list[Peer]]:
        """The nearest populated topics above a community, each with our links to it."""
        frontier = self.frontiers.get(topic)
        return {} if frontier is None else {table.topic: [*table.entries] for table in frontier.leads()}

    def searching(self, topic: Topic) -> bool:
        """Whether somebody nearer, or on another branch, is looked for."""
        frontier = self.frontiers.get(topic)
        return frontier is not None and frontier.search is not None

    def explored(self, topic: Topic) -> bool:
        """Whether the nearest communities above have been looked for, and whoever heard of it had time to answer."""
        frontier = self.frontiers.get(topic)
        return frontier is not None and (frontier.asks > 1 or frontier.tables.keys() >= {*frontier.above[:1]})

    def named(self, topic: Topic) -> list[Peer]:
        found: dict[Peer, None] = {}
        for below in islice(self.finding.linked.get(topic, ()), LOOKED_MAX):
            found.update(dict.fromkeys(self.frontiers[below].tables[topic].sure()))
            if len(found) >= PEERS_MAX:
                break
        return [*found]

    # -- life -------------------------------------------------------------------------------------------------

    def joined(self, topic: Topic) -> None:
        self.open(topic, self.node.hierarchy.ancestors(topic))

    def open(self, topic: Topic, above: Sequence[Topic]) -> None:
        """Begins to look for, and after, links to the nearest populated of these."""
        frontier = self.finding.open(topic, above)
        self.generation += 1
        self.keeps[topic] = self.generation
        self.out.timer(self.settings.of(topic).keep_every_us, Keep(topic, self.generation))
        for above_topic in frontier.open():  # what this node knows anyway, events may climb to at once
            known = [peer for layer in self.node.layers for peer in layer.named(above_topic)]
            self.take(topic, frontier, above_topic, known)
        self.finding.settle(topic)

    def left(self, topic: Topic) -> None:
        self.finding.close(topic)
        self.keeps.pop(topic, None)

    def leaving(self) -> None:
        for topic in tuple(self.frontiers):
            self.left(topic)

    def tuned(self, topic: Topic, params: Struct) -> None:
        if isinstance(params, Params) and (frontier := self.frontiers.get(topic)) is not None:
            for table in frontier.tables.values():
                table.trim(params.links)

    def peer_down(self, peer: Peer) -> None:
        for topic, frontier in tuple(self.frontiers.items()):
            self.drop(topic, frontier, peer, frontier.holding(peer))

    def drop(self, topic: Topic, frontier: Frontier, peer: Peer, tables: Sequence[Table]) -> None:
        for table in tables:
            table.remove(peer)
        if tables:
            self.finding.settle(topic)
            self.tell(topic)

    def tell(self, topic: Topic) -> None:
        """The last act of a step: who waited for links may give the topic up at once."""
        self.node.tell(lambda layer: layer.links_changed(topic))

    # -- contacts come ----------------------------------------------------------------------------------------

    def contacts_found(self, found: Topic, peers: Sequence[Peer]) -> None:
        for topic, frontier in self.finding.under(found):
            if self.take(topic, frontier, found, peers):
                self.finding.settle(topic)
                self.tell(topic)

    def newcomer(self, topic: Topic, peer: Peer) -> None:
        self.contacts_found(topic, [peer])

    def take(self, topic: Topic, frontier: Frontier, above: Topic, peers: Sequence[Peer]) -> bool:
        """Merges contacts of a topic above, if they are of use. True: the tables have changed."""
        others = [peer for peer in peers if peer != self.node.me]
        if not others or not frontier.wants(above):
            return False
        table = self.finding.table(topic, above)
        changed = table.merge(others, self.settings.of(topic).links, self.node.owners)
        if changed:
            self.meet(topic, table)
        return changed

    def meet(self, topic: Topic, table: Table) -> None:
        """Newcomers are asked at once whether they are there: until they answer, nobody else is told of them."""
        if table.checking:
            self.ask(table, table.unmet())
        else:
            self.check(topic, table)

    # -- KEEP_TABLE_UPDATED -----------------------------------------------------------------------------------

    def on_keep(self, timer: Keep) -> None:
        """The community shares the probing: each time about `electors` of all its members probe, however many there
        are. Of links in use, each hears otherwise: from the transport, or from who is no member any more."""
        if self.keeps.get(timer.topic) != timer.generation:
            return
        params = self.settings.of(timer.topic)
        self.out.timer(params.keep_every_us, timer)
        election = rules.election(self.members.size(timer.topic), params.electors, small=0)
        for ordinal, table in enumerate(tuple(self.frontiers[timer.topic].tables.values())):
            table.trim(params.links)
            if rules.drawn(chance(self.node.key(KEEP, fold(self.node.now_us, timer.generation)), ordinal), election):
                self.check(timer.topic, table)

    def check(self, topic: Topic, table: Table) -> None:
        """Asks every entry whether it is there."""
        if table.checking:
            return
        table.checking = True
        nonces = self.finding.nonces
        nonces.pop(table.nonce, None)
        self.checks += 1
        table.nonce = fold(self.node.key(KEEP, self.node.now_us), self.checks) >> 1
        nonces[table.nonce] = (topic, table.topic)
        table.unanswered = Unanswered()
        self.probe(topic, table, table.entries)

    def probe(self, topic: Topic, table: Table, peers: Sequence[Peer]) -> None:
        self.ask(table, peers)
        self.out.timer(self.settings.of(topic).probe_patience_us, Check(topic, table.topic, table.nonce))

    def ask(self, table: Table, peers: Sequence[Peer]) -> None:
        table.unanswered.asked(peers)
        self.out.send(peers, Probe(table.nonce, table.topic))

    def on_probe(self, peer: Peer, probe: Probe) -> None:
        """A process that left the community is no link to it, alive or not, and says so."""
        self.out.send([peer], Alive(probe.nonce, self.node.interest.takes_part(probe.topic)))

    def on_alive(self, peer: Peer, alive: Alive) -> None:
        topic, above = self.finding.nonces.get(alive.nonce, ("", ""))
        frontier = self.frontiers.get(topic)
        table = None if frontier is None else frontier.tables.get(above)
        if frontier is None or table is None:
            return
        if peer not in table.entries:
            table.merge([peer] if alive.here else [], self.settings.of(topic).links, self.node.owners)  # late, but here
        if peer not in table.entries:
            return
        if not alive.here:
            self.drop(topic, frontier, peer, [table])
        elif table.heard(peer):
            self.finding.settle(topic)
            self.tell(topic)

    def on_away(self, peer: Peer, away: Away) -> None:
        """An event went to somebody who is in none of the communities it concerns."""
        includes = self.node.hierarchy.includes
        for topic, frontier in tuple(self.frontiers.items()):
            tables = [table for table in frontier.holding(peer) if includes(table.topic, away.topic)]
            self.drop(topic, frontier, peer, tables)

    def on_check(self, timer: Check) -> None:
        frontier = self.frontiers.get(timer.topic)
        table = None if frontier is None else frontier.tables.get(timer.above)
        if table is None or table.nonce != timer.nonce or not table.checking:
            return
        failed = table.judge(self.settings.of(timer.topic).probes)
        if suspects := table.unanswered.silent(table.entries):
            self.probe(timer.topic, table, suspects)
        else:
            table.checking = False
            self.fill(timer.topic, table)
        if failed or table.news:
            self.tell_members(timer.topic, table, failed)
        if failed:
            self.finding.settle(timer.topic)
            self.tell(timer.topic)

    def fill(self, topic: Topic, table: Table) -> None:
        """After a check: as many new links as are missing, or now and then another one for one of them."""
        params, live = self.settings.of(topic), table.entries
        if not live:
            return
        if len(live) < min(params.links_low, params.links):
            self.request(live, topic, table, max(1, params.links - params.links_low))
        elif len(live) < params.links:
            self.request(live[:1], topic, table, params.links - len(live))
        elif table.copied or rules.drawn(chance(self.node.key(ROTATE, table.nonce), 0), params.rotation):
            chosen = distinct(self.node.key(ROTATE, table.nonce), len(live), 1)
            count = max(1, params.links // 2) if table.copied else 1
            table.copied = False
            self.request([live[i] for i in chosen], topic, table, count, rotate=True)

    def request(self, links: Sequence[Peer], topic: Topic, table: Table, count: int, rotate: bool = False) -> None:
        if count > 0:
            self.out.send(links, NewProcess(table.topic, topic, min(count, PEERS_MAX), rotate))

    def on_new_process(self, peer: Peer, request: NewProcess) -> None:
        """A process below asks for other members of our community."""
        if not self.node.interest.takes_part(request.topic):
            return
        key = self.node.key(LINKS, fold(self.node.now_us, peer))
        others = [other for other in self.members.sure(request.topic) if other != peer]
        named = tuple(others[i] for i in distinct(key, len(others), min(request.count, PEERS_MAX)))
        self.out.send([peer], Contacts(request.below, request.topic, named, rotate=request.rotate))

    def on_contacts(self, peer: Peer, contacts: Contacts) -> None:
        topic, frontier = contacts.below, self.frontiers.get(contacts.below)
        if frontier is None or contacts.topic not in frontier.above:
            return
        table = frontier.tables.get(contacts.topic)
        if contacts.rotate and table is not None and peer in table.entries:
            self.rotate(topic, table, peer, contacts.peers)
            return
        if table is not None and (doubted := [gone for gone in contacts.failed if gone in table.entries]):
            self.doubt(topic, table, doubted)
        if self.take(topic, frontier, contacts.topic, contacts.peers):
            frontier.tables[contacts.topic].copied = table is None
            self.finding.settle(topic)
            self.tell(topic)

    def rotate(self, topic: Topic, table: Table, old: Peer, named: Sequence[Peer]) -> None:
        """Some links give way to others, never all of them, so that super-processes are loaded evenly."""
        fresh = [each for each in named if each not in (self.node.me, *table.entries)]
        leaving = [old, *(each for each in table.entries if each != old)][: max(1, len(table.entries) // 2)]
        for new, gone in zip(fresh, leaving):
            if not crowd(new, [each for each in table.entries if each != gone], self.node.owners):
                table.remove(gone)
                table.entries.append(new)
        self.meet(topic, table)

    def doubt(self, topic: Topic, table: Table, peers: Sequence[Peer]) -> None:
        """Hearsay that these failed: they are asked before it is believed."""
        if table.checking:
            self.ask(table, [peer for peer in peers if peer not in table.unanswered.asks])
        else:
            table.checking = True
            self.probe(topic, table, peers)

    # -- telling the community --------------------------------------------------------------------------------

    def tell_members(self, topic: Topic, table: Table, failed: Sequence[Peer] = ()) -> None:
        table.news = False
        word = fold(self.node.now_us, len(table.entries))
        told = self.members.sample(topic, NEWS_TO, self.node.key(LINKS, word))
        self.greet_with(told, topic, table, tuple(failed))

    def greeting(self, peer: Peer, topic: Topic) -> None:
        """Rides along with a membership message: the newcomer learns the way up without a search."""
        frontier = self.frontiers.get(topic)
        for table in frontier.leads() if frontier is not None else ():
            if table.sure():
                self.greet_with([peer], topic, table)

    def greet_with(self, peers: Sequence[Peer], topic: Topic, table: Table, failed: tuple[Peer, ...] = ()) -> None:
        self.out.send(peers, Contacts(topic, table.topic, tuple(table.sure()[:PEERS_MAX]), failed[:PEERS_MAX]))
