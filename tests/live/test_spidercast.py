"""Live nodes with many topics and few links: one overlay, in which those who want a topic are connected."""

import asyncio
import contextlib
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.core.draws import WORKLOAD, distinct, draw, fold
from gossamer.core.errors import Misuse
from gossamer.core.ids import Peer
from gossamer.core.machine import Subscribe
from gossamer.core.topics import Topic
from gossamer.live.config.config import load
from gossamer.live.keys.network import Network as Keys
from gossamer.live.node import Node
from gossamer.live.running.reloading import take_over
from gossamer.protocols.interests.layer import Interests
from gossamer.protocols.interests.messages import Entry, Mark
from gossamer.protocols.interests.view import KnownNode
from gossamer.protocols.spidercast.layer import Spidercast
from gossamer.testing import Network
from live.watching import PATIENCE_S, assert_replayed, payloads, until

HASTY: dict[str, Any] = {
    "spread": "spidercast",
    "spidercast": {"round_us": 20_000, "rest_us": 100_000, "beat_us": 100_000, "alone_us": 500_000},
    "interests": {"gossip_every_us": 100_000, "hurry_every_us": 30_000, "forget_us": 2_000_000},
}
"A second of an ordinary overlay in a tenth."


def overlay(node: Node) -> Spidercast:
    found = node.station.machine.members
    assert found is not None
    return found


def view_of(node: Node) -> Interests:
    view = overlay(node).view
    assert isinstance(view, Interests)
    return view


def links(nodes: Iterable[Node]) -> dict[Peer, set[Peer]]:
    """Neighbours by node, as far as both ends know of each other."""
    told = {node.station.me: set(overlay(node).links.neighbours()) for node in nodes}
    return {me: {peer for peer in peers if me in told.get(peer, ())} for me, peers in told.items()}


def connected(among: set[Peer], linked: dict[Peer, set[Peer]]) -> bool:
    """Whether these are in one piece without the help of others."""
    found, ahead = set[Peer](), [*among][:1]
    while ahead:
        at = ahead.pop()
        found.add(at)
        ahead += (linked[at] & among) - found
    return found == among


def topic_connected(nodes: list[Node]) -> bool:
    linked = links(nodes)
    interested: dict[Topic, set[Peer]] = {}
    for node in nodes:
        for topic in node.station.machine.interest.mine():
            interested.setdefault(topic, set()).add(node.station.me)
    return all(connected(among, linked) for among in interested.values())


def topics_of(number: int, least: int = 10, most: int = 70, of: int = 150) -> list[Topic]:
    """Ten to seventy topics that have nothing to do with each other."""
    key = fold(fold(1, WORKLOAD), number)
    count = least + draw(key, 0) % (most - least + 1)
    return [f".t{i}" for i in distinct(fold(key, 1), of, count)]


def reads(topic: Topic, node: Node) -> bool:
    return topic in node.config.subscribe


async def town(network: Network, count: int, **settings: Any) -> list[Node]:
    return [await network.node(f"n{i}", subscribe=topics_of(i), **{**HASTY, **settings}) for i in range(count)]


@pytest.mark.parametrize("loss", [0.0, pytest.param(0.1, marks=pytest.mark.slow)])
def test_nodes_with_10_to_70_topics_each_are_connected_by_topic_and_heal_after_a_fifth_is_gone(loss: float) -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = await town(network, 10, faults={"loss": loss, "seed": 2})
            await until(lambda: topic_connected(nodes))
            for name in ("n3", "n7"):
                nodes.remove(network.nodes[name])
                await network.crash(name)
            gone = {node.station.me for node in nodes}
            await until(lambda: all(set(overlay(node).links.neighbours()) <= gone for node in nodes))
            await until(lambda: topic_connected(nodes))
            topic = next(topic for topic in topics_of(0) if 3 <= sum(map(partial(reads, topic), nodes)) <= 6)
            readers = [node for node in nodes if reads(topic, node)]
            for number in range(20):
                await readers[0].publish(topic, f"{number}")
            await until(lambda: all(node.metrics.events_delivered >= 20 for node in readers))
            assert all(node.metrics.parasites == 0 for node in nodes)
            assert all(node.metrics.events_delivered == (20 if node in readers else 0) for node in nodes)
            assert all(node.metrics.copies_received == 0 for node in nodes if node not in readers)

    asyncio.run(scenario())


