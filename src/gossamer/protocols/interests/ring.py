"""The ring of positions: where nodes stand, who stands next to whom, and which node is the home of a topic.

The home of a topic is the first node at or after the topic's position, as in Chord. Nobody has to know everybody to
find it: whoever knows the few nodes on either side of itself knows whether it is one, and every step towards the
nearest node known leads nearer.
"""

from bisect import bisect_left, insort
from functools import lru_cache

from gossamer.core.draws import HOME, draw, fold
from gossamer.core.ids import Peer

NODES, TOPICS = fold(HOME, 0), fold(HOME, 1)

POSITIONS_MAX = 1 << 16
"Of nodes, that are worked out only once."


@lru_cache(POSITIONS_MAX)
def position(peer: Peer) -> int:
    """Where a node stands. Everybody must agree, so no seed is in it."""
    return draw(NODES, peer)  # type: ignore[no-any-return]


def position_of_topic(word: int) -> int:
    """Where the topic that a word stands for has its home, or before it."""
    return draw(TOPICS, word)  # type: ignore[no-any-return]


class Ring:
    """Some nodes, in the order of their positions."""

    def __init__(self) -> None:
        self.order: list[tuple[int, Peer]] = []

    def add(self, peer: Peer) -> None:
        insort(self.order, (position(peer), peer))

    def remove(self, peer: Peer) -> None:
        del self.order[bisect_left(self.order, (position(peer), peer))]

    def around(self, peer: Peer, each_side: int) -> list[Peer]:
        """The nodes next to this one, whether or not it stands here itself: those before it, then those after it."""
        order = self.order
        first = bisect_left(order, (position(peer), peer))
        after = first + (first < len(order) and order[first][1] == peer)
        others = len(order) - (after - first)
        count = min(2 * each_side, others)
        before = min(each_side, count // 2)
        found = [order[(first - 1 - i) % len(order)][1] for i in range(before)]
        return found + [order[(after + i) % len(order)][1] for i in range(count - before)]

    def is_near(self, peer: Peer, middle: Peer, each_side: int) -> bool:
        """Whether fewer than so many nodes stand between two that do not stand here themselves."""
        if not self.order:
            return True
        there = bisect_left(self.order, (position(peer), peer))
        here = bisect_left(self.order, (position(middle), middle))
        return min((there - here) % len(self.order), (here - there) % len(self.order)) < each_side

    def following(self, place: int) -> Peer | None:
        """The first node at or after a position."""
        if not self.order:
            return None
        return self.order[bisect_left(self.order, (place, -1)) % len(self.order)][1]
