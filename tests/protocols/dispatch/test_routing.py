"""Events on a tree: exactly to those who want them, exactly once, by way of those between."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.core.errors import Misuse
from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId
from gossamer.core.interest import Interest
from gossamer.core.machine import Deliver, Note, Publish, Received, Send, Subscribe
from gossamer.core.patterns import Pattern
from gossamer.core.roles import Ground
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy
from gossamer.protocols.dispatch.layer import ROUTE_MAX, Dispatch
from gossamer.protocols.dispatch.messages import Route
from gossamer.protocols.dispatch.node import static_dispatcher
from gossamer.protocols.dispatch.params import Params
from gossamer.protocols.dispatch.static import breadth_first
from gossamer.protocols.dispatch.table import Table
from gossamer.protocols.recovery.params import Params as Recovery
from protocols.dispatch.networks import ByHand, Dispatchers, linked

LINE = [(0, 1), (1, 2), (2, 3), (3, 4)]
STAR = [(0, peer) for peer in range(1, 6)]

PATTERN = st.builds(
    Pattern,
    st.sampled_from([".", ".a", ".a.b", ".c"]),
    st.sampled_from(["", "x > 1", "x > 3", "x < 2 or y", "y", "x in (1, 3, 5)"]),
)


@settings(max_examples=50)
@given(
    size=st.integers(2, 20),
    degree=st.integers(2, 4),
    wants=st.lists(st.lists(PATTERN, max_size=3), min_size=20, max_size=20),
    topic=st.sampled_from([".", ".a", ".a.b", ".c", ".a.b.d"]),
    x=st.integers(0, 6),
    y=st.booleans(),
)
def test_an_event_reaches_exactly_those_who_want_it_once_and_goes_no_way_in_vain(
    size: int, degree: int, wants: list[list[Pattern]], topic: str, x: int, y: bool
) -> None:
    tree = breadth_first(size, degree)
    subscriptions = {peer: wants[peer] for peer in range(size)}
    nodes = {peer: static_dispatcher(peer, 1, tree, subscriptions) for peer in tree}
    event = Event(EventId(0, 0, 1), topic, attributes={"x": x, "y": y})
    delivered, hops = [], []
    ahead: list[tuple[int, Publish | Received]] = [(0, Publish(event))]
    for peer, what in ahead:
        for effect in nodes[peer].step(what, 0):
            if type(effect) is Deliver:
                delivered.append(peer)
            elif type(effect) is Send:
                ahead += [(target, Received(peer, effect.message)) for target in effect.peers]
                hops += [(peer, target) for target in effect.peers]
    wanted = [peer for peer in tree if nodes[peer].interest.matches(event)]
    assert sorted(delivered) == wanted
    assert len(hops) == len(set(hops))
    on_the_way = {peer for each in wanted for peer in way_up(each, degree)}
    assert sorted(target for _, target in hops) == sorted(on_the_way - {0})


def way_up(peer: int, degree: int) -> list[int]:
    """From a node to node 0, in a tree filled row by row."""
    way = [peer]
    while way[-1]:
        way.append(0 if way[-1] <= degree else (way[-1] - 2) // (degree - 1))
    return way


def test_those_between_are_noted_as_relays_and_stand_in_the_route() -> None:
    net = linked(LINE, 5)
    net.subscribe(4, ".a", "x > 1")
    net.run(1)
    event = net.publish(0, ".a", {"x": 2})
    net.run(1)
    assert net.delivered(event) == [4]
    assert sorted(net.chronicle.relays[event]) == [1, 2, 3]
    again = net.node(3).step(Received(2, Route(Carried(copy(event), 3, (0, 1, 2)))), 10**9)
    assert [effect.kind for effect in again if type(effect) is Note] == ["duplicate"]
    assert len(again) == 1  # and it goes nowhere
    effects = net.node(3).step(Received(2, Route(Carried(copy(EventId(0, 0, 99)), 3, (0, 1, 2)))), 10**9)
    (sent,) = [effect for effect in effects if type(effect) is Send]
    assert sent.peers == (4,)
    assert isinstance(sent.message, Route)
    assert (sent.message.carried.hops, sent.message.carried.route) == (4, (0, 1, 2, 3))


def copy(event_id: EventId) -> Event:
    return Event(event_id, ".a", attributes={"x": 2})


def test_a_long_route_keeps_its_newest_part() -> None:
    net = linked(LINE, 5)
    net.subscribe(4, ".a")
    net.run(1)
    long = tuple(range(100, 100 + ROUTE_MAX))
    effects = net.node(3).step(Received(2, Route(Carried(copy(EventId(0, 0, 99)), 40, long))), 10**9)
    (sent,) = [effect for effect in effects if type(effect) is Send]
    assert isinstance(sent.message, Route)
    assert sent.message.carried.route == (*long[1:], 3)


def test_nothing_matching_goes_nowhere() -> None:
    net = linked(STAR, 6)
    net.subscribe(1, ".a", "x > 1")
    net.subscribe(2, ".b")
    net.run(1)
    event = net.publish(3, ".a", {"x": 1})
    net.run(1)
    assert net.routes.taken.get(event, []) == []
    assert net.delivered(event) == []


def test_a_publication_waits_for_the_tree() -> None:
    net = linked(LINE, 5)
    net.subscribe(4, ".a")
    net.run(1)
    overlay = net.dispatch(0).overlay
    assert isinstance(overlay, ByHand)
    overlay.found = False
    event = net.publish(0, ".a")
    net.run(1)
    assert net.delivered(event) == []
    assert net.node(0).waiting == 1
    overlay.found = True
    net.dispatch(0).links_changed(".")
    net.world.give(0, Subscribe(".x"))
    net.run(1)
    assert net.delivered(event) == [4]
    assert net.node(0).waiting == 0


def test_an_event_published_again_goes_out_again_and_is_delivered_once() -> None:
    net = linked(LINE, 5)
    net.subscribe(4, ".a")
    net.run(1)
    event = Event(EventId(0, 0, 1), ".a")
    for _ in range(2):
        net.world.give(0, Publish(event))
        net.run(1)
    assert net.delivered(event.id) == [4]
    assert net.routes.taken[event.id].count((0, 1)) == 2


def test_when_a_link_vanishes_and_another_appears_events_take_the_new_way() -> None:
    net = linked(LINE, 5)
    net.subscribe(4, ".a")
    net.run(1)
    net.link(1, 2, there=False)
    lost = net.publish(0, ".a")
    net.run(0.2)
    assert net.delivered(lost) == []
    net.link(0, 4)
    net.run(3)
    event = net.publish(0, ".a")
    net.run(1)
    assert net.delivered(event) == [4]
    assert net.routes.taken[event] == [(0, 4)]


# What recovery asks


def grounds(params: Params | None = None) -> tuple[Dispatchers, Dispatch]:
    net = linked(STAR, 6) if params is None else linked(STAR, 6, params=params)
    for peer, where in ((1, "x > 1"), (2, "x > 2"), (3, "y"), (4, "")):
        net.subscribe(peer, ".a", where)
    net.subscribe(0, ".a", "x > 2")
    net.subscribe(0, ".a.b")
    net.subscribe(0, ".a.b", "y")
    net.run(1)
    return net, net.dispatch(0)


def patterns(*wheres: str) -> list[Pattern]:
    return [Pattern(".a", where) for where in wheres]


def test_an_event_is_counted_by_every_pattern_it_matches_whoever_asked() -> None:
    _, ground = grounds()
    checked: Ground = ground
    assert checked.tree
    assert sorted(ground.patterns(".a", {"x": 3, "y": False})) == patterns("", "x > 1", "x > 2")
    assert sorted(ground.patterns(".a.b", {"x": 2, "y": True})) == sorted(
        [*patterns("", "x > 1", "y"), Pattern(".a.b"), Pattern(".a.b", "y")]
    )
    assert ground.patterns(".c", {"x": 3}) == ()


def test_patterns_are_sorted_by_signature_and_local_ones_do_not_include_each_other() -> None:
    _, ground = grounds()
    assert sorted(ground.local()) == [Pattern(".a", "x > 2"), Pattern(".a.b")]
    for told in (ground.local(), ground.known()):
        assert [*told] == sorted(told, key=lambda pattern: pattern.signature)
    assert sorted(ground.known()) == sorted(
        [*patterns("", "x > 1", "x > 2", "y"), Pattern(".a.b"), Pattern(".a.b", "y")]
    )


def test_a_pattern_is_wanted_where_one_that_includes_it_is() -> None:
    net, ground = grounds()
    assert ground.wants(Pattern(".a", "x > 2"))
    net.subscribe(4, ".a", "x > 5")
    net.run(1)
    assert ground.wants(Pattern(".a", "x > 5"))
    assert ground.wants(Pattern(".a.b", "z"))
    assert not ground.wants(Pattern(".a", "x > 1"))
    assert not ground.wants(Pattern("."))


def test_a_filter_nobody_told_of_is_not_read_unless_there_may_be_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading one takes far longer than sending it, and everybody would pass it on."""
    made_up = Pattern(".a", "x > 7")
    covering, plain = Table(Interest(Hierarchy()), hidden=True), Table(Interest(Hierarchy()))
    for table in (covering, plain):
        table.interest.subscribe(Pattern(".a", "x > 2"))
    assert covering.wants(made_up)
    monkeypatch.setattr("gossamer.core.covering.text_covers", None)
    monkeypatch.setattr("gossamer.protocols.dispatch.table.filter_of", None)
    assert not plain.wants(made_up)
    plain.interest.subscribe(Pattern("."))
    plain.interest_changed()
    assert plain.wants(made_up)


