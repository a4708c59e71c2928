"""Spools of older versions are brought up, those of newer ones refused."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from gossamer.core.errors import SpecError
from gossamer.core.events import Event
from gossamer.core.ids import EventId
from gossamer.live.spool import Kept, KeptPack, Lost, Spool, Stored, Waiting
from gossamer.live.spool.progress import Progress
from gossamer.live.spool.schema import VERSION
from live.spool.spooling import DAY_US, Clock, durable, file_of, kept, outgoing, spooling
from live.spool.versions import BACK_TO_5, BACK_TO_6, write_version_1
from wire.test_pack import packed


def schema(folder: Path) -> list[tuple[str, str]]:
    """Tables, indices and columns, however they came about."""
    db = sqlite3.connect(file_of(folder))
    names = db.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name").fetchall()
    columns = [(name, str(db.execute(f"PRAGMA table_xinfo({name})").fetchall())) for (name,) in names]
    db.close()
    return [(name, text.replace("'0'", "None")) for name, text in columns]


def test_a_spool_of_version_1_is_brought_up_with_everything_in_it(tmp_path: Path) -> None:
    write_version_1(tmp_path)

    async def scenario() -> None:
        async with spooling(tmp_path, now_us=Clock(1_000 * DAY_US + 9)) as spool:
            assert spool.incarnation > 4000
            assert (spool.first_place, spool.last_place) == (2, 3)
            assert await spool.outbox(10) == [Waiting(2, EventId(7, 4000, 2), ".soccer", b"pub2", age_us=2)]
            assert await spool.keyed(".soccer", "goal-1") == EventId(7, 4000, 1)
            page = await spool.read(0)
            assert page.items == [Stored(2, b"ev2", 2, 86400000000002), Stored(3, b"ev3", 1, 86400000000003)]
            assert page.lost == [Lost(1, 1, ".", 0)]
            for owner in ("a", "b"):  # nobody knows whose a name was: everybody's subscription begins there
                billing = await spool.subscriptions.open(durable("billing", owner=owner))
                assert billing.progress == Progress(2, (), 3), "whatever was there may have been given out"
            assert (await spool.subscriptions.open(durable("audit"))).progress == Progress(9, (), 9)
            assert (await spool.subscriptions.open(durable("new"))).progress == Progress(0)
            assert await spool.remembered() == [(8, b"record")]
            assert spool.keep([kept(1)]) == 4

    asyncio.run(scenario())


def test_a_spool_brought_up_has_the_tables_of_a_new_one(tmp_path: Path) -> None:
    (old := tmp_path / "old").mkdir()
    write_version_1(old)

    async def scenario() -> None:
        for folder in (old, tmp_path / "new"):
            async with spooling(folder):
                pass

    asyncio.run(scenario())
    assert schema(old) == schema(tmp_path / "new")


def test_a_spool_is_brought_up_once(tmp_path: Path) -> None:
    write_version_1(tmp_path)

    async def scenario() -> None:
        for _ in range(2):
            async with spooling(tmp_path) as spool:
                assert (await spool.subscriptions.open(durable("billing"))).progress == Progress(2, (), 3)

    asyncio.run(scenario())


def test_a_spool_of_version_4_keeps_all_but_the_packs_that_were_delivered(tmp_path: Path) -> None:
    packs = [packed([Event(EventId(8, 1, first + i), ".soccer") for i in range(3)]) for first in (1, 11)]
    apart = [Kept(each, ".soccer", packs[1]) for each in packs[1].ids[1:]]

    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            spool.keep([kept(1), KeptPack(packs[0], ".soccer", 2, 1_000 * DAY_US), *apart, kept(2)])
            await spool.accept([outgoing(1), outgoing(2, key="goal")])
        db = sqlite3.connect(file_of(tmp_path))
        db.executescript(f"INSERT INTO cursors VALUES ('billing', 2, 3); {BACK_TO_6} {BACK_TO_5}")
        db.executescript("ALTER TABLE published DROP COLUMN more; PRAGMA user_version = 4")
        db.close()
        async with spooling(tmp_path) as spool:
            assert [(each.id.sequence, each.more) for each in await spool.outbox(10)] == [(1, 0), (2, 0)]
            assert await spool.keyed(".soccer", "goal") == EventId(7, 1, 2)
            assert (await spool.subscriptions.open(durable("billing"))).progress == Progress(2, (), 3)
            assert [each.place for each in (await spool.read(0)).items] == [1, 7]
            assert spool.keep([kept(3)]) == 8

    asyncio.run(scenario())


def test_a_spool_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    write_version_1(tmp_path)
    db = sqlite3.connect(file_of(tmp_path))
    db.execute(f"PRAGMA user_version = {VERSION + 1}")
    db.close()
    before = file_of(tmp_path).read_bytes()
    with pytest.raises(SpecError, match=r"spool\.sqlite was written by a newer Gossamer .* update this node"):
        asyncio.run(Spool.open(tmp_path))
    assert file_of(tmp_path).read_bytes() == before


def test_a_database_of_something_else_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    db = sqlite3.connect(file_of(tmp_path))
    db.execute("CREATE TABLE recipes (name TEXT)")
    db.close()
    before = file_of(tmp_path).read_bytes()
    with pytest.raises(SpecError, match="is a database, but not a spool: move it away"):
        asyncio.run(Spool.open(tmp_path))
    assert file_of(tmp_path).read_bytes() == before
