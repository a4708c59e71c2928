"""Interest views of experiments: everybody, or a fixed part drawn by chance, and homes as everybody would find them.

Nothing is gossiped: nodes are numbered from 0, and a view is the same whoever asks, whenever.
"""

from collections.abc import Callable, Mapping, Sequence

from gossamer.core.draws import HOME, VIEW, distinct, draw, fold
from gossamer.core.ids import Peer
from gossamer.parts.wants import Wants
from gossamer.protocols.spidercast.params import Params

NODES, TOPICS = 0, 1
"What is drawn for the reason HOME: where nodes stand on the ring, and where topics do."


def view_size(params: Params, nodes: int) -> int:
    """Others a node knows."""
    others = max(0, nodes - 1)
    match params.view:
        case str():
            return others
        case float():
            return min(others, max(1, round(params.view * others)))
        case int():
            return min(others, params.view)


def members(params: Params, nodes: int, seed: int, me: Peer) -> list[Peer]:
    """Whom a node knows."""
    places = distinct(fold(fold(seed, VIEW), me), nodes - 1, view_size(params, nodes))
    return [place + (place >= me) for place in places]


def homes(nodes: int, topics: int, seed: int) -> list[Peer]:
    """For each topic the node whose place on the ring comes next."""
    on_ring = fold(fold(seed, HOME), NODES), fold(fold(seed, HOME), TOPICS)
    ring = sorted((draw(on_ring[NODES], node), node) for node in range(nodes))
    places = [draw(on_ring[TOPICS], topic) for topic in range(topics)]
    return [next((node for place, node in ring if place >= mine), ring[0][1]) for mine in places]


class Known:
    """What one node of an experiment knows of the others."""

    changes = 0

    def __init__(
        self, me: Peer, peers: Sequence[Peer], wants: Mapping[Peer, Wants], home: Callable[[int], Peer]
    ) -> None:
        self.me = me
        self.known = {peer: wants[peer] for peer in peers}
        self.home = home

    def entries(self) -> Mapping[Peer, Wants]:
        return self.known

    def towards_home(self, word: int) -> Peer | None:
        home = self.home(word)
        return None if home == self.me else home
