"""Checkers stop a world at a broken promise, and forgive what nobody could help."""

import pytest

from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId
from gossamer.core.machine import Deliver, Effect, Received, Send
from gossamer.protocols import CATALOGUE
from gossamer.protocols.camcast.messages import Carry
from gossamer.protocols.camcast.node import camcast_node
from gossamer.sim.checkers import CheckFailed, Promises
from gossamer.sim.town import Town
from sim.towns import OURS, STRAY, Broken, town_of


@pytest.mark.parametrize(
    ("answers", "complaint"),
    [
        ([Deliver(OURS), Deliver(OURS)], "twice"),
        ([Deliver(STRAY)], "did not ask for"),
        ([Send((1,), Carry(Carried(OURS)))], "to itself"),
        ([Send((0,), Carry(Carried(STRAY)))], "without being a member"),
    ],
)
def test_a_checker_stops_a_town_at_a_broken_promise(answers: list[Effect], complaint: str) -> None:
    town = town_of(size=2)
    for answer in answers[:-1]:
        town.node(1).step = Broken(town.node(1), answer)  # type: ignore[method-assign]
        town.world.give(1, Received(0, Carry(Carried(OURS))))
    town.node(1).step = Broken(town.node(1), answers[-1])  # type: ignore[method-assign]
    with pytest.raises(CheckFailed, match=complaint):
        town.world.give(1, Received(0, Carry(Carried(OURS))))


def test_a_checker_stops_a_town_at_an_event_that_nobody_asked_for() -> None:
    town = town_of(size=2)
    with pytest.raises(CheckFailed, match="unasked"):
        town.world.give(1, Received(0, Carry(Carried(STRAY))))


def test_a_checker_stops_a_town_at_a_table_that_is_too_large() -> None:
    town = town_of(size=2)
    town.node(1).owners.update(dict.fromkeys(range(20_001), 1))
    with pytest.raises(CheckFailed, match="owners"):
        Promises(town.world).look(1)


def left_one() -> Town:
    town = town_of()
    town.start(0, ".d")
    town.start(1, ".d", ".x")
    town.run(5)
    town.unsubscribe(1, ".d")
    return town


@pytest.mark.parametrize("seed", range(4))
def test_who_unsubscribes_while_events_are_on_their_way_breaks_no_promise(seed: int) -> None:
    town = Town(lambda me: camcast_node(me, seed), CATALOGUE["camcast"].spoken, seed)
    for peer in range(8):
        town.start(peer, ".d" if peer % 2 else ".d.g")
    town.run(8)
    for number in range(40):
        peer = 1 + 2 * (number % 4)
        town.publish(2 * (number % 4), ".d.g")
        if ".d" in town.interests[peer].subscribed:
            town.unsubscribe(peer, ".d")
        else:
            town.subscribe(peer, ".d")
        town.publish(0, ".d.g")
        town.run(0.05 + 0.1 * (number % 7))
    town.run(10)
    event = town.publish(0, ".d.g")
    town.run(1)
    assert town.missing(event) == []


def test_what_was_on_its_way_to_who_left_is_nobodys_fault() -> None:
    town = left_one()
    town.world.give(1, Received(0, Carry(Carried(OURS))))


def test_who_comes_back_to_less_than_it_was_in_may_be_taken_for_a_member_still() -> None:
    town = left_one()
    town.publish(0, ".p")  # for this it joined
    town.crash(0)
    town.restart(0)
    town.world.give(0, Received(1, Carry(Carried(Event(EventId(99, 0, 2), ".p")))))


def test_who_goes_on_sending_to_one_that_left_and_said_so_is_found() -> None:
    town = left_one()
    first, second, third = (Send((1,), Carry(Carried(Event(EventId(0, 1, n), ".d")))) for n in range(1, 4))
    town.world._send(0, first)
    town.run(0.5)
    town.world._send(0, second)  # it was answered a moment ago: that may have been on its way
    town.run(1)
    town.world._send(0, third)
    with pytest.raises(CheckFailed, match="unasked"):
        town.run(1)


def test_what_one_never_asked_for_is_not_excused_by_what_it_left() -> None:
    town = left_one()
    with pytest.raises(CheckFailed, match="unasked"):
        town.world.give(1, Received(0, Carry(Carried(STRAY))))
