"""Every budget by itself: what waits for members has a limit and an answer, and takes nothing from what is kept."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gossamer import Client, Node
from gossamer.core.errors import Full
from gossamer.live.links.transports.memory import Memory
from gossamer.testing import Network
from live.spool.spooling import kept, named, outgoing, sequences, spooling, waiting
from live.watching import payloads, until

LIMIT = 200_000


def settings(folder: Path, full: str) -> dict[str, Any]:
    spool = {"folder": str(folder), "outbox_bytes": LIMIT, "outbox_full": full}
    return {"spool": spool, "timeouts": {"leave_s": 0.05, "ack_s": 0.1}}


def outbox_of(node: Node) -> int:
    assert node.station.spool is not None
    return node.station.spool.outbox_bytes


async def fill(node: Node) -> int:
    """Publishes until there is no room; how many there was room for."""
    for number in range(1000):
        try:
            await node.publish(".x", b"%d" % number + bytes(5_000))
        except Full:
            return number
    raise AssertionError("it was never full")


def test_a_full_outbox_refuses_and_takes_again_once_somebody_has_taken_what_waits(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("publisher", **settings(tmp_path, "refuse"))
            count = await fill(node)
            assert 15 < count < 40
            assert LIMIT <= outbox_of(node) < 1.2 * LIMIT
            with pytest.raises(Full, match="the outbox is full, for too few members take what is published"):
                await node.publish(".x", b"one more")
            async with Client(node.address, transport=Memory(network.memory)) as client:
                with pytest.raises(Full, match="the outbox is full"):
                    await client.publish(".x", b"one more")
            reader = await network.node("reader")
            async with reader.subscribe(".x") as inbox:
                assert len(await payloads(inbox, count)) == count
                await until(lambda: outbox_of(node) == 0)
                await node.publish(".x", b"at last")
                assert await payloads(inbox, 1) == [b"at last"]

    asyncio.run(scenario())


def test_where_a_full_outbox_waits_publishing_goes_on_once_somebody_has_taken_what_waits(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("publisher", **settings(tmp_path, "wait"))
            under_way: Any = [node.publish(".x", b"%d" % number + bytes(5_000)) for number in range(100)]
            await until(lambda: outbox_of(node) >= LIMIT)
            assert outbox_of(node) < 2 * LIMIT
            assert not all(each.done() for each in under_way)
            reader = await network.node("reader")
            async with reader.subscribe(".x") as inbox:
                assert len(await payloads(inbox, 100)) == 100
                await asyncio.gather(*under_way)

    asyncio.run(scenario())


def test_more_than_memory_may_hold_is_refused_whatever_the_outbox_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.live.publishing.publishing.WAITING_BYTES", 100_000)

    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("publisher", **settings(tmp_path, "wait"))
            under_way: Any = [node.publish(".x", bytes(10_000)) for _ in range(10)]
            with pytest.raises(Full, match="10 publications wait already: await some"):
                node.publish(".x", bytes(10_000))
            await asyncio.gather(*under_way)

    asyncio.run(scenario())


def test_what_waits_takes_nothing_from_what_is_kept() -> None:
    async def scenario() -> None:
        async with spooling(keep_bytes=400_000) as spool:
            spool.keep([kept(n, size=3_500) for n in range(50)])
            for start in range(0, 200, 20):
                await spool.accept([outgoing(start + n, size=20_000) for n in range(20)])
            await spool.tidy()
            assert await sequences(spool) == [*range(50)]
            assert len(await waiting(spool)) == 200
            assert 4_000_000 < spool.outbox_bytes < 5_500_000
            spool.done([named(n) for n in range(200)])
            spool.done([named(n) for n in range(200)])
            await spool.tidy()
            assert spool.outbox_bytes == 0
            assert await sequences(spool) == [*range(50)]
            spool.keep([kept(50 + n, size=3_500) for n in range(200)])
            await spool.tidy()
            assert 0 < len(await sequences(spool)) < 120, "its own limit holds"

    asyncio.run(scenario())


def test_a_new_life_knows_how_much_waits(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            await spool.accept([outgoing(n, size=1_000 * (n + 1)) for n in range(10)])
            spool.done([named(3)])
            await spool.tidy()
            before = spool.outbox_bytes
        async with spooling(tmp_path) as spool:
            assert spool.outbox_bytes == before > 0
            assert await spool.outbox_ids(4) == ([named(0), named(1), named(2), named(4)], 9)
            assert [each.id.sequence for each in await spool.outbox(9, 0, limit_bytes=3_500)] == [0, 1]
            assert [each.id.sequence for each in await spool.outbox(9, 9, limit_bytes=1)] == [9], "one, whatever it has"

    asyncio.run(scenario())


def test_a_new_life_takes_up_what_waits_by_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.live.publishing.handover.UNACKED_BYTES", 60_000)
    monkeypatch.setattr("gossamer.live.publishing.backlog.AT_ONCE_BYTES", 20_000)
    monkeypatch.setattr("gossamer.live.publishing.backlog.PAGES_AT_ONCE", 4)

    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("publisher", **settings(tmp_path, "refuse"))
            count = await fill(node)
            await network.crash("publisher")
            again = await network.node("publisher", **settings(tmp_path, "refuse"))
            assert 0 < again.station.handover.size < 100_000
            assert again.station.handover.backlog.left > 0
            reader = await network.node("reader")
            async with reader.subscribe(".x") as inbox:
                assert len({*await payloads(inbox, count)}) == count
                await until(lambda: outbox_of(again) == 0)
                assert (again.station.handover.size, again.station.handover.backlog.left) == (0, 0)

    asyncio.run(scenario())
