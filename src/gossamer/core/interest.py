"""What this node takes part in: topics it reads, topics it publishes on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gossamer.core.events import Event
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy, Topic, remember

if TYPE_CHECKING:
    from gossamer.core.filters import Filter


class Interest:
    """A node belongs to the community of every topic it subscribes to or publishes on."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.hierarchy = hierarchy
        self.patterns: dict[Pattern, Filter | None] = {}
        "What our users subscribed to."
        self.subscribed: dict[Topic, None] = {}
        "The topics of these."
        self.publishing: dict[Topic, None] = {}
        self._communities: dict[Topic, tuple[Topic, ...]] = {}
        self._wanted: dict[Topic, bool] = {}
        self._filtered = False

    def subscribe(self, pattern: Pattern) -> None:
        self.patterns[pattern] = _read(pattern.where) if pattern.where else None
        self.subscribed[pattern.topic] = None

    def unsubscribe(self, pattern: Pattern) -> None:
        self.patterns.pop(pattern, None)
        if all(other.topic != pattern.topic for other in self.patterns):
            self.subscribed.pop(pattern.topic, None)

    def changed(self) -> None:
        """Forgets what was worked out from the topics held before."""
        self._communities.clear()
        self._wanted.clear()
        self._filtered = any(self.patterns.values())

    def mine(self) -> tuple[Topic, ...]:
        """The communities this node is a member of."""
        return tuple(dict.fromkeys([*self.subscribed, *self.publishing]))

    def takes_part(self, topic: Topic) -> bool:
        """Whether this node is a member of the topic's own community."""
        return topic in self.subscribed or topic in self.publishing

    def wants(self, topic: Topic) -> bool:
        """Whether our user reads events of this topic."""
        known = self._wanted.get(topic)
        if known is None:
            known = any(self.hierarchy.includes(mine, topic) for mine in self.subscribed)
            remember(self._wanted, topic, known)
        return known

    def matches(self, event: Event) -> bool:
        """Whether our user reads this event: its topic, and attributes where somebody asked for some only."""
        if not self.wants(event.topic):
            return False
        return not self._filtered or any(
            self.hierarchy.includes(pattern.topic, event.topic) and (filter is None or filter.matches(event.attributes))
            for pattern, filter in self.patterns.items()
        )

    def alike(self, events: Sequence[Event]) -> bool:
        """Whether what is answered here of one of these events holds for all: nothing counts but their one topic."""
        return not self._filtered and len({event.topic for event in events}) == 1

    def communities(self, topic: Topic) -> tuple[Topic, ...]:
        """Our communities that events of this topic concern. Empty: such an event is a parasite here."""
        known = self._communities.get(topic)
        if known is None:
            known = tuple(mine for mine in self.mine() if self.hierarchy.includes(mine, topic))
            remember(self._communities, topic, known)
        return known


def _read(where: str) -> "Filter":
    from gossamer.core.filters import parse  # a node that filters nothing need not load the grammar

    return parse(where)
