"""A machine's clock that is set while nodes run: noticed, told, and followed by nothing but grants."""

import asyncio
import logging
import time
from pathlib import Path
from typing import Any

import pytest

from gossamer.core.trace import Row
from gossamer.live.config.tables import TraceConfig
from gossamer.live.running import station
from gossamer.live.running.clock import JUMP_US, Clock
from gossamer.testing import Network
from gossamer.wire.segment import SegmentReader
from live.exposition import value
from live.watching import payloads, until
from wall import Wall

HOUR_S = 3600
DAYS_S = 2 * 24 * HOUR_S


def test_a_jump_is_not_followed_and_told_once(wall: Wall, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    start_us = clock.now_us()
    for ahead_s, jumps in ((0.1, 0), (HOUR_S, 1), (HOUR_S, 1), (0.0, 2)):
        wall.ahead_s = ahead_s
        clock.check()
        assert clock.jumps == jumps
    assert 0 <= clock.now_us() - start_us < HOUR_S * 1_000_000 - JUMP_US
    told = [each.getMessage() for each in caplog.records]
    assert [each[: len("the machine's clock jumped by -3600")] for each in told] == [
        "the machine's clock jumped by 3600.",
        "the machine's clock jumped by -3600",
    ]
    assert all("restart the node if" in each for each in told)


def test_a_node_looks_at_the_clock_and_counts_jumps(
    wall: Wall, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(station, "BEAT_S", 0.01)

    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a")
            assert value(node.page(), "gossamer_clock_jumps_total") == 0
            wall.ahead_s = -HOUR_S
            await until(lambda: value(node.page(), "gossamer_clock_jumps_total") == 1)

    with caplog.at_level(logging.WARNING, "gossamer.clock"):
        asyncio.run(scenario())
    assert "the machine's clock jumped by -3600.0 s" in caplog.text


@pytest.mark.parametrize("ahead_s", [HOUR_S, -HOUR_S])
def test_every_row_of_a_trace_keeps_the_time_of_the_start(wall: Wall, tmp_path: Path, ahead_s: float) -> None:
    lasted: list[int] = []

    async def scenario() -> None:
        async with Network() as network:
            trace = TraceConfig(folder=tmp_path, level="full")
            lasted.append(time.time_ns() // 1000)
            reader, publisher = await network.node("a", trace=trace), await network.node("b", trace=trace)
            async with reader.subscribe(".x") as inbox:
                wall.ahead_s = ahead_s
                await publisher.publish(".x", b"alone")
                assert await payloads(inbox, 1) == [b"alone"]
                await asyncio.gather(*(publisher.publish(".x", b"%d" % n) for n in range(3)))  # a pack
                await payloads(inbox, 3)
        wall.ahead_s = 0.0
        lasted.append(time.time_ns() // 1000)

    asyncio.run(scenario())
    rows: list[Row] = [row for path in tmp_path.iterdir() for record in SegmentReader(path) for row in record]
    assert {"start", "publish", "send", "receive", "deliver", "stop"} <= {row.kind for row in rows}
    first_us, last_us = lasted
    assert [row for row in rows if not first_us - JUMP_US < row.at_us < last_us + JUMP_US] == []


@pytest.mark.parametrize("ahead_s", [DAYS_S, -DAYS_S])
def test_a_clock_that_is_set_deletes_nothing_from_the_spool(wall: Wall, tmp_path: Path, ahead_s: float) -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", subscribe=(".x",), spool={"folder": str(tmp_path)})
            spool = node.station.spool
            assert spool is not None
            before = await node.publish(".x", b"before", key="k")
            await until(lambda: spool.last_place == 1)
            wall.ahead_s = ahead_s
            await node.publish(".x", b"after")
            await until(lambda: spool.last_place == 2)
            await spool.tidy()
            assert await node.publish(".x", b"again", key="k") == before
            async with node.subscribe(".x", from_start=True) as inbox:
                assert await payloads(inbox, 2) == [b"before", b"after"]
            page = node.page()
            assert value(page, "gossamer_clocks_apart_total") == 0

    asyncio.run(scenario())


@pytest.mark.parametrize("days", [2, -2])
def test_a_start_with_a_clock_days_away_deletes_neither_events_nor_what_waits(
    days: int, tmp_path: Path, wall: Wall
) -> None:
    async def life(jumps: int, publish: bytes) -> None:
        async with Network() as network:
            settings: dict[str, Any] = {
                "spool": {"folder": str(tmp_path)},
                "timeouts": {"leave_s": 0.05, "ack_s": 0.01},
            }
            node = await network.node("a", subscribe=[".x"], **settings)
            lonely = await node.publish(".x", publish)
            handover, spool = node.station.handover, node.station.spool
            assert spool is not None
            await until(lambda: handover.unacked[lonely].tries >= 2)
            await spool.tidy()
            assert len(await spool.outbox(10)) == len((await spool.read(0)).items) == len(handover.unacked)
            found.append(len(handover.unacked))
            assert node.station.clock.jumps == jumps

    found: list[int] = []
    asyncio.run(life(0, b"before"))
    wall.ahead_s = days * 24 * HOUR_S
    asyncio.run(life(1, b"meanwhile"))
    wall.ahead_s = 0
    asyncio.run(life(1, b"after"))
    assert found == [1, 2, 3]
