"""Real nodes over the memory transport: who was away gets what was published meanwhile, from the logs of others."""

import asyncio
from pathlib import Path
from typing import Any

from gossamer import Delivery, Gap, Node
from gossamer.core.machine import FromLog, Given, GivenUp, ReadLog, Run
from gossamer.live.config.tables import SpoolConfig
from gossamer.live.reading.log_reading import ANSWER_BYTES
from gossamer.protocols.hpmcast.addresses import address_of, written
from gossamer.testing import Network
from live.watching import PATIENCE_S, until

SPREADS = ["camcast", "spidercast", "dispatch", "hpmcast"]


def settings(spread: str, number: int) -> dict[str, Any]:
    told: dict[str, Any] = {"spread": spread, "timeouts": {"leave_s": 0.2}}
    if spread == "hpmcast":
        told |= {
            "hpmcast": {"step_us": 20_000, "branching": [4, 4], "address": written(address_of(number, (4, 4)))},
            "recovery": {"method": "exchange"},
        }
    return told


async def member(network: Network, folder: Path, number: int, spread: str = "camcast", **further: Any) -> Node:
    spool = SpoolConfig(folder=folder / f"node{number}")
    return await network.node(f"node{number}", spool=spool, **{**settings(spread, number), **further})


async def leave(network: Network, node: Node) -> None:
    await node.close()
    network.nodes = {name: each for name, each in network.nodes.items() if each is not node}


async def read(inbox: Any, count: int) -> tuple[list[Delivery], list[Gap]]:
    """So many events, and whatever gaps come before them."""
    events: list[Delivery] = []
    gaps: list[Gap] = []
    async with asyncio.timeout(3 * PATIENCE_S):
        while len(events) < count:
            item = await anext(inbox)
            if isinstance(item, Gap):
                gaps.append(item)
            else:
                events.append(item)
                await inbox.ack(item)
    return events, gaps


async def away_for_a_hundred(spread: str, folder: Path) -> list[int]:
    """What a named reader gets whose node left in good order, while a hundred events were published."""
    async with Network() as network:
        nodes = [await member(network, folder, number, spread, subscribe=[".t"]) for number in range(3)]
        away = await member(network, folder, 3, spread)
        async with away.subscribe(".t", name="billing") as inbox:
            for node in (*nodes, away):
                assert await node.joined(".t", PATIENCE_S)
            await nodes[0].publish(".t", b"before")
            await read(inbox, 1)
        await leave(network, away)
        for number in range(100):
            await nodes[number % 3].publish(".t", b"%d" % number)
        back = await member(network, folder, 3, spread)
        async with back.subscribe(".t", name="billing") as inbox:
            events, _ = await read(inbox, 100)
        return sorted(int(each.payload) for each in events)


def test_on_every_spread_a_named_reader_whose_node_left_gets_a_hundred_of_a_hundred(tmp_path: Path) -> None:
    async def scenario() -> None:
        got = await asyncio.gather(*(away_for_a_hundred(spread, tmp_path / spread) for spread in SPREADS))
        assert got == [[*range(100)]] * len(SPREADS)

    asyncio.run(scenario())


def test_what_nobody_has_any_more_is_told_once_to_who_reads_and_to_who_comes_later(tmp_path: Path) -> None:
    lost = GivenUp(Run(".t", 7, 1, 11, 70))

    async def reads(node: Node, name: str) -> Gap:
        async with node.subscribe(".t", name=name) as inbox, asyncio.timeout(PATIENCE_S):
            gap = await anext(inbox)
        assert isinstance(gap, Gap)
        return gap

    async def scenario() -> None:
        async with Network() as network:
            node = await member(network, tmp_path, 0)
            async with node.subscribe(".t", name="later"), node.subscribe(".other", name="other"):
                pass
            reading = asyncio.create_task(reads(node, "now"))
            await until(lambda: node.station.readers.durables.reading(".t"))  # type: ignore[union-attr]
            node.station.driver.log.give_up(lost)
            assert (await reading).lost == 60
            await leave(network, node)
            node = await member(network, tmp_path, 0)
            assert (await reads(node, "later")).lost == 60
            await node.publish(".t", b"next")
            async with node.subscribe(".t", name="now") as inbox:
                events, gaps = await read(inbox, 1)
            assert ([each.payload for each in events], gaps) == ([b"next"], [])

    asyncio.run(scenario())


