"""A node's part in the overlay (P-Grid): a trie that makes itself, in which every topic's members are registered.

It has the role of contacts: first members of a topic, and of the nearest populated topics above it, cost one search.
"""

from collections.abc import Callable, Iterator, Sequence

from gossamer.core.ids import Peer
from gossamer.core.layer import Bound, Layer
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.protocols.pgrid.answering import Answers
from gossamer.protocols.pgrid.asking import Lookups
from gossamer.protocols.pgrid.lookup import Lookup
from gossamer.protocols.pgrid.params import Params
from gossamer.protocols.pgrid.places import members_of
from gossamer.protocols.pgrid.reconciling import Reconciling
from gossamer.protocols.pgrid.registering import Registering
from gossamer.protocols.pgrid.store import Store
from gossamer.protocols.pgrid.tending import Tending
from gossamer.protocols.pgrid.trie import Trie

SOUGHT_MAX = 20_000
"Topics asked for whose spelling is remembered, to know what an answer is about."


class JointSearch:
    """Topics asked for together: of those above each other only the nearest populated ones are told of."""

    def __init__(self, wanted: Sequence[Topic]) -> None:
        self.open = len(wanted)
        self.found: dict[Topic, tuple[Peer, ...]] = {}


class PGrid(Layer):
    uniform = True

    def __init__(self, node: Stack, params: Params, spell: Callable[[Topic], str] | None = None) -> None:
        super().__init__(node)
        self.params = params
        self.spell = spell or (lambda topic: topic)
        self.store = Store()
        self.trie = Trie(node.me, params.references, lambda: self.store.is_for_others(node.me))
        self.reconciling = Reconciling(node, self.trie, self.store, params)
        self.answering = Answers(node, self.trie, self.store)
        self.asking = Lookups(node, self.trie, self.answering, params)
        self.registering = Registering(node, self.asking, self.reconciling, params, self.spell)
        self.tending = Tending(node, self.trie, self.store, self.reconciling, self.asking, self.registering, params)
        self.within = (self.reconciling, self.answering, self.tending, self.asking, self.registering)
        self.sought: dict[str, Topic] = {}

    def bounds(self) -> Iterator[Bound]:
        yield "topics asked for", len(self.sought), SOUGHT_MAX

    def meant(self, spelled: str) -> Topic | None:
        return self.sought.get(spelled)

    def ask(self, wanted: Sequence[Topic], joining: bool = False) -> None:
        """One search for all of these."""
        search = JointSearch(tuple(dict.fromkeys(wanted)))
        hierarchy = self.node.hierarchy

        def told(topic: Topic, lookup: Lookup) -> None:
            search.open -= 1
            peers = tuple(said.member for said in lookup.found if said.member != self.node.me)
            if peers:
                search.found[topic] = peers
            if not search.open:
                for each in hierarchy.nearest(search.found):
                    self.node.tell(lambda layer, each=each: layer.contacts_found(each, search.found[each]))  # type: ignore[misc]

        self.members(wanted, self.params.answers, told)

    def members(self, topics: Sequence[Topic], count: int, done: Callable[[Topic, Lookup], None]) -> None:
        """Some members of each of these topics, drawn so that everybody has the same chance."""
        names = {self.spelled(topic): topic for topic in topics}
        targets = [(members_of(topic, self.spell), name, count) for name, topic in names.items()]
        self.asking.look_up(targets, lambda lookup: done(names[lookup.name], lookup))

    def spelled(self, topic: Topic) -> str:
        name = self.spell(topic)
        self.sought.pop(name, None)
        self.sought[name] = topic
        if len(self.sought) > SOUGHT_MAX:
            del self.sought[next(iter(self.sought))]
        return name
