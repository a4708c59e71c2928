"""Pages of the log: the same each time they are asked for, and acknowledged only when somebody says so."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gossamer import Client, F
from gossamer.core.errors import Misuse
from gossamer.live.clients.log_reader import LogReader
from gossamer.live.config.tables import SpoolConfig
from gossamer.live.links.transports.memory import Memory
from gossamer.live.node import Node
from gossamer.live.reading.deliveries import LogPage
from gossamer.testing import Network
from live.watching import PATIENCE_S


def numbers(page: LogPage) -> list[int]:
    return [int(each.payload) for each in page.items]


async def publish(node: Node, count: int, start: int = 0, **about: Any) -> None:
    await asyncio.gather(
        *(node.publish(".a.b", b"%d" % i, attributes={"n": i}, **about) for i in range(start, start + count))
    )


def attached(node: Node, network: Network) -> Client:
    return Client(node.address, transport=Memory(network.memory))


async def committed(log: LogReader, place: int) -> int:
    """Its node's own events come into its log a moment after they are published."""
    async with asyncio.timeout(PATIENCE_S):
        while (settled := await log.settled()) < place:
            await asyncio.sleep(0.001)
    return settled


async def whole(log: LogReader, after: int, until: int = 0, items: int = 1000) -> list[int]:
    found, end = [], until or await log.settled()
    while after < end:
        page = await log.page(after, until, items)
        found += numbers(page)
        assert page.examined > after
        after = page.examined
    return found


def test_a_page_is_the_same_however_often_it_is_asked_for(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", subscribe=[".a"], spool=SpoolConfig(folder=tmp_path))
            async with attached(node, network) as client:
                log = LogReader(client, ".a", F.attr("n") >= 10)
                start = await log.settled()
                await publish(node, 50)
                end = await committed(log, start + 50)
                first = await log.page(start, end, items=20)
                await publish(node, 30, start=50)
                await committed(log, end + 30)
                again = await log.page(start, end, items=20)
                assert (again.items, again.examined) == (first.items, first.examined)
                counted = await log.count(start, end, items=20)
                assert (counted.found, counted.examined) == (len(first.items), first.examined)
                assert sorted(await whole(log, start, end)) == [*range(10, 50)]
                assert sorted(await whole(log, start, items=7)) == [*range(10, 80)]
                assert (await log.page(end + 30, 0)) == LogPage([], end + 30, 0, end + 30)
                nothing = LogReader(client, ".b")
                assert (await nothing.page(start, end)).items == []

    asyncio.run(scenario())


def test_what_was_read_by_pages_is_acknowledged_up_to_a_place_and_comes_no_more(tmp_path: Path) -> None:
    async def life(first: bool) -> None:
        async with Network() as network:
            node = await network.node("a", spool=SpoolConfig(folder=tmp_path))
            async with attached(node, network) as client:
                log = LogReader(client, ".a")
                if first:
                    async with client.subscribe(".a", name="spark") as reader:
                        await publish(node, 1)
                        await committed(log, 1)
                        with pytest.raises(Misuse, match="somebody reads 'spark'"):
                            await log.acknowledge_through("spark", 1)
                        assert (await anext(reader)).payload == b"0"
                    await publish(node, 600, start=1)
                    await committed(log, 601)
                    (before,) = await client.subscriptions()
                    page = await log.page(before.position, items=400)
                    await log.acknowledge_through("spark", page.examined)
                    await log.acknowledge_through("spark", page.examined)  # again does no harm
                    (after,) = await client.subscriptions()
                    assert (after.position, after.behind) == (page.examined, 601 - len(page.items))
                    with pytest.raises(Misuse, match="has no place"):
                        await log.acknowledge_through("spark", await log.settled() + 1)
                    with pytest.raises(Misuse, match="no subscription 'other'"):
                        await log.acknowledge_through("other", 1)
                (now,) = await client.subscriptions()
                async with client.subscribe(".a", name="spark") as reader:
                    rest = [await anext(reader) for _ in range(601 - 400)]
                    mark = await reader.bookmark()
                assert [item.place for item in rest] == [*range(now.position + 1, now.position + 202)]
                assert mark.topic == ".a"

    for first in (True, False):
        asyncio.run(life(first))


def test_who_may_not_read_gets_no_page_and_a_node_without_a_spool_has_none() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", spool=SpoolConfig(durability="off"))
            async with attached(node, network) as client:
                with pytest.raises(Misuse, match="needs a spool"):
                    await LogReader(client, ".a").settled()
                with pytest.raises(Misuse, match="expected a comparison"):
                    LogReader(client, ".a", "price > 1 and 5")

    asyncio.run(scenario())
