"""Several readers of one name share its work: each event goes to one of them, and to another if that one goes."""

import asyncio
from pathlib import Path

from gossamer.live.reading.inbox import Inbox
from gossamer.testing import Network
from promises import waiting
from promises.nodes import disk, publish
from promises.waiting import book, nothing_more, numbers

TOPIC = ".orders"


async def take(inbox: Inbox, got: list[int]) -> None:
    async for item in inbox:
        got.append(int(item.payload))
        await inbox.ack(item)


def test_each_event_goes_to_one_of_the_readers_of_a_name(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", subscribe=[TOPIC], **disk(tmp_path / "anna"))
            async with (
                anna.subscribe(TOPIC, name="billing") as one,
                anna.subscribe(TOPIC, name="billing") as other,
            ):
                got: tuple[list[int], list[int]] = ([], [])
                taking = [asyncio.create_task(take(inbox, into)) for inbox, into in zip((one, other), got)]
                await publish(anna, TOPIC, range(40))
                await waiting.until(lambda: len(got[0]) + len(got[1]) >= 40, "all are read")
                await asyncio.sleep(waiting.QUIET_S)
                assert sorted(got[0] + got[1]) == list(range(40))
                assert all(got), "one of them got nothing"
                for each in taking:
                    each.cancel()

    asyncio.run(scenario())


def test_what_a_reader_that_goes_did_not_acknowledge_goes_to_another_marked(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", subscribe=[TOPIC], **disk(tmp_path / "anna"))
            async with anna.subscribe(TOPIC, name="billing") as stays:
                async with anna.subscribe(TOPIC, name="billing") as goes:
                    await publish(anna, TOPIC, range(10))
                    held = int((await anext(goes)).payload)
                items = await book(stays, 10)
                assert numbers(items) == list(range(10))
                assert {int(item.payload): item.redelivered for item in items}[held]
                await nothing_more(stays)

    asyncio.run(scenario())


def test_ordered_readers_that_share_keep_the_order_of_a_publisher_and_topic(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", subscribe=[TOPIC], **disk(tmp_path / "anna"))
            async with (
                anna.subscribe(TOPIC, name="billing", ordered=True) as one,
                anna.subscribe(TOPIC, name="billing", ordered=True) as other,
            ):
                got: list[int] = []
                taking = [asyncio.create_task(take(inbox, got)) for inbox in (one, other)]
                await publish(anna, TOPIC, range(40))
                await waiting.until(lambda: len(got) >= 40, "all are read")
                assert got == list(range(40))
                for each in taking:
                    each.cancel()

    asyncio.run(scenario())
