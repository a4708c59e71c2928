"""FIND_SUPER_CONTACT (001, Fig. 5): how a super-topic table gets its first contacts.

Searches begin with the super-topic itself and widen, one ancestor at a time, while nobody answers; a contact of an
ancestor serves meanwhile, and the search goes on for nearer ones.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from gossamer.core.draws import SEARCH, chance
from gossamer.core.ids import Peer
from gossamer.core.stack import Handler, Layer, Stack
from gossamer.core.topics import Topic
from gossamer.protocols.camcast.params import Params
from gossamer.protocols.camcast.table import Table

WIDEST_WAIT = 32
"A search that finds nobody slows down to this many times `search_every_us`."


class Finder(Protocol):
    """The part of the search this layer uses."""

    knows: list[tuple[Callable[[], Iterable[Topic]], Callable[[Topic], Sequence[Peer]]]]
    found: list[Callable[[Topic, Sequence[Peer]], None]]

    def ask(self, wanted: Sequence[Topic]) -> None: ...


class Widen(Struct, frozen=True):
    """Timer: nobody answered, or nobody near enough; ask on, wider."""

    topic: Topic
    above: Topic
    generation: int


class Finding(Layer):
    """The tables of each topic, and the searches for them."""

    def __init__(
        self,
        node: Stack,
        search: Finder,
        params: Callable[[Topic], Params],
        changed: Callable[[Topic, Table], None],
    ) -> None:
        self.search = search
        self.params = params
        self.changed = changed
        self.by_topic: dict[Topic, dict[Topic, Table]] = {}
        self.linked: list[Callable[[Topic], None]] = []
        "Called when a table of this topic has changed: there may be somebody to tell now."
        super().__init__(node)
        search.knows.append((self.found_topics, self.known_in))
        search.found.append(self.on_found)

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Widen: self.on_widen}

    def found_topics(self) -> list[Topic]:
        """The topics this node has links to."""
        return [t.found for tables in self.by_topic.values() for t in tables.values() if t.found is not None]

    def known_in(self, topic: Topic) -> list[Peer]:
        """Members of a topic this node could name to others."""
        return [
            peer for tables in self.by_topic.values() for t in tables.values() if t.found == topic for peer in t.sure()
        ]

    def started(self, contacts: Sequence[Peer]) -> None:
        """There are new contacts: searches under way ask them at once."""
        for topic, tables in self.by_topic.items():
            for table in tables.values():
                if contacts and table.wanted:
                    table.wait_us = self.params(topic).search_every_us
                    self.ask(topic, table)

    def open(self, topic: Topic, supers: Sequence[Topic]) -> None:
        """Begins to look for contacts in each of these."""
        self.by_topic[topic] = {above: Table(above) for above in supers}
        self.find_again(topic)

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
            self.tell(topic)

    def tell(self, topic: Topic) -> None:
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
        changed = table.merge(found, peers, self.params(topic).links, self.node.owners)
        if found == table.above:
            table.wanted = []
            self.drop_stand_ins(topic, table.above)
        else:
            includes = self.node.hierarchy.includes
            table.wanted = [each for each in table.wanted if not includes(each, found)] or [table.above]
        if changed:
            self.changed(topic, table)
        return changed
