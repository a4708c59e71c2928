"""The tree that flooding grows: exact at rest, good for every publisher, far cheaper than the flood."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.core.ids import EventId
from gossamer.protocols.flood.branches import STAY_US
from gossamer.protocols.flood.messages import IDS_MAX, Graft, Have, Near, Part, Prune
from gossamer.protocols.flood.params import Params
from gossamer.protocols.flood.telling import LazyTelling
from gossamer.sim.network import Latency
from protocols.flood.graphs import FLOOD, NEWS, TREE, Graph, arcs, mutual, pieces

QUIET = Latency(median_us=20_000, shape="uniform", spread=0.5)


@settings(max_examples=12, deadline=None)
@given(size=st.integers(2, 30), degree=st.integers(0, 5), seed=st.integers(0, 10**6), both=st.booleans())
def test_on_any_graph_everybody_gets_everything_once_and_copies_end(
    size: int, degree: int, seed: int, both: bool
) -> None:
    """Also where views are not mutual: a node may be pushed to by somebody it does not know."""
    links = arcs(size, degree, seed)
    graph = Graph(mutual(links) if both else links, seed=seed)
    graph.stream(12, [0, size // 2, size - 1], 1.5)
    warm = graph.watch.in_vain
    graph.stream(10, range(size), 1.5)
    assert graph.missing() == []
    assert (graph.watch.in_vain - warm) / (10 * size) < 0.1


@pytest.mark.parametrize("seed", [1, 2])
def test_at_rest_eager_links_are_a_tree_and_every_event_costs_one_copy_a_node(seed: int) -> None:
    graph = Graph(mutual(arcs(40, 4, seed)), seed=seed, latency=QUIET)
    graph.stream(6, [7], 1)
    eager = graph.eager()
    assert {(other, one) for one, other in eager} == {*eager}
    assert len(eager) == 2 * 39
    assert pieces(graph.world.up, eager) == 1
    warm, copies = graph.watch.in_vain, len(graph.watch.copies)
    graph.stream(40, range(40), 1)
    assert graph.watch.in_vain == warm
    assert len(graph.watch.copies) - copies == 40 * 39
    assert graph.missing() == []


def test_publishers_at_once_agree_on_one_tree() -> None:
    """The first events of ten publishers cross each other; were each to prune what another one needs, none of them
    would ever stop."""
    graph = Graph(mutual(arcs(40, 4, 1)))
    for _ in range(6):
        for publisher in range(10):
            graph.publish(publisher, NEWS)
        graph.run(0.5)
    warm = graph.watch.in_vain
    for _ in range(6):
        for publisher in range(10):
            graph.publish(publisher, NEWS)
        graph.run(0.5)
    assert graph.missing() == []
    assert graph.watch.in_vain == warm
    assert len(graph.eager()) == 2 * 39


def test_many_events_of_one_publisher_under_way_at_once_leave_every_node_a_link() -> None:
    """They overtake each other, so that each copy seems to come too late over another link."""
    graph = Graph(mutual(arcs(40, 4, 1)), latency=Latency(median_us=20_000, shape="exponential"))
    graph.stream(100, [3], 0.001)
    graph.run(2)
    assert graph.missing() == []
    warm = graph.watch.in_vain
    graph.stream(10, [3, 4], 1)
    assert (graph.watch.in_vain - warm) / (10 * 40) < 0.1


def costs(params: Params, every_s: float, size: int, count: int) -> tuple[float, float, float]:
    """Copies, messages and bytes an event costs at rest, with 1 KiB in it."""
    graph = Graph(mutual(arcs(size, 4, 1)), params, payload=bytes(1024))
    graph.stream(10, range(10), 0.5)
    copies, messages, octets = len(graph.watch.copies), graph.watch.messages, graph.watch.bytes
    graph.stream(count, range(10), every_s)
    graph.run(3)
    assert graph.missing() == []
    return (
        (len(graph.watch.copies) - copies) / count,
        (graph.watch.messages - messages) / count,
        (graph.watch.bytes - octets) / count,
    )


def test_the_tree_saves_copies_and_bytes_and_messages_as_soon_as_several_go_together() -> None:
    flood = costs(FLOOD, 0.1, 30, 20)
    rare, often = (costs(TREE, every_s, 30, 60) for every_s in (0.1, 0.005))
    assert rare[0] == often[0] == 29
    assert flood[0] > 7 * 29
    assert often[1] < flood[1] / 2
    assert max(rare[2], often[2]) < flood[2] / 5


@pytest.mark.slow
def test_the_figures_of_the_page() -> None:
    """60 nodes with 9.4 links each; 10 events a second and 200 a second."""
    flood, rare, often = costs(FLOOD, 0.1, 60, 50), costs(TREE, 0.1, 60, 200), costs(TREE, 0.005, 60, 200)
    assert (round(flood[0]), round(rare[0]), round(often[0])) == (507, 59, 59)
    assert [round(each[1]) for each in (flood, rare, often)] == [507, 434, 154]
    assert [round(each[2] / 1024) for each in (flood, rare, often)] == [571, 83, 72]


def test_the_same_seed_is_the_same_run() -> None:
    def run() -> object:
        graph = Graph(arcs(30, 4, 5), loss=0.2)
        graph.stream(30, range(7), 0.1)
        return graph.chronicle.sends, graph.watch.copies, graph.world.steps

    assert run() == run()


# Lazy links


def test_ids_are_gathered_for_a_moment() -> None:
    graph = Graph(mutual(arcs(40, 4, 1)), replace(TREE, linger_us=300_000))
    graph.stream(5, [0], 1)
    lazy = sum(len(graph.links[peer]) for peer in graph.links) - len(graph.eager())
    graph.watch.keep_log = True
    for _ in range(50):
        graph.publish(0, NEWS)
    graph.run(3)
    told = [message for _, _, message in graph.watch.log if type(message) is Have]
    assert 0 < len(told) <= lazy
    assert {len(have.ids) for have in told} == {50}
    assert all(len(have.ids) == len(have.hops) for have in told)


def test_a_full_message_of_ids_does_not_wait() -> None:
    graph = Graph(mutual(arcs(10, 3, 1)), replace(TREE, linger_us=10**9, remembered=5000))
    for _ in range(IDS_MAX - 1):
        graph.publish(0, NEWS)
        graph.run(0.1)
    assert "Have" not in graph.chronicle.sends
    graph.stream(2, [0], 1)
    assert graph.chronicle.sends["Have"] > 0


def test_nobody_is_told_of_what_it_told_us() -> None:
    telling = LazyTelling()
    first, second = EventId(9, 0, 1), EventId(9, 0, 2)
    telling.add(first, 3, (1, 9))
    telling.add(second, 4, (2,))
    telling.has(3, first)
    telling.has(3, EventId(9, 0, 3))
    assert telling.told(NEWS, [1, 2, 3, 4, 5]) == [
        ([1, 3], Have(NEWS, (second,), (4,))),
        ([2], Have(NEWS, (first,), (3,))),
        ([4, 5], Have(NEWS, (first, second), (3, 4))),
    ]


# Ways


def hops_of(shortcut: int) -> float:
    """Mean hops of the last events, from one publisher over links that differ much."""
    latency = Latency(median_us=20_000, shape="exponential")
    graph = Graph(mutual(arcs(50, 4, 1)), replace(TREE, shortcut=shortcut), latency=latency)
    graph.stream(17, [0], 1)
    last = [*graph.chronicle.fates.values()][12:]
    hops = [got.hops for fate in last for got in fate.got.values()]
    assert len(hops) == 5 * 50
    return sum(hops) / len(hops)


def test_shorter_ways_are_taken_where_they_are_asked_for() -> None:
    assert hops_of(1) < hops_of(3) < hops_of(0)


# Who takes part


def test_one_that_is_known_at_one_end_only_becomes_a_guest_and_is_pushed_to() -> None:
    """0 knows 1, and nobody knows 0: what others publish reaches it all the same, once it spoke."""
    graph = Graph({0: [1], 1: [2], 2: [1]})
    graph.stream(2, [0], 1)
    assert [*graph.tree(1).branches[NEWS].guests] == [0]
    graph.stream(3, [2], 1)
    assert graph.missing() == []


def test_a_guest_that_is_silent_is_asked_and_one_that_is_gone_is_forgotten() -> None:
    graph = Graph({0: [1], 1: [2], 2: [1]})
    graph.stream(2, [0], 1)
    for _ in range(2 * STAY_US // 10**6 // 10):
        graph.stream(1, [2], 10)
        graph.node(1).era += 1
    assert graph.missing() == []
    assert [*graph.tree(1).branches[NEWS].guests] == [0]
    graph.crash(0)
    for _ in range(3 * STAY_US // 10**6 // 10):
        graph.stream(1, [2], 10)
        graph.node(1).era += 1
    assert [*graph.tree(1).branches[NEWS].guests] == []


def test_whoever_unsubscribes_says_so_and_gets_nothing_more_though_views_still_name_it() -> None:
    graph = Graph(mutual(arcs(20, 3, 1)))
    graph.stream(4, range(4), 1)
    graph.unsubscribe(9, NEWS)
    assert graph.chronicle.sends["Part"] == len(graph.links[9])
    graph.run(0.5)
    copies = len(graph.watch.copies)
    graph.stream(5, range(4), 0.4)
    assert all(target != 9 for _, target, _ in graph.watch.copies[copies:])
    assert graph.missing() == []


def test_one_that_subscribes_again_is_pushed_to_as_soon_as_its_neighbours_know() -> None:
    graph = Graph(mutual(arcs(20, 3, 1)))
    graph.stream(4, range(4), 1)
    graph.unsubscribe(9, NEWS)
    graph.run(0.1)
    graph.subscribe(9, NEWS)
    for other in graph.links[9]:
        assert 9 in graph.tree(other).branches[NEWS].away
        graph.node(other).tell(lambda layer: layer.wants_changed(9))
        graph.node(other).era += 1
    graph.stream(4, range(4), 0.5)
    assert graph.missing() == []


def test_one_that_comes_back_is_eager_again() -> None:
    graph = Graph(mutual(arcs(20, 3, 1)))
    graph.stream(4, range(4), 1)
    graph.crash(9)
    graph.notice(9)
    graph.come(9)
    for other in (3, 12):
        graph.link(9, other)
    assert 9 not in graph.tree(3).branches[NEWS].lazy
    graph.stream(5, range(4), 1)
    assert graph.missing() == []


def test_a_node_that_goes_says_so_on_every_topic() -> None:
    graph = Graph(mutual(arcs(10, 3, 1)), wants={peer: [".a", ".b"] for peer in range(10)})
    graph.stream(2, [0], 1, ".a")
    graph.stream(2, [1], 1, ".b")
    graph.watch.keep_log = True
    graph.world.leave(5)
    parted = {(target, message.topic) for _, target, message in graph.watch.log if type(message) is Part}
    assert parted == {(other, topic) for other in graph.links[5] for topic in (".a", ".b")}


def test_messages_name_one_topic_each_so_that_grants_can_be_checked() -> None:
    assert all("topic" in kind.__struct_fields__ for kind in (Have, Graft, Prune, Near, Part))
