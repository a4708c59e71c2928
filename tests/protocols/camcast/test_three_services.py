"""The three membership services while communities change: whatever happens, everybody who stays gets every event, and
every way up leads to the nearest populated topics again. The checkers of the house watch every step."""

from collections.abc import Callable
from functools import partial

import pytest

from gossamer.core.ids import Peer
from gossamer.core.machine import Machine
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.protocols.camcast.node import MembershipName
from gossamer.protocols.pgrid.members import DrawnMembers
from gossamer.sim.camcast_checks import astray
from gossamer.sim.town import Town
from protocols.towns import camcast, settle

SERVICES: list[MembershipName] = ["unstructured", "semi-structured", "structured"]
LEVELS: dict[Topic, int] = {".": 6, ".d": 12, ".d.g": 22}
every_service = pytest.mark.parametrize("membership", SERVICES)


def town_of(membership: MembershipName, seed: int = 1, hierarchy: Hierarchy | None = None) -> Town:
    return camcast(seed, hierarchy=hierarchy, membership=membership)


def check_all_get_all(town: Town, *publishers: tuple[Peer, Topic]) -> None:
    events = [town.publish(peer, topic) for peer, topic in publishers]
    town.run(3)
    assert town.missing(*events) == []


def check_everybody_is_heard(town: Town) -> None:
    check_all_get_all(town, *[(peer_of(town, topic, which), topic) for topic in LEVELS for which in (0, 1, 4)])


def until_nobody_is_astray(town: Town, at_most: float = 90) -> None:
    assert town.seconds_until(lambda: not astray(town.world), at_most, step=2) <= at_most, astray(town.world)[:3]


def peer_of(town: Town, topic: Topic, which: int = 0) -> Peer:
    members = town.members(topic)
    return members[which % len(members)]


@every_service
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_everything_published_is_delivered_on_all_levels(membership: MembershipName, seed: int) -> None:
    town = settle(town_of(membership, seed), LEVELS, 20)
    until_nobody_is_astray(town)
    check_all_get_all(town, *[(peer_of(town, topic, which), topic) for topic in LEVELS for which in (0, 3)])


@every_service
def test_events_climb_past_topics_that_nobody_is_in(membership: MembershipName) -> None:
    town = settle(town_of(membership), {".": 3, ".a": 8, ".a.b.c.d.e": 10}, 20)
    until_nobody_is_astray(town)
    check_all_get_all(town, (peer_of(town, ".a.b.c.d.e"), ".a.b.c.d.e"))


@every_service
def test_with_several_parents_events_climb_to_all_of_them(membership: MembershipName) -> None:
    hierarchy = Hierarchy({".x.d": (".y",)})
    town = settle(town_of(membership, hierarchy=hierarchy), {".": 3, ".x": 6, ".y": 6, ".x.d": 10}, 20)
    until_nobody_is_astray(town)
    check_all_get_all(town, (peer_of(town, ".x.d"), ".x.d"), (peer_of(town, ".y"), ".y"))


@every_service
def test_communities_that_appear_above_are_found_by_those_below(membership: MembershipName) -> None:
    town = settle(town_of(membership), {".a.b.c": 10}, 15)
    for peer in range(100, 106):
        town.start(peer, ".a")
    for peer in range(200, 203):
        town.start(peer, ".")
    town.run(10)
    until_nobody_is_astray(town)
    check_all_get_all(town, (peer_of(town, ".a.b.c"), ".a.b.c"), (100, ".a"))


@every_service
def test_a_subtopic_that_begins_under_a_running_hierarchy_is_part_of_it(membership: MembershipName) -> None:
    town = settle(town_of(membership), LEVELS, 20)
    for peer in range(100, 105):
        town.start(peer, ".d.g.new")
    town.run(20)  # who came in the same instant may have found some of the others only, until they look again
    check_all_get_all(town, (100, ".d.g.new"), (104, ".d.g.new"))
    until_nobody_is_astray(town)


@every_service
def test_a_topic_in_between_that_empties_is_climbed_past(membership: MembershipName) -> None:
    town = settle(town_of(membership), LEVELS, 20)
    for peer in town.members(".d"):
        town.unsubscribe(peer, ".d")
    until_nobody_is_astray(town, 150)
    check_all_get_all(town, (peer_of(town, ".d.g"), ".d.g"))


