"""Ages count by the time the node has lived through: no clock, and no absence, deletes anything."""

import asyncio
import logging
import sqlite3
from pathlib import Path

import pytest

from live.spool.spooling import DAY_US, Clock, file_of, kept, outgoing, sequences, spooling, waiting

HOUR_US = DAY_US // 24
WEEK_US = 7 * DAY_US
NOW_US = 1_000 * DAY_US


def live(folder: Path, wall_us: int, lived_us: int = 0, keep: int | None = None) -> tuple[list[int], list[int], bool]:
    """A life that begins when the clock shows this and lasts so long. What it has of events and publications, and
    whether the clock seemed to have been set."""

    async def scenario() -> tuple[list[int], list[int], bool]:
        clock = Clock(wall_us)
        async with spooling(folder, now_us=clock) as spool:
            await spool.tidy()
            if keep is not None:
                spool.keep([kept(keep, at_us=spool.lived_us())])
                await spool.accept([outgoing(keep)])
            clock.now_us += lived_us
            await spool.tidy()
            return await sequences(spool), await waiting(spool), spool.jumped

    return asyncio.run(scenario())


@pytest.mark.parametrize("days", [2, -2, 400, -400])
def test_a_start_with_a_clock_far_away_deletes_nothing_and_neither_does_the_next_one(
    days: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "gossamer.spool"):
        assert live(tmp_path, NOW_US, keep=1) == ([1], [1], False)
        assert live(tmp_path, NOW_US + days * DAY_US, keep=2) == ([1, 2], [1, 2], True)
        assert live(tmp_path, NOW_US + HOUR_US, keep=3) == ([1, 2, 3], [1, 2, 3], True), "right again"
    assert len(caplog.messages) == 2
    assert all("is the clock right?" in each for each in caplog.messages)


def test_a_day_that_was_lived_through_in_pieces_is_a_day(tmp_path: Path) -> None:
    assert live(tmp_path, NOW_US, 10 * HOUR_US, keep=1)[0] == [1]
    assert live(tmp_path, NOW_US + WEEK_US, 10 * HOUR_US, keep=2)[0] == [1, 2]
    assert live(tmp_path, NOW_US + 2 * WEEK_US, 3 * HOUR_US)[0] == [1, 2]
    assert live(tmp_path, NOW_US, 2 * HOUR_US)[0] == [2], "25 hours"
    assert live(tmp_path, NOW_US, 10 * HOUR_US)[0] == []


def test_what_waits_knows_its_age_by_the_time_lived_through(tmp_path: Path) -> None:
    live(tmp_path, NOW_US, 2 * HOUR_US, keep=1)

    async def scenario() -> None:
        async with spooling(tmp_path, now_us=Clock(NOW_US + WEEK_US)) as spool:
            (row,) = await spool.outbox(1)
            assert abs(row.age_us - 2 * HOUR_US) <= 1_000_000

    asyncio.run(scenario())


def test_what_an_older_version_wrote_by_a_wrong_clock_is_as_old_as_if_it_came_now(tmp_path: Path) -> None:
    live(tmp_path, NOW_US, keep=1)
    db = sqlite3.connect(file_of(tmp_path))
    db.executescript(f"""DELETE FROM facts WHERE name IN ('lived', 'wall');
                         UPDATE events SET at_us = {NOW_US + WEEK_US};
                         UPDATE published SET at_us = {NOW_US - HOUR_US}""")
    db.close()
    assert live(tmp_path, NOW_US, 23 * HOUR_US) == ([1], [1], False)
    assert live(tmp_path, NOW_US, 2 * HOUR_US)[0] == []


def test_every_life_has_a_greater_incarnation_than_the_records_before(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with spooling(tmp_path, now_us=Clock(NOW_US + WEEK_US)) as spool:
            future = spool.incarnation + 12_345
            spool.renewed(future)
        async with spooling(tmp_path, now_us=Clock(NOW_US)) as spool:
            assert spool.incarnation == future + 1

    asyncio.run(scenario())
