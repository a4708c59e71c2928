"""Refusals stand in the trace: who was refused, why, and not so many rows that they fill the disk."""

import asyncio
from collections import Counter
from pathlib import Path

from gossamer.core.ids import peer_of
from gossamer.core.trace import Row
from gossamer.live.config.tables import TraceConfig
from gossamer.live.keys.network import Network
from gossamer.parts.telling import REJECTS_BURST
from gossamer.protocols.scamp.messages import Marks
from gossamer.wire.segment import SegmentReader
from live.hostile.arena import TOPIC, Arena
from live.hostile.attacker import Attacker, event, signed

MALLORY = peer_of("mallory")


def rejects(folder: Path) -> list[Row]:
    segments = sorted(folder.glob("*.segment"))
    return [row for each in segments for rows in SegmentReader(each) for row in rows if row.kind == "reject"]


def test_refusals_are_in_the_trace_with_peer_and_reason(network: Network, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Arena(network, trace=TraceConfig(folder=tmp_path)) as arena:
            keys = arena.keys("mallory")
            async with Attacker(arena.victim.address) as nobody:
                nobody.send(b"no TLS at all, and longer than its record would be")
                await nobody.is_turned_away()
            async with Attacker(arena.victim.address, keys) as attacker:
                await attacker.greet()
                attacker.spread(*signed(keys, event(keys, topic=".cricket")))
                attacker.say(Marks(TOPIC, 1, b"bad", None, True))
                attacker.send(b"\xff" * 6)
                await attacker.is_turned_away()

    asyncio.run(scenario())
    assert Counter((row.peer, row.detail) for row in rejects(tmp_path)) == {
        (None, "bad handshake"): 1,
        (MALLORY, "publisher not granted"): 1,
        (MALLORY, "not a list of marks"): 1,
        (MALLORY, "bad frame"): 1,
    }


def test_a_flood_of_refusals_leaves_a_few_rows(network: Network, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Arena(network, trace=TraceConfig(folder=tmp_path)) as arena:
            async with Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
                await attacker.greet()
                stranger = arena.keys("oscar")
                for start in range(0, 2000, 60):
                    attacker.spread(*signed(stranger, *(event(stranger, start + i) for i in range(60))))
                attacker.say(*[Marks(TOPIC, 1, b"bad", None, True)] * 2000)
                assert await attacker.still_up()
            assert arena.refused("unknown publisher") == 2040
            assert arena.refused("not a list of marks") == 2000
            await arena.is_unharmed()

    asyncio.run(scenario())
    rows = Counter(row.detail for row in rejects(tmp_path))
    assert rows.keys() == {"unknown publisher", "not a list of marks"}
    assert all(REJECTS_BURST <= count <= 2 * REJECTS_BURST for count in rows.values())
