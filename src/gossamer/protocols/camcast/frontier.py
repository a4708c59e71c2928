"""The frontier of a community: the nearest populated topics on every branch upwards, as far as they are known.

Of all topics above, those count that somebody is known in and that include no nearer one of that kind: the rule of
`Hierarchy.nearest_populated`. Whatever is not above one of them may be populated too, and is looked for.
"""

from collections.abc import Sequence

from msgspec import Struct

from gossamer.core.topics import Hierarchy, Topic
from gossamer.protocols.camcast.table import Table


class OpenSearch(Struct, frozen=True):
    """A search under way: there is no other, and its timer runs."""

    scope: tuple[Topic, ...]
    "The topics it asks for, the nearest first."
    wait_us: int
    "How long it waits for an answer, but for a jitter. Doubles while in vain."
    generation: int
    "Of its timer."


class Frontier:
    """One community's way up. `above`: the topics it may lead to, nearest first, none before one that it includes."""

    def __init__(self, above: Sequence[Topic], hierarchy: Hierarchy) -> None:
        self.above = tuple(above)
        self.hierarchy = hierarchy
        self.tables: dict[Topic, Table] = {}
        "Those of the node that this community uses."
        self.search: OpenSearch | None = None
        self.asked_us: int | None = None
        "When a search last asked."
        self.asks = 0
        "How often one did."

    def leads(self) -> list[Table]:
        """Where events climb to: the nearest topics with links that answered, and any nearer ones whose have not yet.
        Nobody who merely claims to be nearer can cut off those that are proven."""
        sure = [topic for topic in self.above if (table := self.tables.get(topic)) and table.confirmed]
        known = [topic for topic in self.above if (table := self.tables.get(topic)) and table.entries]
        if sure == known:
            return [self.tables[topic] for topic in self.hierarchy.nearest(known)]
        both = {*self.hierarchy.nearest(sure), *self.hierarchy.nearest(known)}
        return [self.tables[topic] for topic in known if topic in both]

    def open(self) -> tuple[Topic, ...]:
        """Topics above that may be populated without our knowing: none has proven links, or leads from one that has."""
        sure = [topic for topic, table in self.tables.items() if table.confirmed]
        if not sure:
            return self.above
        settled = {above for topic in sure for above in (topic, *self.hierarchy.ancestors(topic))}
        return tuple(topic for topic in self.above if topic not in settled)

    def wants(self, topic: Topic) -> bool:
        """Whether members of this topic are of use: it has a table already, or nothing nearer is proven."""
        return topic in self.tables or topic in self.open()

    def prune(self) -> list[Table]:
        """Forgets tables without entries, and those of topics that a nearer one with proven links leads to. Which."""
        sure = [topic for topic, table in self.tables.items() if table.confirmed]
        beyond = {above for topic in sure for above in self.hierarchy.ancestors(topic)}
        gone = [table for topic, table in self.tables.items() if not table.entries or topic in beyond]
        for table in gone:
            del self.tables[table.topic]
        return gone
