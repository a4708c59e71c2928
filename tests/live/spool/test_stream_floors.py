"""What was pruned or given up is not asked for after a restart, and durable subscriptions are told how much it was."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from gossamer.live.spool import Stretch, stream_floors
from gossamer.live.spool.progress import Progress
from gossamer.live.spool.subscriptions import SubscriptionRow
from live.spool.spooling import spooling


def stretch(first: int, last: int, topic: str = ".a", life: int = 1) -> Stretch:
    return Stretch(topic, 7, life, first, last)


def row(name: str, topic: str) -> SubscriptionRow:
    return SubscriptionRow("me", name, topic, "", False, True, (topic,), 1, 1, Progress(0))


def test_what_was_given_up_is_known_to_the_next_life_and_told_to_those_who_wanted_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            await spool.subscriptions.open(row("all", ".a"))
            await spool.subscriptions.open(row("others", ".b"))
            await spool.give_up(stretch(11, 70, ".a.x"))
            assert await spool.give_up(stretch(5, 6, ".a.x")) == {("me", "all"): 62}
            await spool.give_up(stretch(1, 3, ". a b".replace(" ", "_"), life=9))
        async with spooling(tmp_path) as spool:
            assert await spool.stream_floors() == [stretch(1, 70, ".a.x"), stretch(1, 3, "._a_b", life=9)]
            gone = {each.name: each.gone for each in await spool.subscriptions.all()}
            assert gone == {"all": 62, "others": 0}

    asyncio.run(scenario())


def test_what_is_settled_is_known_to_the_next_life_and_no_loss(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            await spool.subscriptions.open(row("all", ".a"))
            spool.settle([stretch(1, 70, ".a.x"), stretch(1, 5, ".a.x")])
        async with spooling(tmp_path) as spool:
            assert await spool.stream_floors() == [stretch(1, 70, ".a.x")]
            assert [each.gone for each in await spool.subscriptions.all()] == [0]

    asyncio.run(scenario())


def test_a_floor_rises_with_the_commit_that_deletes_and_not_before(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "facts")
    db.execute("CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL)")
    floors = stream_floors.StreamFloors(db)
    floors.write([stretch(1, 70)])
    db.rollback()  # the disk is full
    assert floors.all() == []
    floors.write([stretch(1, 70)])
    db.commit()
    floors.clear([stretch(1, 70)])
    assert floors.all() == stream_floors.StreamFloors(db).all() == [stretch(1, 70)]
    db.close()


def test_those_of_the_oldest_lives_are_forgotten_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_floors, "FLOORS_MAX", 3)

    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            for life in (5, 1, 1000, 30, 2):
                await spool.give_up(stretch(1, life, life=life))
        async with spooling(tmp_path) as spool:
            assert [each.incarnation for each in await spool.stream_floors()] == [5, 30, 1000]

    asyncio.run(scenario())
