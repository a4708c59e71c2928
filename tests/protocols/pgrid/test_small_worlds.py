"""A few dozen overlay peers: one trie, in which everybody who is registered is found, and nobody else."""

import math
from collections import Counter
from functools import cache

import pytest

from gossamer.core.ids import Peer
from gossamer.core.machine import Subscribe, Unsubscribe
from gossamer.core.topics import Topic
from gossamer.protocols.pgrid import theory
from gossamer.protocols.pgrid.lookup import Lookup
from gossamer.protocols.pgrid.params import Params
from gossamer.sim.overlay_peers import OverlayPeers
from protocols.pgrid.small_worlds import (
    ALL,
    BIG,
    SEVEN,
    holders,
    looked_up,
    named,
    not_one_trie,
    settled,
    started,
    strangers,
    topics,
)

SEEDS = [2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 3))]
ASKERS = [0, 17, 33, 58]
KEEP_S = Params().keep_every_us / 1e6
LEASE_S = Params().lease_us / 1e6


@cache
def quiet(seed: int) -> OverlayPeers:
    """One that is only looked at, however many look."""
    return settled(seed)


# -- all is well ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_every_place_is_held_by_one_leaf_whose_peers_hold_the_same(seed: int) -> None:
    town = quiet(seed)
    assert not_one_trie(town) == []
    assert len({grid.trie.path for grid in town.grids()}) > 4
    for place in ("01" * 20, "0" * 40, "1" * 40, "10" * 20, "110" * 13):
        assert len(holders(town, place)) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_every_member_is_found_from_everywhere(seed: int) -> None:
    assert strangers(quiet(seed)) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_members_are_found_while_peers_find_their_places(seed: int) -> None:
    """A registration that moves with its peers is never nobody's."""
    town = started(seed)
    for _ in range(12):
        town.run(5)
        held = {(said.name, said.member) for grid in town.grids() for said in grid.store.members("")}
        assert held == {(topic, peer) for peer in town.world.up for topic in town.topics[peer]}


def test_nobody_is_found_where_nobody_is_and_that_is_the_count() -> None:
    """Whatever leaves lie beside."""
    town = quiet(2)
    for topic in (".nobody", ".big.nobody", ".t.1.nobody", ".c", ".", ".t"):
        for peer in ASKERS:
            lookup = looked_up(town, peer, topic)
            assert (named(lookup), lookup.total) == (set(), 0), topic


def test_an_idle_overlay_says_little() -> None:
    town = settled(1)
    town.run(30)
    levels = sum(len(grid.trie.levels) for grid in town.grids()) / 60
    before, meetings = town.counted.all, town.counted.meetings
    town.run(60)
    assert (town.counted.meetings - meetings) / 60 / 60 <= 1.5 * theory.upkeep_per_s(levels, town.params.keep_every_us)
    assert (town.counted.all - before) / 60 / 60 <= 3 * theory.upkeep_per_s(levels, town.params.keep_every_us)


def test_searches_take_no_more_steps_than_the_trie_has_levels() -> None:
    town = quiet(3)
    found = [each for each in town.searches(topics(town), 200, 3, over_s=5) if each]
    leaves = len({grid.trie.path for grid in town.grids()})
    assert len(found) == 200
    assert sum(each.hops for each in found) / 200 <= theory.hops(leaves) + 1
    assert max(each.hops for each in found) <= 2 * math.log2(leaves) + 2


# -- evenly -----------------------------------------------------------------------------------------------------------


def p_value(counts: list[int]) -> float:
    stats = pytest.importorskip("scipy.stats")
    return float(stats.chisquare(counts).pvalue)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("topic", "k", "searches"), [(SEVEN, 2, 700), (BIG, 4, 1200), (BIG, 1, 1500)])
def test_every_member_is_drawn_as_often_as_any_other(seed: int, topic: Topic, k: int, searches: int) -> None:
    town = quiet(seed)
    members = town.members(topic)
    found = town.searches([topic], searches, k, over_s=20)
    drawn = Counter(said.member for each in found if each for said in each.found)
    assert {*drawn} == {*members}
    assert sum(drawn.values()) == k * searches
    assert p_value([drawn[member] for member in members]) > 0.01


