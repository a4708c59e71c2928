"""Trees that are given, and what lies behind each link of a node in them."""

from collections.abc import Mapping, Sequence

from gossamer.core.errors import Misuse
from gossamer.core.ids import Peer
from gossamer.core.patterns import Pattern
from gossamer.protocols.dispatch.layer import Dispatch


def breadth_first(size: int, degree: int) -> dict[Peer, list[Peer]]:
    """A tree of nodes 0 … size - 1, filled row by row; an inner node has `degree` links."""
    links: dict[Peer, list[Peer]] = {peer: [] for peer in range(size)}
    for peer in range(1, size):
        above = 0 if peer <= degree else (peer - 2) // (degree - 1)
        links[above].append(peer)
        links[peer].append(above)
    return links


def behind(
    me: Peer, neighbours: Mapping[Peer, Sequence[Peer]], subscriptions: Mapping[Peer, Sequence[Pattern]]
) -> dict[Peer, dict[Pattern, None]]:
    """For each neighbour of a node, everything that somebody on its side of the tree wants."""
    found: dict[Peer, dict[Pattern, None]] = {}
    for first in neighbours[me]:
        patterns: dict[Pattern, None] = {}
        ahead = [(first, me)]
        for peer, back in ahead:
            if len(ahead) > len(neighbours):
                raise Misuse("the links make a circle: give a tree")
            patterns.update(dict.fromkeys(subscriptions.get(peer, ())))
            ahead += [(each, peer) for each in neighbours[peer] if each != back]
        found[first] = patterns
    return found


def fill(
    dispatch: Dispatch, neighbours: Mapping[Peer, Sequence[Peer]], subscriptions: Mapping[Peer, Sequence[Pattern]]
) -> None:
    """Links and tables as they are once everybody in a given tree has told everything, without a message."""
    interest = dispatch.node.interest
    for pattern in subscriptions.get(dispatch.node.me, ()):
        interest.subscribe(pattern)
    dispatch.subscriptions.fill(behind(dispatch.node.me, neighbours, subscriptions))
