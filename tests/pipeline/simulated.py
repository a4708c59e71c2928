"""Towns of every spread with faults put into their traces on purpose: what the audit must find in them, and no more."""

from pathlib import Path

from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Deliver, Effect, Given
from gossamer.core.patterns import Pattern
from gossamer.sim.live_towns import live_town
from gossamer.sim.town import Town
from gossamer.sim.traces import WorldTraces

SPREADS = ("camcast", "spidercast", "dispatch", "hpmcast")
NODES, EVENTS = 15, 24
KILLED, PUBLISHER = 7, 4
Pairs = set[tuple[Peer, EventId]]


class Faulty(WorldTraces):
    """What broken readers would leave: of the deliveries that were made some are not written, some twice, and some also
    by a node that did not ask for the event."""

    town: Town
    count = 0

    def begin(self, town: Town) -> None:
        self.town = town
        self.lost: Pairs = set()
        self.doubled: Pairs = set()
        self.unasked: Pairs = set()

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        super().stepped(peer, given, [told for effect in effects for told in self.spoiled(peer, effect)], now_us)

    def spoiled(self, peer: Peer, effect: Effect) -> list[Effect]:
        if type(effect) is not Deliver or peer == effect.event.id.publisher:
            return [effect]
        self.count += 1
        pair = peer, effect.event.id
        if self.count % 11 == 5:
            self.lost.add(pair)
            return []
        if self.count % 11 == 7:
            self.doubled.add(pair)
            return [effect, effect]
        if self.count % 11 == 9:
            self.give_to_another(effect.event)
        return [effect]

    def give_to_another(self, event: Event) -> None:
        for other in self.town.up:
            if not self.town.reads(other, event) and (other, event.id) not in self.unasked:
                self.lives[other].telling.delivered(self.world.now_us, event, 1)
                self.unasked.add((other, event.id))
                return


class Simulated:
    """One town: everybody comes, events are published, one is killed, and so is a publisher within a publication."""

    def __init__(self, spread: str, folder: Path) -> None:
        town = live_town(spread)  # type: ignore[arg-type]
        self.town, self.run = town, f"town {spread}"
        self.faults = Faulty(town.world, folder, self.run, by_birth=True)
        self.faults.begin(town)
        for peer in range(NODES):
            where = f"k >= {peer % 4 + 1}" if peer % 3 == 0 else ""
            town.start(peer, Pattern(".p", where), *([".q"] if peer % 2 else []))
        town.run(40)
        for number in range(EVENTS):
            town.publish(1 + number % 3, ".p" if number % 4 else ".q", {"k": number % 6})
            town.run(0.5)
        town.run(20)
        town.crash(KILLED)
        town.run(10)
        self.late = town.publish(2, ".p", {"k": 9})
        town.run(10)
        self.unsure = town.publish(PUBLISHER, ".p", {"k": 9})
        town.crash(PUBLISHER)
        town.run(20)
        self.faults.close()

    @property
    def due(self) -> Pairs:
        """Who should have which event; the publisher that was killed at once need not be there."""
        fates = self.town.chronicle.fates.items()
        return {(peer, event) for event, fate in fates for peer in fate.due} - {(PUBLISHER, self.unsure)}

    @property
    def had(self) -> Pairs:
        return {(peer, event) for event, fate in self.town.chronicle.fates.items() for peer in fate.got}
