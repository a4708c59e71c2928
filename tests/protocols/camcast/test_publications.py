"""Publishing and subscribing on communities that come and go."""

from collections.abc import Sequence

import pytest

from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import SECOND_US, Publish, Send
from gossamer.core.publications import IDLE_US, PUBLISHED_MAX
from gossamer.protocols.camcast.messages import Carry
from gossamer.protocols.camcast.params import Params
from gossamer.sim.town import Town
from protocols.towns import CHAIN, links, populated, scamp


@pytest.mark.parametrize("seed", [1, 2])
def test_live_parameters_deliver_every_event_to_everyone_and_to_nobody_else(seed: int) -> None:
    town = populated({".": 3, ".d": 7, ".d.g": 20}, seed, params=Params.live())
    for topic in (".", ".d", ".d.g"):
        for publisher in town.members(topic)[:3]:
            event = town.publish(publisher, topic)
            town.run(1)
            assert town.missing(event) == []
            assert len(town.delivered(event)) == len(town.readers(topic))


def test_an_event_published_before_the_node_has_joined_waits_and_is_delivered_then() -> None:
    town = populated({".": 3, ".d": 6}, params=Params.live())
    town.start(50)
    event = town.publish(50, ".d")
    assert town.delivered(event) == []
    assert "Carry" not in town.chronicle.sends
    town.run(5)
    assert town.missing(event) == []
    assert 50 not in town.delivered(event)


@pytest.mark.parametrize("join", [True, False])
def test_an_event_that_waits_goes_to_the_same_peers_again_when_it_is_published_again(join: bool) -> None:
    """Nobody acknowledged it: the copies may have been lost."""
    town = populated({".d": 4}, params=Params.live())
    town.start(50, ".a")
    town.publish(50, ".d.first", join=join)
    town.run(20)
    event = Event(EventId(50, 0, 9), ".d.new")
    node, carries = town.node(50), []
    for _ in range(2):
        effects = node.step(Publish(event, join), town.world.now_us)
        carries.append(
            {peer for each in effects if type(each) is Send for peer in each.peers if type(each.message) is Carry}
        )
        assert node.waiting == 1
    assert carries[0] == carries[1] != set()


def test_a_publisher_that_stops_right_after_publishing_still_gets_its_event_out_and_then_leaves() -> None:
    town = populated({".": 3, ".d": 6}, params=Params.live())
    town.start(50)
    event = town.publish(50, ".d")
    town.stop_publishing(50, ".d")
    town.run(10)
    assert town.missing(event) == []
    assert not town.node(50).interest.takes_part(".d")
    assert not any(50 in scamp(town, peer).about(".d") for peer in town.members(".d"))


