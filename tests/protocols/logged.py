"""Towns whose processes have logs and catch up, of every spread that live nodes use."""

from collections.abc import Iterable

from gossamer.core.ids import EventId, Peer
from gossamer.core.topics import Topic
from gossamer.protocols.assemble import SpreadName
from gossamer.protocols.catchup.layer import CatchUp
from gossamer.protocols.catchup.params import Params
from gossamer.sim.live_towns import live_town
from gossamer.sim.logs import Logs
from gossamer.sim.town import Town
from protocols.towns import layer

SPREADS: tuple[SpreadName, ...] = ("camcast", "spidercast", "dispatch", "hpmcast")


def logged(
    spread: SpreadName = "camcast",
    size: int = 0,
    topic: Topic = ".t",
    seed: int = 1,
    params: Params | None = None,
    seconds: float = 12,
    **options: object,
) -> Town:
    """So many processes that read a topic, and have found each other."""
    town = live_town(spread, seed, params or Params(), **options)
    for peer in range(size):
        town.start(peer, topic)
    town.run(seconds)
    return town


def logs(town: Town) -> Logs:
    assert town.logs is not None
    return town.logs


def catching(town: Town, peer: Peer) -> CatchUp:
    return layer(town.node(peer), CatchUp)


def publish(town: Town, peer: Peer, count: int, topic: Topic = ".t", per_s: float = 100) -> list[EventId]:
    """So many events, one after the other."""
    published = []
    for _ in range(count):
        published.append(town.publish(peer, topic))
        town.run(1 / per_s)
    return published


def lacks(town: Town, peer: Peer, events: Iterable[EventId]) -> int:
    """How many of these a process never got."""
    return sum(peer not in town.fate(each).got for each in events)
