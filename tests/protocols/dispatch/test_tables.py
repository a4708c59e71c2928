"""Tables against what somebody who sees everything works out: whatever is subscribed, linked, cut and lost."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.core.covering import covers
from gossamer.core.machine import SECOND_US, Unsubscribe
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy
from gossamer.protocols.dispatch.params import Params
from protocols.dispatch.networks import QUICK, Dispatchers, check_covered_tables, check_tables, linked

LINE = [(0, 1), (1, 2), (2, 3), (3, 4)]
COVERING = Params(covering=True, linger_us=SECOND_US, agree_every_us=2 * SECOND_US)
WHERES = ["", "x > 1", "x > 2", "x > 2 and y", "y", "x == 5"]

WANT = st.tuples(st.just("want"), st.integers(0, 7), st.sampled_from([".", ".a", ".a.b"]), st.sampled_from(WHERES))
DROP = st.tuples(st.just("drop"), st.integers(0, 7), st.integers(0, 99))
MOVE = st.tuples(st.just("move"), st.integers(1, 7), st.integers(0, 99), st.integers(0, 99))
FLAP = st.tuples(st.just("flap"), st.integers(0, 7), st.integers(0, 99))
WAIT = st.tuples(st.just("wait"), st.floats(0, 2))


def move(net: Dispatchers, one: int, which: int, where: int) -> None:
    """A link vanishes; the part of the tree behind it is hung up somewhere else."""
    other = net.near[one][which % len(net.near[one])]
    net.link(one, other, there=False)
    mine, ahead = {one}, [one]
    for peer in ahead:
        fresh = [each for each in net.near[peer] if each not in mine]
        mine.update(fresh)
        ahead += fresh
    others = [peer for peer in net.near if peer not in mine]
    net.link(sorted(mine)[which % len(mine)], others[where % len(others)])


def live_through(net: Dispatchers, acts: list[tuple[object, ...]]) -> None:
    for act in acts:
        match act:
            case ("want", int(peer), str(topic), str(where)):
                net.subscribe(peer, topic, where)
            case ("drop", int(peer), int(which)) if net.interests[peer].patterns:
                pattern = [*net.interests[peer].patterns][which % len(net.interests[peer].patterns)]
                net.unsubscribe(peer, pattern.topic, pattern.where)
            case ("move", int(one), int(which), int(where)):
                move(net, one, which, where)
            case ("flap", int(peer), int(which)) if net.near[peer]:  # one end thinks that the link was gone
                other = net.near[peer][which % len(net.near[peer])]
                net.dispatch(peer).subscriptions.link_down(other)
                net.dispatch(peer).subscriptions.link_up(other)
                net.world.give(peer, Unsubscribe(".never"))
            case ("wait", float(seconds)):
                net.run(seconds)
    net.run(30)


TREE = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (5, 6), (5, 7)]
ACTS = st.lists(st.one_of(WANT, WANT, DROP, MOVE, FLAP, WAIT), max_size=25)


@settings(max_examples=40)
@given(acts=ACTS, seed=st.integers(0, 100), loss=st.sampled_from([0.0, 0.1, 0.4]))
def test_at_rest_every_table_says_what_lies_behind_each_link(
    acts: list[tuple[object, ...]], seed: int, loss: float
) -> None:
    net = linked(TREE, 8, seed=seed, loss=loss)
    live_through(net, acts)
    check_tables(net)


@settings(max_examples=40)
@given(acts=ACTS, seed=st.integers(0, 100), loss=st.sampled_from([0.0, 0.1, 0.4]))
def test_with_covering_it_says_the_widest_of_that(acts: list[tuple[object, ...]], seed: int, loss: float) -> None:
    net = linked(TREE, 8, seed=seed, loss=loss, params=COVERING)
    live_through(net, acts)
    check_covered_tables(net, lambda wide, narrow: covers(wide, narrow, Hierarchy()))


@settings(max_examples=25)
@given(acts=ACTS, x=st.integers(0, 6), y=st.booleans(), topic=st.sampled_from([".", ".a", ".a.b", ".c"]))
def test_covering_loses_no_event(acts: list[tuple[object, ...]], x: int, y: bool, topic: str) -> None:
    got = []
    for params in (QUICK, COVERING):
        net = linked(TREE, 8, params=params)
        live_through(net, acts)
        events = [net.publish(peer, topic, {"x": x, "y": y}) for peer in range(8)]
        net.run(1)
        got.append([net.delivered(event) for event in events])
    assert got[0] == got[1]


def test_a_subscription_reaches_every_table_and_an_unsubscription_leaves_none() -> None:
    net = linked(LINE, 5)
    net.subscribe(4, ".a", "x > 1")
    net.run(1)
    assert [[*net.table(peer).get(peer + 1, {})] for peer in range(4)] == [[Pattern(".a", "x > 1")]] * 4
    assert [*net.table(4)[3]] == []
    net.unsubscribe(4, ".a", "x > 1")
    net.run(1)
    check_tables(net)


def test_the_same_pattern_is_told_once_in_each_direction() -> None:
    net = linked(LINE, 5, params=Params(agree_every_us=3600 * SECOND_US))
    net.run(1)
    before = net.chronicle.sends["Tell"]
    net.subscribe(4, ".a")
    net.run(1)
    assert net.chronicle.sends["Tell"] == before + 4
    net.subscribe(3, ".a")
    net.run(1)
    assert net.chronicle.sends["Tell"] == before + 5  # 4 hears of it, nobody else need


def test_a_covered_subscription_goes_no_further_and_comes_back_when_the_covering_one_goes() -> None:
    net = linked(LINE, 5, params=COVERING)
    net.subscribe(4, ".a", "x > 1")
    net.subscribe(3, ".a", "x > 2")
    net.subscribe(3, ".a", "x > 1 and y")
    net.run(1)
    assert [*net.table(0)[1]] == [Pattern(".a", "x > 1")]
    assert sorted(net.table(4)[3]) == [Pattern(".a", "x > 1 and y"), Pattern(".a", "x > 2")]
    net.unsubscribe(4, ".a", "x > 1")
    net.run(1)
    assert sorted(net.table(0)[1]) == [Pattern(".a", "x > 1 and y"), Pattern(".a", "x > 2")]
    net.subscribe(2, ".")
    net.run(1)
    assert [*net.table(0)[1]] == [Pattern(".")]


def test_what_is_behind_a_vanished_link_lingers_and_then_is_forgotten_everywhere() -> None:
    net = linked(LINE, 5)
    net.subscribe(4, ".a")
    net.run(1)
    net.link(3, 4, there=False)
    net.run(0.5)
    assert net.dispatch(0).patterns(".a", {}) == (Pattern(".a"),)  # publishers go on counting it
    assert net.dispatch(3).towards(Pattern(".a")) == ()  # but there is nobody to send it to
    net.run(1)
    check_tables(net)
    assert net.dispatch(0).patterns(".a", {}) == ()


def test_a_new_link_exchanges_tables() -> None:
    net = linked([(0, 1), (2, 3)], 4)
    net.subscribe(0, ".a")
    net.subscribe(3, ".b")
    net.run(1)
    net.link(1, 2)
    net.run(1)
    check_tables(net)
    assert [*net.table(0)[1]] == [Pattern(".b")]
    assert [*net.table(3)[2]] == [Pattern(".a")]


@pytest.mark.parametrize("loss", [0.0, 0.3])
def test_long_tables_travel_in_parts(loss: float) -> None:
    net = linked([(0, 1), (1, 2)], 3, loss=loss)
    for number in range(300):
        net.subscribe(0, f".a.n{number}")
    net.run(30)
    check_tables(net)
    for number in range(0, 300, 2):
        net.unsubscribe(0, f".a.n{number}")
    net.link(1, 2, there=False)
    net.link(2, 0)
    net.run(30)
    check_tables(net)


def test_more_patterns_than_a_neighbour_holds_become_everything_until_they_fit_again() -> None:
    net = linked([(0, 1), (1, 2)], 3, params=Params(patterns_max=20, linger_us=SECOND_US))
    for number in range(30):
        net.subscribe(0, f".a.n{number}")
    net.run(3)
    assert [*net.table(1)[0]] == [Pattern(".", "true")]
    event = net.publish(2, ".a.n29")
    net.run(1)
    assert net.delivered(event) == [0]
    for number in range(15):
        net.unsubscribe(0, f".a.n{number}")
    net.run(3)
    check_tables(net)


@pytest.mark.parametrize("topics", [[], [".a"], [".a", ".b"]])
def test_a_neighbour_that_forgot_its_table_is_told_again(topics: list[str]) -> None:
    net = linked(LINE, 5)
    for topic in topics:
        net.subscribe(0, topic)
        net.run(0.2)
    net.subscribe(4, ".c")
    net.run(1)
    subscriptions = net.dispatch(2).subscriptions
    subscriptions.link_down(1)
    subscriptions.link_up(1)
    net.run(5)
    check_tables(net)


def test_both_ends_agree_again_at_once_when_one_of_them_lost_the_link_for_a_moment() -> None:
    net = linked(LINE, 5, params=Params(agree_every_us=3600 * SECOND_US))
    net.subscribe(0, ".a")
    net.subscribe(4, ".b")
    net.run(1)
    net.dispatch(2).subscriptions.set_links([3])
    net.dispatch(2).subscriptions.set_links([3, 1])
    net.world.give(2, Unsubscribe(".never"))
    net.run(0.2)
    assert [*net.table(2)[1]] == [Pattern(".a")]
    assert [*net.table(1)[2]] == [Pattern(".b")]
