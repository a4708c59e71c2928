"""Peers that die, fall silent or lie, networks that part, crowds that come and go: searches find who is there."""

from functools import partial

import pytest
from msgspec.structs import replace

from gossamer.core.ids import Peer
from gossamer.core.machine import Effect, Given, Received, Send
from gossamer.core.stack import Stack
from gossamer.protocols.pgrid.messages import Answer, AskPlaces, Branch, LeafSeat, PlaceQuestion, Reply
from gossamer.protocols.pgrid.params import Params
from gossamer.sim.overlay_peers import OverlayPeers
from gossamer.sim.world import Watcher
from protocols.pgrid.small_worlds import (
    SEVEN,
    looked_up,
    named,
    not_one_trie,
    settled,
    started,
    strangers,
    topics,
    topics_of,
)

KEEP_S = Params().keep_every_us / 1e6
LEASE_S = Params().lease_us / 1e6


def check_searches_find_somebody(town: OverlayPeers, count: int = 100) -> None:
    inhabited = [topic for topic in topics(town) if town.members(topic)]
    found = town.searches(inhabited, count, 8, over_s=5)
    assert [each for each in found if each is None] == []
    assert [each.name for each in found if each and not {*named(each)} & {*town.world.up}] == []


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_with_a_fifth_dead_at_once_searches_succeed(seed: int) -> None:
    town = settled(seed, range(80))
    for peer in range(0, 80, 5):
        town.world.crash(peer)
    check_searches_find_somebody(town)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_half_of_all_leave_and_the_others_are_one_trie(seed: int) -> None:
    town = settled(seed)
    for peer in range(0, 60, 2):
        town.world.leave(peer)
    town.run(6 * KEEP_S)  # nobody hears that they are gone: where a leaf has lost all its peers, others hold it now
    check_searches_find_somebody(town)
    town.run(LEASE_S)
    for _ in range(3):  # the last lookups and comparisons may be under way
        town.run(KEEP_S if not_one_trie(town) else 0)
    assert not_one_trie(town) == []
    assert strangers(town, [1, 31, 59]) == []


@pytest.mark.slow
def test_a_hundred_come_within_a_second() -> None:
    town = started(1, range(100), every_s=0.01)
    town.run(60)
    assert not_one_trie(town) == []
    assert strangers(town, [0, 50, 99]) == []


@pytest.mark.parametrize("seed", [2, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("apart_s", [20, 200])
def test_parts_that_grew_apart_are_one_trie_again(seed: int, apart_s: float) -> None:
    """A short time, and one after which each has forgotten the members of the other."""
    town = settled(seed, range(40))
    islands = [[*range(0, 40, 2)], [*range(1, 40, 2)]]
    town.world.network.split(*islands)
    town.run(apart_s)
    if apart_s > LEASE_S:
        assert not named(looked_up(town, 0, SEVEN)) & {*islands[1]}
        assert len(named(looked_up(town, 1, SEVEN, 3))) == 3
    town.world.network.heal()
    town.run(LEASE_S)
    assert not_one_trie(town) == []
    assert strangers(town, [0, 1, 38, 39]) == []


def test_lost_messages_cost_time_and_nobody() -> None:
    class Tenth:
        def lost(self, sender: Peer, target: Peer, key: int) -> bool:
            return key % 10 == 0

    town = OverlayPeers(1)
    town.world.network.loss = Tenth()
    for peer in range(50):
        town.start(peer, *topics_of(peer))
        town.run(0.1)
    town.run(90)
    check_searches_find_somebody(town)
    held = {(said.name, said.member) for grid in town.grids() for said in grid.store.members("")}
    assert held == {(topic, peer) for peer in town.world.up for topic in town.topics[peer]}


class KilledAfter(Watcher):
    """Kills each of some peers after so many steps. It comes back under its name, with another topic."""

    def __init__(self, town: OverlayPeers, steps: dict[Peer, int]) -> None:
        self.town, self.steps = town, steps

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        if peer in self.steps:
            self.steps[peer] -= 1
            if not self.steps[peer]:
                del self.steps[peer]
                self.town.world.at(now_us, partial(self.kill, peer))

    def kill(self, peer: Peer) -> None:
        self.town.world.crash(peer)
        self.town.world.at(self.town.world.now_us + 300_000, partial(self.town.start, peer, ".other"))


@pytest.mark.slow
def test_who_is_killed_between_any_two_steps_and_comes_back_is_what_it_is_now() -> None:
    town, who = settled(1, range(40)), range(100, 140)
    town.world.watch(KilledAfter(town, steps := {peer: 2 * (peer - 99) for peer in who}))
    for peer in who:
        town.start(peer, ".brief")
        town.run(0.05)
    town.run(60)
    assert steps == {}
    assert named(looked_up(town, 0, ".other")) == {*who}
    town.run(LEASE_S)
    assert named(looked_up(town, 7, ".brief")) == set()
    assert not_one_trie(town) == []


# -- on the way -------------------------------------------------------------------------------------------------------


class Forger(Stack):
    """Answers every question with a lie, or not at all, and is a good peer otherwise."""

    def __init__(self, honest: Stack, lie: "Reply | None") -> None:
        self.honest, self.lie = honest, lie

    def step(self, given: Given, now_us: int) -> list[Effect]:
        effects = self.honest.step(given, now_us)
        if type(given) is not Received or type(given.message) is not AskPlaces:
            return effects
        rest = [each for each in effects if type(each) is not Send or type(each.message) is not Answer]
        if self.lie is None:
            return rest
        replies = [forged(self.lie, question) for question in given.message.questions]
        return [*rest, Send((given.peer,), Answer(tuple(replies)))]


def forged(lie: Reply, asked: PlaceQuestion) -> Reply:
    branches = tuple(Branch(asked.place + each.place, each.count, each.seats) for each in lie.branches)
    return replace(lie, number=asked.number, branches=branches)


LIES: dict[str, Reply | None] = {
    "is silent": None,
    "holds everything and knows nobody": Reply(0, "", (), holds=True),
    "says there are many and names none": Reply(0, "", (), holds=True, load=9, replicas=9, count=9),
    "sends us to those who are not": Reply(0, "1", tuple(LeafSeat(10**9 + number, "1") for number in range(16))),
    "sends us to itself": Reply(0, "1", (LeafSeat(7, "1"),) * 16),
    "says it is all elsewhere": Reply(
        0, "1", (), holds=True, branches=(Branch("", 2**31 - 1, (LeafSeat(7, ""),)),) * 64
    ),
    "says it is all in a part that it holds": Reply(
        0, "1", (), holds=True, branches=(Branch("11", 2**31 - 1, (LeafSeat(7, ""),)),)
    ),
    "says it is all in parts that nobody holds": Reply(
        0, "1", (), holds=True, branches=tuple(Branch("1" * level, 9, (LeafSeat(10**9, ""),)) for level in range(1, 9))
    ),
}


@pytest.mark.parametrize("what", LIES)
def test_a_peer_on_the_way_costs_a_retry_and_not_the_answer_if_it(what: str) -> None:
    town = settled(2)
    liar = 7
    assert sum(liar in grid.trie.level_of for grid in town.grids()) > 10
    town.world.machines[liar] = Forger(town.world.machines[liar], LIES[what])  # type: ignore[arg-type]
    wrong = [
        (peer, topic)
        for peer in range(0, 60, 3)
        for topic in topics(town)
        if not named(looked_up(town, peer, topic, 3)) & {*town.members(topic)}
    ]
    assert wrong == []
