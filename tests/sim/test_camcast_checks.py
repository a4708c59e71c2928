"""No process without a live link upwards ever stops looking for one, and no table of links is too large."""

from collections.abc import Callable

import pytest

from gossamer.core.machine import Subscribe
from gossamer.core.stack import Stack
from gossamer.protocols.camcast.finding import Widen
from gossamer.protocols.camcast.frontier import Frontier
from gossamer.protocols.camcast.links import Links
from gossamer.sim.camcast_checks import astray, touched
from gossamer.sim.checkers import AT_ONCE, CheckFailed, Promises, in_turn
from sim.towns import town_of, without


@pytest.mark.parametrize(
    ("what", "overfill"),
    [
        ("outlets", lambda links, node: node.outside.outlets.update(dict.fromkeys(map(str, range(101))))),
        ("links to .", lambda links, node: links.finding.table(".d", ".").entries.extend(range(100, 200))),
        ("frontiers", lambda links, node: links.frontiers.update({"a": Frontier((), node.hierarchy)})),
    ],
)
def test_a_checker_stops_a_town_at_links_that_are_too_many(
    what: str, overfill: Callable[[Links, Stack], object]
) -> None:
    town = town_of(size=2)
    town.run(3)
    node = town.node(1)
    assert isinstance(node.links, Links)
    promises = Promises(town.world)
    promises.look(1)
    overfill(node.links, node)
    with pytest.raises(CheckFailed, match=what):
        promises.look(1)


def test_a_step_has_few_of_very_many_frontiers_looked_at() -> None:
    town = town_of()
    town.start(0, *(f".t{number}" for number in range(100)))
    links = town.node(0).links
    assert isinstance(links, Links)
    looked = [*touched(links, Subscribe(".t77"), 3)]
    assert ".t77" in looked
    assert len(looked) <= AT_ONCE + 2


def test_a_checker_looks_at_the_links_of_who_publishes_from_outside() -> None:
    town = town_of()
    town.start(0, ".d")
    town.start(1, ".x")
    town.run(3)
    town.publish(1, ".y", join=False)
    links = town.node(1).links
    assert isinstance(links, Links)
    links.frontiers[".y"].search = None  # it looks no more, and nobody is there
    with pytest.raises(CheckFailed, match=r"no live link upwards from \.y"):
        town.run(10)


def test_who_was_never_asked_whether_it_is_there_is_no_live_link() -> None:
    town = town_of()
    town.start(0, ".")
    town.start(1, ".d")
    town.run(5)
    links = town.node(1).links
    assert isinstance(links, Links)
    table = links.frontiers[".d"].tables["."]
    table.confirmed.clear()
    table.checking = False
    with pytest.raises(CheckFailed, match="no live link upwards"):
        town.run(10)


def test_of_many_topics_each_has_its_turn_after_every_few_steps() -> None:
    topics = tuple(f".t{number}" for number in range(50))
    looked = [{*in_turn(topics, step)} for step in range(60)]
    assert {*topics} == {topic for some in looked for topic in some}
    assert max(map(len, looked)) == AT_ONCE
    assert in_turn(topics[:AT_ONCE], 7) == topics[:AT_ONCE]


def test_a_checker_stops_a_town_when_a_process_without_links_looks_for_none() -> None:
    town = town_of(size=2)
    without(town.node(1), Widen)
    with pytest.raises(CheckFailed, match="lost a timer that Finding lives by: Widen"):
        town.run(10)


def test_a_checker_says_whose_links_lead_astray() -> None:
    town = town_of()
    for peer, topic in enumerate((".", ".d", ".d.g", ".d.g")):
        town.start(peer, topic)
    assert town.seconds_until(lambda: not astray(town.world), 10) < 10
    town.crash(1)
    assert {(each.peer, each.should, each.strangers) for each in astray(town.world)} == {
        (2, (".",), (1,)),
        (3, (".",), (1,)),
    }
