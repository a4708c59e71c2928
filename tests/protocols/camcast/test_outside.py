"""Publishing without joining: events are handed to a few members, and the publisher stays outside."""

from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import (
    SECOND_US,
    Effect,
    Fired,
    Given,
    Note,
    PeerDown,
    Publish,
    Received,
    Send,
    SetTimer,
    Started,
    StopPublishing,
    Subscribe,
)
from gossamer.core.publications import IDLE_US, PENDING_MAX, PUBLISHED_MAX
from gossamer.core.topics import Hierarchy, Topic
from gossamer.protocols.camcast.finding import Widen
from gossamer.protocols.camcast.links import Links
from gossamer.protocols.camcast.messages import Carry
from gossamer.protocols.camcast.node import camcast_node
from gossamer.protocols.camcast.outside import HandToMembers
from gossamer.protocols.camcast.params import Params
from gossamer.protocols.search.layer import AskOn
from gossamer.protocols.search.messages import AnsContact, ReqContact
from gossamer.sim.town import Town
from protocols.towns import CHAIN, camcast, layer, links, populated, scamp

OUTSIDER: Peer = 50


def publish(town: Town, topic: Topic, peer: Peer = OUTSIDER) -> EventId:
    return town.publish(peer, topic, join=False)


def is_outside(town: Town, peer: Peer = OUTSIDER) -> bool:
    node = town.node(peer)
    held = any(peer in scamp(town, other).about(t) for other in town.world.up for t in scamp(town, other).views)
    return not node.interest.mine() and not scamp(town, peer).views and not held


def test_events_of_a_publisher_that_stays_outside_reach_every_reader_and_nobody_else() -> None:
    town = populated(CHAIN, params=Params.live())
    town.start(OUTSIDER)
    for topic in (".d.g", ".d", "."):
        event = publish(town, topic)
        town.run(5)
        assert town.missing(event) == []
        assert len(town.delivered(event)) == len(town.readers(topic))
    town.run(30)
    assert is_outside(town)


def test_members_found_once_serve_the_next_publications_without_a_search() -> None:
    town = populated(CHAIN, params=Params.live())
    town.start(OUTSIDER)
    publish(town, ".d.g")
    town.run(5)
    effects = town.node(OUTSIDER).step(Publish(Event(EventId(OUTSIDER, 0, 99), ".d.g"), join=False), town.world.now_us)
    (send,) = (effect for effect in effects if type(effect) is Send)
    assert type(send.message) is Carry
    assert len(send.peers) == 3
    assert {*send.peers} <= {*town.members(".d.g")}


def test_where_nobody_reads_the_topic_itself_the_event_goes_to_the_nearest_that_includes_it() -> None:
    town = populated({".": 4, ".d": 5}, params=Params.live())
    town.start(OUTSIDER)
    event = publish(town, ".d.g.deep")
    town.run(8)
    assert town.missing(event) == []


def test_where_nobody_reads_a_topic_with_two_parents_the_event_goes_to_both() -> None:
    town = populated({".a": 3, ".x": 3}, params=Params.live(), hierarchy=Hierarchy({".a.b": [".x"]}))
    town.start(OUTSIDER)
    publish(town, ".a.b")
    town.run(8)
    event = publish(town, ".a.b")
    town.run(1)
    assert town.missing(event) == []


def test_a_publication_waits_until_a_reader_appears() -> None:
    town = camcast(1, params=Params.live())
    town.start(1, ".x")
    town.start(OUTSIDER)
    event = publish(town, ".d")
    town.run(20)
    assert town.node(OUTSIDER).waiting == 1
    town.start(2, ".d")
    town.run(40)
    assert town.delivered(event) == [2]
    assert town.node(OUTSIDER).waiting == 0


def test_members_that_go_are_replaced() -> None:
    town = populated({".": 2, ".d": 10}, params=Params.live())
    town.start(OUTSIDER)
    publish(town, ".d")
    town.run(5)
    for peer in links(town, OUTSIDER).tables(".d")[0]:
        town.crash(peer)
        town.world.give(OUTSIDER, PeerDown(peer))
    event = publish(town, ".d")
    town.run(10)
    assert town.missing(event) == []
    assert is_outside(town)


class Outsider:
    """A publisher that may not read, taken step by step."""

    def __init__(self) -> None:
        self.node = camcast_node(1, seed=1)
        self.now_us = 0
        self.timers: list[SetTimer] = []
        self.take(Started((2, 3)))

    def take(self, given: Given) -> list[Effect]:
        self.now_us += 1
        effects = self.node.step(given, self.now_us)
        self.timers += [effect for effect in effects if type(effect) is SetTimer]
        return effects

    def publish(self, sequence: int = 1, topic: Topic = ".d") -> list[Effect]:
        return self.take(Publish(Event(EventId(1, 0, sequence), topic), join=False))


def handed(effects: list[Effect]) -> list[tuple[Peer, ...]]:
    return [effect.peers for effect in effects if type(effect) is Send and type(effect.message) is Carry]


