"""Towns for tests: the simulator's own, of nodes that find their place themselves."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from gossamer.core.ids import Peer
from gossamer.core.layer import Layer
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.protocols import CATALOGUE
from gossamer.protocols.camcast.links import Links
from gossamer.protocols.camcast.node import MembershipName, camcast_node
from gossamer.protocols.camcast.params import Params
from gossamer.protocols.recovery.params import Params as Recovery
from gossamer.protocols.scamp.layer import Scamp
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.protocols.search.params import Params as SearchParams
from gossamer.sim.town import Town
from gossamer.wire.codec import Codec

SomeLayer = TypeVar("SomeLayer", bound=Layer)
CODEC = Codec(CATALOGUE["camcast"].spoken)
CHAIN: dict[Topic, int] = {".": 4, ".d": 8, ".d.g": 14}


def camcast(
    seed: int = 1,
    *,
    hierarchy: Hierarchy | None = None,
    params: Callable[[Topic], Params] | Params | None = None,
    scamp: ScampParams | None = None,
    search: SearchParams | None = None,
    spell: Callable[[Topic], str] | None = None,
    recovery: Callable[[Topic], Recovery] | Recovery | None = None,
    membership: MembershipName = "unstructured",
    **options: object,
) -> Town:
    """A town of CAMCAST nodes; `options` are the town's."""
    return Town(
        lambda me: camcast_node(me, seed, hierarchy, params, scamp, search, spell, recovery, membership=membership),
        CATALOGUE["camcast"].spoken,
        seed,
        **options,  # type: ignore[arg-type]
    )


def settle(town: Town, sizes: dict[Topic, int], seconds: float = 15) -> Town:
    """So many processes of each topic, mixed, start at once with three random contacts each."""
    plan = [topic for topic, size in sizes.items() for _ in range(size)]
    step = next(step for step in (7, 11, 13) if len(plan) % step)
    for i in range(len(plan)):
        peer = i * step % len(plan)
        town.start(peer, plan[peer])
    town.run(seconds)
    return town


def populated(sizes: dict[Topic, int], seed: int = 1, seconds: float = 15, **options: object) -> Town:
    return settle(camcast(seed, **options), sizes, seconds)  # type: ignore[arg-type]


# -- what nodes know ------------------------------------------------------------------------------------------------


def layer(node: Stack, kind: type[SomeLayer]) -> SomeLayer:
    return next(each for each in node.layers if isinstance(each, kind))


def scamp(town: Town, peer: Peer) -> Scamp:
    return layer(town.node(peer), Scamp)


def links(town: Town, peer: Peer) -> Links:
    return layer(town.node(peer), Links)


def tables(town: Town, topic: Topic) -> dict[Peer, list[list[Peer]]]:
    return {peer: links(town, peer).tables(topic) for peer in town.members(topic)}


def views(town: Town, topic: Topic) -> dict[Peer, list[Peer]]:
    """Whom each member of a community holds."""
    return {peer: [*scamp(town, peer).views[topic].held] for peer in town.members(topic)}


def components(views: Mapping[Peer, Sequence[Peer]]) -> int:
    """Pieces of the view graph, arcs taken both ways; entries that are not members any more are left out."""
    near: dict[Peer, set[Peer]] = {peer: set() for peer in views}
    for peer, view in views.items():
        for other in view:
            if other in near:
                near[peer].add(other)
                near[other].add(peer)
    unseen = set(near)
    count = 0
    while unseen:
        count += 1
        edge = [unseen.pop()]
        while edge:
            fresh = near[edge.pop()] & unseen
            unseen -= fresh
            edge.extend(fresh)
    return count
