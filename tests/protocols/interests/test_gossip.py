"""A town of nodes that gossip what they want: they come, change their minds, go and die."""

import pytest

from gossamer.core.machine import Contacted
from gossamer.parts.wants import word_of
from gossamer.protocols.interests.params import Params
from protocols.interests.towns import GossipTown

SMALL = Params(view_max=30)


@pytest.mark.parametrize(("loss", "seconds"), [(0.0, 3), (0.1, 6)])
def test_a_hundred_nodes_that_know_two_contacts_each_know_everybody_in_seconds(loss: float, seconds: int) -> None:
    town = GossipTown(100, loss=loss)
    assert town.seconds_until_right(seconds) <= seconds
    town.run(6)
    assert all(len(each.entries()) == 99 for each in town.views.values())


def test_at_rest_only_ages_travel() -> None:
    town = GossipTown(40)
    town.run(6)
    changes = [each.changes for each in town.views.values()]
    town.run(10)
    assert [each.changes for each in town.views.values()] == changes


def test_a_view_that_is_too_small_for_everybody_is_full_mixed_and_has_the_nearest() -> None:
    town = GossipTown(80, params=SMALL)
    assert town.seconds_until_right(6) <= 6
    before = {peer: set(each.entries()) for peer, each in town.views.items()}
    town.run(10)
    assert town.right()
    for peer, each in town.views.items():
        assert len(each.entries()) == 30
        assert len(before[peer] - set(each.entries())) >= 5
    known = [sum(peer in each.entries() for each in town.views.values()) for peer in town.views]
    assert min(known) >= 12  # 30 on average


def test_the_way_to_a_home_is_short_and_ends_there_wherever_it_begins() -> None:
    town = GossipTown(80, params=SMALL)
    town.seconds_until_right(6)
    for number in range(80):
        word = word_of(f".rare{number}")
        found, steps = town.home(word, start=number)
        assert found == town.true_home(word)
        assert steps <= 4


@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_a_fifth_killed_at_once_is_forgotten_everywhere_within_12_seconds(loss: float) -> None:
    town = GossipTown(60, loss=loss)
    town.run(6)
    for peer in range(0, 60, 5):
        town.crash(peer)
    assert town.seconds_until_right(12) <= 12
    town.run(10)
    assert town.right()
    assert all(len(each.entries()) == 47 for each in town.views.values())


def test_whoever_leaves_is_forgotten_and_comes_back_as_another() -> None:
    town = GossipTown(30)
    town.run(4)
    town.leave(7)
    assert town.seconds_until_right(12) <= 12
    town.come(7)
    town.run(4)
    assert town.right()
    assert all(7 in each.entries() for peer, each in town.views.items() if peer != 7)


def test_changed_interest_is_known_within_4_seconds() -> None:
    town = GossipTown(40)
    town.run(6)
    town.subscribe(9, ".new")
    town.unsubscribe(9, town.topics(9)[0])
    assert not town.right()
    assert town.seconds_until_right(4) <= 4


@pytest.mark.parametrize("seed", [1, 7, 8])
def test_two_towns_grow_together_once_one_node_of_each_meets(seed: int) -> None:
    town = GossipTown(20, seed)
    for peer in range(100, 120):
        town.start(peer, contacts=[100] if peer > 100 else [])
    town.run(4)
    assert not any(100 in town.nodes[peer].entries() for peer in range(20))
    town.world.give(3, Contacted((111,)))
    assert town.seconds_until_right(6) <= 6


def test_towns_that_were_cut_apart_for_long_are_one_again() -> None:
    town = GossipTown(30)
    town.run(4)
    town.split(range(15), range(15, 30))
    town.run(30)
    assert all(len(each.entries()) == 14 for each in town.views.values())
    town.heal()
    assert town.seconds_until_right(30) <= 30
    assert all(len(each.entries()) == 29 for each in town.views.values())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_town_in_which_a_half_changes_every_minute_is_right_12_seconds_after_the_last_change(seed: int) -> None:
    town = GossipTown(60, seed, loss=0.1)
    town.run(5)
    for number in range(20):
        gone = town.up[number * 31 % len(town.up)]
        (town.crash if number % 2 else town.leave)(gone)
        town.come(1000 + number)
        town.run(3)
        town.come(gone)
    assert town.seconds_until_right(12) <= 12
