"""Living participants of a hierarchy in virtual time: they find their places, publish, crash and come back."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from gossamer.core.draws import JOIN, PUBLISH, WORKLOAD, distinct, draw, fold, upper_pick
from gossamer.core.ids import Peer
from gossamer.core.machine import SECOND_US
from gossamer.core.stack import Stack
from gossamer.protocols import CATALOGUE
from gossamer.protocols.hpmcast.addresses import Address, branch
from gossamer.protocols.hpmcast.node import hpmcast_node
from gossamer.sim.conditions import us
from gossamer.sim.faults import schedule_churn
from gossamer.sim.hpmcast_changes import Failures, Newcomers, hpmcast_of
from gossamer.sim.hpmcast_conditions import LivingSetting
from gossamer.sim.hpmcast_ledger import EventFate, HierarchyLedger
from gossamer.sim.hpmcast_residents import Distances, Residents
from gossamer.sim.town import Town

CONTACTS = 2
"Participants each knows when it starts, but for newcomers, which know one."


class LivingHierarchy(Town):
    """One run. Nobody is told who is gone: silence is how failures are noticed, and how soon is what is measured."""

    def __init__(self, setting: LivingSetting, seed: int) -> None:
        self.setting = setting
        self.residents = Residents(setting, seed)
        network = Distances(self.residents)
        super().__init__(self.make, CATALOGUE["hpmcast"].spoken, seed, network=network, told_of_failures=False)
        self.newcomers = Newcomers(self.world, self.residents)
        self.failures = Failures(self.world)
        self.ledger = HierarchyLedger(self.world, network)
        self.world.watch(self.newcomers, self.ledger)
        self.right: list[float] = []
        "The share of participants that had all views right, second by second."
        self.lived_us = 0
        "Time all participants together were up while it was counted."

    def make(self, me: Peer) -> Stack:
        setting, people = self.setting, self.residents
        params = setting.hierarchy.params
        return hpmcast_node(me, self.seed, people.addresses[me], people.branching, None, params, setting.upkeep)

    # -- what happens ---------------------------------------------------------------------------------------------

    def play(self) -> None:
        world, told = self.world, self.setting.world
        people = sorted(self.residents.peers, key=lambda peer: draw(fold(self.seed, JOIN), peer))
        newcomers, first = people[: told.newcomers], people[told.newcomers :]
        began, ended = us(told.warmup_s), us(told.warmup_s + told.seconds)
        for peer, at in zip(first, spread(0, began // 2, len(first))):
            world.at(at, lambda peer=peer: self.come(peer))  # type: ignore[misc]
        for at, counts in ((began, True), (ended, False)):
            world.at(at, lambda counts=counts: setattr(self.ledger, "open", counts))  # type: ignore[misc]
        for number, (peer, at) in enumerate(zip(newcomers, spread(began, ended, len(newcomers)))):
            world.at(at, lambda peer=peer, number=number: self.arrive(peer, number))  # type: ignore[misc]
        for number, at in enumerate(spread(began, ended, told.crashes)):
            world.at(at, lambda number=number: self.fail(number))  # type: ignore[misc]
        for number, at in enumerate(spread(began, ended, told.events)):
            world.at(at, lambda number=number: self.announce(number))  # type: ignore[misc]
        if told.churn is not None:
            schedule_churn(world, self.residents.peers, told.churn, self.seed, began, ended, self.come)
        for at in range(began, ended, SECOND_US):
            world.at(at, self.look)
        world.run(ended + us(told.settle_s))

    def some_up(self, peer: Peer, count: int) -> list[Peer]:
        up = [each for each in self.world.up if each != peer]
        key = fold(fold(self.seed, JOIN), fold(self.world.now_us, peer))
        return [up[i] for i in distinct(key, len(up), count)]

    def come(self, peer: Peer, contacts: Sequence[Peer] | None = None) -> None:
        self.start(peer, *self.residents.wants[peer], contacts=contacts, of=CONTACTS)

    def arrive(self, peer: Peer, number: int) -> None:
        """A newcomer, whose contact is near or far by turns, as far as there is anybody."""
        wanted = 1 + number % self.residents.levels
        up = [*self.world.up]
        if up:
            off = {each: abs(self.residents.apart(peer, each) - wanted) for each in up}
            best = [each for each in up if off[each] == min(off.values())]
            contact = best[upper_pick(draw(fold(self.seed, JOIN), peer), len(best))]
            self.newcomers.expect(peer, contact)
            self.come(peer, [contact])

    def fail(self, number: int) -> None:
        """Somebody fails that stands on the lowest level alone, or also on the next, and so on, by turns."""
        wanted = 1 + number % self.residents.levels
        there = [peer for peer in self.world.up if hpmcast_of(self.world, peer).members.tables.rank() == wanted]
        if there:
            self.failures.crash(there[upper_pick(draw(fold(self.seed, WORKLOAD), number), len(there))], wanted)

    def announce(self, number: int) -> None:
        """The topics have their turns; who publishes is drawn, or always the same, if it is up."""
        topics, only = self.residents.topics, self.setting.hierarchy.publisher
        able = [peer for peer in self.up if only is None or peer == only]
        if able:
            publisher = able[upper_pick(draw(fold(self.seed, PUBLISH), number), len(able))]
            self.sequences[publisher] = number - 1  # events of all have numbers of one kind
            event_id = self.publish(publisher, topics[number % len(topics)], payload=b"")
            others = {peer: self.world.lives[peer] for peer in self.up if peer != publisher}
            self.ledger.fates[event_id] = EventFate(self.fate(event_id), others)
            self.after(self.setting.world.settle_s, lambda: self.ledger.close(event_id))

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
