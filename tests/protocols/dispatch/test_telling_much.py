"""Much to tell takes a while, and there may be too much: meanwhile no event is missed."""

import pytest
from benchmarks.neighbours import ME, OTHER, Neighbours

from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import SECOND_US, Message, Publish, Subscribe
from gossamer.core.patterns import Pattern
from gossamer.parts.tagging import Tagger
from gossamer.protocols.dispatch.messages import Route
from gossamer.protocols.dispatch.params import Params
from gossamer.protocols.dispatch.telling import STAND_INS_MAX
from gossamer.sim.network import Latency, Network
from protocols.dispatch.networks import Dispatchers, check_tables, linked

FILTERS = 400


def asks(net: Dispatchers, topics: int) -> None:
    """The first of three dispatchers in a line subscribes to very many filters at once."""
    for number in range(FILTERS):
        net.subscribe(0, f".a{number % topics}", f"x == {number}")


@pytest.mark.parametrize("topics", [1, STAND_INS_MAX, STAND_INS_MAX + 1])
def test_what_is_not_told_yet_is_asked_for_by_its_topic_until_it_is_told(topics: int) -> None:
    net = linked([(0, 1), (1, 2)], 3)
    net.subscribe(2, ".b")
    net.run(1)
    asks(net, topics)
    net.run(0.1)
    last = FILTERS - 1
    assert Pattern(f".a{last % topics}", f"x == {last}") not in net.table(2)[1]
    wanted, other = net.publish(2, f".a{last % topics}", {"x": last}), net.publish(2, ".c", {"x": last})
    net.run(0.2)
    assert net.delivered(wanted) == [0]
    assert (other in net.routes.taken) == (topics > STAND_INS_MAX)  # of many topics, everything
    net.run(3)
    check_tables(net)
    assert not net.dispatch(0).subscriptions.instead


def test_a_few_are_told_without_asking_for_more() -> None:
    net = linked([(0, 1)], 2)
    for number in range(200):
        net.subscribe(0, ".a", f"x == {number}")
        net.run(0.001)
        assert Pattern(".a", "true") not in net.table(1)[0]
    net.run(1)
    check_tables(net)


class Losing(Network):
    """The second and the third event do not pass."""

    def transit(self, sender: Peer, target: Peer, message: Message) -> list[int]:
        lost = type(message) is Route and message.carried.event.id.sequence in (2, 3)
        return [] if lost else super().transit(sender, target, message)


def test_what_is_lost_meanwhile_is_found_again() -> None:
    near, tagger = Neighbours("dispatch", Losing(1, Latency(median_us=10_000))), Tagger()
    for number in range(2_000):
        near.world.give(ME, Subscribe(".a", f"x == {number}"))
    near.run(0.1)
    for sequence in range(1, 6):
        tags = tagger.tags(near.other.machine.patterns(".a", {"x": 1_999}), near.world.now_us)
        event = Event(EventId(OTHER, 0, sequence), ".a", attributes={"x": 1_999}, published_us=1, tags=tags)
        near.world.give(OTHER, Publish(event))
    near.run(0.3)  # before anybody says by chance what it has
    assert sorted(event.id.sequence for event in near.me.delivered) == [1, 2, 3, 4, 5]
    assert near.me.machine.spread.subscriptions.instead  # type: ignore[union-attr]


def test_too_much_is_told_again_only_when_it_is_well_below_the_bound() -> None:
    net = linked([(0, 1)], 2, params=Params(patterns_max=40, linger_us=SECOND_US))
    for number in range(41):
        net.subscribe(0, ".a", f"x == {number}")
    net.run(1)
    before = net.chronicle.sends["Tell"]
    for _ in range(5):
        net.unsubscribe(0, ".a", "x == 40")
        net.run(1)
        assert [*net.table(1)[0]] == [Pattern(".", "true")]
        net.subscribe(0, ".a", "x == 40")
        net.run(1)
    assert net.chronicle.sends["Tell"] <= before + 6  # words of agreement
    for number in range(5):
        net.unsubscribe(0, ".a", f"x == {number}")
    net.run(1)
    check_tables(net)


def test_as_many_as_a_neighbour_holds_are_all_told_though_others_stand_in_for_them() -> None:
    many, long = STAND_INS_MAX + 8, "x" * 6_000
    net = linked([(0, 1)], 2, params=Params(patterns_max=many, linger_us=SECOND_US))
    for number in range(many):
        net.subscribe(0, f".a{number % STAND_INS_MAX}", f'x == "{number}{long}"')
    net.run(5)
    check_tables(net)