def test_readers_of_a_super_topic_get_what_is_published_below_and_nobody_else_does() -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = [await network.node(f"n{i}", **HASTY) for i in range(6)]
            async with (
                nodes[1].subscribe(".soccer") as wide,
                nodes[3].subscribe(".soccer.italy") as narrow,
                nodes[4].subscribe(".soccer.spain"),
            ):
                await until(lambda: topic_connected(nodes) and bool(overlay(nodes[3]).links.neighbours()))
                await nodes[5].publish(".soccer.italy", b"goal")
                assert await payloads(wide, 1) == await payloads(narrow, 1) == [b"goal"]
            assert all(node.metrics.parasites == 0 for node in nodes)
            assert nodes[4].metrics.copies_received == nodes[0].metrics.copies_received == 0

    asyncio.run(scenario())


def test_order_filters_and_named_subscriptions_work_as_ever_while_messages_are_lost() -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = [await network.node(f"n{i}", faults={"loss": 0.15, "seed": 1}, **HASTY) for i in range(5)]
            async with (
                nodes[0].subscribe(".a", ordered=True) as ordered,
                nodes[1].subscribe(".a", where="n >= 15") as filtered,
                nodes[2].subscribe(".a", name="ledger") as named,
            ):
                assert ordered.order is not None
                ordered.order.patience_s = PATIENCE_S  # what was lost is found again, sooner or later
                for node in nodes[:3]:
                    assert await node.joined(".a", PATIENCE_S)
                for number in range(30):
                    await nodes[3].publish(".a", str(number), attributes={"n": number})
                assert await payloads(ordered, 30) == [b"%d" % n for n in range(30)]
                assert sorted(await payloads(filtered, 15)) == sorted(b"%d" % n for n in range(15, 30))
                assert sorted(await payloads(named, 30)) == sorted(b"%d" % n for n in range(30))
            assert all(node.metrics.parasites == 0 for node in nodes)

    asyncio.run(scenario())


def test_a_guest_hands_its_events_over_and_becomes_no_neighbour() -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = [await network.node(f"n{i}", subscribe=[".a"] if i < 3 else [".b"], **HASTY) for i in range(5)]
            guest = await network.node("guest", **HASTY)
            guest.station.handover.joins = False
            for number in range(5):
                await guest.publish(".a", f"{number}")
            assert await guest.handed_over(20)
            await until(lambda: all(node.metrics.events_delivered == 5 for node in nodes[:3]))
            await guest.publish(".nobody", "waits")
            assert not await guest.handed_over(0.5)
            async with nodes[4].subscribe(".nobody") as inbox:
                assert await payloads(inbox, 1) == [b"waits"]
            assert not overlay(guest).links.neighbours()
            assert all(node.metrics.copies_received == 0 for node in (guest, nodes[3]))

    asyncio.run(scenario())


def test_interest_changes_while_nodes_run() -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = [await network.node(f"n{i}", subscribe=[".a"], **HASTY) for i in range(6)]
            await until(lambda: topic_connected(nodes) and bool(overlay(nodes[0]).about(".a")))
            async with nodes[2].subscribe(".new") as one, nodes[4].subscribe(".new") as other:
                await until(lambda: nodes[4].station.me in overlay(nodes[2]).links.neighbours())
                await nodes[2].publish(".new", b"1")
                assert await payloads(one, 1) == await payloads(other, 1) == [b"1"]
            await until(lambda: not overlay(nodes[2]).about(".new"))
            assert all(node.metrics.parasites == 0 for node in nodes)

    asyncio.run(scenario())


