"""FIND_SUPER_CONTACT (001, Fig. 5): how the frontier of a community gets its first contacts, and nearer ones.

Invariant: a search is under way exactly as long as a topic above may be populated without our knowing. A search that
finds nobody slows down; one that has lost something it had begins anew.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gossamer.core.draws import SEARCH, chance
from gossamer.core.ids import Peer
from gossamer.core.layer import Handler, Layer
from gossamer.core.roles import Contacts
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.protocols.camcast.frontier import Frontier, OpenSearch
from gossamer.protocols.camcast.params import Params, Settings
from gossamer.protocols.camcast.table import Table

WIDEST_WAIT = 32
"A search that finds nobody slows down to this many times `search_every_us`."


class Widen(Struct, frozen=True):
    """Timer: nobody answered, or nobody near enough; ask on. Stale once the search is another one."""

    topic: Topic
    generation: int


class Finding(Layer):
    """The frontier of each topic, and the searches for them."""

    def __init__(self, node: Stack, contacts: Contacts, settings: Settings) -> None:
        super().__init__(node)
        self.contacts = contacts
        self.settings = settings
        self.frontiers: dict[Topic, Frontier] = {}
        self.below: dict[Topic, dict[Topic, None]] = {}
        "The communities that may lead to a topic above."
        self.tables: dict[Topic, Table] = {}
        "One for each topic above, whichever communities of ours lead there: many topics cost no more than one."
        self.linked: dict[Topic, dict[Topic, bool]] = {}
        "The communities that use each of them, and whether they were told of it."
        self.searches = 0

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Widen: self.on_widen}

    def lives_by(self, topic: Topic | None) -> Iterator[Struct]:
        frontier = None if topic is None else self.frontiers.get(topic)
        if frontier is not None and frontier.search is not None:
            yield Widen(topic, frontier.search.generation)  # type: ignore[arg-type]

    def started(self, contacts: Sequence[Peer]) -> None:
        """There are new contacts: searches under way ask them at once."""
        if contacts:
            for topic, frontier in self.frontiers.items():
                if frontier.search is not None:
                    self.begin(topic, frontier)

    def open(self, topic: Topic, above: Sequence[Topic]) -> Frontier:
        self.close(topic)
        frontier = self.frontiers[topic] = Frontier(above, self.node.hierarchy)
        for each in frontier.above:
            self.below.setdefault(each, {})[topic] = None
        return frontier

    def close(self, topic: Topic) -> None:
        frontier = self.frontiers.pop(topic, None)
        if frontier is None:
            return
        self.forget(topic, frontier.tables.values())
        for each in frontier.above:
            self.below[each].pop(topic)
            if not self.below[each]:
                del self.below[each]

    def forget(self, topic: Topic, tables: Iterable[Table]) -> None:
        """A community has no use for these tables any more."""
        for table in tables:
            linked = self.linked[table.topic]
            del linked[topic]
            if not linked:
                del self.linked[table.topic], self.tables[table.topic]

    def table(self, topic: Topic, above: Topic) -> Table:
        """The table of a topic above, used by this community from now on."""
        table = self.tables.setdefault(above, Table(above))
        self.frontiers[topic].tables[above] = table
        self.linked.setdefault(above, {}).setdefault(topic, False)
        table.most = max(table.most, self.settings.of(topic).links)
        return table

    def params(self, table: Table) -> Params:
        """Those of the community that has used a table for longest."""
        return self.settings.of(next(iter(self.linked[table.topic])))

    def moved(self, above: Topic) -> None:
        """The last act of a step in which a table changed: every community that uses it looks for what it lacks now,
        and whoever waited for links may give its topic up at once."""
        for topic in tuple(self.linked.get(above, ())):
            self.settle(topic)
            self.node.tell(lambda layer, topic=topic: layer.links_changed(topic))  # type: ignore[misc]

    def under(self, above: Topic) -> list[tuple[Topic, Frontier]]:
        """The communities that may lead to this topic, and their frontiers."""
        return [(topic, self.frontiers[topic]) for topic in self.below.get(above, ())]

    def settle(self, topic: Topic) -> None:
        """After every change of a frontier: forgets what it needs no more, and looks for what it lacks now."""
        frontier = self.frontiers.get(topic)
        if frontier is None:
            return
        self.forget(topic, frontier.prune())
        scope = frontier.open()
        if not scope:
            frontier.search = None
        elif frontier.search is None or not {*scope} <= {*frontier.search.scope}:
            self.begin(topic, frontier)
        else:
            frontier.search = replace(frontier.search, scope=scope)  # what is lost again later begins it anew

    def begin(self, topic: Topic, frontier: Frontier) -> None:
        """A new search: asks at once, unless the last one just did."""
        every_us = self.settings.of(topic).search_every_us
        asked_us = frontier.asked_us
        if asked_us is not None and self.node.now_us - asked_us < every_us // 2:
            self.search(topic, frontier, every_us // 2)
        else:
            self.ask(topic, frontier, every_us)

    def ask(self, topic: Topic, frontier: Frontier, wait_us: int) -> None:
        frontier.asked_us = self.node.now_us
        frontier.asks += 1
        scope = self.search(topic, frontier, wait_us)
        self.contacts.ask(scope)

    def search(self, topic: Topic, frontier: Frontier, wait_us: int) -> tuple[Topic, ...]:
        """The one place where a search begins or goes on: its timer is set with it."""
        self.searches += 1
        scope = frontier.open()
        frontier.search = OpenSearch(scope, wait_us, self.searches)
        jitter = chance(self.node.key(SEARCH, self.searches), 0)
        self.out.timer(round(wait_us * (0.75 + jitter / 2)), Widen(topic, self.searches))
        return scope

    def on_widen(self, timer: Widen) -> None:
        frontier = self.frontiers.get(timer.topic)
        if frontier is None or frontier.search is None or frontier.search.generation != timer.generation:
            return
        most_us = WIDEST_WAIT * self.settings.of(timer.topic).search_every_us
        self.ask(timer.topic, frontier, min(2 * frontier.search.wait_us, most_us))
        if frontier.asks == 2:
            self.node.tell(lambda layer: layer.links_changed(timer.topic))  # nobody nearer answered the first time
