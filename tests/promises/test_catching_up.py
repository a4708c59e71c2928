"""Members compare their logs and fetch what they lack. What nobody has any more is a Gap, and the numbers add up."""

import asyncio
from pathlib import Path

from gossamer.live.node import Node
from gossamer.testing import Network
from promises import names
from promises.nodes import disk, leave, publish
from promises.waiting import book, gone, nothing_more, numbers, read_all, until

TOPIC = ".orders"


NAMES = ("anna", "bert", "cleo", "dora")


async def members(network: Network, folder: Path, count: int, **spool: object) -> list[Node]:
    nodes = [await network.node(name, subscribe=[TOPIC], **disk(folder / name, **spool)) for name in NAMES[:count]]
    for node in nodes:
        assert await node.joined(TOPIC)
    return nodes


def test_after_a_partition_each_side_gets_all_that_the_other_published_once(tmp_path: Path) -> None:
    each = 1500  # more than recovery asks for after one gap

    async def scenario() -> None:
        async with Network() as network:
            anna, bert, _, _ = await members(network, tmp_path, 4)
            async with anna.subscribe(TOPIC, name="a") as of_anna, bert.subscribe(TOPIC, name="b") as of_bert:
                network.split(["anna", "dora"], ["bert", "cleo"])
                await publish(anna, TOPIC, range(each))
                await publish(bert, TOPIC, range(each, 2 * each))
                for publisher in (anna, bert):
                    await publisher.handed_over(1.0)  # to the other on its side, who is all it knows by now
                network.heal()
                for inbox in (of_anna, of_bert):
                    assert numbers(await book(inbox, 2 * each)) == list(range(2 * each))
                    await nothing_more(inbox)

    asyncio.run(scenario())


def test_what_nobody_keeps_any_more_is_a_gap_that_says_how_many(tmp_path: Path) -> None:
    keep = {"keep_bytes": 256 << 10}

    async def scenario() -> None:
        async with Network() as network:
            anna, bert, _ = await members(network, tmp_path, 3, **keep)
            async with bert.subscribe(TOPIC, name="billing"):
                pass
            await leave(network, "bert")
            for start in range(0, 400, 50):
                await asyncio.gather(*(anna.publish(TOPIC, f"{n}".rjust(2000)) for n in range(start, start + 50)))
                assert await anna.handed_over()
            bert = await network.node("bert", subscribe=[TOPIC], **disk(tmp_path / "bert", **keep))
            async with bert.subscribe(TOPIC, name="billing") as inbox:
                items, gaps = await read_all(inbox, 400)
                assert len(items) + gone(gaps) == 400
                assert 0 < gone(gaps) < 400
                assert all(gap.why for gap in gaps)
                assert numbers(items) == list(range(400 - len(items), 400)), "the newest are those that are kept"

    asyncio.run(scenario())


def test_a_member_that_was_killed_asks_for_what_it_missed_from_those_who_have_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna, bert, cleo = await members(network, tmp_path, 3)
            async with bert.subscribe(TOPIC, name="billing") as inbox:
                await publish(anna, TOPIC, range(10))
                await book(inbox, 10)
            await network.crash("bert")
            await publish(anna, TOPIC, range(10, 60))
            assert await anna.handed_over()
            await publish(cleo, TOPIC, range(60, 70))
            await leave(network, "anna")  # its publisher is gone, others have it
            bert = await network.node("bert", subscribe=[TOPIC], **disk(tmp_path / "bert"))
            async with bert.subscribe(TOPIC, name="billing") as inbox:
                assert numbers(await book(inbox, 60)) == list(range(10, 70))

    asyncio.run(scenario())


def test_equal_logs_at_rest_cost_a_small_message_now_and_then(tmp_path: Path) -> None:
    def said(node: Node) -> int:
        page = node.page().decode()
        lines = [line for line in page.splitlines() if f'_by_tag_total{{tag="{names.CATCHING_UP}' in line]
        return sum(int(float(line.rpartition(" ")[2])) for line in lines)

    async def scenario() -> None:
        async with Network() as network:
            anna, bert, cleo = await members(network, tmp_path, 3)
            await publish(anna, TOPIC, range(50))
            assert await anna.handed_over()
            await until(lambda: said(bert), "logs are compared at rest too")
            began, before = asyncio.get_running_loop().time(), [said(node) for node in (anna, bert, cleo)]
            await asyncio.sleep(2.0)
            rounds = asyncio.get_running_loop().time() - began
            more = sum(said(node) for node in (anna, bert, cleo)) - sum(before)
            assert more <= 3 * (rounds + 1), "at most one a second at each node"

    asyncio.run(scenario())


def test_a_reader_is_not_told_of_a_gap_where_nothing_is_missing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna, bert, _ = await members(network, tmp_path, 3)
            async with bert.subscribe(TOPIC, name="billing") as inbox:
                await publish(anna, TOPIC, range(100))
                items, gaps = await read_all(inbox, 100)
                assert numbers(items) == list(range(100))
                assert gone(gaps) == 0
                await nothing_more(inbox)

    asyncio.run(scenario())


def test_events_from_before_a_subscription_began_are_not_fetched(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna, _ = await members(network, tmp_path, 2)
            await publish(anna, TOPIC, range(10))
            assert await anna.handed_over()
            late = await network.node("late", **disk(tmp_path / "late"))
            async with late.subscribe(TOPIC, name="billing") as inbox:
                assert await late.joined(TOPIC)
                await anna.publish(TOPIC, "10")
                assert numbers(await book(inbox, 1)) == [10]
                await nothing_more(inbox)

    asyncio.run(scenario())
