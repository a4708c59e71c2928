"""Whole hierarchies to which everything happens that can happen, drawn from a seed: crashes, restarts, clocks set back,
partings, a subsystem that loses all its delegates at once, patterns taken up and given up, loss, copies, long delays,
links in one direction only, a network cut in two. A while after the last of it all views are what an all-knowing eye
would write down, and every event goes to those who want it."""

from collections.abc import Callable, Sequence

import pytest

from gossamer.core.draws import CHURN, draw, fold, upper_pick
from gossamer.core.ids import Peer
from gossamer.core.machine import Contacted, Message
from gossamer.core.patterns import Pattern
from gossamer.protocols.hpmcast.params import Params
from gossamer.protocols.hpmcast.upkeep import Choice, Upkeep
from gossamer.sim.network import Latency
from gossamer.sim.world import Watcher
from protocols.hpmcast.skies import Sky
from protocols.hpmcast.towns import EXCHANGE

TOPICS = (".a", ".a.b", ".a.c", ".f")
CALM = Latency(median_us=20_000, shape="lognormal", spread=0.3)
CALM_S = 90
"A subsystem on level 3 is forgotten after 30 s, and parts of a network that lost sight of each other look for one \
another every few seconds, not always with luck."
SHAPES = ((3, 3, 4), (4, 5), (24,), (2, 3, 2, 3), (3, 1, 6))
CHOICES: Sequence[Choice] = ("address", "branches", "capacity", "coverage")


class Dice:
    def __init__(self, seed: int) -> None:
        self.key, self.thrown = fold(fold(seed, CHURN), 1), 0

    def below(self, sides: int) -> int:
        self.thrown += 1
        return upper_pick(draw(self.key, self.thrown), sides)

    def pattern(self) -> Pattern:
        where = ("", "", f"x > {self.below(6)}", f"x == {self.below(6)}", f"y < {self.below(3)}")[self.below(5)]
        return Pattern(TOPICS[self.below(len(TOPICS))], where)


