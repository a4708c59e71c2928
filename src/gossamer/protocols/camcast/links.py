"""Super-topic tables that look after themselves: FIND_SUPER_CONTACT and KEEP_TABLE_UPDATED (001, Figs 5 and 6).

Invariant: a table never holds this node, never more than `links` entries, and only members of one topic `found`:
the wanted super-topic, or the nearest ancestor anybody was found in so far.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from gossamer.core.draws import KEEP, LINKS, ROTATE, SEARCH, chance, distinct, fold
from gossamer.core.ids import Peer
from gossamer.core.stack import Handler, Layer, Peers, Stack
from gossamer.core.topics import Topic
from gossamer.protocols.camcast import rules
from gossamer.protocols.camcast.messages import Alive, Contacts, NewProcess, Probe
from gossamer.protocols.camcast.params import Params
from gossamer.protocols.camcast.table import Table

WIDEST_WAIT = 32
"A search that finds nobody slows down to this many times `search_every_us`."
NEWS_TO = 3
"Members told when a table changed, so that one node's discovery serves its whole community."


class Finder(Protocol):
    """The part of the search this layer uses."""

    knows: list[tuple[Callable[[], Iterable[Topic]], Callable[[Topic], Sequence[Peer]]]]
    found: list[Callable[[Topic, Sequence[Peer]], None]]

    def ask(self, wanted: Sequence[Topic]) -> None: ...


class Keep(Struct, frozen=True):
    """Timer: look after a community's tables."""

    topic: Topic
    generation: int


class Check(Struct, frozen=True):
    """Timer: whoever has not answered this probe by now has failed."""

    topic: Topic
    above: Topic
    nonce: int


class Widen(Struct, frozen=True):
    """Timer: nobody answered, or nobody near enough; ask on, wider."""

    topic: Topic
    above: Topic
    generation: int


