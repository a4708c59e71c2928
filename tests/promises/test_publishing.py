"""`publish` returned: the event is in the publisher's spool, and is offered until enough members have it on disk."""

import asyncio
from pathlib import Path

import pytest

from gossamer import Gap
from gossamer.core.errors import TransportDown
from gossamer.testing import Network
from promises.nodes import MEMORY, disk, full_disk, killed, leave, publish
from promises.waiting import numbers, read, until

TOPIC = ".orders"


def test_what_publish_accepted_survives_sigkill_and_is_offered_to_whoever_comes(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna"))
            accepted = await publish(anna, TOPIC, range(20))
            left = killed(tmp_path / "anna")
            await network.crash("anna")
            bert = await network.node("bert", **disk(tmp_path / "bert"))
            async with bert.subscribe(TOPIC, name="billing") as inbox:
                await network.node("anna", **disk(left))
                items = await read(inbox, 20)
                assert {item.id for item in items} == set(accepted)

    asyncio.run(scenario())


def test_an_event_that_nobody_took_is_offered_in_every_life_until_somebody_does(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            for _ in range(2):
                anna = await network.node("anna", **disk(tmp_path / "anna"))
                await anna.publish(TOPIC, "0", key="once")
                assert not await anna.handed_over(0.3)
                await leave(network, "anna")
            bert = await network.node("bert", **disk(tmp_path / "bert"))
            async with bert.subscribe(TOPIC) as inbox:
                anna = await network.node("anna", **disk(tmp_path / "anna"))
                assert numbers([await anext(inbox)]) == [0]
                assert await anna.handed_over()

    asyncio.run(scenario())


def test_the_same_key_is_the_same_event_in_the_next_life_too(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna"))
            first = await anna.publish(TOPIC, "0", key="order-1")
            left = killed(tmp_path / "anna")
            await network.crash("anna")
            anna = await network.node("anna", **disk(left))
            assert await anna.publish(TOPIC, "0", key="order-1") == first

    asyncio.run(scenario())


def test_publications_refused_by_a_full_disk_are_missed_by_nobody(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna"))
            bert = await network.node("bert", **MEMORY)
            async with bert.subscribe(TOPIC) as inbox:
                before = await publish(anna, TOPIC, range(3))
                with full_disk():
                    tried = [anna.publish(TOPIC, "refused") for _ in range(5)]
                    refused = await asyncio.gather(*tried, return_exceptions=True)
                assert all(isinstance(each, TransportDown) for each in refused)
                after = await publish(anna, TOPIC, range(3, 6))
                items = [await anext(inbox) for _ in range(6)]
                assert [item for item in items if isinstance(item, Gap)] == []
                assert [item.id for item in items] == before + after
                assert sorted(item.ordinal for item in items) == [1, 2, 3, 4, 5, 6]

    asyncio.run(scenario())


def test_a_full_disk_is_said_to_the_publisher_and_over_when_there_is_room(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna"))
            await anna.publish(TOPIC, "0")
            with full_disk(), pytest.raises(TransportDown):
                await anna.publish(TOPIC, "refused")
            await anna.publish(TOPIC, "1")

    asyncio.run(scenario())


def test_what_waits_is_counted_where_operators_look(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna"))
            await publish(anna, TOPIC, range(7))
            await until(lambda: b"\ngossamer_spool_pending 7\n" in anna.page(), "seven wait")

    asyncio.run(scenario())