def test_gossip_of_a_pattern_goes_to_neighbours_that_hold_it_or_one_that_includes_it() -> None:
    net, ground = grounds()
    assert ground.towards(Pattern(".a", "x > 2")) == (1, 2, 4)
    assert ground.towards(Pattern(".a", "x > 1")) == (1, 4)
    assert ground.towards(Pattern(".a")) == (4,)
    net.unsubscribe(4, ".a")
    net.run(1)
    assert ground.towards(Pattern(".a")) == ()


def test_covering_and_pulls_exclude_each_other() -> None:
    def made(method: str) -> Stack:
        recovery = Recovery(method=method)  # type: ignore[arg-type]
        return static_dispatcher(0, 1, breadth_first(3, 2), {}, recovery, Params(covering=True))

    with pytest.raises(Misuse, match="covering"):
        made("combined")
    assert made("push").recover is not None


def test_a_given_graph_that_is_no_tree_is_refused() -> None:
    with pytest.raises(Misuse, match="circle"):
        static_dispatcher(0, 1, {0: [1, 2], 1: [0, 2], 2: [0, 1]}, {})


def test_given_tables_need_no_message() -> None:
    tree = breadth_first(10, 3)
    subscriptions = {peer: [Pattern(".a", f"p{peer}")] for peer in tree}
    for peer in tree:
        node = static_dispatcher(peer, 1, tree, subscriptions)
        assert [type(effect) for effect in node.step(Subscribe(".a", f"p{peer}"), 0)] == [Note]
        assert isinstance(node.spread, Dispatch)
        assert len(node.spread.known()) == 10
