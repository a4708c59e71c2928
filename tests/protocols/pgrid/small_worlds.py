"""Some dozens of overlay peers, and what can be seen of them from outside."""

from collections.abc import Iterable

from gossamer.core.ids import Peer
from gossamer.core.topics import Topic
from gossamer.protocols.pgrid.lookup import Lookup
from gossamer.protocols.pgrid.params import Params
from gossamer.protocols.pgrid.places import Bits
from gossamer.sim.overlay_peers import OverlayPeers

SEVEN, BIG = ".c.seven", ".big"
ALL = 64
"More than any community here has."
SETTLED_S = 60.0
"Then nobody moves any more."


def topics_of(peer: Peer) -> list[Topic]:
    """One of nine, and for some the community of seven, for every second the large one."""
    return [f".t.{peer % 9}", *([SEVEN] if peer % 8 == 3 and peer < 56 else []), *([BIG] if peer % 2 else [])]


def started(
    seed: int, peers: Iterable[Peer] = range(60), every_s: float = 0.1, params: Params | None = None
) -> OverlayPeers:
    town = OverlayPeers(seed, params)
    for peer in peers:
        town.start(peer, *topics_of(peer))
        town.run(every_s)
    return town


def settled(seed: int, peers: Iterable[Peer] = range(60)) -> OverlayPeers:
    town = started(seed, peers)
    town.run(SETTLED_S)
    return town


def topics(town: OverlayPeers) -> list[Topic]:
    return sorted({topic for some in town.topics.values() for topic in some})


# -- what peers find --------------------------------------------------------------------------------------------------


def looked_up(town: OverlayPeers, peer: Peer, topic: Topic, count: int = ALL, within_s: float = 10) -> Lookup:
    """What a peer is told of a topic."""
    found: list[Lookup] = []
    town.look_up(peer, topic, count, found.append)
    until_us = town.world.now_us + round(within_s * 1e6)
    while not found and town.world.now_us < until_us:
        town.run(0.1)
    assert found, f"{peer} looks for {topic} in vain"
    return found[0]


def named(lookup: Lookup) -> set[Peer]:
    return {said.member for said in lookup.found}


def strangers(
    town: OverlayPeers, askers: Iterable[Peer] | None = None
) -> list[tuple[Peer, Topic, set[Peer], int | None]]:
    """Who is told anything of a topic but who its members are, and how many."""
    return [
        (peer, topic, named(lookup) ^ {*town.members(topic)}, lookup.total)
        for peer in (town.world.up if askers is None else askers)
        for topic in topics(town)
        if named(lookup := looked_up(town, peer, topic)) != {*town.members(topic)}
        or lookup.total != len(town.members(topic))
    ]


# -- who holds what ---------------------------------------------------------------------------------------------------


def holders(town: OverlayPeers, place: Bits) -> set[Bits]:
    """The leaves that a place belongs to, as their peers think."""
    return {grid.trie.path for grid in town.grids() if grid.trie.holds(place)}


def differing(town: OverlayPeers) -> list[Bits]:
    """Leaves whose peers do not all hold the same members; renewals may be under way."""
    held: dict[Bits, set[frozenset[int]]] = {}
    for grid in town.grids():
        own = frozenset(number for number in grid.reconciling.own() if not grid.store.held[number].said.gone)
        held.setdefault(grid.trie.path, set()).add(own)
    return [path for path, several in held.items() if len(several) > 1]


def not_one_trie(town: OverlayPeers) -> list[object]:
    """What is wrong with the trie as a whole: leaves within each other, places of nobody or of two, leaves whose peers
    differ."""
    paths = sorted({grid.trie.path for grid in town.grids()})
    within = [(one, other) for one in paths for other in paths if one != other and other.startswith(one)]
    places = {place for grid in town.grids() for place in grid.store.places()}
    unclear = [(place, found) for place in sorted(places) if len(found := holders(town, place)) != 1]
    return [*within, *unclear, *differing(town)]
