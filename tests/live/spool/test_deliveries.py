"""Delivered events have places, and readers find them there."""

import asyncio
from pathlib import Path

import pytest

from gossamer.core.errors import Misuse
from gossamer.live.spool import Stored
from gossamer.live.spool.events import SCANNED_MAX, TOPICS_MAX
from gossamer.live.spool.store import AHEAD
from live.spool.spooling import DAY_US, ask, kept, named, outgoing, read_all, sealed, sequences, spooling


def test_events_get_places_one_after_the_other_before_they_are_committed() -> None:
    async def scenario() -> None:
        async with spooling() as spool:
            assert (spool.first_place, spool.last_place) == (1, 0)
            assert spool.keep([kept(10), kept(11)]) == 1
            assert spool.keep([]) == 3
            assert spool.keep([kept(12)]) == 3
            assert spool.last_place == 3
            page = await spool.read(1)
            assert page.items == [Stored(2, sealed(11), 3, 1000 * DAY_US), Stored(3, sealed(12), 3, 1000 * DAY_US)]
            assert (page.examined, page.lost) == (3, [])
            assert await spool.read(3) == ([], 3, [])

    asyncio.run(scenario())


def test_an_event_kept_twice_stays_in_its_first_place() -> None:
    async def scenario() -> None:
        async with spooling() as spool:
            spool.keep([kept(1), kept(2)])
            assert spool.keep([kept(1), kept(3)]) == 3
            page = await spool.read(0)
            assert [each.place for each in page.items] == [1, 2, 4]
            assert (page.examined, page.lost) == (4, [])

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        ([".soccer"], [0, 1, 2]),
        ([".soccer.italy"], [1, 2]),
        ([".soccer.italy.rome"], [2]),
        ([".socc"], []),
        ([".soccer.spain", ".tennis"], [4]),
        ([".soccer", ".soccerx"], [0, 1, 2, 3]),
        (["."], [0, 1, 2, 3, 4, 5]),
        ([".soccer", "."], [0, 1, 2, 3, 4, 5]),
    ],
)
def test_a_reader_gets_the_subtrees_it_names(topics: list[str], expected: list[int]) -> None:
    async def scenario() -> None:
        async with spooling() as spool:
            there = [".soccer", ".soccer.italy", ".soccer.italy.rome", ".soccerx", ".tennis", "."]
            spool.keep([kept(n, topic) for n, topic in enumerate(there)])
            assert await sequences(spool, topics) == expected

    asyncio.run(scenario())


def test_a_reader_of_no_topic_or_of_very_many_is_told_what_to_do() -> None:
    async def scenario() -> None:
        async with spooling() as spool:
            spool.keep([kept(1)])
            for topics in ([], [f".t{n}" for n in range(TOPICS_MAX + 1)]):
                with pytest.raises(Misuse, match="read their common super-topic"):
                    await spool.read(0, topics)
            most = [f".t{n}" for n in range(TOPICS_MAX - 1)] + [".soccer"]
            assert await sequences(spool, most) == [1]

    asyncio.run(scenario())


def test_a_page_ends_at_its_limits_and_the_next_goes_on() -> None:
    async def scenario() -> None:
        async with spooling() as spool:
            spool.keep([kept(n, size=1000) for n in range(10)])
            by_number = await spool.read(0, limit=3)
            assert ([each.place for each in by_number.items], by_number.examined) == ([1, 2, 3], 3)
            by_size = await spool.read(3, limit_bytes=2500)
            assert ([each.place for each in by_size.items], by_size.examined) == ([4, 5], 5)
            too_large = await spool.read(5, limit_bytes=10)
            assert ([each.place for each in too_large.items], too_large.examined) == ([6], 6)
            items, lost = await read_all(spool, limit=3, limit_bytes=2500)
            assert ([each.place for each in items], lost) == (list(range(1, 11)), [])

    asyncio.run(scenario())


def test_a_reader_of_a_rare_topic_advances_in_bounded_steps() -> None:
    async def scenario() -> None:
        async with spooling() as spool:
            spool.keep([kept(n, ".often") for n in range(SCANNED_MAX + 500)])
            spool.keep([kept(10**6, ".rare")])
            page = await spool.read(0, [".rare"])
            assert (page.items, page.examined) == ([], SCANNED_MAX)
            assert await sequences(spool, [".rare"]) == [10**6]

    asyncio.run(scenario())


def test_events_are_found_by_id_delivered_or_waiting() -> None:
    async def scenario() -> None:
        async with spooling() as spool:
            spool.keep([kept(n) for n in range(100)])
            await spool.accept([outgoing(200)])
            found = await spool.find([named(5), named(99), named(200), named(300)])
            assert found == {named(n): sealed(n) for n in (5, 99, 200)}

    asyncio.run(scenario())


def test_places_go_on_after_a_restart_without_a_jump(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            spool.keep([kept(n) for n in range(100)])
        async with spooling(tmp_path) as spool:
            assert spool.last_place == 100
            assert spool.keep([kept(100)]) == 101
            assert await sequences(spool) == list(range(101))

    asyncio.run(scenario())


def test_places_are_reserved_anew_long_before_they_run_out(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            [(reserved,)] = await ask(spool, "SELECT value FROM facts WHERE name = 'places'")
            assert reserved == AHEAD
            spool._last = AHEAD // 2
            spool.keep([kept(1)])
            [(reserved,)] = await ask(spool, "SELECT value FROM facts WHERE name = 'places'")
            assert reserved == AHEAD // 2 + 1 + AHEAD
            page = await spool.read(0)
            assert [each.place for each in page.items] == [AHEAD // 2 + 1], "and empty places are passed at once"

    asyncio.run(scenario())


def test_every_size_of_batch_is_written_whole() -> None:
    async def scenario() -> None:
        async with spooling() as spool:
            count = 0
            for size in (1, 2, 3, 63, 64, 65, 127, 128, 200):
                spool.keep([kept(count + n) for n in range(size)])
                await spool.accept([outgoing(count + n) for n in range(size)])
                count += size
            assert await sequences(spool) == list(range(count))
            spool.done([named(n) for n in range(count - 1)])
            assert [each.id for each in await spool.outbox(10)] == [named(count - 1)]

    asyncio.run(scenario())


def test_large_events_come_back_as_they_were(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            spool.keep([kept(1, size=16 << 20), kept(2, size=5 << 20)])
            await spool.accept([outgoing(3, size=16 << 20)])
        async with spooling(tmp_path) as spool:
            items, _ = await read_all(spool)
            assert [each.sealed for each in items] == [sealed(1, 16 << 20), sealed(2, 5 << 20)]
            assert (await spool.outbox(1))[0].sealed == sealed(3, 16 << 20)

    asyncio.run(scenario())
