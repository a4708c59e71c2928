"""Live dispatchers: a tree of nodes, filters inside the network."""

import asyncio
import contextlib
import functools
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gossamer import Delivery, F
from gossamer.core.errors import Misuse
from gossamer.live.keys.network import Network as Keys
from gossamer.live.node import Node
from gossamer.live.reading.inbox import Inbox
from gossamer.parts.tagging import Tagger
from gossamer.parts.tree import SpanningTree
from gossamer.protocols.dispatch.layer import Dispatch
from gossamer.testing import Network
from gossamer.wire.sealed import HEAD_BYTES_MAX
from live.watching import PATIENCE_S, until

HASTY = {"beat_every_us": 50_000, "patience_us": 120_000, "repeat_us": 50_000, "agree_every_us": 200_000}
"A second of an ordinary tree in a tenth."
HEARD, UNHEARD = 1, 60_000_000
"How long links must stand until a dispatcher has heard what others want: they always have, or never."


def dispatch(node: Node) -> Dispatch:
    spread = node.station.machine.spread
    assert isinstance(spread, Dispatch)
    return spread


def links_of(node: Node) -> int:
    overlay = dispatch(node).overlay
    assert isinstance(overlay, SpanningTree)
    return len(overlay.links(node.config.community))


def is_tree(nodes: list[Node]) -> bool:
    """Each of n - 1 links is known at both ends."""
    return sum(map(links_of, nodes)) == 2 * (len(nodes) - 1)


async def dispatchers(network: Network, count: int, linger_us: int = 5_000_000, **settings: object) -> list[Node]:
    pace = {**HASTY, "linger_us": linger_us}
    nodes = [
        await network.node(f"d{i}", spread="dispatch", dispatch=pace, **settings)  # type: ignore[arg-type]
        for i in range(count)
    ]
    await until(lambda: is_tree(nodes))
    return nodes


async def knows(nodes: list[Node], patterns: int) -> None:
    await until(lambda: all(len(dispatch(node).known()) == patterns for node in nodes))


async def numbers(inbox: Inbox, count: int) -> list[int]:
    found: list[int] = []
    async with asyncio.timeout(PATIENCE_S):
        while len(found) < count:
            item = await anext(inbox)
            if isinstance(item, Delivery):
                found.append(int(item.payload))
    return found


@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_events_go_where_their_attributes_are_wanted(loss: float) -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = await dispatchers(network, 6, faults={"loss": loss, "seed": 3})
            async with (
                nodes[0].subscribe(".stocks", where="price > 100") as dear,
                nodes[3].subscribe(".stocks", where='symbol == "IBM"') as blue,
                nodes[5].subscribe(".stocks") as all_of_them,
            ):
                await knows(nodes, 3)
                for price in range(90, 112):
                    symbol = "IBM" if price % 3 == 0 else "SAP"
                    await nodes[1].publish(".stocks.now", str(price), attributes={"price": price, "symbol": symbol})
                assert sorted(await numbers(dear, 11)) == [*range(101, 112)]
                assert sorted(await numbers(blue, 8)) == [price for price in range(90, 112) if price % 3 == 0]
                assert sorted(await numbers(all_of_them, 22)) == [*range(90, 112)]
            assert all(node.metrics.parasites == 0 for node in nodes)

    asyncio.run(scenario())


def test_filters_on_the_way_may_ask_for_topic_publisher_and_time() -> None:
    """Of the event as it is: an attribute cannot lie about it."""

    async def scenario() -> None:
        async with Network() as network:
            nodes = await dispatchers(network, 4)
            later = F.published > datetime(2100, 1, 1, tzinfo=UTC)
            async with (
                nodes[0].subscribe(".stocks", where=F.topic.like(".stocks.%") & F.attr("symbol").ilike("ibm")) as below,
                nodes[0].subscribe(".stocks", where=later, ordered=True) as future,
                nodes[3].subscribe(".stocks", where='@publisher == "d1" and at between 1 and 3') as of_one,
            ):
                await knows(nodes, 3)
                with pytest.raises(Misuse, match="no attribute is called @topic"):
                    await nodes[1].publish(".stocks", attributes={"@topic": ".stocks.now"})
                for number, (node, topic, symbol) in enumerate(
                    [(1, "", "IBM"), (1, ".now", "ibm"), (2, ".now", "IbM"), (2, ".now", "SAP"), (1, "", "SAP")]
                ):
                    about = {"symbol": symbol, "at": number}
                    await nodes[node].publish(f".stocks{topic}", str(number), attributes=about)
                assert sorted(await numbers(below, 2)) == [1, 2]
                assert await numbers(of_one, 1) == [1]
                assert future.where == "@published > 4102444800000000"
                assert not future.memory
            assert all(node.metrics.parasites == 0 for node in nodes)

    asyncio.run(scenario())