class Links(Layer):
    """One table per super-topic of each community this node is in."""

    def __init__(self, node: Stack, members: Peers, search: Finder, params: Callable[[Topic], Params]) -> None:
        self.members = members
        self.search = search
        self.params = params
        self.by_topic: dict[Topic, dict[Topic, Table]] = {}
        self.generation = 0
        self.keeps: dict[Topic, int] = {}
        self.linked: list[Callable[[Topic], None]] = []
        "Called when a table of this topic has changed: there may be somebody to tell now."
        super().__init__(node)
        search.knows.append((self.found_topics, self.known_in))
        search.found.append(self.on_found)

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {
            Probe: self.on_probe,
            Alive: self.on_alive,
            NewProcess: self.on_new_process,
            Contacts: self.on_contacts,
            Keep: self.on_keep,
            Check: self.on_check,
            Widen: self.on_widen,
        }

    def tables(self, topic: Topic) -> list[list[Peer]]:
        return [table.live() for table in self.by_topic.get(topic, {}).values()]

    def found_topics(self) -> list[Topic]:
        """The topics this node has links to."""
        return [t.found for tables in self.by_topic.values() for t in tables.values() if t.found is not None]

    def known_in(self, topic: Topic) -> list[Peer]:
        """Members of a topic this node could name to others."""
        return [
            peer for tables in self.by_topic.values() for t in tables.values() if t.found == topic for peer in t.live()
        ]

    # -- life -------------------------------------------------------------------------------------------------

    def joined(self, topic: Topic) -> None:
        self.open(topic, self.node.hierarchy.parents(topic))

    def open(self, topic: Topic, supers: Sequence[Topic]) -> None:
        """Begins to look for, and after, contacts in each of these."""
        self.by_topic[topic] = {above: Table(above) for above in supers}
        self.find_again(topic)
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

    # -- FIND_SUPER_CONTACT -----------------------------------------------------------------------------------

    def find(self, topic: Topic, table: Table) -> None:
        """Starts a search, unless one is under way: first for the super-topic itself."""
        if table.wanted:
            return
        table.wanted = [table.above]
        table.wait_us = self.params(topic).search_every_us
        self.ask(topic, table)

    def find_again(self, topic: Topic) -> None:
        """Searches for every table of a topic that has nobody."""
        for table in tuple(self.by_topic.get(topic, {}).values()):
            if not table.live():
                self.find(topic, table)

    def ask(self, topic: Topic, table: Table) -> None:
        table.generation += 1
        self.search.ask(table.wanted)
        jitter = chance(self.node.key(SEARCH, table.generation), 0)
        self.out.timer(round(table.wait_us * (0.75 + jitter / 2)), Widen(topic, table.above, table.generation))

    def on_widen(self, timer: Widen) -> None:
        table = self.by_topic.get(timer.topic, {}).get(timer.above)
        if table is None or timer.generation != table.generation or not table.wanted:
            return
        parents = self.node.hierarchy.parents(table.above)
        self.stand_in(timer.topic, table, parents)
        scope = [table.above, *(self.node.hierarchy.ancestors(table.above) if len(parents) < 2 else ())]
        if table.live() and table.found is not None:
            scope = [each for each in scope if not self.node.hierarchy.includes(each, table.found)]
        if len(table.wanted) < len(scope):
            table.wanted = scope[: len(table.wanted) + 1]
        else:
            table.wanted = scope
            table.wait_us = min(table.wait_us * 2, WIDEST_WAIT * self.params(timer.topic).search_every_us)
        if table.wanted:
            self.ask(timer.topic, table)

    def stand_in(self, topic: Topic, table: Table, parents: Sequence[Topic]) -> None:
        """A super-topic that seems empty and has several parents: events must climb to each, so each gets a table."""
        tables = self.by_topic[topic]
        for above in parents if len(parents) > 1 else ():
            if above not in tables:
                tables[above] = Table(above, instead_of=table.above)
                self.find(topic, tables[above])

    def drop_stand_ins(self, topic: Topic, for_topic: Topic) -> None:
        tables = self.by_topic[topic]
        for above in [above for above, table in tables.items() if table.instead_of == for_topic]:
            del tables[above]
            self.drop_stand_ins(topic, above)

    def on_found(self, found: Topic, peers: Sequence[Peer]) -> None:
        changed = [
            topic
            for topic, tables in self.by_topic.items()
            for table in tuple(tables.values())
            if found in table.wanted and self.take(topic, table, found, peers)
        ]
        for topic in dict.fromkeys(changed):
            self.tell_linked(topic)

    def tell_linked(self, topic: Topic) -> None:
        """The last act of a step: who waited for links may give the topic up at once."""
        for hearer in self.linked:
            hearer(topic)

    def take(self, topic: Topic, table: Table, found: Topic, peers: Sequence[Peer]) -> bool:
        """Merges contacts unless the table already has some of a nearer topic; stops or narrows the search.

        True: the table has changed."""
        peers = [peer for peer in peers if peer != self.node.me]
        nearer = table.found is None or not table.live() or self.node.hierarchy.includes(table.found, found)
        if not peers or not nearer:
            return False
        changed = table.merge(found, peers, self.params(topic).links)
        if found == table.above:
            table.wanted = []
            self.drop_stand_ins(topic, table.above)
        else:
            includes = self.node.hierarchy.includes
            table.wanted = [each for each in table.wanted if not includes(each, found)] or [table.above]
        if changed:
            self.tell_members(topic, table)
        return changed

    # -- KEEP_TABLE_UPDATED -----------------------------------------------------------------------------------

    def on_keep(self, timer: Keep) -> None:
        if self.keeps.get(timer.topic) != timer.generation:
            return
        params = self.params(timer.topic)
        self.out.timer(params.keep_every_us, timer)
        election = rules.election(self.members.size(timer.topic), params.electors, params.small)
        for ordinal, table in enumerate(tuple(self.by_topic[timer.topic].values())):
            table.trim(params.links)
            if not table.live():
                self.find(timer.topic, table)
            elif rules.drawn(chance(self.node.key(KEEP, self.node.now_us), ordinal), election):
                self.check(timer.topic, table)

    def check(self, topic: Topic, table: Table) -> None:
        """Asks every entry whether it is there, failed ones too: one that came back is a live entry again."""
        if table.found is None or table.checking:
            return
        table.checking = True
        table.nonce = fold(self.node.key(KEEP, self.node.now_us), table.nonce)
        table.probed, table.answered = tuple(table.entries), {}
        self.out.send(table.probed, Probe(table.nonce, table.found))
        self.out.timer(self.params(topic).probe_patience_us, Check(topic, table.above, table.nonce))

    def on_probe(self, peer: Peer, probe: Probe) -> None:
        """A process that left the community is no link to it, alive or not: it keeps silent."""
        if self.node.interest.takes_part(probe.topic):
            self.out.send([peer], Alive(probe.nonce))

    def on_alive(self, peer: Peer, alive: Alive) -> None:
        for tables in self.by_topic.values():
            for table in tables.values():
                if table.nonce == alive.nonce and peer in table.entries:
                    table.answered[peer] = None

    def on_check(self, timer: Check) -> None:
        table = self.by_topic.get(timer.topic, {}).get(timer.above)
        if table is None or table.nonce != timer.nonce:
            return
        table.checking = False
        params = self.params(timer.topic)
        newly_failed = table.judge()
        live = table.live()
        if table.found is None or not live:
            self.find(timer.topic, table)
        elif len(live) < min(params.links_low, params.links):
            self.request(live, timer.topic, table, max(1, params.links - params.links_low))
        elif len(live) < params.links:
            self.request(live[:1], timer.topic, table, params.links - len(live))
        elif rules.drawn(chance(self.node.key(ROTATE, timer.nonce), 0), params.rotation):
            chosen = distinct(self.node.key(ROTATE, timer.nonce), len(live), 1)
            self.request([live[i] for i in chosen], timer.topic, table, 1, rotate=True)
        if newly_failed:
            self.tell_members(timer.topic, table, newly_failed)

    def request(self, links: Sequence[Peer], topic: Topic, table: Table, count: int, rotate: bool = False) -> None:
        if count > 0 and table.found is not None:
            self.out.send(links, NewProcess(table.found, topic, table.above, count, rotate))

    def on_new_process(self, peer: Peer, request: NewProcess) -> None:
        """A process below asks for other members of our community."""
        if not self.node.interest.takes_part(request.topic):
            return
        key = self.node.key(LINKS, fold(self.node.now_us, peer))
        others = [other for other in self.members.about(request.topic) if other != peer]
        named = tuple(others[i] for i in distinct(key, len(others), request.count))
        answer = Contacts(request.below, request.above, request.topic, named, rotate=request.rotate)
        self.out.send([peer], answer)

    def on_contacts(self, peer: Peer, contacts: Contacts) -> None:
        table = self.by_topic.get(contacts.below, {}).get(contacts.above)
        if table is None or not self.node.hierarchy.includes(contacts.topic, contacts.above):
            return
        fresh = [p for p in contacts.peers if p != self.node.me and p not in table.entries]
        if contacts.rotate and contacts.topic == table.found and fresh and peer in table.entries:
            table.entries[table.entries.index(peer)] = fresh[0]
            table.failed.pop(peer, None)
            return
        changed = self.take(contacts.below, table, contacts.topic, contacts.peers)
        if any(gone in table.live() for gone in contacts.failed):
            self.check(contacts.below, table)  # hearsay: ask ourselves before we believe it
        if changed:
            self.tell_linked(contacts.below)

    # -- telling the community --------------------------------------------------------------------------------

    def tell_members(self, topic: Topic, table: Table, failed: Sequence[Peer] = ()) -> None:
        word = fold(self.node.now_us, len(table.entries))
        told = self.members.sample(topic, NEWS_TO, self.node.key(LINKS, word))
        self.greet_with(told, topic, table, tuple(failed))

    def greet(self, peer: Peer, topic: Topic) -> None:
        """Rides along with a membership message: the newcomer learns the way up without a search."""
        for table in self.by_topic.get(topic, {}).values():
            if table.live():
                self.greet_with([peer], topic, table)

    def greet_with(self, peers: Sequence[Peer], topic: Topic, table: Table, failed: tuple[Peer, ...] = ()) -> None:
        if table.found is not None:
            self.out.send(peers, Contacts(topic, table.above, table.found, tuple(table.live()), failed))
