"""An acknowledgement means: on my disk. `handed_over()` says how many of them there are."""

import asyncio
from pathlib import Path

from gossamer.testing import Network
from promises import names
from promises.nodes import MEMORY, disk, full_disk, killed, leave, publish
from promises.waiting import numbers, read

TOPIC = ".orders"


def test_what_was_handed_over_is_on_the_disk_of_a_member_that_is_killed_at_that_moment(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **MEMORY)
            bert = await network.node("bert", subscribe=[TOPIC], **disk(tmp_path / "bert"))
            assert await bert.joined(TOPIC)
            large = bytes(1 << 20)  # a commit that takes its time
            left = []
            for _ in range(3):
                await asyncio.gather(*(anna.publish(TOPIC, large) for _ in range(12)))
                assert await anna.handed_over()
                left.append(killed(tmp_path / "bert", len(left)))
            await network.crash("anna")
            await network.crash("bert")
            for copy, folder in enumerate(left, start=1):
                bert = await network.node("bert", subscribe=[TOPIC], **disk(folder))
                async with bert.subscribe(TOPIC, from_start=True) as inbox:
                    assert [len(item.payload) for item in await read(inbox, 12 * copy)] == [len(large)] * 12 * copy
                await leave(network, "bert")

    asyncio.run(scenario())


def test_a_member_with_a_full_disk_does_not_acknowledge_and_has_everything_once_there_is_room(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **MEMORY)
            bert = await network.node("bert", **disk(tmp_path / "bert"))
            async with bert.subscribe(TOPIC, name="billing") as inbox:
                assert await bert.joined(TOPIC)
                with full_disk():
                    await publish(anna, TOPIC, range(20))
                    assert not await anna.handed_over(0.5)
                assert numbers(await read(inbox, 20)) == list(range(20))
                assert await anna.handed_over()

    asyncio.run(scenario())


def test_other_publishers_do_not_count_as_having_an_event(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = [await network.node(f"sensor-{n}", publish=[TOPIC], **disk(tmp_path / f"{n}")) for n in range(3)]
            for node in nodes:
                await node.joined(TOPIC)
            await nodes[0].publish(TOPIC, "0")
            assert not await nodes[0].handed_over(0.5)
            late = await network.node("reader", **disk(tmp_path / "reader"))
            async with late.subscribe(TOPIC) as inbox:
                assert numbers(await read(inbox, 1)) == [0]
                assert await nodes[0].handed_over()

    asyncio.run(scenario())


def test_where_nobody_is_there_it_waits_as_long_as_it_was_told_and_says_no(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna"))
            await anna.publish(TOPIC, "0")
            clock = asyncio.get_running_loop().time
            began = clock()
            assert not await anna.handed_over(1.0)
            assert clock() - began > 0.9

    asyncio.run(scenario())


def test_handed_over_tells_copies_on_disk_from_copies_in_memory(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **MEMORY)
            bert = await network.node("bert", subscribe=[TOPIC], **disk(tmp_path / "bert"))
            cleo = await network.node("cleo", subscribe=[TOPIC], **MEMORY)
            assert await bert.joined(TOPIC)
            assert await cleo.joined(TOPIC)
            await anna.publish(TOPIC, "0")
            told = await anna.handed_over()
            assert told
            assert (names.on_disk(told), names.waiting(told)) == (1, 0)
            assert names.in_memory(told) <= 1
            await network.crash("bert")
            await anna.publish(TOPIC, "1")
            told = await anna.handed_over(0.5)
            assert names.on_disk(told) == 0

    asyncio.run(scenario())


def test_an_event_waits_until_as_many_members_as_are_wanted_have_it_on_disk(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna", **{names.COPIES: 1}))
            for name in ("bert", "cleo", "dora"):
                node = await network.node(name, subscribe=[TOPIC], **disk(tmp_path / name))
                assert await node.joined(TOPIC)
            await anna.publish(TOPIC, "0")
            told = await anna.handed_over()
            assert told
            assert names.on_disk(told) >= 1

    asyncio.run(scenario())


def test_a_member_that_comes_back_takes_what_waited_for_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna"))
            await network.node("bert", subscribe=[TOPIC], **disk(tmp_path / "bert"))
            await leave(network, "bert")
            await publish(anna, TOPIC, range(10))
            bert = await network.node("bert", subscribe=[TOPIC], **disk(tmp_path / "bert"))
            async with bert.subscribe(TOPIC, from_start=True) as inbox:
                got = await read(inbox, 10)
                assert numbers(got) == list(range(10))

    asyncio.run(scenario())
