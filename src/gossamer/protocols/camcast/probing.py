"""KEEP_TABLE_UPDATED (001, Fig. 6): the entries of the node's tables are asked for a sign of life, the failed go, and
new ones are asked of those that live.

Invariant: a table never holds this node, never more than `links` entries, and only members of its topic; an entry that
answered gives way only to one that did.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from gossamer.core.draws import KEEP, LINKS, ROTATE, chance, distinct, fold
from gossamer.core.ids import Peer
from gossamer.core.layer import Bound, Handler, Layer
from gossamer.core.roles import Members
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.liveness import Unanswered
from gossamer.parts.owners import crowd
from gossamer.protocols.camcast import rules
from gossamer.protocols.camcast.finding import Finding
from gossamer.protocols.camcast.messages import PEERS_MAX, Alive, Away, ContactList, NewProcess, Probe
from gossamer.protocols.camcast.table import Table

NEWS_TO = 3
"Members told when a table changed, so that one node's discovery serves its whole community."


class Check(Struct, frozen=True):
    """Timer: whoever has not answered the probes so far is probed again, or has failed."""

    above: Topic
    nonce: int


class Probing(Layer):
    """The tables of a node, each checked once however many communities use it."""

    def __init__(self, node: Stack, members: Members, finding: Finding) -> None:
        super().__init__(node)
        self.members = members
        self.finding = finding
        self.tables = finding.tables
        self.checks = 0

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {
            Probe: self.on_probe,
            Alive: self.on_alive,
            Away: self.on_away,
            NewProcess: self.on_new_process,
            Check: self.on_check,
        }

    def lives_by(self, topic: Topic | None) -> Iterator[Struct]:
        if topic is None:
            yield from (Check(table.topic, table.nonce) for table in self.tables.values() if table.checking)

    def bounds(self) -> Iterator[Bound]:
        for table in self.tables.values():
            kept = (table.entries, table.confirmed, table.asked, table.next)
            yield f"links to {table.topic}", max(map(len, kept)), table.most

    # -- asking -----------------------------------------------------------------------------------------------

    def check(self, table: Table) -> None:
        """Asks every entry whether it is there."""
        if table.checking:
            return
        table.checking = True
        table.checked_us = self.node.now_us
        table.asked.clear()
        table.next.clear()
        self.checks += 1
        table.nonce = fold(self.node.key(KEEP, self.node.now_us), self.checks) >> 1
        table.unanswered = Unanswered()
        self.probe(table, table.entries)

    def meet(self, table: Table) -> None:
        """Newcomers are asked at once whether they are there: until they answer, nobody else is told of them."""
        if table.checking:
            self.ask(table, table.unmet())
        else:
            self.check(table)

    def doubt(self, table: Table, peers: Sequence[Peer]) -> None:
        """Hearsay that these failed: they are asked before it is believed."""
        if table.checking:
            self.ask(table, [peer for peer in peers if peer not in table.unanswered.asks])
        else:
            table.checking = True
            self.probe(table, peers)

    def probe(self, table: Table, peers: Sequence[Peer]) -> None:
        self.ask(table, peers)
        self.out.timer(self.finding.params(table).probe_patience_us, Check(table.topic, table.nonce))

    def ask(self, table: Table, peers: Sequence[Peer]) -> None:
        table.unanswered.asked(peers)
        self.out.send(peers, Probe(table.nonce, table.topic))

    # -- answers ----------------------------------------------------------------------------------------------

    def on_probe(self, peer: Peer, probe: Probe) -> None:
        """A process that left the community is no link to it, alive or not, and says so."""
        self.out.send([peer], Alive(probe.nonce, probe.topic, self.node.interest.takes_part(probe.topic)))

    def on_alive(self, peer: Peer, alive: Alive) -> None:
        table = self.tables.get(alive.topic)
        if table is None or table.nonce != alive.nonce:
            return
        taken = alive.here and (table.replaced(peer) if peer in table.next else table.merge([peer], self.node.owners))
        if peer not in table.entries:
            return
        if not alive.here:
            self.drop(table, peer)
        elif table.heard(peer) or taken:
            self.finding.linked[table.topic].update(dict.fromkeys(self.finding.linked[table.topic], False))
            self.finding.moved(table.topic)

    def on_away(self, peer: Peer, away: Away) -> None:
        """An event went to somebody who is in none of the communities it concerns."""
        includes = self.node.hierarchy.includes
        for table in [each for each in self.tables.values() if includes(each.topic, away.topic)]:
            self.drop(table, peer)
        self.node.tell(lambda layer: layer.strayed(peer, away.topic))

    def peer_down(self, peer: Peer) -> None:
        for table in tuple(self.tables.values()):
            self.drop(table, peer)

    def drop(self, table: Table, peer: Peer) -> None:
        table.next.pop(peer, None)
        if peer in table.entries:
            table.remove(peer)
            self.finding.moved(table.topic)

    def on_check(self, timer: Check) -> None:
        table = self.tables.get(timer.above)
        if table is None or table.nonce != timer.nonce or not table.checking:
            return
        failed = table.judge(self.finding.params(table).probes)
        if suspects := table.unanswered.silent(table.entries):
            self.probe(table, suspects)
        else:
            table.checking = False
            self.fill(table)
        self.tell_members(table, failed)
        if failed:
            self.finding.moved(table.topic)

    # -- new ones ---------------------------------------------------------------------------------------------

    def fill(self, table: Table) -> None:
        """After a check: as many new links as are missing, or now and then another one for one of them. Where all there
        are seem to be here already, others are asked for now and then only."""
        params, live = self.finding.params(table), table.entries
        now_and_then = rules.drawn(chance(self.node.key(ROTATE, table.nonce), 0), params.rotation)
        if not live:
            return
        if len(live) < table.most and table.whole and not now_and_then:
            return
        if len(live) < min(params.links_low, table.most):
            self.request(table, live, max(1, table.most - params.links_low))
        elif len(live) < table.most:
            self.request(table, live[:1], table.most - len(live))
        elif table.exchanges or now_and_then:
            chosen = distinct(self.node.key(ROTATE, table.nonce), len(live), 1)
            count = table.most if table.exchanges else 1
            table.exchanges = max(0, table.exchanges - 1)
            self.request(table, [live[i] for i in chosen], count, rotate=True)

    def request(self, table: Table, links: Sequence[Peer], count: int, rotate: bool = False) -> None:
        below = next(iter(self.finding.linked[table.topic]))
        table.asked.update(dict.fromkeys(links, rotate))
        self.out.send(links, NewProcess(table.topic, below, min(count, PEERS_MAX)))

    def on_new_process(self, peer: Peer, request: NewProcess) -> None:
        """A process below asks for other members of our community."""
        if not self.node.interest.takes_part(request.topic):
            return
        key = self.node.key(LINKS, fold(self.node.now_us, peer))
        others = [other for other in self.members.sure(request.topic) if other != peer]
        named = tuple(others[i] for i in distinct(key, len(others), min(request.count, PEERS_MAX)))
        self.out.send([peer], ContactList(request.below, request.topic, named))

    def answered(self, table: Table, peer: Peer, named: Sequence[Peer]) -> bool:
        """An entry that was asked for others names some. True: they take the place of others, once they have answered
        for themselves; then super-processes are loaded evenly."""
        rotates = table.asked.pop(peer)
        fresh = [each for each in named if each not in (self.node.me, *table.entries)]
        table.whole = not fresh
        if not rotates or len(table.entries) < table.most:
            return False
        leaving = [peer, *(each for each in table.entries if each != peer)]
        self.replace(table, zip(fresh, leaving))
        return True

    def exchange(self, table: Table, drawn: Sequence[Peer]) -> None:
        """Others were drawn: those among them that are no entries take the place of entries that were not drawn, each
        once it has answered."""
        others = [peer for peer in drawn if peer != self.node.me][: table.most]
        fresh = [peer for peer in others if peer not in table.entries]
        leaving = [peer for peer in table.entries if peer not in others]
        if len(table.entries) >= table.most and fresh:
            table.exchanges = 0
            table.next.clear()
            self.replace(table, zip(fresh, leaving))

    def replace(self, table: Table, pairs: Iterable[tuple[Peer, Peer]]) -> None:
        """New ones take the place of others, once they have answered for themselves."""
        for new, old in pairs:
            if not crowd(new, [each for each in table.entries if each != old], self.node.owners):
                table.next[new] = old
        self.ask(table, [*table.next])

    # -- telling the community --------------------------------------------------------------------------------

    def tell_members(self, table: Table, failed: Sequence[Peer]) -> None:
        """Each community that uses a table hears of what is new in it."""
        linked = self.finding.linked[table.topic]
        for topic in [topic for topic, told in linked.items() if failed or not told]:
            linked[topic] = True
            word = fold(self.node.now_us, len(table.entries))
            told = self.members.sample(topic, NEWS_TO, self.node.key(LINKS, word))
            self.greet(told, topic, table, tuple(failed))

    def greet(self, peers: Sequence[Peer], topic: Topic, table: Table, failed: tuple[Peer, ...] = ()) -> None:
        self.out.send(peers, ContactList(topic, table.topic, tuple(table.sure()[:PEERS_MAX]), failed[:PEERS_MAX]))
