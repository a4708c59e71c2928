"""One mishap at a time, each of which once did lasting harm."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import SECOND_US, Effect, Given, Received
from gossamer.core.patterns import Pattern
from gossamer.protocols.hpmcast.params import Params
from gossamer.protocols.hpmcast.upkeep import Upkeep
from gossamer.protocols.recovery.messages import Again
from gossamer.sim.network import Latency
from gossamer.sim.world import Watcher
from protocols.hpmcast.skies import Sky
from protocols.hpmcast.towns import EXCHANGE

AT_ONCE = Params(direct=1 << 20)


def wants(peer: Peer) -> Sequence[Pattern]:
    return [Pattern(f".t{peer % 4}")]


def settled(peers: Sequence[Peer], branching: tuple[int, ...], seed: int = 1, params: Params = AT_ONCE) -> Sky:
    town = Sky(peers, wants, branching, seed, params=params)
    town.seconds_to_calm(30)
    town.run(3)
    return town


def test_neighbours_that_gave_each_other_up_find_each_other_again() -> None:
    town = settled(range(8), (2, 4))
    town.split([0, 1, 4, 5], [2, 3, 6, 7])
    town.run(30)
    assert town.unlike()
    town.heal()
    assert town.seconds_to_calm(60) < 60


def test_subsystems_that_forgot_each_other_find_each_other_again_though_nobody_they_began_with_is_left() -> None:
    town = Sky([0, 5, 10], wants, (3, 4), params=AT_ONCE)
    for peer in (1, 2, 3, 4, 6, 7, 8, 9, 11):
        town.come(peer, contacts=[peer // 4 * 5])
    town.seconds_to_calm(30)
    for peer in (0, 5, 10):
        town.crash(peer)  # everybody came through one of these
    for visited in range(12):
        if visited in town.world.up:
            town.hpmcast(visited).members.joining.visitors.clear()
    town.run(30)
    town.split(range(4), range(4, 8), range(8, 12))
    town.run(120)
    town.heal()
    assert town.seconds_to_calm(120) < 120


class Counting(Watcher):
    """After every step: nobody but newcomers believes that a subsystem has fewer members than it had all the time."""

    def __init__(self, town: Sky, least: int) -> None:
        self.town, self.least = town, least
        self.newcomers: list[Peer] = []

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        if peer not in self.newcomers:
            counts = [line.row.count for line in self.town.hpmcast(peer).members.lines(3)]
            assert min(counts) >= self.least, (peer, counts)


@pytest.mark.parametrize("seed", range(2))
def test_a_newcomer_does_not_take_its_subsystem_out_of_others_sight(seed: int) -> None:
    """It knows nobody there yet, and what it would say of the subsystem is later than what is true."""
    town = settled(range(27), (3, 3, 3), seed)
    counting = Counting(town, 8)
    town.world.watch(counting)
    for peer in (14, 1):
        counting.newcomers.append(peer)
        town.crash(peer)
        town.come(peer)
        town.run(5)


@pytest.mark.parametrize("seconds", [12, 25])
def test_who_was_cut_off_for_a_while_does_not_either(seconds: int) -> None:
    """It believes all others in its subsystem to be dead, and is the one of whom they do."""
    town = settled(range(27), (3, 3, 3), seed=3)
    counting = Counting(town, 8)
    counting.newcomers.append(14)
    town.world.watch(counting)
    town.split([], [14])
    town.run(seconds)
    town.heal()
    assert town.seconds_to_calm(20) < 20


def test_a_dead_group_is_forgotten_though_messages_take_long() -> None:
    """Each time news of it is passed on it must not get younger by the time it was on its way."""
    upkeep = Upkeep(hurry_every_us=1_600_000, gossip_every_us=2 * SECOND_US)
    town = Sky(range(40), wants, (8, 5), params=AT_ONCE, upkeep=upkeep)
    town.network.latency = Latency(median_us=400_000, shape="lognormal", spread=0.3)
    town.seconds_to_calm(60)
    for peer in range(5):
        town.crash(peer)
    assert town.seconds_to_calm(60) < 20


def test_parts_of_a_network_find_each_other_while_events_are_published_all_the_time() -> None:
    town = settled(range(12), (12,))
    town.split(range(6), range(6, 12))
    town.run(30)
    town.heal()
    for _ in range(1200):
        for peer in range(12):
            town.publish(peer, f".t{peer % 4}")
        town.run(0.1)
        if not town.unlike():
            return
    raise AssertionError(town.unlike())


def test_who_moved_is_not_taken_for_living_where_it_was() -> None:
    town = settled([0, 1, 2, 4, 5, 8, 9], (3, 4))
    town.crash(1)
    town.places[1] = (2, 3)
    town.come(1)
    assert town.seconds_to_calm(30) < 30
    town.run(20)
    assert town.unlike() == []


def test_one_alone_in_its_group_comes_back_after_a_long_silence() -> None:
    town = settled([0, 1, 2, 4, 8, 9], (3, 4))
    for peer in (0, 8):
        town.crash(peer)
    town.run(30)
    town.split([], [4])
    town.run(90)
    town.heal()
    assert town.seconds_to_calm(60) < 60


def test_sixty_come_at_once_through_one_that_dies_at_once() -> None:
    town = Sky([0], wants, (4, 4, 4), params=AT_ONCE)
    for peer in range(1, 61):
        town.come(peer, contacts=[0])
    town.run(1)
    town.crash(0)
    assert town.seconds_to_calm(60) < 60


def test_a_clock_set_back_keeps_nobody_out() -> None:
    for pause in (0, 30):
        town = Sky([], wants, (3, 4), params=AT_ONCE)
        town.skews[5] = 500 * SECOND_US
        for peer in range(12):
            town.come(peer)
        town.seconds_to_calm(30)
        for stop in (town.crash, town.leave):
            town.skews[5] = 500 * SECOND_US
            town.crash(5)
            town.come(5)
            town.run(20)
            stop(5)
            town.run(pause)
            town.skews[5] = 0
            town.come(5)
            assert town.seconds_to_calm(30) < 30


def test_two_at_one_address_are_both_served() -> None:
    town = Sky([], wants, (3, 4), params=AT_ONCE)
    town.places[20] = (1, 0)
    for peer in (0, 1, 4, 5, 8, 20):
        town.come(peer)
    town.seconds_to_calm(30)
    assert town.undelivered([".t0", ".t1"]) == []


def test_a_delegate_passes_on_what_recovery_found_before_gossip_came() -> None:
    """Whoever gossips it to the delegate then tells it nothing new."""
    slow = replace(EXCHANGE, interval_us=60 * SECOND_US, expiry_us=600 * SECOND_US)
    town = Sky([0, 1, 2, 3], wants, (2, 3), params=replace(AT_ONCE, delegates=1), recovery=slow)
    town.seconds_to_calm(30)
    event = Event(EventId(3, 0, 1), ".t2")
    town.world.give(0, Received(3, Again(Carried(event, 1))))
    town.run(1)
    assert town.delivered(event.id) == [2]
    assert town.chronicle.relays[event.id] == [0]
