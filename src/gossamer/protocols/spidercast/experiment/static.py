"""Interest views of experiments: everybody, or a fixed part drawn by chance, and homes as everybody would find them.

Nothing is gossiped: nodes are numbered from 0, and a view is the same whoever asks, whenever.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

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


def homes(nodes: int, topics: int, seed: int) -> Any:
    """For each topic the node whose place on the ring comes next."""
    ring, wanted = (places(seed, *each) for each in ((NODES, nodes), (TOPICS, topics)))
    order = np.argsort(ring, kind="stable")
    return order[np.searchsorted(ring[order], wanted) % nodes].astype(np.int32)


def places(seed: int, which: int, count: int) -> Any:
    """Where so many nodes, or topics, stand on the ring."""
    key = np.array([fold(fold(seed, HOME), which)], np.uint64)
    return draw(key, np.arange(count, dtype=np.uint64))


class FixedView:
    """What one node of an experiment knows of the others."""

    changes = 0

    def __init__(
        self, me: Peer, peers: Sequence[Peer], wants: Mapping[Peer, Wants], home: Callable[[int], Peer]
    ) -> None:
        self.me = me
        self.peers = peers
        self.wants = wants
        "Of all who are up: who is not there is not known."
        self.home = home

    def entries(self) -> Mapping[Peer, Wants]:
        return {peer: self.wants[peer] for peer in self.peers if peer in self.wants}

    def towards_home(self, word: int) -> Peer | None:
        home = self.home(word)
        return None if home == self.me else home