def notes(effects: list[Effect]) -> list[str]:
    return [effect.kind for effect in effects if type(effect) is Note]


def test_an_event_goes_to_three_of_those_named_or_to_all_if_fewer_are() -> None:
    one = Outsider()
    first = one.publish()
    assert notes(first) == ["publish"]
    assert [type(effect.message) for effect in first if type(effect) is Send] == [ReqContact]
    assert handed(one.take(Received(2, AnsContact(".d", (7, 8))))) == [(7, 8)]
    one.take(Received(2, AnsContact(".d", (9, 10))))
    ((*_,),) = handed(one.publish(2))
    assert one.node.waiting == 0


def test_an_event_published_again_is_handed_over_again_and_noted_once() -> None:
    one = Outsider()
    assert notes(one.publish()) == ["publish"]
    assert one.publish() == []
    one.take(Received(2, AnsContact(".d", (7, 8, 9, 10))))
    again = [one.publish() for _ in range(8)]
    assert all(len(peers) == 3 for effects in again for peers in handed(effects))
    assert len({frozenset(peers) for effects in again for peers in handed(effects)}) > 1
    assert not any(map(notes, again))


def test_a_publisher_that_stops_forgets_the_members_once_its_events_are_out() -> None:
    one = Outsider()
    one.publish()
    one.take(StopPublishing(".d"))
    assert handed(one.take(Received(2, AnsContact(".d", (7, 8))))) == [(7, 8)]
    assert layer(one.node, HandToMembers).outlets == {}
    assert layer(one.node, Links).frontiers == {}


def test_a_publisher_that_subscribes_later_is_a_member_like_any_other() -> None:
    one = Outsider()
    one.publish()
    one.take(Subscribe(".d"))
    assert layer(one.node, HandToMembers).outlets == {}
    assert layer(one.node, Links).frontiers[".d"].above == (".",)
    one.take(StopPublishing(".d"))
    assert one.node.interest.takes_part(".d")


def test_outlets_are_bounded_and_none_is_closed_while_an_event_waits_for_it() -> None:
    one = Outsider()
    for number in range(PUBLISHED_MAX + 5):
        one.publish(number, f".n{number}")
    outlets = layer(one.node, HandToMembers).outlets
    assert outlets.keys() == layer(one.node, Links).frontiers.keys()
    assert len(outlets) == PUBLISHED_MAX + 5
    one.now_us += SECOND_US
    one.take(Fired(AskOn()))  # not all of them were asked for at once
    for number in range(PUBLISHED_MAX + 5):
        assert handed(one.take(Received(2, AnsContact(f".n{number}", (7,))))) == [(7,)]
    one.publish(1000, ".n1000")
    assert len(outlets) == PUBLISHED_MAX
    assert ".n0" not in outlets
    for timer in tuple(one.timers):  # those of closed outlets too
        one.take(Fired(timer.timer))


def test_outlets_that_nothing_is_published_on_any_more_are_closed() -> None:
    town = populated({".d": 5}, params=Params.live())
    town.start(OUTSIDER)
    for number in range(20):
        publish(town, f".d.{number}")
    town.run(5)
    assert town.missing() == []
    assert len(links(town, OUTSIDER).frontiers) == 20
    town.run(2 * IDLE_US / SECOND_US)
    assert links(town, OUTSIDER).frontiers == {}
    assert layer(town.node(OUTSIDER), HandToMembers).outlets == {}


def test_an_event_that_waits_is_not_forgotten_when_its_publisher_is_a_member_for_a_moment() -> None:
    """It had an outlet, then a place in the community, then neither."""
    town = populated({".d": 5}, params=Params.live())
    town.start(OUTSIDER)
    event = publish(town, ".d")
    town.subscribe(OUTSIDER, ".d")
    town.unsubscribe(OUTSIDER, ".d")
    assert town.node(OUTSIDER).waiting == 1
    town.run(10)
    assert town.missing(event) == []
    assert town.node(OUTSIDER).waiting == 0


def test_when_too_many_events_wait_one_that_is_dropped_takes_nothing_with_it() -> None:
    one = Outsider()
    for number in range(PENDING_MAX):
        one.publish(number)
    dropped = one.publish(PENDING_MAX, ".n")
    assert notes(dropped) == ["drop"]
    assert one.node.waiting == PENDING_MAX
    opened = one.publish(PENDING_MAX + 1, ".n")
    assert notes(opened) == ["drop"]


def test_a_search_for_members_widens_and_never_ends_while_an_event_waits() -> None:
    one = Outsider()
    one.publish(topic=".d.g")
    asked = []
    for _ in range(6):
        widen = next(each for each in reversed(one.timers) if type(each.timer) is Widen)
        effects = one.take(Fired(widen.timer))
        asked += [e.message.wanted for e in effects if type(e) is Send and type(e.message) is ReqContact]
    assert asked == [(".d.g", ".d", ".")] * 6
