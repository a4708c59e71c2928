"""Towns of CAMCAST nodes that lose messages."""

from collections.abc import Callable

from gossamer.core.ids import EventId, Peer
from gossamer.core.topics import Hierarchy, Topic
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.recovery.params import Params
from gossamer.sim.town import Town
from protocols.towns import populated

THIN = CamcastParams(fanout_extra=0.0, electors=2.0, links=4)
"A spread that leaves much to recovery: real ones lose too little to see."
LEVELS: dict[Topic, int] = {".": 3, ".d": 7, ".d.g": 20}
FLAT: dict[Topic, int] = {".d": 30}
FEW: dict[Topic, int] = {".d": 12}
SAID = ("Digest", "Want", "Lost", "Ask", "Again", "Latest")


def losing(
    sizes: dict[Topic, int],
    recovery: Callable[[Topic], Params] | Params | None,
    *,
    seed: int = 1,
    params: CamcastParams = THIN,
    hierarchy: Hierarchy | None = None,
) -> Town:
    """Finds itself without losses; then it may lose."""
    return populated(sizes, seed, 6, params=params, hierarchy=hierarchy, recovery=recovery)


def stream(town: Town, topic: Topic, count: int, publishers: int = 5, every_s: float = 0.02) -> None:
    members = town.members(topic)
    for number in range(count):
        town.publish(members[number % publishers], topic)
        town.run(every_s)


def healed(town: Town, seconds: float) -> list[tuple[Peer, EventId]]:
    """Lets time pass until nothing is missing, or no longer than this; what still is."""
    town.seconds_until(lambda: not town.missing(), seconds, step=1.0)
    return town.missing()


def said(town: Town) -> dict[str, int]:
    """Messages of recovery, by kind."""
    return {kind: count for kind, count in town.chronicle.sends.items() if kind in SAID}
