"""No clock can destroy data: not one that is wrong at the start, not one that jumps."""

import asyncio
from pathlib import Path

import pytest

from gossamer.testing import Network
from promises import waiting
from promises.nodes import disk, leave, publish
from promises.waiting import book, numbers, read
from wall import Wall

TOPIC = ".orders"
DAYS_S = 2 * 86400.0


@pytest.mark.parametrize("ahead_s", [DAYS_S, -DAYS_S], ids=["ahead", "behind"])
def test_a_start_with_a_clock_two_days_wrong_deletes_nothing(tmp_path: Path, wall: Wall, ahead_s: float) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", subscribe=[TOPIC], **disk(tmp_path / "anna"))
            async with anna.subscribe(TOPIC, name="billing") as inbox:
                await publish(anna, TOPIC, range(10))
                first = int((await book(inbox, 1))[0].payload)
            await leave(network, "anna")
            wall.ahead_s = ahead_s
            anna = await network.node("anna", subscribe=[TOPIC], **disk(tmp_path / "anna"))
            async with anna.subscribe(TOPIC, from_start=True) as inbox:
                assert numbers(await read(inbox, 10)) == list(range(10))
            async with anna.subscribe(TOPIC, name="billing") as inbox:
                assert numbers(await book(inbox, 9)) == [number for number in range(10) if number != first]
            bert = await network.node("bert", **disk(tmp_path / "bert"))
            async with bert.subscribe(TOPIC) as inbox:
                assert numbers(await read(inbox, 10)) == list(range(10)), "the outbox is still offered"

    asyncio.run(scenario())


@pytest.mark.parametrize("ahead_s", [DAYS_S, -DAYS_S], ids=["ahead", "behind"])
def test_a_clock_that_jumps_while_the_node_runs_deletes_nothing(tmp_path: Path, wall: Wall, ahead_s: float) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", subscribe=[TOPIC], **disk(tmp_path / "anna"))
            await publish(anna, TOPIC, range(5))
            wall.ahead_s = ahead_s
            await publish(anna, TOPIC, range(5, 10))
            async with anna.subscribe(TOPIC, from_start=True) as inbox:
                assert numbers(await read(inbox, 10)) == list(range(10))

    asyncio.run(scenario())


def test_a_node_that_was_once_in_a_wrong_future_is_reached_again_in_the_present(tmp_path: Path, wall: Wall) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna"))
            wall.ahead_s = DAYS_S
            bert = await network.node("bert", subscribe=[TOPIC], **disk(tmp_path / "bert"))
            assert await bert.joined(TOPIC)
            await anna.publish(TOPIC, "0")
            assert await anna.handed_over()
            await leave(network, "bert")
            wall.ahead_s = 0.0
            bert = await network.node("bert", bind="memory:elsewhere", **disk(tmp_path / "bert"))
            async with bert.subscribe(TOPIC) as inbox:
                await anna.publish(TOPIC, "1")
                async with asyncio.timeout(waiting.PATIENCE_S):
                    while (await anext(inbox)).payload != b"1":
                        pass

    asyncio.run(scenario())