def test_the_sole_reader_of_a_super_topic_gets_what_was_published_below_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            below = [await member(network, tmp_path, number, subscribe=[".orders.eu"]) for number in range(2)]
            reader = await member(network, tmp_path, 9)
            async with reader.subscribe(".orders", name="all"):
                assert await reader.joined(".orders", PATIENCE_S)
            await leave(network, reader)
            for number in range(100):
                await below[0].publish(".orders.eu", b"%d" % number)
            back = await member(network, tmp_path, 9)
            async with back.subscribe(".orders", name="all") as inbox:
                events, _ = await read(inbox, 100)
            assert sorted(int(each.payload) for each in events) == [*range(100)]

    asyncio.run(scenario())


def test_what_two_halves_published_while_they_were_parted_everybody_has_soon_after(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = [await member(network, tmp_path, number, subscribe=[".t"]) for number in range(4)]
            for node in nodes:
                assert await node.joined(".t", PATIENCE_S)
            network.split(["node0", "node1"], ["node2", "node3"])
            for number in range(50):
                await nodes[0].publish(".t", b"%d" % number)
                await nodes[2].publish(".t", b"%d" % (50 + number))
            network.heal()
            for node in nodes:
                async with node.subscribe(".t", from_start=True) as inbox:
                    events = []
                    async with asyncio.timeout(4 * PATIENCE_S):
                        while len(events) < 100:
                            item = await anext(inbox)
                            events += [item] if isinstance(item, Delivery) else []
                assert sorted(int(each.payload) for each in events) == [*range(100)]

    asyncio.run(scenario())


def test_a_node_without_a_spool_takes_part_and_keeps_nobody_waiting(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            kept = await member(network, tmp_path, 0, subscribe=[".t"])
            without = await network.node("without", spool={"durability": "off"})
            async with without.subscribe(".t") as inbox:
                assert await without.joined(".t", PATIENCE_S)
                await kept.publish(".t", b"one")
                assert (await anext(inbox)).payload == b"one"
                tags = without.station.metrics.messages_by_tag
                await until(lambda: "catchup.compare" in tags)
                await until(lambda: kept.station.metrics.messages_by_tag.get("catchup.holds"))
                assert not any(without.station.metrics.refusals.values())

    asyncio.run(scenario())


def test_an_answer_from_the_log_says_what_there_was_no_room_for(tmp_path: Path) -> None:
    """Whoever takes a part for the whole asks for the rest a comparison later: seconds, each time."""

    async def scenario() -> None:
        async with Network() as network:
            node = await member(network, tmp_path, 0, subscribe=[".t"])
            sizes = [ANSWER_BYTES // 2 - 10_000] * 5
            ids = await asyncio.gather(*(node.publish(".t", bytes(size)) for size in sizes))
            await until(lambda: node.station.spool.last_place >= len(ids))  # type: ignore[union-attr]
            told: list[FromLog] = []

            def hear(given: Given) -> None:
                if isinstance(given, FromLog):
                    told.append(given)

            node.station.driver.feed = hear  # type: ignore[method-assign]
            me, life = node.station.me, node.station.incarnation
            node.station.log_reading.read(ReadLog(7, 1, (Run(".t", me, life, 1, 5),)))
            await until(lambda: any(each.over for each in told))
            given = [event.ordinal for each in told for event in each.events]
            assert 0 < len(given) < 5
            assert told[-1].left == (Run(".t", me, life, max(given) + 1, 5),)
            del node.station.driver.feed

    asyncio.run(scenario())
