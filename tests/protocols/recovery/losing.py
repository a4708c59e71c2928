"""Worlds of CAMCAST nodes that lose messages, and publishers that tag."""

from collections.abc import Callable

from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import SECOND_US, Publish
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.tagging import Tagger
from gossamer.protocols.assemble import dynamic_node
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.recovery.params import Params
from gossamer.sim.checkers import Promises
from gossamer.sim.network import Independent, Loss
from protocols.dynamics import Town, populated, readers

THIN = CamcastParams(fanout_extra=0.0, electors=2.0, links=4)
"A spread that leaves much to recovery: real ones lose too little to see."
LEVELS: dict[Topic, int] = {".": 3, ".d": 7, ".d.g": 20}
FLAT: dict[Topic, int] = {".d": 30}
FEW: dict[Topic, int] = {".d": 12}
SAID = ("Digest", "Want", "Lost", "Ask", "Again", "Latest")


class Losing:
    """Finds itself without losses, then loses."""

    def __init__(
        self,
        sizes: dict[Topic, int],
        recovery: Callable[[Topic], Params] | Params | None,
        *,
        seed: int = 1,
        params: CamcastParams = THIN,
        hierarchy: Hierarchy | None = None,
    ) -> None:
        def make(me: Peer) -> object:
            return dynamic_node(me, seed, hierarchy, params, recovery=recovery)

        self.town: Town = populated(sizes, seed, settle=6, make=make)
        Promises(self.town.world, view_max=200)
        self.taggers: dict[tuple[Peer, int], Tagger] = {}
        self.published: list[tuple[EventId, Topic]] = []

    def lose(self, loss: float | Loss) -> None:
        self.town.network.loss = Independent(lambda _, __: 1 - loss) if isinstance(loss, float) else loss

    def publish(self, peer: Peer, topic: Topic, life: int = 0, join: bool = True) -> EventId:
        tagger = self.taggers.setdefault((peer, life), Tagger())
        self.town.sequence += 1
        event_id = EventId(peer, life, self.town.sequence)
        tags = tagger.tags(self.town.node(peer).patterns(topic, {}))
        self.town.world.give(peer, Publish(Event(event_id, topic, b"news", tags=tags), join))
        self.published.append((event_id, topic))
        return event_id

    def stream(self, topic: Topic, count: int, publishers: int = 5, every_s: float = 0.02) -> None:
        members = self.town.members(topic)
        for number in range(count):
            self.publish(members[number % publishers], topic)
            self.town.run(every_s)

    def missing(self) -> list[tuple[EventId, Peer]]:
        """Every reader that an event did not reach."""
        town = self.town
        return [(each, peer) for each, topic in self.published for peer in town.missing(each, readers(town, topic))]

    def heal(self, seconds: float) -> list[tuple[EventId, Peer]]:
        """Lets time pass until nothing is missing, or no longer than this; what still is."""
        until_us = self.town.world.now_us + round(seconds * SECOND_US)
        while (missing := self.missing()) and self.town.world.now_us < until_us:
            self.town.run(1)
        return missing

    @property
    def said(self) -> dict[str, int]:
        """Messages of recovery, by kind."""
        return {kind: count for kind, count in self.town.watch.sends.items() if kind in SAID}