class Disaster:
    """A town, and what befalls it."""

    def __init__(self, seed: int, size: int) -> None:
        self.dice = Dice(seed)
        self.size = size
        branching, choice = SHAPES[seed % len(SHAPES)], CHOICES[seed // 2 % len(CHOICES)]
        places = 1
        for radix in branching:
            places *= radix
        drawn: dict[Peer, list[Pattern]] = {}
        self.town = Sky(
            (),
            lambda peer: drawn.setdefault(peer, [self.dice.pattern() for _ in range(self.dice.below(3))]),
            branching,
            seed,
            params=Params(delegates=1 + seed % 3, direct=1 << 20),
            upkeep=Upkeep(choice=choice, weakest=("type", "attribute")[seed % 2]),
            recovery=EXCHANGE if seed % 2 else None,
            told_of_failures=seed % 4 > 1,
        )
        self.world, self.network = self.town.world, self.town.world.network
        self.free = list(range(places))
        for _ in range(min(size, places * 2 // 3)):
            self.come(0)

    def strike(self) -> None:
        up = [*self.world.up]
        peer = up[self.dice.below(len(up))]
        blows: list[Callable[[Peer], None]] = [
            self.crash,
            self.leave,
            self.come,
            self.come,
            self.restart,
            self.move,
            self.behead,
            self.want,
            self.want,
            self.drop,
            self.lose,
            self.cut,
            self.delay,
            self.deafen,
            self.wait,
        ]
        blows[self.dice.below(len(blows))](peer)

    def crash(self, peer: Peer) -> None:
        if len(self.world.up) > self.size // 2:
            self.town.crash(peer)
            self.free.append(peer)

    def leave(self, peer: Peer) -> None:
        if len(self.world.up) > self.size // 2:
            self.town.leave(peer)
            self.free.append(peer)

    def come(self, peer: Peer) -> None:
        """Somebody, perhaps again; perhaps with a clock that is minutes fast, perhaps no longer."""
        if self.free:
            newcomer = self.free.pop(self.dice.below(len(self.free)))
            self.town.skews[newcomer] = (0, 0, 300_000_000)[self.dice.below(3)]
            self.town.come(newcomer)

    def restart(self, peer: Peer) -> None:
        """Nobody notices, but it knows nothing any more."""
        self.town.crash(peer)
        self.town.skews[peer] = 0
        self.town.come(peer)

    def move(self, peer: Peer) -> None:
        """It lives elsewhere from now on, where nobody else will."""
        if self.free:
            place = self.town.address(self.free.pop(self.dice.below(len(self.free))))
            self.town.crash(peer)
            self.town.places[peer] = place
            self.town.come(peer)

    def behead(self, peer: Peer) -> None:
        """All delegates of a subsystem die at once."""
        tables = self.town.hpmcast(peer).members.tables
        line = tables.lines(tables.levels)[0]
        for each in line.peers:
            if each in self.world.up:
                self.crash(each)

    def want(self, peer: Peer) -> None:
        pattern = self.dice.pattern()
        self.town.subscribe(peer, pattern.topic, pattern.where)

    def drop(self, peer: Peer) -> None:
        for pattern in [*self.town.node(peer).interest.patterns][:1]:
            self.town.unsubscribe(peer, pattern.topic, pattern.where)

    def lose(self, peer: Peer) -> None:
        loss = (0.0, 0.05, 0.3)[self.dice.below(3)]
        self.town.lose(loss)

    def deafen(self, peer: Peer) -> None:
        """What it says is heard, and it hears nothing."""
        self.town.cut(self.town.up, [peer])

    def cut(self, peer: Peer) -> None:
        """In two, anyhow or along the borders of a subsystem."""
        if self.network.islands:
            self.town.heal()
        elif self.dice.below(2):
            self.town.split([], [each for each in range(256) if self.dice.below(2)])
        else:
            there = self.town.address(peer)[0]
            self.town.split([], [each for each in self.world.up if self.town.address(each)[0] == there])

    def delay(self, peer: Peer) -> None:
        self.network.duplicated = (0.0, 0.2)[self.dice.below(2)]
        median_us, spread = (20_000, 150_000, 1_000_000)[self.dice.below(3)], (0.3, 1.0)[self.dice.below(2)]
        self.network.latency = Latency(median_us=median_us, shape="lognormal", spread=spread)

    def wait(self, peer: Peer) -> None:
        """As it is now it stays for long."""
        self.town.run(self.dice.below(60))

    def end(self) -> None:
        self.town.heal()
        self.network.loss, self.network.duplicated, self.network.latency = None, 0.0, CALM
        for peer in self.world.up:  # those who never met anybody, and began with the dead, are helped
            if self.town.hpmcast(peer).size(".") == 1:
                self.world.give(peer, Contacted((next(iter(self.world.up)),)))


class Load(Watcher):
    """Messages each participant sends or is sent."""

    def __init__(self) -> None:
        self.handled: dict[Peer, int] = {}

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        for peer in (sender, target):
            self.handled[peer] = self.handled.get(peer, 0) + 1


def check(seed: int, size: int, blows: int) -> None:
    disaster = Disaster(seed, size)
    town = disaster.town
    for _ in range(blows):
        town.run(disaster.dice.below(4000) / 1000)
        disaster.strike()
    disaster.end()
    town.seconds_to_calm(CALM_S)
    before = sum(town.chronicle.sends.values())
    town.run(10)
    assert town.unlike() == [], "at rest views stay as they are"
    assert sum(town.chronicle.sends.values()) - before < 10 * 10 * len(town.world.up)
    assert (seed, town.undelivered(TOPICS)) == (seed, [])


@pytest.mark.parametrize("seed", range(4))
def test_whatever_happened_a_while_later_all_is_well(seed: int) -> None:
    check(seed, size=12, blows=20)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_whatever_happened_to_more_participants_for_longer_a_while_later_all_is_well(seed: int) -> None:
    check(seed, size=24, blows=60)


def test_what_a_participant_has_to_do_at_rest_does_not_grow_with_the_network() -> None:
    means = []
    for branching in ((4, 4), (4, 4, 4)):
        size = 4 ** len(branching)
        town = Sky(range(size), lambda peer: [Pattern(f".t{peer % 4}")], branching, params=Params(direct=16))
        town.seconds_to_calm(30)
        town.run(5)
        load = Load()
        town.world.watch(load)
        town.run(10)
        per_s = [count / 10 for count in load.handled.values()]
        means.append(sum(per_s) / size)
        assert max(per_s) < 15
    assert means[1] < 1.25 * means[0]
