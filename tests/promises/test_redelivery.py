"""`ack` is on disk when it returns; what was handed out and not acknowledged comes again, and says so."""

import asyncio
from pathlib import Path

from gossamer.testing import Network
from promises.nodes import disk, killed, publish
from promises.waiting import book, nothing_more, numbers

TOPIC = ".orders"


def test_what_was_acknowledged_does_not_come_again_after_sigkill_at_that_moment(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", subscribe=[TOPIC], **disk(tmp_path / "anna"))
            async with anna.subscribe(TOPIC, name="billing") as inbox:
                await publish(anna, TOPIC, range(10))
                await book(inbox, 6)  # each acknowledged
                left = killed(tmp_path / "anna")
            await network.crash("anna")
            anna = await network.node("anna", subscribe=[TOPIC], **disk(left))
            async with anna.subscribe(TOPIC, name="billing") as inbox:
                assert numbers(await book(inbox, 4)) == [6, 7, 8, 9]
                await nothing_more(inbox)

    asyncio.run(scenario())


def test_what_was_handed_out_before_sigkill_comes_again_marked_and_what_was_not_comes_unmarked(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", subscribe=[TOPIC], **disk(tmp_path / "anna"))
            async with anna.subscribe(TOPIC, name="billing") as inbox:
                await publish(anna, TOPIC, range(5))
                for _ in range(5):
                    assert not (await anext(inbox)).redelivered
                left = killed(tmp_path / "anna")
            await network.crash("anna")
            anna = await network.node("anna", subscribe=[TOPIC], **disk(left))
            await publish(anna, TOPIC, range(5, 8))
            async with anna.subscribe(TOPIC, name="billing") as inbox:
                items = await book(inbox, 8)
                assert {int(item.payload): item.redelivered for item in items} == {
                    **dict.fromkeys(range(5), True),
                    **dict.fromkeys(range(5, 8), False),
                }

    asyncio.run(scenario())


def test_what_was_not_acknowledged_comes_again_to_the_next_reader_of_the_name(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", subscribe=[TOPIC], **disk(tmp_path / "anna"))
            await publish(anna, TOPIC, range(3))
            async with anna.subscribe(TOPIC, name="billing", from_start=True) as inbox:
                await inbox.ack(await anext(inbox))
                await anext(inbox)
            async with anna.subscribe(TOPIC, name="billing") as inbox:
                again = await book(inbox, 2)
                assert [(int(item.payload), item.redelivered) for item in again] == [(1, True), (2, False)]

    asyncio.run(scenario())


def test_a_later_event_that_was_acknowledged_first_skips_nothing_before_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", subscribe=[TOPIC], **disk(tmp_path / "anna"))
            async with anna.subscribe(TOPIC, name="billing") as inbox:
                await publish(anna, TOPIC, range(4))
                items = {int(item.payload): item for item in [await anext(inbox) for _ in range(4)]}
                await inbox.ack(items[3])
                left = killed(tmp_path / "anna")
            await network.crash("anna")
            anna = await network.node("anna", subscribe=[TOPIC], **disk(left))
            async with anna.subscribe(TOPIC, name="billing") as inbox:
                assert numbers(await book(inbox, 3)) == [0, 1, 2]
                await nothing_more(inbox)

    asyncio.run(scenario())
