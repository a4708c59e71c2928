"""Whatever can go wrong with a file is said in one sentence, and a node that runs goes on running."""

import asyncio
import os
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer.core.errors import GossamerError, Misuse, SpecError, TransportDown
from gossamer.core.events import Event
from gossamer.live.spool import Lost, Outgoing, Spool
from gossamer.live.spool.faults import explained, no_folder
from live.spool.spooling import ask, durable, file_of, kept, named, outgoing, read_all, sequences, spooling, waiting
from wire.test_pack import packed


def refused(folder: Path, kind: type[GossamerError], says: str) -> None:
    with pytest.raises(kind, match=says) as told:
        asyncio.run(Spool.open(folder))
    assert "\n" not in str(told.value)


def filled(folder: Path, events: int = 200) -> None:
    async def scenario() -> None:
        async with spooling(folder) as spool:
            spool.keep([kept(n, size=1000) for n in range(events)])
            await spool.accept([outgoing(1)])

    asyncio.run(scenario())


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (file := tmp_path / "spool").write_text("not a folder")
    refused(file, Misuse, "the spool needs a folder, and .*spool is")
    refused(file / "inner", Misuse, "needs a folder")
    assert file.read_text() == "not a folder"


@contextmanager
def unwritable(folder: Path) -> Iterator[None]:
    """For everybody; the superuser, who may write anywhere, steps down meanwhile."""
    folder.chmod(0o500)
    superuser = os.geteuid() == 0
    if superuser:
        os.seteuid(65534)
    try:
        yield
    finally:
        if superuser:
            os.seteuid(0)
        folder.chmod(0o700)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with unwritable(tmp_path):
        refused(tmp_path, Misuse, "cannot be written: make it writable, or name another place")
        refused(tmp_path / "inner", Misuse, "cannot be written: make it writable, or name another place")


def test_the_file_is_for_the_node_alone(tmp_path: Path) -> None:
    filled(tmp_path / "spool")
    assert (tmp_path / "spool").stat().st_mode & 0o077 == 0
    assert file_of(tmp_path / "spool").stat().st_mode & 0o077 == 0


def test_a_second_node_on_the_same_spool_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            with pytest.raises(Misuse, match=rf"another node that is running \(process {os.getpid()}\): stop that one"):
                await Spool.open(tmp_path)
            await spool.accept([outgoing(1)])
        async with spooling(tmp_path) as spool:
            assert await waiting(spool) == [1]

    asyncio.run(scenario())


def test_a_spool_that_is_no_database_is_named_and_kept(tmp_path: Path) -> None:
    file_of(tmp_path).write_bytes(b"something else entirely " * 1000)
    refused(tmp_path, SpecError, r"spool\.sqlite is damaged .*: stop the node and move the file away")
    assert file_of(tmp_path).read_bytes() == b"something else entirely " * 1000


@pytest.mark.parametrize("where", [0.3, 0.6, 0.9])
def test_a_damaged_spool_is_named_and_kept(tmp_path: Path, where: float) -> None:
    filled(tmp_path)
    data = bytearray(file_of(tmp_path).read_bytes())
    page = int(len(data) * where) // 4096 * 4096
    data[page : page + 4096] = b"\xff" * 4096
    file_of(tmp_path).write_bytes(data)
    refused(tmp_path, SpecError, r"spool\.sqlite is damaged .*: stop the node and move the file away")
    assert file_of(tmp_path).read_bytes() == data


