"""Super-topic tables that look after themselves: KEEP_TABLE_UPDATED (001, Fig. 6) on what `finding` finds.

Invariant: a table never holds this node, never more than `links` entries, and only members of one topic `found`:
the wanted super-topic, or the nearest ancestor anybody was found in so far.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from gossamer.core.draws import KEEP, LINKS, ROTATE, chance, distinct, fold
from gossamer.core.ids import Peer
from gossamer.core.roles import Peers
from gossamer.core.stack import Handler, Layer, Stack
from gossamer.core.topics import Topic
from gossamer.parts.liveness import Unanswered
from gossamer.parts.owners import crowd
from gossamer.protocols.camcast import rules
from gossamer.protocols.camcast.finding import Finder, Finding
from gossamer.protocols.camcast.messages import PEERS_MAX, Alive, Contacts, NewProcess, Probe
from gossamer.protocols.camcast.params import Params
from gossamer.protocols.camcast.table import Table

NEWS_TO = 3
"Members told when a table changed, so that one node's discovery serves its whole community."
UNCHECKED_MAX = 2
"""However large the community, a node's links are probed at least every so many `keep_every_us` and one more: who is
not elected to would never notice a dead link."""


class Keep(Struct, frozen=True):
    """Timer: look after a community's tables."""

    topic: Topic
    generation: int


class Check(Struct, frozen=True):
    """Timer: whoever has not answered the probes so far is probed again, or has failed."""

    topic: Topic
    above: Topic
    nonce: int


class Members(Peers, Protocol):
    """The membership this layer stands on."""

    def sure(self, topic: Topic) -> Sequence[Peer]:
        """Members that gave a sign of life lately: those this node may name to others."""


