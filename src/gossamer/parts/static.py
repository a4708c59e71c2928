"""Views fixed from the start, by arithmetic: position i is the i-th other member, so nothing is stored."""

from collections.abc import Mapping, Sequence

from gossamer.core.draws import VIEW, distinct
from gossamer.core.ids import Peer
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic


class Static:
    """Peers of communities whose members are numbered in a row: all of them, or a frozen view of `view` of them."""

    def __init__(self, node: Stack, communities: Mapping[Topic, range], view: int | None = None) -> None:
        self.me = node.me
        self.communities = communities
        self.view = view
        self.view_key = 0 if view is None else node.key(VIEW, 0)

    def size(self, topic: Topic) -> int:
        return len(self.communities.get(topic, ()))

    def ready(self, topic: Topic) -> bool:
        return True

    def about(self, topic: Topic) -> Sequence[Peer]:
        return self._others(topic, self._positions(topic))

    def sure(self, topic: Topic) -> Sequence[Peer]:
        return self.about(topic)

    def sample(self, topic: Topic, k: int, key: int) -> list[Peer]:
        known = self._positions(topic)
        return self._others(topic, [known[i] for i in distinct(key, len(known), k)])

    def _positions(self, topic: Topic) -> Sequence[int]:
        members = self.communities.get(topic, range(0))
        others = len(members) - (self.me in members)
        if self.view is None or self.view >= others:
            return range(others)
        return distinct(self.view_key, others, self.view)

    def _others(self, topic: Topic, positions: Sequence[int]) -> list[Peer]:
        members = self.communities.get(topic, range(0))
        mine = self.me - members.start if self.me in members else len(members)
        return [members.start + i + (i >= mine) for i in positions]
