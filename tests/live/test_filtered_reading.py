"""Readers that want only some of a topic's events: from memory, from the spool, by name, in order, as clients."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

import gossamer
from gossamer.core.errors import Misuse
from gossamer.core.events import Attribute
from gossamer.core.topics import Hierarchy
from gossamer.live.clients.client import Client
from gossamer.live.config.tables import Limits, SpoolConfig
from gossamer.live.links.control import Read
from gossamer.live.links.transports.memory import Memory
from gossamer.live.node import Node
from gossamer.live.reading.deliveries import Delivery
from gossamer.live.reading.inbox import Inbox
from gossamer.testing import Network
from live.watching import PATIENCE_S, lone_inbox, until

WHERE = 'symbol in ("IBM", "SAP") and price > 100 and not halted'
STOCKS: Sequence[dict[str, Attribute]] = (
    {"symbol": "IBM", "price": 101},
    {"symbol": "IBM", "price": 100.5, "halted": False},
    {"symbol": "SAP", "price": 120, "halted": True},
    {"symbol": "SAP", "price": 99},
    {"symbol": "XYZ", "price": 500},
    {"symbol": "IBM", "price": "101"},
    {"symbol": "IBM", "price": True},
    {"symbol": 7, "price": 101},
    {"price": 101},
    {},
)
"The first two are wanted; what has another type, or is not there, simply does not match."
MARK: dict[str, Attribute] = {"symbol": "SAP", "price": 1000}


async def publish_stocks(node: Node) -> None:
    """Every stock under its number, and then one that is wanted for sure."""
    assert await node.joined(".stocks", PATIENCE_S)
    for number, attributes in enumerate(STOCKS):
        await node.publish(".stocks", str(number), attributes=attributes)
    await node.publish(".stocks", "mark", attributes=MARK)


async def take(inbox: Any, count: int) -> list[Any]:
    async with asyncio.timeout(PATIENCE_S):
        return [await anext(inbox) for _ in range(count)]


def payloads(items: list[Any]) -> list[bytes]:
    return [item.payload for item in items]


async def are_delivered(node: Node, count: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while node.station.readers.last_place() < count:
            await asyncio.sleep(0)


async def position_of(node: Node, delivered: int) -> int:
    """How far the only durable subscription has come, once so many events were committed here."""
    durables = node.station.readers.durables
    assert durables is not None
    await until(lambda: durables.log.settled() >= delivered)
    (info,) = await node.subscriptions()
    return info.position


# At the node itself


def test_a_reader_gets_what_matches_and_nothing_else() -> None:
    async def scenario() -> None:
        async with Network() as network:
            a, b = await network.node("a", publish=(".stocks",)), await network.node("b")
            async with b.subscribe(".stocks", where=WHERE) as inbox, b.subscribe(".stocks") as everything:
                assert await b.joined(".stocks", PATIENCE_S)
                await publish_stocks(a)
                assert sorted(payloads(await take(inbox, 3))) == [b"0", b"1", b"mark"]
                assert len(await take(everything, len(STOCKS) + 1)) == len(STOCKS) + 1
                assert not inbox.at_hand()

    asyncio.run(scenario())


def test_a_filter_that_is_none_is_said_in_words_before_anything_is_subscribed() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a")
            with pytest.raises(Misuse, match="character 8"):
                node.subscribe(".stocks", where="price >")
            with pytest.raises(Misuse, match="in words like 'price > 100', not int"):
                node.subscribe(".stocks", where=100)  # type: ignore[arg-type]
            assert node.station.readers.subscriptions.readers == {}

    asyncio.run(scenario())


def test_a_filtered_reader_fills_its_memory_with_nothing_it_does_not_want() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", limits=Limits(inbox_items=5), spool=SpoolConfig(durability="off"))
            async with node.subscribe(".a", where="n == 99") as inbox:
                await asyncio.gather(*(node.publish(".a", b"%d" % n, attributes={"n": n}) for n in range(100)))
                assert payloads(await take(inbox, 1)) == [b"99"]
                assert inbox.lost == 0

    asyncio.run(scenario())


def test_a_slow_reader_finds_what_it_wants_in_the_spool_and_only_that() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", limits=Limits(inbox_items=5))
            async with node.subscribe(".a", where="n >= 500") as inbox:
                await asyncio.gather(*(node.publish(".a", b"%d" % n, attributes={"n": n}) for n in range(1000)))
                got = payloads(await take(inbox, 500))
                assert inbox.spills > 0
                await node.publish(".a", "last", attributes={"n": 1000})
                assert sorted(map(int, got)) == list(range(500, 1000))
                assert payloads(await take(inbox, 1)) == [b"last"]

    asyncio.run(scenario())


def test_from_start_gives_what_matches_of_what_the_spool_has() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", subscribe=(".stocks",))
            await publish_stocks(node)
            async with node.subscribe(".stocks", where=WHERE, from_start=True) as inbox:
                assert payloads(await take(inbox, 3)) == [b"0", b"1", b"mark"]

    asyncio.run(scenario())


# By name


def test_a_durable_subscription_moves_past_what_does_not_match(tmp_path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", spool=SpoolConfig(folder=tmp_path))
            async with node.subscribe(".a", where="n == 3", name="billing") as inbox:
                for n in range(3):
                    await node.publish(".a", attributes={"n": n})
                assert await position_of(node, delivered=3) == 3
                for n in range(3, 6):
                    await node.publish(".a", b"%d" % n, attributes={"n": n})
                assert await position_of(node, delivered=6) == 3  # the fourth is wanted, and nobody has it yet
                (item,) = await take(inbox, 1)
                assert (item.payload, item.place) == (b"3", 4)
                assert await position_of(node, delivered=6) == 3
                await inbox.ack(item)
                assert await position_of(node, delivered=6) == 6

    asyncio.run(scenario())


def test_a_named_subscription_finds_after_a_restart_what_matches_and_was_not_acknowledged(tmp_path) -> None:
    async def life(begin: int, want: int) -> list[tuple[bytes, bool]]:
        async with Network() as network:
            node = await network.node("a", spool=SpoolConfig(folder=tmp_path), subscribe=(".a",))
            async with node.subscribe(".a", where="even", name="billing") as inbox:
                for n in range(begin, begin + 6):
                    await node.publish(".a", b"%d" % n, attributes={"even": n % 2 == 0})
                items = await take(inbox, want)
                await inbox.ack(items[0])
                return [(item.payload, item.redelivered) for item in items]

    assert asyncio.run(life(0, 2)) == [(b"0", False), (b"2", False)]
    assert asyncio.run(life(6, 4)) == [(b"2", True), (b"4", False), (b"6", False), (b"8", False)]


def test_what_the_spool_has_for_others_only_is_done_with(tmp_path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", spool=SpoolConfig(folder=tmp_path), subscribe=(".a",))
            await asyncio.gather(*(node.publish(".a", attributes={"n": n}) for n in range(600)))  # more than one page
            await are_delivered(node, 600)
            async with node.subscribe(".a", where="n < 0 or n == 1000", name="billing", from_start=True) as inbox:
                reading = asyncio.create_task(take(inbox, 1))
                durables = node.station.readers.durables
                assert durables is not None
                await until(lambda: durables.listed()[0].position == 600)
                await node.publish(".a", "now", attributes={"n": 1000})
                assert payloads(await reading) == [b"now"]

    asyncio.run(scenario())


# In order


def test_order_does_not_wait_for_what_was_filtered_out() -> None:
    async def scenario() -> None:
        async with Network() as network:
            a, b = await network.node("a"), await network.node("b")
            async with b.subscribe(".a", where="n != 1 and n != 2 and n < 5", ordered=True) as inbox:
                assert await b.joined(".a", PATIENCE_S)
                for n in range(6):
                    await a.publish(".a", b"%d" % n, attributes={"n": n})
                got = await take(inbox, 3)
                assert payloads(got) == [b"0", b"3", b"4"]

    asyncio.run(scenario())


def item(place: int, ordinal: int, wanted: bool = True) -> Delivery:
    event_id = gossamer.EventId(1, 1, ordinal)
    return Delivery(event_id, ".a", b"%d" % ordinal, {"wanted": wanted}, ordinal=ordinal, place=place)


def ordered_inbox() -> Inbox:
    return lone_inbox(".a", Hierarchy(), None, lambda: 0, filter=gossamer.parse("wanted"), ordered=True)


def test_what_waited_for_an_event_that_is_not_wanted_goes_on_once_that_came() -> None:
    async def scenario() -> None:
        inbox = ordered_inbox()
        inbox.offer([item(1, 1)])
        inbox.offer([item(2, 3)])
        assert payloads(await take(inbox, 1)) == [b"1"]
        waiting = asyncio.create_task(take(inbox, 1))
        await asyncio.sleep(0)
        inbox.offer([item(3, 2, wanted=False)])
        assert payloads(await waiting) == [b"3"]
        inbox.offer([item(4, 5, wanted=False)])  # it comes before what it follows
        inbox.offer([item(5, 6)])
        inbox.offer([item(6, 4)])
        assert payloads(await take(inbox, 2)) == [b"4", b"6"]

    asyncio.run(scenario())


# Through a client


async def client_of(network: Network, node: Node) -> Client:
    return Client(node.address, transport=Memory(network.memory))


def test_a_client_is_sent_what_matches_and_nothing_else() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", subscribe=(".stocks",))
            await publish_stocks(node)
            async with (
                await client_of(network, node) as client,
                client.subscribe(".stocks", where=WHERE, from_start=True, ordered=True) as reader,
            ):
                assert payloads(await take(reader, 3)) == [b"0", b"1", b"mark"]
                await client.publish(".stocks", "unwanted", attributes={"symbol": "XYZ"})
                await client.publish(".stocks", "later", attributes=MARK)
                assert payloads(await take(reader, 1)) == [b"later"]

    asyncio.run(scenario())


def test_a_client_s_filter_is_checked_at_the_client_and_at_its_node() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a")
            async with await client_of(network, node) as client:
                with pytest.raises(Misuse, match="character 8"):
                    client.subscribe(".stocks", where="price >")
                reader = client.subscribe(".stocks")
                reader.read = Read(reader.read.number, ".stocks", where="price >")
                async with reader:
                    with pytest.raises(Misuse, match="character 8"):
                        await take(reader, 1)
                assert node.station.readers.subscriptions.readers == {}

    asyncio.run(scenario())


def test_a_client_s_named_and_filtered_subscription_goes_on_where_it_was(tmp_path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", spool=SpoolConfig(folder=tmp_path), subscribe=(".stocks",))
            await publish_stocks(node)
            for expected in (b"0", b"1", b"mark"):
                async with (
                    await client_of(network, node) as client,
                    client.subscribe(".stocks", where=WHERE, name="n", from_start=True) as reader,
                ):
                    (got,) = await take(reader, 1)
                    assert got.payload == expected
                    await reader.ack(got)

    asyncio.run(scenario())


def test_the_words_of_a_filter_are_part_of_the_library() -> None:
    assert isinstance(gossamer.parse("price > 100"), gossamer.Filter)
