"""SIGKILL, for real: what was accepted is there, nothing twice, and nobody is locked out."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest

from gossamer.core.errors import Misuse
from gossamer.core.ids import EventId
from gossamer.live.spool import Spool
from gossamer.live.spool.spool import wall_us
from live.spool.spooling import read_all, spooling


@contextmanager
def accepting(folder: Path) -> "Iterator[subprocess.Popen[str]]":
    child = [sys.executable, str(Path(__file__).with_name("accepting.py")), str(folder)]
    process = subprocess.Popen(child, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def said(process: "subprocess.Popen[str]", lines: int) -> list[str]:
    return list(islice(process.stdout or (), lines))


def test_every_publication_accepted_before_sigkill_is_there_afterwards(tmp_path: Path) -> None:
    accepted: set[EventId] = set()
    incarnations: list[int] = []
    for _ in range(3):  # three lives on one spool, each cut short in the midst of its work
        with accepting(tmp_path) as process:
            lines = said(process, 300)
            process.send_signal(signal.SIGKILL)
            lines += said(process, 1_000_000)
        incarnations.append(int(lines[0].split()[1]))
        whole = [line for line in lines[1:] if line.endswith("\n")]
        accepted |= {EventId(7, incarnations[-1], int(line.split()[1])) for line in whole}

    async def scenario() -> None:
        async with spooling(tmp_path, now_us=wall_us) as spool:
            waiting = await spool.outbox(100_000)
            ids = [each.id for each in waiting]
            assert accepted <= set(ids)
            assert len(ids) == len(set(ids))
            assert all(each.sealed == b"body of %d" % each.id.sequence for each in waiting)
            assert accepted <= set(await spool.seen(100_000))
            items, lost = await read_all(spool)
            assert {b"body of %d" % each.sequence for each in accepted} <= {each.sealed for each in items}
            assert lost == []
            assert [each.place for each in items] == sorted({each.place for each in items})
            for each in list(accepted)[:20]:
                keyed = await spool.keyed(".soccer", str(each.sequence))
                assert keyed is not None
                assert keyed.sequence == each.sequence
            assert [*incarnations, spool.incarnation] == sorted({*incarnations, spool.incarnation})
            assert spool.last_place > items[-1].place, "a reader may have met places whose events were not committed"

    asyncio.run(scenario())


def test_the_spool_of_a_running_process_is_refused_and_free_once_that_is_killed(tmp_path: Path) -> None:
    with accepting(tmp_path) as process:
        said(process, 2)
        with pytest.raises(Misuse, match=rf"\(process {process.pid}\)"):
            asyncio.run(Spool.open(tmp_path))

    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            assert await spool.outbox(1)

    asyncio.run(scenario())
