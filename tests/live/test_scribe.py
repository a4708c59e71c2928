"""Who writes traces and journals: a thread, in order, with a bound on what waits; and what of them is kept."""

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from gossamer.core.trace import Head
from gossamer.live.watching import appending, scribe
from gossamer.live.watching.failures import Failures
from gossamer.live.watching.metrics import Metrics
from gossamer.live.watching.pruning import Budget, prune
from gossamer.live.watching.scribe import Scribe, at_once
from gossamer.live.watching.traces import SegmentWriter
from gossamer.live.watching.watched_loop import WatchedLoop
from gossamer.testing import Network
from live.watching import until

DAY_S = 86_400.0
NOW_S = 1_000 * DAY_S
EVERYTHING = Budget(1e9, 1 << 40)


def written(folder: Path, name: str, days_old: float = 0.0, size: int = 100) -> Path:
    path = folder / name
    path.write_bytes(bytes(size))
    os.utime(path, (NOW_S - days_old * DAY_S,) * 2)
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# -- the thread -----------------------------------------------------------------------------------------------------


def test_no_turn_of_the_loop_touches_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by: set[str] = set()
    for name in ("write", "open", "close"):
        real = getattr(os, name)

        def noted(*given: Any, real: Any = real) -> Any:
            by.add(threading.current_thread().name)
            return real(*given)

        monkeypatch.setattr(appending.os, name, noted)

    async def scenario() -> None:
        async with Network() as network:
            node = await network.node(
                "a", trace={"folder": str(tmp_path), "level": "journal"}, spool={"durability": "off"}
            )
            await node.publish(".a", b"x")
            by.clear()
            await node.publish(".a", b"y")
            await until(lambda: by)
            node.station.scribe.settled()
            assert by == {"gossamer-traces"}

    asyncio.run(scenario())
    assert {name.rpartition(".")[2] for name in names(tmp_path)} == {
        "segment",
        "journal",
    }  # all of it, when it was closed


def test_jobs_are_done_in_order_and_one_that_fails_keeps_none_from_the_next() -> None:
    async def scenario() -> None:
        told, done = Metrics(), list[int]()
        writing = Scribe(WatchedLoop(Failures(told)))
        for number in range(100):
            writing.do(lambda number=number: done.append(number))  # type: ignore[misc]
            writing.do(lambda: 1 // 0)
        writing.settled()
        assert done == [*range(100)]
        writing.close()
        await until(lambda: told.failures == 100)
        assert threading.active_count() == 1 or "gossamer-traces" not in {each.name for each in threading.enumerate()}

    asyncio.run(scenario())


def test_rows_that_could_not_even_wait_for_a_slow_disk_are_lost_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scribe, "WAITING_BYTES_MAX", 1_000)

    async def scenario() -> None:
        writing, stuck = Scribe(WatchedLoop(Failures(Metrics()))), threading.Event()
        segment = SegmentWriter(tmp_path, Head("net", 7, name="node-7"), now_us=lambda: 0, sealer=None, do=writing.do)
        writing.do(stuck.wait)
        for number in range(20):
            segment.row("deliver", number, 9, ".a", 3, 1, number, 2, 64, "x" * 200)
            segment.tick()
        assert 10 < segment.rows_lost < 20
        stuck.set()
        segment.close()
        writing.close()
        assert segment.rows_written == 20 - segment.rows_lost

    asyncio.run(scenario())


# -- what is kept -----------------------------------------------------------------------------------------------------


def test_what_is_too_old_goes_and_so_does_the_oldest_beyond_the_budget(tmp_path: Path) -> None:
    for number, days in enumerate((40, 31, 29, 2, 1)):
        written(tmp_path, f"node-7-1-{number}.segment", days)
    prune(tmp_path, "node-7", 5, Budget(30 * DAY_S, 1 << 30), NOW_S)
    assert names(tmp_path) == [f"node-7-1-{number}.segment" for number in (2, 3, 4)]
    prune(tmp_path, "node-7", 5, Budget(30 * DAY_S, 250), NOW_S)
    assert names(tmp_path) == [f"node-7-1-{number}.segment" for number in (3, 4)]


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    others = ("node-70-1-0.segment", "node-1-0.segment", "node-7-x-0.segment", "node-7-1-0.segment.bak", "report.html")
    for name in (*others, "node-7-1-0.segment", "node-7-1-1.open"):
        written(tmp_path, name, days_old=900)
    prune(tmp_path, "node-7", 5, Budget(30 * DAY_S, 1), NOW_S)
    assert names(tmp_path) == sorted(others)


def test_what_is_being_written_stays_and_a_journal_goes_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    for name, days in {
        "n-1-0.journal": 90, "n-1-1.journal": 40,  # a former life
        "n-2-0.journal": 90, "n-2-1.journaling": 5,  # one that was killed lately
        "n-3-0.journal": 90, "n-3-1.journaling": 60, "n-3-0.open": 60, "n-3-1.segment": 50,  # this one
    }.items():  # fmt: skip
        written(tmp_path, name, days)
    prune(tmp_path, "n", 3, Budget(30 * DAY_S, 1 << 30), NOW_S)
    assert names(tmp_path) == ["n-2-0.journal", "n-2-1.journaling", "n-3-0.journal", "n-3-0.open", "n-3-1.journaling"]
    prune(tmp_path, "n", 3, Budget(30 * DAY_S, 1), NOW_S)
    assert names(tmp_path) == ["n-3-0.journal", "n-3-0.open", "n-3-1.journaling"]


def test_a_node_prunes_when_it_starts_and_when_a_segment_is_finished(tmp_path: Path) -> None:
    head = Head("net", 7, name="n", incarnation=9)
    written(tmp_path, "n-1-0.segment", days_old=40)
    segment = SegmentWriter(
        tmp_path,
        head,
        now_us=lambda: int(NOW_S * 1e6),
        segment_bytes=1,
        budget=Budget(30 * DAY_S, 1 << 30),
        sealer=None,
        do=at_once,
    )
    assert names(tmp_path) == []
    written(tmp_path, "n-1-1.segment", days_old=40)
    segment.row("start", 1)
    segment.tick()
    assert names(tmp_path) == ["n-9-0.segment"]


def test_a_folder_that_cannot_be_looked_at_keeps_nothing_from_being_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    segment = SegmentWriter(
        tmp_path / "there", Head("net", 7, name="n"), now_us=lambda: 0, budget=EVERYTHING, sealer=None, do=at_once
    )
    (tmp_path / "there").rmdir()
    segment._prune()
    assert "could not be looked at" in caplog.text
    segment.row("start", 1)
    segment.tick()
    assert len(names(tmp_path / "there")) == 1