# -- members come and go ----------------------------------------------------------------------------------------------


def quit_topic(town: OverlayPeers, peer: Peer, topic: Topic) -> None:
    town.world.give(peer, Unsubscribe(topic))
    town.topics[peer] = tuple(each for each in town.topics[peer] if each != topic)


@pytest.mark.parametrize("seed", SEEDS)
def test_who_unsubscribes_is_found_no_more(seed: int) -> None:
    town = settled(seed)
    for peer in (3, 19, 43):
        quit_topic(town, peer, SEVEN)
    town.run(2)
    assert all(named(looked_up(town, peer, SEVEN)) == {*town.members(SEVEN)} for peer in ASKERS)
    assert len(town.members(SEVEN)) == 4


@pytest.mark.parametrize(
    "stayed_s", [0.03, 3, *(pytest.param(each, marks=pytest.mark.slow) for each in (0, 0.1, 0.5, 20))]
)
def test_who_unsubscribes_at_an_awkward_moment_is_found_no_more(stayed_s: float) -> None:
    """While its registration is looked for, taken, or on its way with peers that move."""
    town = settled(1)
    for peer in range(100, 106):
        town.start(peer, ".t.1", ".brief")
        town.run(stayed_s)
        quit_topic(town, peer, ".brief")
    town.run(2 * KEEP_S)
    assert all(named(looked_up(town, peer, ".brief")) == set() for peer in ASKERS)
    assert {*range(100, 106)} <= named(looked_up(town, 0, ".t.1"))


def test_a_community_that_empties_is_empty() -> None:
    town = settled(2)
    for peer in town.members(BIG):
        quit_topic(town, peer, BIG)
        town.run(1)  # half a minute in all: some are being renewed, and leaves become empty meanwhile
    town.run(3 * KEEP_S)
    for peer in ASKERS:
        lookup = looked_up(town, peer, BIG)
        assert (named(lookup), lookup.total) == (set(), 0)
    assert strangers(town, ASKERS) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_who_crashed_is_forgotten_with_its_lease_and_who_lives_is_not(seed: int) -> None:
    town = settled(seed)
    for peer in range(0, 60, 5):
        town.world.crash(peer)
    town.run(LEASE_S + 2 * KEEP_S)
    assert strangers(town, [1, 17, 33, 58]) == []
    assert not_one_trie(town) == []


@pytest.mark.slow
def test_what_is_renewed_never_ends() -> None:
    town = settled(3)
    for _ in range(6):
        town.run(LEASE_S / 2)
        assert strangers(town, [0]) == []


def test_who_comes_back_is_found_again() -> None:
    town = settled(1)
    town.world.leave(3)
    town.run(1)
    assert 3 not in named(looked_up(town, 0, SEVEN))
    town.start(3)
    town.run(2 * KEEP_S)
    assert 3 in named(looked_up(town, 0, SEVEN))


def test_a_peer_without_any_topic_serves_too() -> None:
    town = started(1)
    for peer in range(60, 80):
        town.topics[peer] = ()
        town.world.start(peer, town.some_up(3), ())
    town.run(60)
    assert not_one_trie(town) == []
    assert all(len(town.grid(peer).store) for peer in range(60, 80))
    assert strangers(town, [60, 79]) == []


def test_one_alone_finds_itself_and_two_find_each_other() -> None:
    town = OverlayPeers(1)
    town.start(0, ".a")
    town.run(5)
    assert named(looked_up(town, 0, ".a")) == {0}
    town.start(1, ".a")
    town.run(2 * KEEP_S)
    assert [named(looked_up(town, peer, ".a")) for peer in (0, 1)] == [{0, 1}] * 2


def test_a_node_with_hundreds_of_topics_is_found_in_all_of_them() -> None:
    town = settled(1, range(40))
    many = [f".m.{number}" for number in range(300)]
    for topic in many:
        town.world.give(5, Subscribe(topic))
    town.topics[5] = (*town.topics[5], *many)
    town.run(30)
    found: list[Lookup] = []
    for topic in many:
        town.look_up(20, topic, ALL, found.append)
    town.run(10)
    assert len(found) == 300
    assert all(named(lookup) == {5} for lookup in found)