class Links(Layer):
    """One table per super-topic of each community this node is in."""

    def __init__(self, node: Stack, members: Members, search: Finder, params: Callable[[Topic], Params]) -> None:
        self.members = members
        self.params = params
        self.finding = Finding(node, search, params, self.meet)
        self.by_topic = self.finding.by_topic
        self.generation = 0
        self.keeps: dict[Topic, int] = {}
        super().__init__(node)

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {
            Probe: self.on_probe,
            Alive: self.on_alive,
            NewProcess: self.on_new_process,
            Contacts: self.on_contacts,
            Keep: self.on_keep,
            Check: self.on_check,
        }

    def tables(self, topic: Topic) -> list[list[Peer]]:
        return [table.live() for table in self.by_topic.get(topic, {}).values()]

    # -- life -------------------------------------------------------------------------------------------------

    def joined(self, topic: Topic) -> None:
        self.open(topic, self.node.hierarchy.parents(topic))

    def open(self, topic: Topic, supers: Sequence[Topic]) -> None:
        """Begins to look for, and after, contacts in each of these."""
        self.finding.open(topic, supers)
        self.generation += 1
        self.keeps[topic] = self.generation
        self.out.timer(self.params(topic).keep_every_us, Keep(topic, self.generation))

    def left(self, topic: Topic) -> None:
        self.by_topic.pop(topic, None)
        self.keeps.pop(topic, None)

    def peer_down(self, peer: Peer) -> None:
        for tables in self.by_topic.values():
            for table in tables.values():
                if peer in table.entries:
                    table.failed[peer] = None

    # -- KEEP_TABLE_UPDATED -----------------------------------------------------------------------------------

    def on_keep(self, timer: Keep) -> None:
        if self.keeps.get(timer.topic) != timer.generation:
            return
        params = self.params(timer.topic)
        self.out.timer(params.keep_every_us, timer)
        election = rules.election(self.members.size(timer.topic), params.electors, params.small)
        for ordinal, table in enumerate(tuple(self.by_topic[timer.topic].values())):
            table.trim(params.links)
            elected = rules.drawn(chance(self.node.key(KEEP, self.node.now_us), ordinal), election)
            table.unchecked += 1
            if not table.live():
                self.finding.find(timer.topic, table)
            elif elected or table.unchecked > UNCHECKED_MAX:
                self.check(timer.topic, table)

    def check(self, topic: Topic, table: Table) -> None:
        """Asks every entry whether it is there, failed ones too: one that came back is a live entry again."""
        if table.found is None or table.checking:
            return
        table.checking, table.unchecked = True, 0
        table.nonce = fold(self.node.key(KEEP, self.node.now_us), table.nonce) >> 1
        table.unanswered = Unanswered()
        self.probe(topic, table, table.entries)

    def probe(self, topic: Topic, table: Table, peers: Sequence[Peer]) -> None:
        self.ask(table, peers)
        self.out.timer(self.params(topic).probe_patience_us, Check(topic, table.above, table.nonce))

    def ask(self, table: Table, peers: Sequence[Peer]) -> None:
        table.unanswered.asked(peers)
        if table.found is not None:
            self.out.send(peers, Probe(table.nonce, table.found))

    def meet(self, topic: Topic, table: Table) -> None:
        """Newcomers are asked at once whether they are there: until they answer, nobody else is told of them."""
        if table.checking:
            self.ask(table, [peer for peer in table.live() if peer not in {**table.confirmed, **table.unanswered.asks}])
        else:
            self.check(topic, table)

    def on_probe(self, peer: Peer, probe: Probe) -> None:
        """A process that left the community is no link to it, alive or not, and says so."""
        self.out.send([peer], Alive(probe.nonce, self.node.interest.takes_part(probe.topic)))

    def on_alive(self, peer: Peer, alive: Alive) -> None:
        for topic, tables in tuple(self.by_topic.items()):
            for table in tables.values():
                if table.nonce == alive.nonce and peer in table.entries and table.heard(peer, alive.here):
                    self.finding.tell(topic)
                    return

    def on_check(self, timer: Check) -> None:
        table = self.by_topic.get(timer.topic, {}).get(timer.above)
        if table is None or table.nonce != timer.nonce or not table.checking:
            return
        newly_failed = table.judge(self.params(timer.topic).probes)
        if suspects := table.unanswered.silent(table.live()):
            self.probe(timer.topic, table, suspects)
        else:
            table.checking = False
            self.fill(timer.topic, table)
        if newly_failed or table.news:
            self.tell_members(timer.topic, table, newly_failed)

    def fill(self, topic: Topic, table: Table) -> None:
        """Asks for what is missing, now that it is known who is alive; with nothing missing, sometimes rotates."""
        params, live = self.params(topic), table.live()
        if table.found is None or not live:
            self.finding.find(topic, table)
        elif len(live) < min(params.links_low, params.links):
            self.request(live, topic, table, max(1, params.links - params.links_low))
        elif len(live) < params.links:
            self.request(live[:1], topic, table, params.links - len(live))
        elif rules.drawn(chance(self.node.key(ROTATE, table.nonce), 0), params.rotation):
            chosen = distinct(self.node.key(ROTATE, table.nonce), len(live), 1)
            self.request([live[i] for i in chosen], topic, table, 1, rotate=True)

    def request(self, links: Sequence[Peer], topic: Topic, table: Table, count: int, rotate: bool = False) -> None:
        if count > 0 and table.found is not None:
            self.out.send(links, NewProcess(table.found, topic, table.above, min(count, PEERS_MAX), rotate))

    def on_new_process(self, peer: Peer, request: NewProcess) -> None:
        """A process below asks for other members of our community."""
        if not self.node.interest.takes_part(request.topic):
            return
        key = self.node.key(LINKS, fold(self.node.now_us, peer))
        others = [other for other in self.members.sure(request.topic) if other != peer]
        named = tuple(others[i] for i in distinct(key, len(others), min(request.count, PEERS_MAX)))
        answer = Contacts(request.below, request.above, request.topic, named, rotate=request.rotate)
        self.out.send([peer], answer)

    def on_contacts(self, peer: Peer, contacts: Contacts) -> None:
        table = self.by_topic.get(contacts.below, {}).get(contacts.above)
        if table is None or not self.node.hierarchy.includes(contacts.topic, contacts.above):
            return
        others = [each for each in table.entries if each != peer]
        fresh = [p for p in contacts.peers if p not in (self.node.me, *table.entries)]
        fresh = [p for p in fresh if not crowd(p, others, self.node.owners)]
        if contacts.rotate and contacts.topic == table.found and fresh and peer in table.entries:
            table.remove(peer)
            table.entries.append(fresh[0])
            self.meet(contacts.below, table)
            return
        changed = self.finding.take(contacts.below, table, contacts.topic, contacts.peers)
        if any(gone in table.live() for gone in contacts.failed):
            self.check(contacts.below, table)  # hearsay: ask ourselves before we believe it
        if changed:
            self.finding.tell(contacts.below)

    # -- telling the community --------------------------------------------------------------------------------

    def tell_members(self, topic: Topic, table: Table, failed: Sequence[Peer] = ()) -> None:
        table.news = False
        word = fold(self.node.now_us, len(table.entries))
        told = self.members.sample(topic, NEWS_TO, self.node.key(LINKS, word))
        self.greet_with(told, topic, table, tuple(failed))

    def greet(self, peer: Peer, topic: Topic) -> None:
        """Rides along with a membership message: the newcomer learns the way up without a search."""
        for table in self.by_topic.get(topic, {}).values():
            if table.sure():
                self.greet_with([peer], topic, table)

    def greet_with(self, peers: Sequence[Peer], topic: Topic, table: Table, failed: tuple[Peer, ...] = ()) -> None:
        if table.found is not None:
            self.out.send(
                peers, Contacts(topic, table.above, table.found, tuple(table.sure()[:PEERS_MAX]), failed[:PEERS_MAX])
            )
