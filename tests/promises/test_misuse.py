"""What cannot work is refused with a sentence, and never hangs."""

import asyncio
import gc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gossamer.core.errors import Misuse, TransportDown
from gossamer.core.ids import EventId
from gossamer.testing import Network
from live.test_durable import client_of
from promises import waiting
from promises.nodes import disk

TOPIC = ".orders"


def test_an_inbox_that_was_not_entered_works_or_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna"))
            await anna.publish(TOPIC, "0")
            async with asyncio.timeout(waiting.PATIENCE_S):
                with suppress(Misuse):
                    async for item in anna.subscribe(TOPIC, from_start=True):
                        assert item.payload == b"0"
                        break

    asyncio.run(scenario())


@pytest.mark.parametrize("thing", ["x", None, 7])
def test_what_is_no_delivery_cannot_be_acknowledged(tmp_path: Path, thing: Any) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna"))
            async with anna.subscribe(TOPIC, name="billing") as inbox:
                with pytest.raises(Misuse):
                    await inbox.ack(thing)

    asyncio.run(scenario())


@pytest.mark.parametrize(("wild", "instead"), [(".soccer.*", "`.soccer`"), (".soccer.#", "`.soccer`"), (".>", "`.`")])
def test_a_wildcard_is_refused_and_told_what_to_write(tmp_path: Path, wild: str, instead: str) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna"))
            with pytest.raises(Misuse) as refused:
                anna.subscribe(wild)
            assert instead.strip("`") in str(refused.value).replace(wild, "")

    asyncio.run(scenario())


@pytest.mark.filterwarnings("always")
def test_a_publication_that_nobody_awaits_warns(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna"))
            anna.publish(TOPIC, "0")
            await asyncio.sleep(0.2)
            gc.collect()

    asyncio.run(scenario())
    assert any("publish" in str(each.message) and "await" in str(each.message) for each in recwarn)


def test_acknowledging_what_cannot_be_written_any_more_is_refused_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna"))
            async with asyncio.timeout(waiting.PATIENCE_S), anna.subscribe(TOPIC, name="deleted") as inbox:
                await anna.publish(TOPIC, "0")
                item = await anext(inbox)
                await anna.delete_subscription("deleted")
                with pytest.raises(Misuse, match="was deleted: open it anew"):
                    await inbox.ack(item)
            async with asyncio.timeout(waiting.PATIENCE_S), anna.subscribe(TOPIC, name="left") as left:
                await anna.publish(TOPIC, "1")
                item = await anext(left)
            with pytest.raises(Misuse, match="acknowledge inside `async with`"):
                await left.ack(item)
            async with asyncio.timeout(waiting.PATIENCE_S), anna.subscribe(TOPIC, name="left") as inbox:
                again = await anext(inbox)
                assert (again.payload, again.redelivered) == (b"1", True)
                await anna.close()
                with pytest.raises(TransportDown):
                    await inbox.ack(again)

    asyncio.run(scenario())


def test_a_bookmark_of_another_subscription_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna"))
            async with anna.subscribe(TOPIC, name="dear", where="price > 100") as inbox:
                mark = await inbox.bookmark()
            for topic, where in ((TOPIC, ""), (".others", "price > 100")):
                with pytest.raises(
                    Misuse, match=r"this bookmark is of a subscription to \.orders where price > 100, not"
                ):
                    anna.subscribe(topic, name="all", where=where, bookmark=mark)
            assert [each.name for each in await anna.subscriptions()] == ["dear"]

    asyncio.run(scenario())


def test_the_spool_of_a_node_with_another_name_is_refused_and_kept(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path))
            event = await anna.publish(TOPIC, "0", key="zero")
            await anna.close()
            with pytest.raises(Misuse, match="that of a node with another name than 'bert': give this node another"):
                await network.node("bert", **disk(tmp_path))
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path))
            assert await anna.publish(TOPIC, "0", key="zero") == event

    asyncio.run(scenario())


def test_whether_members_have_an_event_is_told_of_a_nodes_own_alone() -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna")
            for thing in ("x", EventId(1, 2, 3)):
                with pytest.raises(Misuse, match="is no event of this node: give ids that its publish returned"):
                    await anna.handed_over(1.0, [thing])  # type: ignore[list-item]
            async with client_of(network, anna) as client:
                with pytest.raises(Misuse, match="is no event of this node"):
                    await client.handed_over([EventId(1, 2, 3)])
                with pytest.raises(Misuse, match="at most 86400, a day"):
                    await client.handed_over([], 1e9)

    asyncio.run(scenario())