def offered_again(town: Town, peer: Peer, events: Sequence[EventId], seconds: int) -> None:
    """As a live node does with what nobody acknowledges."""
    for _ in range(seconds // 30):
        for event in events:
            town.world.give(peer, Publish(town.fate(event).event))
        town.run(30)


def test_what_nobody_takes_is_offered_again_and_again_and_keeps_no_community() -> None:
    town = populated({".z": 3}, params=Params.live())
    events = [town.publish(0, f".q.{number}") for number in range(PUBLISHED_MAX + 20)]
    town.run(5)
    town.stop_publishing(0, ".q.7")
    offered_again(town, 0, events[7:8], 60)
    assert ".q.7" not in town.node(0).interest.mine()
    offered_again(town, 0, events, 270)
    assert town.node(0).interest.mine() == (".z",)
    town.start(50, ".q")
    town.run(3)
    offered_again(town, 0, events, 60)
    assert {event for event in events if 50 in town.delivered(event)} == {*events}


def test_a_topic_published_on_while_it_is_being_left_is_left_later() -> None:
    town = populated({".z": 3}, params=Params.live())
    town.start(50)
    town.publish(50, ".q")
    town.stop_publishing(50, ".q")
    town.publish(50, ".q")
    town.run(30)
    assert town.node(50).interest.mine() == (".q",)
    town.run(2 * IDLE_US / SECOND_US)
    assert town.node(50).interest.mine() == ()


def test_a_publisher_may_crash_after_one_hand_over() -> None:
    town = populated({".": 3, ".d": 6}, params=Params.live())
    publisher = town.members(".d")[0]
    event = town.publish(publisher, ".d")
    town.crash(publisher)
    town.run(2)
    assert town.missing(event) == []


def test_unsubscribing_stops_deliveries_and_soon_every_message() -> None:
    town = populated({".": 4, ".d": 8}, params=Params.live())
    gone = town.members(".")[0]
    town.unsubscribe(gone, ".")
    town.run(20)
    event = town.publish(town.members(".d")[0], ".d")
    town.run(1)
    assert gone not in town.delivered(event)
    assert town.missing(event) == []


def test_unrelated_subscriptions_live_side_by_side_in_one_node() -> None:
    town = populated({".a": 6, ".b": 6}, params=Params.live())
    town.start(50, ".a", ".b")
    town.run(10)
    for topic in (".a", ".b"):
        event = town.publish(town.members(topic)[0], topic)
        town.run(1)
        assert 50 in town.readers(topic)
        assert town.missing(event) == []
    town.unsubscribe(50, ".a")
    town.run(10)
    events = {topic: town.publish(town.members(topic)[0], topic) for topic in (".a", ".b")}
    town.run(1)
    assert 50 not in town.delivered(events[".a"])
    assert 50 in town.delivered(events[".b"])


def test_how_surely_an_event_climbs_can_be_set_per_event() -> None:
    town = populated({".": 3, ".d": 6}, params=Params.live())
    publisher = town.members(".d")[0]
    stays, climbs = town.publish(publisher, ".d", climb=0.0), town.publish(publisher, ".d", climb=1.0)
    town.run(1)
    assert {*town.delivered(stays)} == {*town.members(".d")}
    assert {*town.delivered(climbs)} == {*town.members(".d"), *town.members(".")}


def test_a_quiet_network_costs_a_bounded_number_of_messages() -> None:
    town = populated(CHAIN, params=Params.live())
    before = dict(town.chronicle.sends)
    town.run(60)
    spent = {name: (count - before.get(name, 0)) / 26 / 60 for name, count in town.chronicle.sends.items()}
    assert sum(spent.values()) < 15, spent
    assert spent["ReqContact"] < 1
    assert town.world.now_us == 75 * SECOND_US


def test_joining_a_super_topic_later_adds_it_to_what_a_node_reads() -> None:
    town = populated(CHAIN, params=Params.live())
    peer = town.members(".d.g")[0]
    town.subscribe(peer, ".")
    town.run(10)
    event = town.publish(town.members(".")[0], ".")
    town.run(1)
    assert peer in town.delivered(event)
    assert all(peer not in table for table in links(town, peer).tables(".d.g"))


def test_an_event_published_again_is_spread_again_and_delivered_to_nobody_twice() -> None:
    town = populated({".": 3, ".d": 6}, params=Params.live())
    publisher = town.members(".d")[0]
    others = [peer for peer in town.world.up if peer != publisher]
    town.split([publisher], others)
    event = town.publish(publisher, ".d")
    town.run(1)
    assert town.delivered(event) == [publisher]
    town.heal()
    town.world.give(publisher, Publish(Event(event, ".d", b"news")))
    town.run(1)
    assert town.missing(event) == []


def test_an_event_published_again_goes_to_other_members_where_it_goes_to_few() -> None:
    town = populated({".": 40}, params=Params(fanout_extra=-1.0))
    event = Event(EventId(3, 0, 1), ".", b"news")
    told = []
    for _ in range(4):
        town.run(0.1)
        effects = town.world.give(3, Publish(event))
        told.append([effect.peers for effect in effects if type(effect) is Send])
    assert all(len(each) == 1 and len(each[0]) == 2 for each in told)
    assert len({*map(str, told)}) > 1