def test_every_step_of_a_journaled_overlay_is_replayed_as_it_was(tmp_path: Path) -> None:
    async def scenario() -> None:
        trace = {"folder": tmp_path, "level": "journal"}
        async with Network() as network:
            nodes = [
                await network.node(f"n{i}", subscribe=topics_of(i, 5, 9, of=12), trace=trace, **HASTY) for i in range(5)
            ]
            await until(lambda: topic_connected(nodes))
            take_over(nodes[1], replace(nodes[1].config, spidercast=replace(nodes[1].config.spidercast, greedy=2)))
            topic = nodes[1].config.subscribe[0]
            readers = [node for node in nodes if topic in node.config.subscribe]
            await nodes[1].publish(topic, b"1")
            await until(lambda: all(node.metrics.events_delivered for node in readers))
            await network.crash("n3")
            await until(
                lambda: all(len(overlay(node).links.neighbours()) <= 3 for node in nodes if node is not nodes[3])
            )

    asyncio.run(scenario())
    assert_replayed(tmp_path, 5)


def test_nodes_of_another_spread_are_turned_away_and_told_why(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with Network() as network:
            await network.node("first", **HASTY)
            await network.node("other")
            await until(lambda: "all nodes must have the same" in caplog.text)

    with caplog.at_level("INFO", "gossamer"):
        asyncio.run(scenario())
    assert "'spidercast'" in caplog.text


def test_numbers_tell_how_the_overlay_does() -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = [await network.node(f"n{i}", subscribe=[".a", ".b"], **HASTY) for i in range(4)]
            told = ("overlay_neighbours 3", "overlay_greedy 3", "overlay_uncovered 0", "view_nodes 3")
            page = nodes[0].page
            await until(lambda: all(f"\ngossamer_{each}\n" in page().decode() for each in told))

    asyncio.run(scenario())


# With keys, over TLS


def grants(folder: Path) -> Keys:
    keys = Keys.init(folder)
    for name in ("a", "b", "c"):
        keys.grant(name, publish=[".open"], subscribe=[".open", ".open.secret"])
    keys.grant("writer", publish=[".open"])
    keys.grant("curious", publish=[".open"], subscribe=[".open.other", ".open.secret"])
    return keys


async def keyed(keys: Keys, name: str, seeds: Iterable[Node] = (), **settings: Any) -> Node:
    given = {"keys": keys.folder_of(name), "bind": "127.0.0.1:0", "seeds": [node.address for node in seeds]}
    node = Node(load(environ={}, overrides={**given, **HASTY, **settings}))
    await node.start()
    return node


def test_over_tls_entries_are_signed_and_whoever_may_not_read_hands_its_events_over(tmp_path: Path) -> None:
    async def scenario() -> None:
        keys = grants(tmp_path / "net")
        async with contextlib.AsyncExitStack() as closing:
            nodes: list[Node] = []
            for name in ("a", "b", "c", "writer"):
                nodes.append(await keyed(keys, name, nodes[:1], subscribe=[] if name == "writer" else [".open"]))
                closing.push_async_callback(nodes[-1].close)
            *readers, writer = nodes
            await until(lambda: topic_connected(nodes) and all(overlay(node).about(".open") for node in readers))
            await until(lambda: all(len(view_of(node).entries()) == 3 for node in nodes))
            for node in readers:
                assert all(each.entry.seal for each in view_of(node).view.known.values())
            for number in range(5):
                await writer.publish(".open", f"{number}")
            assert await writer.handed_over(20)
            await until(lambda: all(node.metrics.events_delivered == 5 for node in readers))
            assert writer.metrics.copies_received == 0
            assert not any(any(node.metrics.refusals.values()) for node in nodes)

    asyncio.run(scenario())


def test_whoever_says_it_wants_what_it_may_not_read_gets_neither_links_nor_events(tmp_path: Path) -> None:
    async def scenario() -> None:
        keys = grants(tmp_path / "net")
        async with contextlib.AsyncExitStack() as closing:
            nodes: list[Node] = []
            for name in ("a", "b", "curious"):
                nodes.append(await keyed(keys, name, nodes[:1], subscribe=[] if name == "curious" else [".open"]))
                closing.push_async_callback(nodes[-1].close)
            *readers, curious = nodes
            curious.station.driver.feed(Subscribe(".open"))  # its own node would not have let it
            curious.station.driver.feed(Subscribe(".open.other"))
            await until(lambda: all(node.metrics.refusals["not granted"] for node in readers))
            for number in range(5):
                await readers[0].publish(".open", f"{number}")
            await until(lambda: readers[1].metrics.events_delivered == 5)
            assert curious.station.me not in overlay(readers[0]).about(".open")
            assert curious.metrics.copies_received == 0

    asyncio.run(scenario())


def test_events_of_a_topic_whose_word_nobody_could_read_go_only_to_those_who_may_read_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        keys = grants(tmp_path / "net")
        async with contextlib.AsyncExitStack() as closing:
            nodes: list[Node] = []
            for name in ("a", "b", "curious"):
                nodes.append(await keyed(keys, name, nodes[:1], subscribe=[] if name == "curious" else [".open"]))
                closing.push_async_callback(nodes[-1].close)
            *readers, curious = nodes
            curious.station.driver.feed(Subscribe(".open.other"))
            curious.station.driver.feed(Subscribe(".open.hidden"))  # its own node would not have let it
            await until(lambda: all(curious.station.me in overlay(node).about(".open.hidden") for node in readers))
            for topic in (".open.hidden", ".open.other"):
                await readers[0].publish(topic, b"1")
            await until(lambda: curious.metrics.events_delivered == 1 and readers[1].metrics.events_delivered == 2)
            assert curious.metrics.deliveries == {".open.other": 1}
            assert readers[1].metrics.parasites == curious.metrics.parasites == 0

    asyncio.run(scenario())


def test_what_a_node_wants_is_changed_by_nobody_else(tmp_path: Path) -> None:
    async def scenario() -> None:
        keys = grants(tmp_path / "net")
        async with contextlib.AsyncExitStack() as closing:
            nodes: list[Node] = []
            for name in ("a", "b", "c"):
                nodes.append(await keyed(keys, name, nodes[:1], subscribe=[".open"]))
                closing.push_async_callback(nodes[-1].close)
            liar, other, victim = nodes
            await until(lambda: len(view_of(other).entries()) == 2 == len(view_of(liar).entries()))
            mark = view_of(liar).view.known[victim.station.me].entry.mark
            forged = Entry(
                Mark(mark.peer, mark.incarnation, mark.version + 7), b"", view_of(liar).view.known[mark.peer].entry.seal
            )
            view_of(liar).view.known[mark.peer] = KnownNode(forged, liar.station.clock.now_us())
            await until(lambda: other.metrics.refusals["bad proof"] > 0)
            assert view_of(other).entries()[mark.peer].packed

    asyncio.run(scenario())


# As many topics as can be told


def test_a_topic_too_many_is_refused_with_a_sentence_wherever_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.parts.own_wants.WANTS_BYTES_MAX", 3 * 8)

    async def scenario() -> None:
        async with Node(name="a", bind="127.0.0.1:0", spread="spidercast", subscribe=(".a", ".b")) as node:
            async with node.subscribe(".c"):
                with pytest.raises(Misuse, match=r"^4 topics are more than this node can tell others about"):
                    async with node.subscribe(".d"):
                        pass
                async with node.subscribe(".a"), node.subscribe(".c", where="x > 1"):
                    pass  # more readers of the same
                with pytest.raises(Misuse, match=r"^4 topics are more than"):
                    take_over(node, replace(node.config, subscribe=(".a", ".d", ".e")))
                assert node.config.subscribe == (".a", ".b")
            async with node.subscribe(".d"):
                assert [*node.station.machine.interest.subscribed] == [".a", ".b", ".d"]

    asyncio.run(scenario())


def test_a_node_that_shall_read_too_many_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.parts.own_wants.WANTS_BYTES_MAX", 3 * 8)

    async def scenario() -> None:
        topics = tuple(f".t{number}" for number in range(4))
        with pytest.raises(Misuse, match=r"^subscribe: 4 topics are more than this node can tell others about"):
            await Node(name="a", bind="127.0.0.1:0", spread="spidercast", subscribe=topics).start()

    asyncio.run(scenario())