def test_what_nobody_wants_goes_nowhere_and_is_not_waited_for() -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = await dispatchers(network, 3, HEARD)
            await nodes[0].publish(".stocks", "1", attributes={"price": 1})
            assert await nodes[0].handed_over(5.0)
            assert all(node.metrics.copies_received == 0 for node in nodes)

    asyncio.run(scenario())


def test_a_dispatcher_that_vanishes_leaves_one_tree_behind() -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = await dispatchers(network, 6)
            async with nodes[5].subscribe(".a", where="n >= 0") as inbox:
                await knows(nodes, 1)
                inner = max(nodes[:5], key=links_of)
                left = [node for node in nodes if node is not inner]
                await network.crash(inner.trust.name)
                await until(lambda: is_tree(left))
                await knows(left, 1)
                await left[0].publish(".a", "7", attributes={"n": 7})
                assert await numbers(inbox, 1) == [7]

    asyncio.run(scenario())


def test_who_may_not_have_heard_yet_what_others_want_offers_again_what_nobody_wants() -> None:
    """As a dispatcher does that has just found its place, or another one."""

    async def scenario() -> None:
        async with Network() as network:
            reader, publisher = await dispatchers(network, 2, UNHEARD, timeouts={"ack_s": 0.5})
            early = await publisher.publish(".a", "1")
            assert early in publisher.station.handover.unacked
            async with reader.subscribe(".a") as inbox:
                assert await numbers(inbox, 1) == [1]
                await until(lambda: not publisher.station.handover.unacked)

    asyncio.run(scenario())


def test_a_dispatcher_that_is_alone_keeps_what_it_publishes() -> None:
    async def scenario() -> None:
        async with Network() as network:
            lone = await network.node("lone", spread="dispatch", dispatch=HASTY, timeouts={"ack_s": 0.01})
            await lone.publish(".a", "1")
            await until(lambda: next(iter(lone.station.handover.unacked.values())).tries >= 4)
            reader = await network.node("reader", spread="dispatch", dispatch=HASTY)
            async with reader.subscribe(".a") as inbox:
                assert await numbers(inbox, 1) == [1]

    asyncio.run(scenario())


PATTERNS = 40


async def read_all(node: Node, readers: contextlib.AsyncExitStack) -> list[Inbox]:
    """Inboxes for filters none of which includes another."""
    filters = [f's contains "<{number}>"' for number in range(PATTERNS)]
    return [await readers.enter_async_context(node.subscribe(".a", where=each)) for each in filters]


MATCHED = "".join(f"<{number}>" for number in range(PATTERNS))


def test_what_is_not_counted_is_said_and_found_by_comparing_ids(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Tagger, "tags", functools.partialmethod(Tagger.tags, room=300))

    async def scenario() -> None:
        async with Network() as network, contextlib.AsyncExitStack() as readers:
            unhurried = {"spread": "dispatch", "dispatch": HASTY, "timeouts": {"ack_s": 1000.0}}
            publisher = await network.node("publisher", **unhurried)
            reader = await network.node("reader", faults={"loss": 0.3, "seed": 7}, **unhurried)
            await until(lambda: is_tree([publisher, reader]))
            inboxes = await read_all(reader, readers)
            await knows([publisher], PATTERNS)
            for number in range(20):
                await publisher.publish(".a", str(number), attributes={"s": MATCHED})
            for inbox in inboxes:
                assert sorted(await numbers(inbox, 20)) == [*range(20)]
            assert reader.metrics.recovered > 0
            assert reader.metrics.uncounted > 10
            assert publisher.metrics.uncounted_published == 20

    asyncio.run(scenario())
    said = [record.message for record in caplog.records if "by comparing ids" in record.message]
    assert len([each for each in said if "more than it can be counted by" in each]) == 1
    assert len([each for each in said if "are not all counted" in each]) > 10


