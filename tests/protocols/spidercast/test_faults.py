"""Whole nodes to which everything happens that can happen, drawn from a seed: crashes, restarts, partings, topics taken
up and given up, wide ones and narrow ones, loss, copies, long delays, a network cut in two. A while after the last of
it everything is as it should be."""

from collections.abc import Callable

import pytest

from gossamer.core.draws import CHURN, distinct, draw, fold, upper_pick
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import StartPublishing
from gossamer.core.topics import Topic
from gossamer.sim.network import Latency
from protocols.spidercast.towns import LIVE, OverlayTown, in_one_piece

TOPICS = (".a", ".a.b", ".a.c", ".a.c.d", ".a.c.e", ".f", ".f.g", *(f".t{i}" for i in range(8)))
CALM_S = 20
"A neighbour's death is noticed in 7 seconds, an island found again in 16."
CALM = Latency(median_us=20_000, shape="lognormal", spread=0.3)


class Dice:
    def __init__(self, seed: int) -> None:
        self.key, self.thrown = fold(fold(seed, CHURN), 1), 0

    def below(self, sides: int) -> int:
        self.thrown += 1
        return upper_pick(draw(self.key, self.thrown), sides)

    def topics(self, count: int) -> list[Topic]:
        self.thrown += 1
        return [TOPICS[i] for i in distinct(fold(self.key, self.thrown), len(TOPICS), count)]


class Disaster:
    """A town, and what befalls it."""

    def __init__(self, seed: int, size: int) -> None:
        self.dice, self.size = Dice(seed), size
        wanted: dict[Peer, list[Topic]] = {}
        self.town = OverlayTown(
            size,
            lambda peer: wanted.setdefault(peer, self.dice.topics(1 + self.dice.below(5))),
            seed=seed,
            recovery=LIVE,
            told_of_failures=seed % 2 == 1,
        )
        self.world, self.network = self.town.world, self.town.world.network
        self.down: list[Peer] = []
        self.strangers = 1000

    def strike(self) -> None:
        up = [*self.world.up]
        peer = up[self.dice.below(len(up))]
        blows: list[Callable[[Peer], None]] = [
            self.crash,
            self.leave,
            self.revive,
            self.restart,
            self.come,
            self.want,
            self.drop,
            self.publish_on,
            self.stop_publishing,
            self.lose,
            self.cut,
            self.delay,
        ]
        blows[self.dice.below(len(blows))](peer)

    def crash(self, peer: Peer) -> None:
        if len(self.world.up) > self.size // 2:
            self.town.crash(peer)
            self.down.append(peer)

    def leave(self, peer: Peer) -> None:
        if len(self.world.up) > self.size // 2:
            self.town.leave(peer)
            self.down.append(peer)

    def revive(self, peer: Peer) -> None:
        if self.down:
            self.town.come(self.down.pop(self.dice.below(len(self.down))))

    def restart(self, peer: Peer) -> None:
        """Nobody notices, but it knows nothing any more."""
        self.town.crash(peer)
        self.town.come(peer)

    def come(self, peer: Peer) -> None:
        self.strangers += 1
        self.town.come(self.strangers)

    def want(self, peer: Peer) -> None:
        self.town.subscribe(peer, *self.dice.topics(1))

    def drop(self, peer: Peer) -> None:
        mine = self.town.mine(peer)
        if len(mine) > 1:
            self.town.unsubscribe(peer, mine[self.dice.below(len(mine))])

    def publish_on(self, peer: Peer) -> None:
        self.world.give(peer, StartPublishing(*self.dice.topics(1)))

    def stop_publishing(self, peer: Peer) -> None:
        for topic in self.town.mine(peer)[:1]:
            self.town.stop_publishing(peer, topic)

    def lose(self, peer: Peer) -> None:
        loss = (0.0, 0.05, 0.3)[self.dice.below(3)]
        self.town.lose(loss)

    def cut(self, peer: Peer) -> None:
        if self.network.islands:
            self.town.heal()
        else:
            self.town.split([], [each for each in self.world.up if self.dice.below(2)])

    def delay(self, peer: Peer) -> None:
        self.network.duplicated = (0.0, 0.2)[self.dice.below(2)]
        median_us, spread = (20_000, 150_000)[self.dice.below(2)], (0.3, 1.0)[self.dice.below(2)]
        self.network.latency = Latency(median_us=median_us, shape="lognormal", spread=spread)

    def end(self) -> None:
        self.town.heal()
        self.network.loss, self.network.duplicated, self.network.latency = None, 0.0, CALM

    # -- what is left -------------------------------------------------------------------------------------------

    def concerned(self, topic: Topic) -> list[Peer]:
        """Those who want a topic, or what includes it."""
        return [peer for peer in self.world.up if self.town.node(peer).interest.communities(topic)]

    def apart(self) -> list[Topic]:
        links = self.town.links()
        return [topic for topic in TOPICS if (among := self.concerned(topic)) and not in_one_piece(among, links)]

    def links(self) -> dict[tuple[Peer, int], list[Peer]]:
        """By task."""
        return {
            (peer, task.number): sorted(task.neighbours)
            for peer in self.world.up
            for task in self.town.overlay(peer).links.tasks
        }

    def one_sided(self) -> list[tuple[Peer, Peer]]:
        links = self.links()
        return [
            (peer, other)
            for (peer, task), others in links.items()
            for other in others
            if peer not in links.get((other, task), ())
        ]

    def too_many(self) -> list[Peer]:
        overlays = map(self.town.overlay, self.world.up)
        return [
            each.node.me
            for each in overlays
            for task in each.links.tasks
            if task.degree > task.limit + each.params.margin
        ]

    def undelivered(self) -> list[tuple[Peer, EventId]]:
        """Somebody publishes on every topic. Who wants an event and did not get it."""
        for topic in TOPICS:
            if among := [peer for peer in self.world.up if topic in self.town.mine(peer)]:
                self.town.publish(among[self.dice.below(len(among))], topic)
        self.town.run(5)
        return self.town.missing()


def check(seed: int, size: int, blows: int) -> None:
    disaster = Disaster(seed, size)
    for _ in range(blows):
        disaster.town.run(disaster.dice.below(1000) / 1000)
        disaster.strike()
    disaster.end()
    disaster.town.run(CALM_S)
    assert (disaster.apart(), disaster.town.alive()) == ([], True)
    assert (disaster.one_sided(), disaster.too_many()) == ([], [])
    before = disaster.links()
    assert disaster.undelivered() == []
    assert len(disaster.town.chronicle.fates) > len(TOPICS) // 2
    assert disaster.links() == before, "at rest links stay as they are"


@pytest.mark.parametrize("seed", range(3))
def test_whatever_happened_a_while_later_all_is_well(seed: int) -> None:
    check(seed, size=12, blows=25)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_whatever_happened_to_more_nodes_for_longer_a_while_later_all_is_well(seed: int) -> None:
    check(seed, size=24, blows=60)
