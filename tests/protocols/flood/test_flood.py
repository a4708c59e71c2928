"""Flooding over any Peers: to all neighbours that want the topic, once, and never back."""

import pytest

from composing import use
from gossamer.core.errors import Misuse
from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId
from gossamer.core.machine import Publish, Received, Send, Subscribe
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.seen import Seen
from gossamer.parts.static import Static
from gossamer.protocols.flood import kernel
from gossamer.protocols.flood.layer import Flood
from gossamer.protocols.flood.messages import Pass
from gossamer.protocols.flood.node import static_node
from gossamer.protocols.flood.params import Params
from gossamer.protocols.recovery.params import Params as RecoveryParams
from gossamer.sim.network import Latency
from protocols.flood.graphs import FLOOD, NEWS, TREE, Graph, arcs, mutual
from protocols.hierarchies import SMALL, setting

RING = {peer: [(peer + 1) % 6, (peer - 1) % 6] for peer in range(6)}
LINE = {0: [1], 1: [0, 2], 2: [1, 3], 3: [2]}


@pytest.mark.parametrize("params", [FLOOD, TREE], ids=["flood", "tree"])
def test_an_event_never_goes_back_to_where_it_came_from_nor_to_its_publisher(params: Params) -> None:
    steady = Latency(median_us=20_000)  # or a copy may cross one on its way back
    line, all_linked = Graph(LINE, params, latency=steady), Graph(mutual(arcs(6, 6, 1)), params, latency=steady)
    for graph in (line, all_linked):
        graph.publish(0, NEWS)
        graph.run(1)
        assert graph.missing() == []
        assert all(target != 0 for _, target, _ in graph.watch.copies)
    assert [(sender, target) for sender, target, _ in line.watch.copies] == [(0, 1), (1, 2), (2, 3)]
    assert len(all_linked.watch.copies) == 5 + 5 * 4


@pytest.mark.parametrize("params", [FLOOD, TREE], ids=["flood", "tree"])
def test_events_pass_only_links_whose_both_ends_want_the_topic(params: Params) -> None:
    """A wide interest is one in everything below."""
    wide: list[Topic] = [".", ".a", ".a.b", ".c", ".a.d"]
    wants = {peer: [wide[peer % 5]] for peer in range(60)}
    graph = Graph(mutual(arcs(60, 8, 3)), params, wants=wants)
    for topic, publisher in ((".a.b", 2), (".c", 3), (".a", 1), (".a.d", 4)) * 3:
        graph.publish(publisher, topic)
        graph.run(1)
    includes = Hierarchy().includes
    for sender, target, event in graph.watch.copies:
        assert includes(wants[sender][0], event.topic)
        assert includes(wants[target][0], event.topic)
    assert graph.missing() == []


@pytest.mark.parametrize("params", [FLOOD, TREE], ids=["flood", "tree"])
def test_what_is_not_wanted_here_is_not_carried_on(params: Params) -> None:
    graph = Graph(RING, params)
    event = Event(EventId(9, 0, 1), ".other")
    effects = graph.node(3).step(Received(2, Pass(Carried(event))), 1)
    assert not [effect for effect in effects if type(effect) is Send and type(effect.message) is Pass]


@pytest.mark.parametrize("params", [FLOOD, TREE], ids=["flood", "tree"])
def test_an_event_published_again_goes_out_again(params: Params) -> None:
    graph = Graph(RING, params)
    event_id = graph.publish(0, NEWS)
    before = len(graph.watch.copies)
    graph.world.give(0, Publish(Event(event_id, ".news", b"news")))
    assert len(graph.watch.copies) == 2 * before == 4


class NotYet(Static):
    """Has not found its place."""

    place = False

    def ready(self, topic: Topic) -> bool:
        return self.place


def test_events_wait_until_the_node_has_its_place() -> None:
    node = Stack(1, 1, Hierarchy(), Seen())
    members = NotYet(node, {".news": range(4)})
    flood = Flood(node, members)
    use(node, flood, members=members, spread=flood)
    node.step(Subscribe(".news"), 0)
    assert not [each for each in node.step(Publish(Event(EventId(1, 0, 1), ".news")), 0) if type(each) is Send]
    assert node.waiting == 1
    assert not flood.has_place(".news")
    members.place = True
    node.is_ready(".news")
    (sent,) = [each for each in node.out.take() if type(each) is Send]
    assert sent.peers == (0, 2, 3)


def test_experiments_refuse_the_tree_in_one_sentence() -> None:
    world = setting(SMALL["chain of three"], TREE)
    with pytest.raises(Misuse, match="tree takes several events to grow"):
        static_node(world, 1, 1)
    with pytest.raises(Misuse, match="tree takes several events to grow"):
        kernel.tables(world, None, False)  # type: ignore[arg-type]


@pytest.mark.parametrize("params", [FLOOD, TREE], ids=["flood", "tree"])
@pytest.mark.parametrize("seed", [1, 2])
def test_with_recovery_nothing_is_missing_at_a_loss_of_a_fifth(params: Params, seed: int) -> None:
    graph = Graph(mutual(arcs(40, 1, seed)), params, seed=seed, recovery=RecoveryParams.live())
    graph.stream(5, range(5), 0.2)
    graph.lose(0.2)
    graph.stream(60, range(5), 0.05)
    graph.run(20)
    assert graph.missing() == []
    assert graph.chronicle.sends["Again"] > 0


@pytest.mark.parametrize("params", [FLOOD, TREE], ids=["flood", "tree"])
def test_recovery_stands_on_the_neighbours_that_want_a_topic(params: Params) -> None:
    wants = {0: [".a"], 1: ["."], 2: [".a.b"], 3: [".c"]}
    graph = Graph({peer: [other for other in range(4) if other != peer] for peer in range(4)}, params, wants=wants)
    flood = graph.flood(0)
    assert not flood.tree
    (local,) = flood.local()
    assert local.topic == ".a"
    assert flood.towards(local) == [1]