def test_what_others_want_keeps_no_event_from_being_published_however_large_its_attributes() -> None:
    async def scenario() -> None:
        async with Network() as network, contextlib.AsyncExitStack() as readers:
            nodes = await dispatchers(network, 2)
            inboxes = await read_all(nodes[0], readers)
            await knows(nodes, PATTERNS)
            await nodes[1].publish(".a", "7", attributes={"s": MATCHED + "x" * (HEAD_BYTES_MAX - len(MATCHED) - 100)})
            assert [await numbers(inbox, 1) for inbox in inboxes] == [[7]] * PATTERNS
            assert nodes[1].metrics.uncounted_published == 1
            assert not any(nodes[0].metrics.refusals.values())

    asyncio.run(scenario())


def test_the_longest_filter_travels() -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = await dispatchers(network, 2)
            longest = f'name == "{"x" * 8100}"'
            async with nodes[0].subscribe(".a", where=longest) as inbox:
                await knows(nodes, 1)
                await nodes[1].publish(".a", "1", attributes={"name": "x" * 8100})
                assert await numbers(inbox, 1) == [1]

    asyncio.run(scenario())


def test_topics_outside_the_community_are_refused_with_a_word() -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = await dispatchers(network, 2, community=".stocks")
            with pytest.raises(Misuse, match=r"does not lie below \.stocks"):
                nodes[0].subscribe(".weather")
            with pytest.raises(Misuse, match=r"does not lie below \.stocks"):
                await nodes[0].publish(".weather", "rain")

    asyncio.run(scenario())


def test_a_node_that_is_not_granted_the_community_or_what_it_subscribes_to_does_not_start(tmp_path: Path) -> None:
    keys = Keys.init(tmp_path / "net")
    keys.grant("narrow", publish=[".stocks"], subscribe=[".stocks"])

    async def start(**settings: Any) -> None:
        async with Node(keys=keys.folder_of("narrow"), bind="127.0.0.1:0", **settings):
            pytest.fail("it started")

    with pytest.raises(
        Misuse, match=r"^community: the grant of narrow does not let it subscribe to \.: `gossamer keys "
    ):
        asyncio.run(start(spread="dispatch", subscribe=[".stocks"]))
    with pytest.raises(Misuse, match=r"^subscribe: the grant of narrow does not let it subscribe to \.weather: "):
        asyncio.run(start(subscribe=[".stocks", ".weather"]))


def test_filtered_events_come_in_order_without_waiting_for_those_that_never_come() -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = await dispatchers(network, 2)
            async with nodes[0].subscribe(".a", where="n > 100", ordered=True) as inbox:
                await knows(nodes, 1)
                for number in (101, 1, 102, 2, 103, 104):
                    await nodes[1].publish(".a", str(number), attributes={"n": number})
                items = [await anext(inbox) for _ in range(4)]
            assert [item.payload for item in items if isinstance(item, Delivery)] == [b"101", b"102", b"103", b"104"]
            lone = await network.node("lone", spread="dispatch", dispatch=HASTY, recovery={"method": "none"})
            with pytest.raises(Misuse, match="order needs the counts of recovery"):
                lone.subscribe(".a", where="n > 100", ordered=True)

    asyncio.run(scenario())


def test_nodes_of_different_spreads_turn_each_other_away_and_say_why(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with Network() as network:
            first = await network.node("first", spread="dispatch", dispatch=HASTY)
            other = await network.node("other")
            await until(lambda: "all nodes must have the same" in caplog.text)
            assert first.metrics.links == other.metrics.links == 0

    with caplog.at_level("INFO", "gossamer"):
        asyncio.run(scenario())
    assert "'dispatch below .'" in caplog.text
    assert "'camcast'" in caplog.text
