"""Leases, beats, isolation, islands, and the count of a community: whole stacks in a simulated world."""

import statistics

import pytest

from gossamer.core.ids import Peer
from gossamer.core.machine import SECOND_US, Message
from gossamer.protocols.scamp.messages import Join
from gossamer.protocols.scamp.params import Params
from gossamer.sim.town import Town
from gossamer.sim.world import Watcher
from protocols.towns import camcast, components, scamp, views


def town_of(n: int, seed: int = 1, **changes: int) -> Town:
    town = camcast(seed, scamp=Params(**changes), told_of_failures=False)
    for peer in range(n):
        town.start(peer, ".")
        town.run(0.05)
    town.run(15)
    return town


def median_error(town: Town) -> float:
    members = town.members(".")
    return statistics.median(abs(scamp(town, peer).size(".") - len(members)) / len(members) for peer in members)


def test_beats_drop_the_dead_from_every_view() -> None:
    town = town_of(30)
    for peer in range(10):
        town.crash(peer)
    town.run(18)
    assert not any(other < 10 for peer in range(10, 30) for other in scamp(town, peer).about("."))
    assert components(views(town, ".")) == 1


def test_leases_drop_the_dead_where_no_beat_would() -> None:
    """Beats so rare that only the lease can tell."""
    rare = 10_000 * SECOND_US
    second = SECOND_US
    town = town_of(20, beat_every_us=rare, isolated_us=2 * rare, lease_us=20 * second, first_lease_us=20 * second)
    for peer in range(5):
        town.crash(peer)
    town.run(21)
    for peer in range(5, 20):
        view = scamp(town, peer).views["."]
        view.expire(town.world.now_us)
        assert not any(other < 5 for other in view.held)


def test_a_node_in_nobodys_view_notices_and_joins_again() -> None:
    town = town_of(20)
    lonely = 7
    for peer in range(20):
        scamp(town, peer).views["."].drop(lonely)
    scamp(town, lonely).views["."].holders.clear()
    assert not any(lonely in scamp(town, peer).about(".") for peer in range(20))
    town.run(Params().isolated_us / SECOND_US + 5)
    assert sum(lonely in views(town, ".")[peer] for peer in range(20)) >= 2


def test_a_node_that_holds_nobody_joins_again() -> None:
    town = town_of(20)
    scamp(town, 7).views["."].held.clear()
    scamp(town, 7).views["."].holders.clear()
    town.run(6)
    assert views(town, ".")[7]


@pytest.mark.parametrize("seed", [1, 2])
def test_two_islands_of_a_topic_grow_together(seed: int) -> None:
    """They formed apart; then one node of one meets one node of the other. Leases do the rest."""
    town = camcast(seed)
    for peer in range(24):
        island = peer % 2
        town.start(peer, ".", contacts=[p for p in (0, 1, 2, 3) if p < peer and p % 2 == island])
        town.run(0.1)
    town.run(10)
    assert components(views(town, ".")) == 2
    town.start(24, ".other", contacts=[0, 1])  # interested in neither, and known to no one before
    town.run(100)
    assert components(views(town, ".")) == 1
    assert median_error(town) == 0


def test_a_lone_node_is_ready_and_asks_ever_more_rarely() -> None:
    town = camcast(1)
    town.start(0)
    town.start(1, ".", contacts=[0])
    town.run(2)
    assert not scamp(town, 1).ready(".")
    town.run(2)
    assert scamp(town, 1).ready(".")
    assert scamp(town, 1).size(".") == 1
    town.run(60)
    early = town.chronicle.sends["ReqContact"]
    town.run(60)
    assert town.chronicle.sends["ReqContact"] - early <= 5
    town.start(2, ".", contacts=[0])
    town.run(20)
    assert views(town, ".")[1] == [2]
    assert views(town, ".")[2] == [1]


def test_who_left_is_told_to_nobody_and_held_by_nobody() -> None:
    town = town_of(15)
    town.unsubscribe(3, ".")
    town.run(8)
    assert not any(3 in scamp(town, peer).about(".") for peer in range(15) if peer != 3)
    assert scamp(town, 3).about(".") == []
    assert scamp(town, 3).size(".") == 1


class Joins(Watcher):
    """All of them."""

    def __init__(self) -> None:
        self.said: list[Join] = []

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        if type(message) is Join:
            self.said.append(message)


def test_a_join_and_its_copies_stay_within_their_bounds() -> None:
    params = Params()
    town = town_of(30)
    heard = Joins()
    town.world.watch(heard)
    town.run(60)
    joins = heard.said
    assert all(0 <= join.walk <= params.indirection for join in joins)
    subscriptions = {join.number for join in joins}
    steps = {number: sum(join.number == number for join in joins) for number in subscriptions}
    assert max(steps.values()) <= 1 + params.indirection + 1  # to the contact, the walk, and the last step taken back
    per_node_second = sum(town.chronicle.sends.values()) / 30 / (town.world.now_us / SECOND_US)
    assert per_node_second < 20


@pytest.mark.parametrize("n", [5, 30])
def test_small_communities_are_counted_exactly_and_again_after_half_left(n: int) -> None:
    town = town_of(n)
    assert median_error(town) == 0
    for peer in range(n // 2):
        town.crash(peer)
    town.run(30)
    assert median_error(town) == 0


def check_count(n: int, seed: int, gone: str) -> None:
    town = town_of(n, seed)
    town.run(5)
    assert median_error(town) <= 0.25, seed
    for peer in range(n // 2):
        if gone == "crash":
            town.crash(peer)
        else:
            town.leave(peer)
    town.run(30)
    assert median_error(town) <= 0.25, seed


def test_a_community_of_150_is_counted_within_a_quarter_and_again_after_half_left() -> None:
    check_count(150, 1, "crash")


@pytest.mark.slow
@pytest.mark.parametrize(("n", "gone"), [(300, "leave"), (1000, "crash")])
def test_large_communities_are_counted_within_a_quarter_and_again_after_half_left(n: int, gone: str) -> None:
    check_count(n, 2, gone)
