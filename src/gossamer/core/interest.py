"""What this node takes part in: topics it reads, topics it publishes on."""

from gossamer.core.topics import Hierarchy, Topic, remember


class Interest:
    """A node belongs to the community of every topic it subscribes to or publishes on."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.hierarchy = hierarchy
        self.subscribed: dict[Topic, None] = {}
        self.publishing: dict[Topic, None] = {}
        self._communities: dict[Topic, tuple[Topic, ...]] = {}
        self._wanted: dict[Topic, bool] = {}

    def changed(self) -> None:
        """Forgets what was worked out from the topics held before."""
        self._communities.clear()
        self._wanted.clear()

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

    def communities(self, topic: Topic) -> tuple[Topic, ...]:
        """Our communities that events of this topic concern. Empty: such an event is a parasite here."""
        known = self._communities.get(topic)
        if known is None:
            known = tuple(mine for mine in self.mine() if self.hierarchy.includes(mine, topic))
            remember(self._communities, topic, known)
        return known
