"""Living participants of a hierarchy in virtual time: they find their places, publish, crash and come back."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from gossamer.core.draws import JOIN, PUBLISH, WORKLOAD, distinct, draw, fold, upper_pick
from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import SECOND_US, Publish, Subscribe
from gossamer.core.stack import Stack
from gossamer.protocols.hpmcast.addresses import Address, branch
from gossamer.protocols.hpmcast.node import hpmcast_node
from gossamer.sim.conditions import us
from gossamer.sim.faults import schedule_churn
from gossamer.sim.hpmcast_changes import Failures, Newcomers, hpmcast_of
from gossamer.sim.hpmcast_conditions import LivingSetting
from gossamer.sim.hpmcast_ledger import EventFate, HierarchyLedger
from gossamer.sim.hpmcast_residents import Distances, Residents
from gossamer.sim.world import World

CONTACTS = 2
"Participants each knows when it starts, but for newcomers, which know one."


class LivingHierarchy:
    """One run."""

    def __init__(self, setting: LivingSetting, seed: int) -> None:
        self.setting, self.seed = setting, seed
        self.residents = Residents(setting, seed)
        network = Distances(self.residents)
        self.world = World(self.make, network)
        self.newcomers = Newcomers(self.world, self.residents)
        self.failures = Failures(self.world)
        self.ledger = HierarchyLedger(self.world, network)
        self.world.watch(self.newcomers)
        self.world.watch(self.ledger)
        self.right: list[float] = []
        "The share of participants that had all views right, second by second."
        self.lived_us = 0
        "Time all participants together were up while it was counted."

    def make(self, me: Peer) -> Stack:
        setting, people = self.setting, self.residents
        params = setting.hierarchy.params
        return hpmcast_node(me, self.seed, people.addresses[me], people.branching, None, params, setting.upkeep)

    # -- what happens ---------------------------------------------------------------------------------------------

    def run(self) -> None:
        world, told = self.world, self.setting.world
        people = sorted(self.residents.peers, key=lambda peer: draw(fold(self.seed, JOIN), peer))
        newcomers, first = people[: told.newcomers], people[told.newcomers :]
        began, ended = us(told.warmup_s), us(told.warmup_s + told.seconds)
        for peer, at in zip(first, spread(0, began // 2, len(first))):
            world.at(at, lambda peer=peer: self.start(peer))  # type: ignore[misc]
        for at, counts in ((began, True), (ended, False)):
            world.at(at, lambda counts=counts: setattr(self.ledger, "open", counts))  # type: ignore[misc]
        for number, (peer, at) in enumerate(zip(newcomers, spread(began, ended, len(newcomers)))):
            world.at(at, lambda peer=peer, number=number: self.arrive(peer, number))  # type: ignore[misc]
        for number, at in enumerate(spread(began, ended, told.crashes)):
            world.at(at, lambda number=number: self.crash(number))  # type: ignore[misc]
        for number, at in enumerate(spread(began, ended, told.events)):
            world.at(at, lambda number=number: self.publish(number))  # type: ignore[misc]
        if told.churn is not None:
            schedule_churn(world, self.residents.peers, told.churn, self.seed, began, ended, self.start)
        for at in range(began, ended, SECOND_US):
            world.at(at, self.look)
        world.run(ended + us(told.settle_s))

    def start(self, peer: Peer) -> None:
        """Brings a participant up that knows some others that are."""
        up = [each for each in self.world.up if each != peer]
        key = fold(fold(self.seed, JOIN), fold(self.world.now_us, peer))
        self.begin(peer, [up[i] for i in distinct(key, len(up), CONTACTS)])

    def begin(self, peer: Peer, contacts: Sequence[Peer]) -> None:
        self.world.start(peer, contacts)
        for topic in self.residents.wants[peer]:
            self.world.give(peer, Subscribe(topic))

    def arrive(self, peer: Peer, number: int) -> None:
        """A newcomer, whose contact is near or far by turns, as far as there is anybody."""
        wanted = 1 + number % self.residents.levels
        up = [*self.world.up]
        if up:
            off = {each: abs(self.residents.apart(peer, each) - wanted) for each in up}
            best = [each for each in up if off[each] == min(off.values())]
            contact = best[upper_pick(draw(fold(self.seed, JOIN), peer), len(best))]
            self.newcomers.expect(peer, contact)
            self.begin(peer, [contact])

    def crash(self, number: int) -> None:
        """Somebody fails that stands on the lowest level alone, or also on the next, and so on, by turns."""
        wanted = 1 + number % self.residents.levels
        there = [peer for peer in self.world.up if hpmcast_of(self.world, peer).members.tables.rank() == wanted]
        if there:
            self.failures.crash(there[upper_pick(draw(fold(self.seed, WORKLOAD), number), len(there))], wanted)

    def publish(self, number: int) -> None:
        """The topics have their turns; who publishes is drawn, or always the same, if it is up."""
        up, people, only = [*self.world.up], self.residents, self.setting.hierarchy.publisher
        able = [peer for peer in up if only is None or peer == only]
        if able:
            publisher = able[upper_pick(draw(fold(self.seed, PUBLISH), number), len(able))]
            lives = self.world.lives
            event = Event(EventId(publisher, lives[publisher], number), people.topics[number % len(people.topics)])
            others = {peer: lives[peer] for peer in up if peer != publisher}
            self.ledger.fates[event.id] = EventFate(event, others, self.world.now_us)
            self.world.give(publisher, Publish(event))
            self.world.at(self.world.now_us + us(self.setting.world.settle_s), lambda: self.ledger.close(event.id))

    def look(self) -> None:
        """Who has its views right, of those that are up."""
        up = [*self.world.up]
        should = self.residents.views(up)
        self.lived_us += len(up) * SECOND_US
        self.right.append(fmean(self.is_right(peer, should) for peer in up) if up else 1.0)

    def is_right(self, peer: Peer, should: Mapping[tuple[Address, int], list[tuple[Address, list[Peer]]]]) -> bool:
        tables, mine = hpmcast_of(self.world, peer).members.tables, self.residents.addresses[peer]
        return all(
            [(line.row.about, [*line.peers]) for line in tables.lines(level)] == should[branch(mine, level), level]
            for level in range(1, tables.levels + 1)
        )


def spread(began: int, ended: int, count: int) -> list[int]:
    """Moments that are as far from each other as possible."""
    return [began + (ended - began) * (2 * number + 1) // (2 * count) for number in range(count)]
