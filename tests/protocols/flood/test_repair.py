"""Links, nodes and messages are lost: whoever hears of what it does not get asks for it, and the tree is whole."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from composing import use
from gossamer.core.ids import Peer
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy
from gossamer.parts.seen import Seen
from gossamer.protocols import CATALOGUE
from gossamer.protocols.flood.tree import BroadcastTree
from gossamer.protocols.scamp.layer import Scamp
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.protocols.search.layer import Search
from gossamer.protocols.search.params import Params as SearchParams
from gossamer.sim.town import Town
from protocols.flood.graphs import NEWS, TREE, Graph, arcs, mutual, pieces, some
from protocols.towns import scamp


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6), gone=st.integers(1, 8))
def test_crashed_nodes_are_gone_around_before_anybody_notices(seed: int, gone: int) -> None:
    """Events that were on their way through the dead come by another way; nothing is missing, and copies end again."""
    graph = Graph(mutual(arcs(40, 5, seed)), seed=seed)
    graph.stream(6, range(3), 1)
    dead = some(seed, 40, gone)
    for peer in dead:
        graph.crash(peer)
    up = [*graph.world.up]
    whole = pieces(up, [(one, other) for one in up for other in graph.links[one] if other in up]) == 1
    graph.stream(6, up[:3], 1)
    graph.run(3)
    assert not whole or graph.missing() == []
    for peer in dead:
        graph.notice(peer)
    warm = graph.watch.in_vain
    graph.stream(6, up[:3], 1)
    graph.run(3)
    assert not whole or graph.missing() == []
    assert (graph.watch.in_vain - warm) / (6 * len(up)) < 0.1


def test_a_lost_link_of_the_tree_costs_one_graft_and_a_delay() -> None:
    graph = Graph(mutual(arcs(40, 4, 1)))
    graph.stream(5, [0], 1)
    before, grafts = graph.watch.in_vain, graph.chronicle.sends.get("Graft", 0)
    child = max(other for one, other in graph.eager() if one == 0)
    graph.unlink(0, child)
    graph.stream(1, [0], 1)
    graph.run(2)
    assert graph.missing() == []
    assert graph.chronicle.sends["Graft"] > grafts
    graph.stream(5, [0], 1)
    assert graph.watch.in_vain - before < 40
    assert len(graph.eager()) == 2 * 39
    assert pieces(graph.world.up, graph.eager()) == 1


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_links_come_and_go_while_events_flow(seed: int) -> None:
    graph = Graph(mutual(arcs(30, 4, seed)), seed=seed)
    for number in range(30):
        one, other = some(seed + number, 30, 2)
        if other in graph.links[one]:
            if abs(one - other) not in (1, 29):  # the circle keeps the graph whole
                graph.unlink(one, other)
        else:
            graph.link(one, other)
        graph.stream(1, [number], 0.2)
    graph.run(5)
    assert graph.missing() == []
    warm = graph.watch.in_vain
    graph.stream(10, range(30), 1)
    assert graph.missing() == []
    assert (graph.watch.in_vain - warm) / (10 * 30) < 0.1


def test_a_publisher_that_all_pruned_is_heard_at_once() -> None:
    graph = Graph(mutual(arcs(20, 3, 1)))
    graph.stream(4, [0], 1)
    branch = graph.tree(7).branches[NEWS]
    branch.lazy.update(dict.fromkeys(branch.around, graph.world.now_us))
    event_id = graph.publish(7, NEWS)
    graph.run(0.2)
    assert len(graph.chronicle.fates[event_id].got) == 20


@pytest.mark.parametrize("loss", [0.05, 0.2])
def test_the_tree_alone_finds_nearly_all_of_what_is_lost(loss: float) -> None:
    """A leaf that nobody else tells of an event cannot miss it: the rest is for recovery."""
    graph = Graph(mutual(arcs(40, 4, 2)), seed=2)
    graph.stream(5, range(5), 0.5)
    graph.lose(loss)
    graph.stream(60, range(5), 0.1)
    graph.run(10)
    assert len(graph.missing()) <= 0.002 * 65 * 40
    assert graph.watch.in_vain / (65 * 40) < 1.2


def test_after_loss_the_tree_comes_to_rest_again() -> None:
    graph = Graph(mutual(arcs(40, 4, 2)), seed=2, loss=0.3)
    graph.stream(30, range(5), 0.2)
    graph.lose(0)
    graph.stream(12, range(5), 1)
    warm = graph.watch.in_vain
    graph.stream(10, range(5), 1)
    assert graph.watch.in_vain == warm
    assert len(graph.eager()) == 2 * 39


# Over views that nodes found themselves


def scamp_town(seed: int, size: int) -> Town:
    def make(me: Peer) -> Stack:
        node = Stack(me, seed, Hierarchy(), Seen())
        contacts = Search(node, SearchParams())
        members = Scamp(node, contacts, ScampParams())
        spread = BroadcastTree(node, members, TREE)
        return use(node, contacts, members, spread, members=members, contacts=contacts, spread=spread)

    messages = [*dict.fromkeys((*CATALOGUE["camcast"].spoken, *CATALOGUE["flood"].messages))]
    town = Town(make, messages, seed, told_of_failures=False)
    for peer in range(size):
        town.start(peer, NEWS)
    town.run(15)
    return town


def test_over_scamp_views_all_are_reached_for_a_tenth_of_the_copies() -> None:
    """Views are renewed all the time, and a new neighbour is eager at first: the tree is never quite at rest."""
    town = scamp_town(1, 30)
    sent = [(town.publish(number % 7, NEWS), town.run(0.5))[0] for number in range(15)]
    warm = town.chronicle.sends["Pass"]
    sent += [(town.publish(number % 7, NEWS), town.run(0.5))[0] for number in range(20)]
    town.run(2)
    assert town.missing(*sent) == []
    links = sum(len(scamp(town, peer).about(NEWS)) for peer in range(30))
    assert (town.chronicle.sends["Pass"] - warm) / 20 < 0.15 * links


def test_over_scamp_views_a_fifth_may_die() -> None:
    town = scamp_town(2, 30)
    for number in range(10):
        town.publish(number % 7, NEWS)
        town.run(0.5)
    for peer in range(24, 30):
        town.crash(peer)
    sent = [(town.publish(number % 7, NEWS), town.run(0.5))[0] for number in range(10)]
    town.run(3)
    assert town.missing(*sent) == []
