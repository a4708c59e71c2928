"""Records of peers: written by and by, the newest thousand."""

import asyncio
from pathlib import Path

from gossamer.live.spool.later import RECORDS_MAX
from live.spool.spooling import spooling


def test_the_newest_record_of_a_peer_replaces_the_older(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            spool.remember(1, b"one")
            spool.remember(2**63 - 1, b"two")
            assert await spool.remembered() == [(1, b"one"), (2**63 - 1, b"two")]
            spool.remember(1, b"one, moved")
        async with spooling(tmp_path) as spool:
            assert await spool.remembered() == [(2**63 - 1, b"two"), (1, b"one, moved")]

    asyncio.run(scenario())


def test_only_the_newest_records_are_kept() -> None:
    async def scenario() -> None:
        async with spooling() as spool:
            for peer in range(RECORDS_MAX + 50):
                spool.remember(peer, b"%d" % peer)
                if peer % 100 == 0:
                    await spool.remembered()
            remembered = await spool.remembered()
            assert [peer for peer, _ in remembered] == list(range(50, RECORDS_MAX + 50))

    asyncio.run(scenario())
