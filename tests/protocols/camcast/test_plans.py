"""Whom an event goes to is worked out once, and again as soon as anything but an event happened."""

from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Effect, Known, PeerDown, Publish, Send, Subscribe, Tune, Unsubscribe
from gossamer.core.topics import Topic
from gossamer.protocols.camcast.messages import Carry, ContactList
from gossamer.protocols.camcast.params import Params
from gossamer.protocols.scamp.messages import Forward, Gone, Kept
from protocols.member import LEASE, One

COUNT = iter(range(1, 1000))


def event(topic: Topic = ".", climb: float | None = None) -> Event:
    return Event(EventId(9, 0, next(COUNT)), topic, climb=climb)


def told(effects: list[Effect]) -> set[Peer]:
    return {
        peer for effect in effects if type(effect) is Send and type(effect.message) is Carry for peer in effect.peers
    }


def carried(one: One, topic: Topic = ".", climb: float | None = None) -> set[Peer]:
    """Whom the node tells when an event reaches it."""
    return told(one.hear(2, Carry(Carried(event(topic, climb), 1))))


def test_a_small_community_is_told_whole_without_a_draw() -> None:
    one = One(2, 3, 4)
    one.hear(5, Kept("."))
    one.node.key = None  # type: ignore[assignment, method-assign]
    assert carried(one) == carried(one) == {2, 3, 4, 5}


def test_who_joins_or_goes_between_two_events_is_told_or_not_told_at_once() -> None:
    one = One(2, 3)
    assert carried(one) == {2, 3}
    one.hear(4, Forward(".", 4, 1, 1, LEASE))
    assert carried(one) == {2, 3, 4}
    one.hear(3, Gone("."))
    assert carried(one) == {2, 4}
    one.take(PeerDown(4))
    assert carried(one) == {2}


def test_new_parameters_hold_from_the_next_event_on() -> None:
    one = One(*range(10, 30))
    assert len(carried(one)) == 20
    one.take(Tune(".", Params(fanout_extra=-1.0)))
    assert len(carried(one)) == 2
    one.take(Tune(".", Params.live()))
    assert len(carried(one)) == 20


def test_links_are_told_from_when_they_are_known() -> None:
    one = One(2)
    one.take(Subscribe(".d"))
    one.hear(7, Forward(".d", 7, 1, 1, LEASE))
    assert carried(one, ".d") == {2, 7}
    one.hear(7, ContactList(".d", ".", (40, 41)))
    assert carried(one, ".d") == {2, 7, 40, 41}
    assert carried(one, ".d", climb=0.0) == {2, 7}
    assert carried(one, ".d", climb=1.0) == {2, 7, 40, 41}
    one.take(Unsubscribe(".d"))
    assert carried(one, ".d") == {2}


def test_a_publication_that_waited_goes_to_whom_its_node_knows_then() -> None:
    """The node hears of its contact, is accepted and publishes in one step: nothing from before holds."""
    one = One()
    mine = Event(EventId(1, 0, 1), ".")
    assert told(one.take(Publish(mine))) == set()
    one.hear(2, Forward(".", 2, 1, 1, LEASE))
    view = one.scamp.views["."]
    one.scamp.take_place(".", view)
    assert told(one.node.out.take()) == {2}


def test_copies_of_known_events_and_events_change_nothing_that_was_worked_out() -> None:
    one = One(2, 3)
    carried(one)
    era = one.node.era
    carried(one)
    one.take(Known(2, (EventId(9, 0, 1),)))
    one.take(Publish(event()))
    assert one.node.era == era  # it was a member before
    one.take(Publish(event()))
    assert one.node.era == era
