"""What living participants of a hierarchy send, whom they suspect and what is delivered, counted from outside."""

from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Effect, Fired, Given, Message, Received
from gossamer.protocols.hpmcast.membership import CompareTurn
from gossamer.protocols.hpmcast.messages import LevelGossip, Ping
from gossamer.sim.chronicle import Fate
from gossamer.sim.hpmcast_changes import hpmcast_of
from gossamer.sim.hpmcast_residents import Distances
from gossamer.sim.world import Watcher, World


class EventFate:
    """What became of an event, also where nobody wanted it."""

    def __init__(self, told: Fate, up: dict[Peer, int]) -> None:
        self.told = told
        "To whom it was delivered."
        self.up = up
        "Who was up when it was published, its publisher apart, and in which of its lives."
        self.came: dict[Peer, None] = {}
        "To whom a copy came."
        self.stayed: dict[Peer, bool] = {}
        "Who of them was up throughout, as long as an event may take, and whether it had got a copy by then."


class HierarchyLedger(Watcher):
    """Follows events, and counts what else is sent while it is open: how they find each other at first is another
    question, and so is what happens when all is over."""

    def __init__(self, world: World, network: Distances) -> None:
        self.world, self.network = world, network
        self.open = False
        self.fates: dict[EventId, EventFate] = {}
        self.copies = self.way_us = self.upkeep = 0
        "Messages with an event in them, the median times between the places they went from and to, and all others."
        self.suspected = 0
        "Questions to those that were up whether they were there."
        self.mistaken = 0
        "Neighbours given up that were up."

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        if type(message) is LevelGossip:
            self.copies += 1
            self.way_us += self.network.between(sender, target).median_us
        elif self.open:
            self.upkeep += 1
            self.suspected += type(message) is Ping and target in self.world.up

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        if type(given) is Received and type(given.message) is LevelGossip:
            if (fate := self.fates.get(given.message.carried.event.id)) is not None:
                fate.came[peer] = None
        elif self.open and type(given) is Fired and type(given.timer) is CompareTurn:
            lost = hpmcast_of(self.world, peer).members.watch.lost
            self.mistaken += sum(at_us == now_us and each in self.world.up for each, (_, at_us) in lost.items())

    def close(self, event: EventId) -> None:
        """The time an event may take is over."""
        fate, world = self.fates[event], self.world
        fate.stayed = {
            peer: peer in fate.came for peer, life in fate.up.items() if peer in world.up and world.lives[peer] == life
        }
