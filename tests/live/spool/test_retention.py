"""What is too old or too much goes, the oldest first, a little at a time, and never what still waits."""

import asyncio
from pathlib import Path

from gossamer.live.spool import Lost, Spool
from gossamer.live.spool.retention import STEP_BYTES, STEP_ROWS
from gossamer.live.spool.schema import number
from gossamer.live.spool.store import Store
from live.spool.spooling import DAY_US, Clock, ask, kept, named, outgoing, read_all, sequences, spooling, waiting

LEFT = "SELECT count(*) FROM events"


async def count(spool: Spool, table: str) -> int:
    [(rows,)] = await ask(spool, f"SELECT count(*) FROM {table}")
    return int(rows)


def test_old_events_go_and_a_reader_that_was_away_is_told() -> None:
    async def scenario() -> None:
        clock = Clock()
        async with spooling(now_us=clock, keep_s=3600) as spool:
            spool.keep([kept(n, at_us=clock.now_us) for n in range(5)])
            clock.now_us += 1800 * 1_000_000
            spool.keep([kept(n, at_us=clock.now_us) for n in range(5, 8)])
            clock.now_us += 1801 * 1_000_000
            await spool.tidy()
            assert spool.first_place == 6
            items, lost = await read_all(spool)
            assert [each.place for each in items] == [6, 7, 8]
            assert lost == [Lost(1, 5, ".", 0)]
            items, lost = await read_all(spool, after=3)
            assert lost == [Lost(4, 5, ".", 0)]
            items, lost = await read_all(spool, after=spool.first_place - 1)
            assert ([each.place for each in items], lost) == ([6, 7, 8], [])

    asyncio.run(scenario())


def test_events_go_by_themselves_while_new_ones_come() -> None:
    async def scenario() -> None:
        clock = Clock()
        async with spooling(now_us=clock, keep_s=3600) as spool:
            spool.keep([kept(n, at_us=clock.now_us) for n in range(10)])
            await spool.read(0)
            clock.now_us += DAY_US
            spool.keep([kept(10, at_us=clock.now_us)])
            assert await sequences(spool) == [10]

    asyncio.run(scenario())


def test_everything_pruned_leaves_places_as_they_were(tmp_path: Path) -> None:
    async def scenario() -> None:
        clock = Clock()
        async with spooling(tmp_path, now_us=clock) as spool:
            spool.keep([kept(n, at_us=clock.now_us) for n in range(1000)])
            clock.now_us += 2 * DAY_US
            await spool.tidy()
            assert (spool.first_place, spool.last_place) == (1001, 1000)
        async with spooling(tmp_path, now_us=clock) as spool:
            assert (spool.first_place, spool.last_place) == (1001, 1000)
            assert (await spool.read(0)).lost == [Lost(1, 1000, ".", 0)]
            assert spool.keep([kept(1)]) == 1001

    asyncio.run(scenario())


def test_one_step_deletes_a_bounded_number_of_events_and_of_bytes() -> None:
    async def scenario() -> None:
        clock = Clock()
        async with spooling(now_us=clock) as spool:
            spool.keep([kept(n, at_us=clock.now_us) for n in range(1000)])
            spool.keep([kept(1000 + n, size=STEP_BYTES // 2, at_us=clock.now_us) for n in range(5)])
            await spool.read(0)

            def steps(store: Store) -> list[int]:
                clock.now_us += 2 * DAY_US
                return [number(store.db, LEFT) for _ in range(6) if store.write()]

            left = await spool._courier.ask(steps)
            assert left == [1005 - STEP_ROWS, 1005 - 2 * STEP_ROWS, 1005 - 3 * STEP_ROWS, 3, 1, 0]

    asyncio.run(scenario())


def test_beyond_its_bytes_the_oldest_events_go_and_the_file_stops_growing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with spooling(tmp_path, keep_bytes=2 << 20) as spool:
            for n in range(100):
                spool.keep([kept(64 * n + m, size=1024) for m in range(64)])
                await spool.read(spool.last_place)
            await spool.tidy()
            assert spool.used_bytes <= 2 << 20
            there = await sequences(spool)
            assert there == list(range(there[0], 6400))
            assert len(there) > 1000
            assert spool.first_place == there[0] + 1
        assert (tmp_path / "spool.sqlite").stat().st_size < 3 << 20

    asyncio.run(scenario())


def test_publications_that_wait_outlive_every_bound() -> None:
    async def scenario() -> None:
        clock = Clock()
        async with spooling(now_us=clock, keep_bytes=0, keep_s=1) as spool:
            await spool.accept([outgoing(n, key=str(n)) for n in range(10)])
            clock.now_us += 10 * DAY_US
            await spool.tidy()
            assert await waiting(spool) == list(range(10))
            assert await spool.keyed(".soccer", "3") == named(3)
            spool.done([named(n) for n in range(5)])
            await spool.tidy()
            assert await waiting(spool) == [5, 6, 7, 8, 9]
            assert await count(spool, "published") == 5
            assert await spool.keyed(".soccer", "3") is None
            spool.done([named(n) for n in range(5, 10)])
            await spool.tidy()
            assert await count(spool, "published") == 0
            await spool.accept([outgoing(3, key="3")])
            assert await waiting(spool) == [3]

    asyncio.run(scenario())


def test_a_publisher_that_reads_nothing_stays_within_its_bytes() -> None:
    async def scenario() -> None:
        async with spooling(keep_bytes=200_000) as spool:
            for n in range(100):
                await spool.accept([outgoing(100 * n + m) for m in range(100)])
                spool.done([named(100 * n + m) for m in range(100)])
            await spool.tidy()
            assert spool.used_bytes <= 200_000
            assert 0 < await count(spool, "published") < 5000

    asyncio.run(scenario())


def test_bounds_can_be_changed_while_the_node_runs() -> None:
    async def scenario() -> None:
        clock = Clock()
        async with spooling(now_us=clock) as spool:
            spool.keep([kept(1, at_us=clock.now_us)])
            clock.now_us += 60_000_000
            await spool.tidy()
            assert await sequences(spool) == [1]
            spool.tune(keep_s=30, keep_bytes=1 << 30, durable_bytes=1 << 30)
            await spool.tidy()
            assert await sequences(spool) == []

    asyncio.run(scenario())


def test_losses_below_what_is_kept_are_forgotten() -> None:
    async def scenario() -> None:
        clock = Clock()
        async with spooling(now_us=clock) as spool:
            spool._courier.change(lambda store: store.lose([Lost(1, 3, ".soccer", 3)]))
            spool._last = 3
            spool.keep([kept(1, at_us=clock.now_us)])
            assert (await spool.read(0)).lost == [Lost(1, 3, ".soccer", 3)]
            clock.now_us += 2 * DAY_US
            await spool.tidy()
            assert (await spool.read(0)).lost == [Lost(1, 4, ".", 0)]
            assert await count(spool, "lost") == 0

    asyncio.run(scenario())
