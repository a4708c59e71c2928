"""CAMCAST on SCAMP, from random contacts only: how communities, and the links between them, find themselves."""

import pytest

from gossamer.core.ids import Peer
from gossamer.core.machine import Received, Tune
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy
from gossamer.protocols import CATALOGUE
from gossamer.protocols.camcast.links import Links
from gossamer.protocols.camcast.messages import ContactList
from gossamer.protocols.camcast.node import camcast_node
from gossamer.protocols.camcast.params import Params
from gossamer.sim.town import Town
from protocols.towns import CHAIN, components, layer, populated, scamp, tables, views


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_hierarchy_finds_itself_from_random_contacts(seed: int) -> None:
    """Every table fills with members of the direct super-topic, every community is one, every member counts it."""
    town = populated(CHAIN, seed, params=Params.camcast())
    for topic, above in ((".d", "."), (".d.g", ".d")):
        for (table,) in tables(town, topic).values():
            assert len(table) == 3
            assert {*table} <= {*town.members(above)}
    for topic, size in CHAIN.items():
        assert components(views(town, topic)) == 1
        assert {scamp(town, peer).size(topic) for peer in town.members(topic)} == {size}


def test_an_empty_community_is_skipped_until_somebody_joins_it() -> None:
    town = populated({".": 4, ".d.g": 8}, seconds=20, params=Params.live())
    assert all({*table} <= {*town.members(".")} and table for (table,) in tables(town, ".d.g").values())
    event = town.publish(town.members(".d.g")[0], ".d.g")
    town.run(1)
    assert town.missing(event) == []
    town.start(100, ".d")
    town.run(45)
    assert all(table == [100] for (table,) in tables(town, ".d.g").values())
    event = town.publish(town.members(".d.g")[0], ".d.g")
    town.run(1)
    assert town.missing(event) == []


def test_an_empty_community_with_two_parents_is_skipped_to_both() -> None:
    hierarchy = Hierarchy({".d": [".x"]})
    town = populated({".": 3, ".x": 3, ".d.g": 6}, seconds=20, hierarchy=hierarchy, params=Params.live())
    event = town.publish(town.members(".d.g")[0], ".d.g")
    town.run(1)
    assert len(town.readers(".d.g")) == 12
    assert town.missing(event) == []


def test_a_topic_with_two_parents_fills_a_table_for_each() -> None:
    hierarchy = Hierarchy({".a.b": [".x"]})
    town = populated({".a": 4, ".x": 4, ".a.b": 6}, hierarchy=hierarchy, params=Params.camcast())
    for one, other in tables(town, ".a.b").values():
        assert len(one) == len(other) == 3
        assert {*one} <= {*town.members(".a")}
        assert {*other} <= {*town.members(".x")}


def test_crashed_super_processes_are_replaced() -> None:
    town = populated({".": 12, ".d": 8}, params=Params.camcast(), told_of_failures=False)
    linked = [*dict.fromkeys(peer for (table,) in tables(town, ".d").values() for peer in table)]
    gone = linked[:6]
    for peer in gone:
        town.crash(peer)
    town.run(25)
    for (table,) in tables(town, ".d").values():
        assert len(table) == 3
        assert not {*table} & {*gone}


def test_a_link_that_left_its_community_without_going_down_is_replaced_too() -> None:
    town = populated({".": 8, ".d": 8}, params=Params.camcast())
    gone = tables(town, ".d")[town.members(".d")[0]][0][0]
    town.unsubscribe(gone, ".")
    town.run(25)
    assert not any(gone in table for (table,) in tables(town, ".d").values())


def test_rotation_changes_links_over_time_and_without_it_they_stay() -> None:
    changed = {}
    for rotation in (0.0, 0.5):
        town = populated({".": 12, ".d": 5}, params=Params(rotation=rotation, small=32))
        before = tables(town, ".d")
        town.run(30)
        changed[rotation] = sum({*before[peer][0]} != {*table} for peer, (table,) in tables(town, ".d").items())
        assert all(len(table) == 3 for (table,) in tables(town, ".d").values())
    assert changed[0.0] == 0
    assert changed[0.5] >= 3


class Silent:
    """A search that never finds anything."""

    uniform = False

    def ask(self, wanted: object, joining: bool = False) -> None:
        pass


def test_one_member_that_knows_the_way_up_makes_every_joiner_know_it() -> None:
    """Without any search for super-topics: only what rides along with membership messages."""

    def make(me: Peer) -> Stack:
        node = camcast_node(me, 1, params=Params.camcast())
        links = layer(node, Links)
        links.finding.contacts = Silent()
        return node

    town = Town(make, CATALOGUE["camcast"].spoken)
    for above in (500, 501, 502):
        town.start(above, ".")
    town.start(0, ".d")
    town.world.give(0, Received(500, ContactList(".d", ".", (500, 501, 502))))
    for peer in range(1, 40):
        town.start(peer, ".d")
        town.run(0.3)
    town.run(3)
    assert [len(table) for (table,) in tables(town, ".d").values()] == [3] * 40


def test_parameters_change_while_running() -> None:
    town = populated({".": 8, ".d": 6}, params=Params.camcast())
    for peer in town.members(".d"):
        town.world.give(peer, Tune(".d", Params(links=5, links_low=4, small=32)))
    town.run(15)
    assert all(len(table) == 5 for (table,) in tables(town, ".d").values())
    for peer in town.members(".d"):
        town.world.give(peer, Tune(".d", Params(links=2, small=32)))
    town.run(5)
    assert all(len(table) == 2 for (table,) in tables(town, ".d").values())


def test_a_network_whose_discovery_hides_its_topics_finds_itself_as_well() -> None:
    town = populated(CHAIN, params=Params.live(), spell=lambda topic: topic[::-1].upper())
    event = town.publish(town.members(".d.g")[0], ".d.g")
    town.run(1)
    assert town.missing(event) == []
