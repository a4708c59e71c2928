"""A durable subscription exists on disk before it is used, and gets every event from then on once: also what was
published while its reader, or its node, was away."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import gossamer
from gossamer.core.errors import Misuse
from gossamer.live.node import Node
from gossamer.testing import Network
from promises import names
from promises.nodes import MEMORY, disk, killed, leave, publish
from promises.waiting import book, nothing_more, numbers

TOPIC = ".orders"


def test_a_subscription_opened_and_closed_before_the_first_event_gets_everything_published_since(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **MEMORY)
            cleo = await network.node("cleo", subscribe=[TOPIC], **disk(tmp_path / "cleo"))
            bert = await network.node("bert", **disk(tmp_path / "bert"))
            assert await cleo.joined(TOPIC)
            async with bert.subscribe(TOPIC, name="billing"):
                pass
            await leave(network, "bert")
            bert = await network.node("bert", **disk(tmp_path / "bert"))  # nobody reads here but the subscription
            await publish(anna, TOPIC, range(10))
            assert await anna.handed_over()
            async with bert.subscribe(TOPIC, name="billing") as inbox:
                assert numbers(await book(inbox, 10)) == list(range(10))
                await nothing_more(inbox)

    asyncio.run(scenario())


def test_a_subscription_exists_on_disk_when_it_is_entered(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **MEMORY)
            bert = await network.node("bert", **disk(tmp_path / "bert"))
            async with bert.subscribe(TOPIC, name="billing"):
                left = killed(tmp_path / "bert")
            await network.crash("bert")
            bert = await network.node("bert", **disk(left))  # nobody reads here: the subscription itself does
            await publish(anna, TOPIC, range(10))
            assert await anna.handed_over()
            async with bert.subscribe(TOPIC, name="billing") as inbox:
                assert numbers(await book(inbox, 10)) == list(range(10))

    asyncio.run(scenario())


@pytest.mark.parametrize("spread", ["camcast", "spidercast", "dispatch", "hpmcast"])
def test_a_subscription_whose_node_was_away_gets_what_was_published_meanwhile_once(tmp_path: Path, spread: str) -> None:
    async def scenario() -> None:
        async with Network() as network:

            async def start(name: str, place: int, **settings: Any) -> Node:
                further: dict[str, Any] = {
                    "hpmcast": {"hpmcast": {"branching": [4, 4], "address": f"0.{place}"}},
                    "dispatch": {"dispatch": {"linger_us": 100_000}},
                }.get(spread, {})
                return await network.node(name, spread=spread, **further, **settings, **disk(tmp_path / name))

            anna = await start("anna", 0)
            cleo = await start("cleo", 1, subscribe=[TOPIC])
            bert = await start("bert", 2, subscribe=[TOPIC])
            async with bert.subscribe(TOPIC, name="billing") as inbox:
                assert await bert.joined(TOPIC)
                assert await cleo.joined(TOPIC)
                await publish(anna, TOPIC, range(10))
                assert numbers(await book(inbox, 10)) == list(range(10))
            await leave(network, "bert")
            await publish(anna, TOPIC, range(10, 110))
            assert await anna.handed_over()
            for name in ("anna", "cleo"):
                await leave(network, name)
            await start("cleo", 1, subscribe=[TOPIC])  # nobody has them but its log
            bert = await start("bert", 2, subscribe=[TOPIC])
            async with bert.subscribe(TOPIC, name="billing") as inbox:
                assert numbers(await book(inbox, 100)) == list(range(10, 110))
                await nothing_more(inbox)

    asyncio.run(scenario())


def test_a_filtered_subscription_whose_node_was_away_gets_what_matched_meanwhile(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna"))
            await network.node("cleo", subscribe=[TOPIC], **disk(tmp_path / "cleo"))
            bert = await network.node("bert", **disk(tmp_path / "bert"))
            async with bert.subscribe(TOPIC, name="dear", where="price > 100"):
                assert await bert.joined(TOPIC)
            await leave(network, "bert")
            for number in range(40):
                await anna.publish(TOPIC, f"{number}", attributes={"price": 101 if number % 4 == 0 else 99})
            bert = await network.node("bert", **disk(tmp_path / "bert"))
            async with bert.subscribe(TOPIC, name="dear", where="price > 100") as inbox:
                assert numbers(await book(inbox, 10)) == list(range(0, 40, 4))
                await nothing_more(inbox)

    asyncio.run(scenario())


def test_the_sole_reader_of_a_super_topic_gets_what_was_published_below_while_it_was_away(tmp_path: Path) -> None:
    async def scenario() -> None:
        below, no_cache = f"{TOPIC}.eu", {"recovery": {"cache": 1}}  # what is at hand is no log
        async with Network() as network:
            anna = await network.node("anna", **no_cache, **disk(tmp_path / "anna"))
            await network.node("cleo", subscribe=[below], **no_cache, **disk(tmp_path / "cleo"))
            bert = await network.node("bert", **disk(tmp_path / "bert"))
            async with bert.subscribe(TOPIC, name="billing"):
                assert await bert.joined(TOPIC)
            await leave(network, "bert")
            await publish(anna, below, range(100))
            assert await anna.handed_over()
            bert = await network.node("bert", **disk(tmp_path / "bert"))
            async with bert.subscribe(TOPIC, name="billing") as inbox:
                assert numbers(await book(inbox, 100)) == list(range(100))

    asyncio.run(scenario())


def test_a_reader_that_was_away_while_its_node_was_there_goes_on_where_it_was(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **MEMORY)
            bert = await network.node("bert", subscribe=[TOPIC], **disk(tmp_path / "bert"))
            async with bert.subscribe(TOPIC, name="billing") as inbox:
                assert await bert.joined(TOPIC)
                await publish(anna, TOPIC, range(5))
                await book(inbox, 5)
            await publish(anna, TOPIC, range(5, 15))
            assert await anna.handed_over()
            async with bert.subscribe(TOPIC, name="billing") as inbox:
                assert numbers(await book(inbox, 10)) == list(range(5, 15))
                await nothing_more(inbox)

    asyncio.run(scenario())


@pytest.mark.parametrize(("topic", "where"), [(".chat", ""), (TOPIC, "price > 100")], ids=["topic", "filter"])
def test_the_same_name_with_another_topic_or_filter_is_refused(tmp_path: Path, topic: str, where: str) -> None:
    async def scenario() -> None:
        async with Network() as network:
            bert = await network.node("bert", subscribe=[TOPIC, ".chat"], **disk(tmp_path / "bert"))
            async with bert.subscribe(TOPIC, name="billing"):
                pass
            await publish(bert, TOPIC, range(5))
            with pytest.raises(Misuse, match="billing"):
                async with bert.subscribe(topic, where=where, name="billing"):
                    pass
            async with bert.subscribe(TOPIC, name="billing") as inbox:
                assert numbers(await book(inbox, 5)) == list(range(5))

    asyncio.run(scenario())


def test_a_name_in_the_node_and_the_same_name_of_a_client_are_two_subscriptions(tmp_path: Path) -> None:
    async def scenario() -> None:
        quick = {"patience_us": 100_000}
        given = {"name": "bert", "bind": "127.0.0.1:0", "subscribe": [TOPIC], "scamp": quick}
        async with gossamer.Node(**given, **disk(tmp_path / "bert")) as bert, gossamer.Client(bert.address) as client:
            async with bert.subscribe(TOPIC, name="billing"), client.subscribe(TOPIC, name="billing"):
                pass
            await publish(bert, TOPIC, range(5))
            for reader in (bert, client):
                async with reader.subscribe(TOPIC, name="billing") as inbox:
                    assert numbers(await book(inbox, 5)) == list(range(5))

    asyncio.run(scenario())


def test_how_far_a_subscription_is_behind_is_in_the_metrics(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            bert = await network.node("bert", subscribe=[TOPIC], **disk(tmp_path / "bert"))
            async with bert.subscribe(TOPIC, name="billing") as inbox:
                await publish(bert, TOPIC, range(5))
                await book(inbox, 2)
            lines = bert.page().decode().splitlines()
            (behind,) = (line for line in lines if line.startswith(f"{names.LAG}{{") and "billing" in line)
            assert behind.endswith(" 3")

    asyncio.run(scenario())


def test_a_bookmark_opens_the_same_subscription_at_another_node(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", subscribe=[TOPIC], **disk(tmp_path / "anna"))
            bert = await network.node("bert", subscribe=[TOPIC], **disk(tmp_path / "bert"))
            assert await bert.joined(TOPIC)
            async with anna.subscribe(TOPIC, name="billing") as inbox:
                await publish(anna, TOPIC, range(10))
                had = numbers(await book(inbox, 4))
                bookmark = await names.bookmark_of(inbox)
            assert await anna.handed_over()
            async with names.opened_at(bert, TOPIC, "billing", bookmark) as inbox:
                rest = numbers(await book(inbox, 6))
                assert sorted(had + rest) == list(range(10))
                await nothing_more(inbox)

    asyncio.run(scenario())
