"""Accepted publications wait until they are handed over, whatever happens to the process in between."""

import asyncio
from pathlib import Path

import pytest

from gossamer.core.errors import Misuse
from live.spool.spooling import Clock, kept, named, outgoing, sealed, spooling, waiting


def test_an_accepted_publication_waits_until_it_is_done_across_restarts(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            await spool.accept([outgoing(1), outgoing(2, ".tennis"), outgoing(3)])
            spool.done([named(1)])
        async with spooling(tmp_path) as spool:
            assert [(each.id, each.topic, each.sealed) for each in await spool.outbox(10)] == [
                (named(2), ".tennis", sealed(2)),
                (named(3), ".soccer", sealed(3)),
            ]
            spool.done([named(2), named(3), named(99)])
            assert await waiting(spool) == []
        async with spooling(tmp_path) as spool:
            assert await waiting(spool) == []

    asyncio.run(scenario())


def test_the_outbox_is_read_page_by_page_oldest_first() -> None:
    async def scenario() -> None:
        async with spooling() as spool:
            await spool.accept([outgoing(n) for n in range(150)])
            read: list[int] = []
            after = 0
            while page := await spool.outbox(40, after):
                read += [each.id.sequence for each in page]
                after = page[-1].number
            assert read == list(range(150))

    asyncio.run(scenario())


def test_a_key_names_the_first_publication_under_it_on_its_topic(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            assert await spool.keyed(".soccer", "goal-1") is None
            accepted = spool.accept([outgoing(1, key="goal-1"), outgoing(2, key="goal-2"), outgoing(3)])
            assert await spool.keyed(".soccer", "goal-1") == named(1), "while it is being committed, too"
            await accepted
            await spool.accept([outgoing(4, key="goal-1")])
            spool.done([named(1)])
        async with spooling(tmp_path) as spool:
            assert await spool.keyed(".soccer", "goal-1") == named(1), "also after it was handed over"
            assert await spool.keyed(".soccer", "goal-2") == named(2)
            assert await spool.keyed(".tennis", "goal-1") is None

    asyncio.run(scenario())


def test_an_id_that_was_used_is_refused_and_spoils_nothing_else() -> None:
    async def scenario() -> None:
        async with spooling() as spool:
            await spool.accept([outgoing(1)])
            good, bad, better = spool.accept([outgoing(2)]), spool.accept([outgoing(1)]), spool.accept([outgoing(3)])
            await good
            with pytest.raises(Misuse, match="give every event its own"):
                await bad
            await better
            assert await waiting(spool) == [1, 2, 3]
            assert spool.trouble is None

    asyncio.run(scenario())


def test_what_sqlite_cannot_hold_is_refused_and_spoils_nothing_else() -> None:
    async def scenario() -> None:
        async with spooling() as spool:
            bad = spool.accept([outgoing(2**63)])
            good = spool.accept([outgoing(1, key="k")])
            with pytest.raises(Misuse, match="cannot be written"):
                await bad
            await good
            assert await waiting(spool) == [1]

    asyncio.run(scenario())


def test_an_incarnation_is_the_clock_and_never_goes_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        clock = Clock(5_000)
        async with spooling(tmp_path, now_us=clock) as spool:
            assert spool.incarnation == 5_000
        clock.now_us = 10
        async with spooling(tmp_path, now_us=clock) as spool:
            assert spool.incarnation == 5_001
        clock.now_us = 7_000
        async with spooling(tmp_path, now_us=clock) as spool:
            assert spool.incarnation == 7_000

    asyncio.run(scenario())


def test_ids_met_last_come_newest_last_whether_published_or_delivered(tmp_path: Path) -> None:
    async def scenario() -> None:
        clock = Clock()
        async with spooling(tmp_path, now_us=clock) as spool:
            for n in range(6):
                clock.now_us += 10
                if n % 2:
                    await spool.accept([outgoing(n)])
                spool.keep([kept(n, at_us=clock.now_us)])
            clock.now_us += 10
            await spool.accept([outgoing(6)])
            spool.done([named(n) for n in range(7)])
        async with spooling(tmp_path) as spool:
            assert await spool.seen(100) == [named(n) for n in range(7)]
            assert await spool.seen(2) == [named(5), named(6)]

    asyncio.run(scenario())