@every_service
def test_who_leaves_crashes_and_comes_back_gets_what_comes_then(membership: MembershipName) -> None:
    town = settle(town_of(membership), LEVELS, 20)
    gone = [peer_of(town, topic, which) for topic in LEVELS for which in (1, 2)]
    town.crash(*gone[::2])
    town.leave(*gone[1::2])
    town.run(3)
    check_all_get_all(town, (peer_of(town, ".d.g"), ".d.g"))
    for peer in gone:
        town.restart(peer)
    town.run(5)
    check_all_get_all(town, (peer_of(town, ".d.g"), ".d.g"), (gone[0], "."))
    until_nobody_is_astray(town)


@pytest.mark.slow
@every_service
def test_all_who_stay_get_everything_while_others_come_and_go(membership: MembershipName) -> None:
    town = settle(town_of(membership), LEVELS, 20)
    steady = {topic: [peer for peer in town.members(topic) if peer % 3] for topic in LEVELS}
    restless = [peer for peer in town.up if peer % 3 == 0]
    events = []
    for turn, peer in enumerate(restless):
        town.crash(peer) if turn % 2 else town.leave(peer)
        events.append(town.publish(steady[".d.g"][turn % 5], ".d.g"))
        town.run(2)
        town.restart(peer)
        town.run(1)
    town.run(3)
    stayed = {peer for peers in steady.values() for peer in peers}
    assert [missed for missed in town.missing(*events) if missed[0] in stayed] == []
    until_nobody_is_astray(town)


@pytest.mark.slow
@every_service
def test_parts_that_are_one_again_deliver_to_each_other(membership: MembershipName) -> None:
    town = settle(town_of(membership), LEVELS, 20)
    town.split([peer for peer in town.up if peer % 2], [peer for peer in town.up if not peer % 2], noticed=True)
    town.run(40)
    town.heal()
    town.run(120)
    check_all_get_all(town, *[(peer_of(town, topic, which), topic) for topic in LEVELS for which in (0, 1, 4)])


@pytest.mark.slow
@every_service
def test_a_hundred_who_come_within_a_second_are_members_soon(membership: MembershipName) -> None:
    town = settle(town_of(membership), LEVELS, 20)
    for number in range(100):
        town.after(number / 100, partial(town.start, 100 + number, [*LEVELS][number % 3]))
    town.run(31)
    until_nobody_is_astray(town)
    check_all_get_all(town, *[(100 + number, [*LEVELS][number % 3]) for number in range(0, 100, 9)])


@every_service
@pytest.mark.parametrize("how", ["crash", pytest.param("leave", marks=pytest.mark.slow)])
def test_those_who_stay_are_a_network_when_most_go_at_once(membership: MembershipName, how: str) -> None:
    town = settle(town_of(membership), LEVELS, 20)
    (town.crash if how == "crash" else town.leave)(*[peer for peer in town.up if peer % 5 in (1, 2, 4)])
    until_nobody_is_astray(town)
    check_everybody_is_heard(town)


@pytest.mark.slow
@every_service
def test_a_fifth_of_all_comes_and_goes_every_minute(membership: MembershipName) -> None:
    """Of eighty, one every four seconds, for nearly three minutes, each away for ten. Others publish anywhere, and are
    members there for a minute or so."""
    town = settle(town_of(membership), {topic: 2 * size for topic, size in LEVELS.items()}, 30)
    steady = [peer for peer in town.up if peer % 2]
    events = []
    for turn, peer in enumerate([peer for peer in town.up if not peer % 2]):
        town.crash(peer) if turn % 3 else town.leave(peer)
        town.after(10, partial(town.restart, peer))
        events += [town.publish(steady[turn * 7 % len(steady)], [*LEVELS][turn % 3])]
        town.run(4)
    town.run(12)
    missing = [(peer, event) for peer, event in town.missing(*events) if peer in steady]
    assert len(missing) <= 0.001 * len(events) * len(steady), missing
    until_nobody_is_astray(town, 240)
    check_everybody_is_heard(town)


# -- the checks ---------------------------------------------------------------------------------------------------


def blind(make: Callable[[Peer], Machine], me: Peer) -> Machine:
    """One that never finds anybody: what others tell it of members and links is all it knows."""
    node = make(me)
    assert isinstance(node, Stack)
    assert node.contacts is not None
    node.contacts.ask = lambda wanted, joining=False: None  # type: ignore[method-assign]
    if isinstance(node.members, DrawnMembers):
        node.members.on_drawn = lambda topic, lookup: None  # type: ignore[method-assign]
    return node


@every_service
def test_the_checks_would_notice_if_nobody_found_anybody(membership: MembershipName) -> None:
    town = town_of(membership)
    town.world.make = partial(blind, town.world.make)
    settle(town, LEVELS, 20)
    assert len(astray(town.world)) > 20
    with pytest.raises(AssertionError):
        check_everybody_is_heard(town)
