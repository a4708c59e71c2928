"""A reader's inbox: memory, spool, gaps, cursors."""

import asyncio

import pytest

from gossamer.core.errors import Misuse, TransportDown
from gossamer.core.patterns import Pattern
from gossamer.live.config.tables import Limits, SpoolConfig
from gossamer.live.node import Node
from gossamer.live.reading import inbox
from gossamer.live.reading.deliveries import Delivery, Gap, read_delivery
from gossamer.testing import QUICK, Network
from gossamer.wire.sealed import TooDeep
from live.watching import PATIENCE_S

SMALL = Limits(inbox_items=5)


async def numbered(node: Node, count: int, start: int = 0) -> None:
    await asyncio.gather(*(node.publish(".a", b"%d" % i) for i in range(start, start + count)))


async def take(inbox, count: int) -> list[Delivery | Gap]:
    async with asyncio.timeout(PATIENCE_S):
        return [await anext(inbox) for _ in range(count)]


def payloads(items: list[Delivery | Gap]) -> list[bytes]:
    return [item.payload for item in items if isinstance(item, Delivery)]


def test_a_slow_reader_finds_in_the_spool_what_memory_had_no_room_for() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", limits=SMALL)
            async with node.subscribe(".a") as inbox:
                await numbered(node, 100)
                items = await take(inbox, 100)
                assert sorted(payloads(items)) == sorted(b"%d" % i for i in range(100))
                assert [item.place for item in items] == list(range(1, 101))
                assert inbox.spills > 0
                await numbered(node, 3, start=100)  # caught up: from memory again
                assert len(payloads(await take(inbox, 3))) == 3

    asyncio.run(scenario())


def test_what_cannot_be_read_from_the_spool_is_a_gap_and_what_follows_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(sealed: bytes, *about: int) -> Delivery:
        item = read_delivery(sealed, *about)
        if item.payload == b"50":
            raise TooDeep("as if the reader was called from high up the stack")
        return item

    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", limits=SMALL)
            async with node.subscribe(".a") as reader:
                await numbered(node, 100)
                items = await take(reader, 100)
                assert sorted(payloads(items)) == sorted(b"%d" % i for i in range(100) if i != 50)
                assert [item.lost for item in items if isinstance(item, Gap)] == [1]

    monkeypatch.setattr(inbox, "read_delivery", read)
    asyncio.run(scenario())


def test_without_a_spool_a_reader_that_is_too_slow_is_told_how_much_it_lost() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", limits=SMALL, spool=SpoolConfig(durability="off"))
            async with node.subscribe(".a") as inbox:
                await numbered(node, 100)
                items = await take(inbox, 6)
                assert [type(item) for item in items] == [Delivery] * 5 + [Gap]
                assert items[-1].lost == 95

    asyncio.run(scenario())


def test_a_reader_of_a_super_topic_gets_the_subtopics_events_and_no_others() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a")
            async with node.subscribe(".a.b") as inbox:
                for topic in (".a", ".a.c", ".a.b.x", ".a.b"):
                    await node.publish(topic, topic)
                assert sorted(payloads(await take(inbox, 2))) == [b".a.b", b".a.b.x"]

    asyncio.run(scenario())


def test_from_start_gives_what_the_spool_has_first() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", subscribe=(".a",))
            await numbered(node, 10)
            async with node.subscribe(".a", from_start=True) as inbox:
                assert len(payloads(await take(inbox, 10))) == 10
                await numbered(node, 1, start=10)
                assert payloads(await take(inbox, 1)) == [b"10"]

    asyncio.run(scenario())


def test_acknowledging_without_a_name_says_what_to_do() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a")
            async with node.subscribe(".a") as inbox:
                await numbered(node, 1)
                with pytest.raises(Misuse, match="subscribe with name="):
                    await inbox.ack((await take(inbox, 1))[0])
            with pytest.raises(Misuse, match="spool"):
                (await network.node("b", spool=SpoolConfig(durability="off"))).subscribe(".a", name="x")

    asyncio.run(scenario())


def test_a_reader_of_a_node_that_closes_is_told_so() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a")
            async with node.subscribe(".a") as inbox:
                reading = asyncio.create_task(anext(inbox))
                await asyncio.sleep(0)
                await node.close()
                with pytest.raises(TransportDown, match="closed"):
                    await reading

    asyncio.run(scenario())


def test_two_readers_of_one_node_each_get_everything_and_the_node_stays_until_both_have_left() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a")
            first = node.subscribe(".a")
            async with node.subscribe(".a") as second:
                async with first:
                    await numbered(node, 2)
                    assert payloads(await take(first, 2)) == payloads(await take(second, 2)) == [b"0", b"1"]
                await numbered(node, 1, start=2)
                assert payloads(await take(second, 1)) == [b"2"]
            assert Pattern(".a") not in node.station.readers.subscriptions.readers

    asyncio.run(scenario())


def test_the_same_key_is_the_same_event_also_after_a_restart(tmp_path) -> None:
    spool = SpoolConfig(folder=tmp_path)

    async def life() -> list[object]:
        async with Network() as network:
            node = await network.node("a", spool=spool, scamp=QUICK, subscribe=(".a",))
            at_once = await asyncio.gather(*(node.publish(".a", b"x", key="k") for _ in range(3)))
            return [*at_once, await node.publish(".a", b"x", key="k"), await node.publish(".b", b"x", key="k")]

    one, two = asyncio.run(life()), asyncio.run(life())
    assert len(set(one[:4] + two[:4])) == 1
    assert one[4] != one[0]
    assert one[4] == two[4]