def test_a_spool_cut_short_is_named(tmp_path: Path) -> None:
    filled(tmp_path)
    data = file_of(tmp_path).read_bytes()
    file_of(tmp_path).write_bytes(data[: len(data) // 2])
    refused(tmp_path, SpecError, "is damaged")


def test_damage_met_while_running_is_told_to_whoever_meets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path)
    data = bytearray(file_of(tmp_path).read_bytes())
    for page in range(20 * 4096, 60 * 4096, 4096):
        data[page : page + 4096] = b"\xff" * 4096
    file_of(tmp_path).write_bytes(data)
    monkeypatch.setattr("gossamer.live.spool.schema.CHECKED_BYTES", 0)  # as if it were too large to read through

    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            with pytest.raises(SpecError, match=r"is damaged .* move the file away"):
                await read_all(spool)
            await spool.accept([outgoing(2)])
            assert await waiting(spool) == [1, 2]

    asyncio.run(scenario())


def test_on_a_full_disk_publishing_says_so_and_works_again_once_there_is_space(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            await spool.accept([outgoing(1), outgoing(2)])
            [(pages,)] = await ask(spool, "PRAGMA page_count")
            await ask(spool, f"PRAGMA max_page_count = {pages}")
            small, large = spool.accept([outgoing(3)]), spool.accept([outgoing(4, size=50_000)])
            await small
            with pytest.raises(TransportDown, match=r"the disk under the spool .*spool\.sqlite is full: free space"):
                await large
            assert isinstance(spool.trouble, TransportDown)
            spool.done([named(1)])
            noted = await spool.subscriptions.open(durable("billing"))
            assert await waiting(spool) == [2, 3], "reading goes on, and what needs no space is written"
            assert await spool.subscriptions.all() == [noted]
            await ask(spool, "PRAGMA max_page_count = 1000000")
            await spool.accept([outgoing(5, size=50_000)])
            assert await waiting(spool) == [2, 3, 5]
            assert spool.trouble is None

    asyncio.run(scenario())


def test_on_a_full_disk_a_pack_is_not_accepted_in_part(tmp_path: Path) -> None:
    pack = packed([Event(named(10 + i), ".soccer", b"." * 2_000) for i in range(30)])

    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            await spool.accept([outgoing(1)])
            [(pages,)] = await ask(spool, "PRAGMA page_count")
            await ask(spool, f"PRAGMA max_page_count = {pages}")
            with pytest.raises(TransportDown, match="is full: free space"):
                await spool.accept([outgoing(2), Outgoing(pack.ids[0], ".soccer", pack)])
            assert (await waiting(spool), await spool.seen(100)) == ([1], [named(1)])
            assert await spool.find([named(2), *pack.ids]) == {}
            await ask(spool, "PRAGMA max_page_count = 1000000")
            await spool.accept([outgoing(2), Outgoing(pack.ids[0], ".soccer", pack)])
            assert await waiting(spool) == [1, 2, 10]
            assert {*await spool.find(pack.ids)} == {*pack.ids}

    asyncio.run(scenario())


def test_on_a_full_disk_deliveries_are_lost_and_a_reader_is_told(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            spool.keep([kept(1)])
            [(pages,)] = await ask(spool, "PRAGMA page_count")
            await ask(spool, f"PRAGMA max_page_count = {pages}")
            spool.keep([kept(n, size=50_000) for n in (2, 3)])
            spool.keep([kept(4, ".tennis", size=50_000)])
            items, lost = await read_all(spool)
            assert [each.place for each in items] == [1]
            assert lost == [Lost(2, 3, ".soccer", 2), Lost(4, 4, ".tennis", 1)]
            assert spool.lost == 3
            await ask(spool, "PRAGMA max_page_count = 1000000")
            spool.keep([kept(5, size=50_000)])
            assert await sequences(spool) == [1, 5]
            assert spool.trouble is None
        async with spooling(tmp_path) as spool:
            items, lost = await read_all(spool)
            assert [each.place for each in items] == [1, 5]
            assert lost == [Lost(2, 3, ".soccer", 2), Lost(4, 4, ".tennis", 1)]

    asyncio.run(scenario())


@contextmanager
def small_files() -> Iterator[None]:
    """No file grows beyond 2 MiB: the system refuses to write, in the midst of a commit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_fails_during_a_commit_undoes_it_and_later_ones_work(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            await spool.accept([outgoing(1)])
            with small_files():
                with pytest.raises(TransportDown, match="look after the disk"):
                    await spool.accept([outgoing(2, size=3 << 20)])
                spool.keep([kept(1, size=3 << 20)])
                assert (await spool.read(0)).lost == [Lost(1, 1, ".soccer", 1)]
            await spool.accept([outgoing(3, size=3 << 20)])
            assert spool.trouble is None
        async with spooling(tmp_path) as spool:
            assert await waiting(spool) == [1, 3]
            assert (await spool.read(0)).lost == [Lost(1, 1, ".soccer", 1)]

    asyncio.run(scenario())


def test_an_unknown_durability_is_refused() -> None:
    with pytest.raises(Misuse, match='durability is "process" or "disk"'):
        asyncio.run(Spool.open(None, durability="paper"))  # type: ignore[arg-type]


@pytest.mark.parametrize(("durability", "level"), [("process", 1), ("disk", 2)])
def test_durability_decides_what_a_commit_waits_for(tmp_path: Path, durability: str, level: int) -> None:
    async def scenario() -> None:
        async with spooling(tmp_path, durability=durability) as spool:
            assert await ask(spool, "PRAGMA synchronous") == [(level,)]
            assert await ask(spool, "PRAGMA journal_mode") == [("wal",)]
            await spool.accept([outgoing(1)])

    asyncio.run(scenario())


def fault(code: int) -> sqlite3.Error:
    wrong = sqlite3.OperationalError("as SQLite puts it")
    wrong.sqlite_errorcode = code
    return wrong


@pytest.mark.parametrize(
    ("wrong", "kind", "says"),
    [
        (fault(sqlite3.SQLITE_READONLY), TransportDown, "make file and folder writable"),
        (fault(sqlite3.SQLITE_IOERR_WRITE), TransportDown, "look after the disk"),
        (fault(sqlite3.SQLITE_BUSY), Misuse, "close that one"),
        (fault(sqlite3.SQLITE_CORRUPT_INDEX), SpecError, "move the file away"),
        (OverflowError("too large"), Misuse, "too large"),
        (Misuse("as it was"), Misuse, "as it was"),
    ],
)
def test_every_fault_says_what_to_do(wrong: Exception, kind: type[GossamerError], says: str) -> None:
    told = explained(wrong, "x/spool.sqlite")
    assert type(told) is kind
    assert says in str(told)


def test_a_folder_out_of_reach_is_named() -> None:
    assert "look after the disk" in str(no_folder(OSError(5, "Input/output error"), Path("far")))
    assert "make it writable" in str(no_folder(OSError(30, "Read-only file system"), Path("cd")))
