"""What tests of the spool share: short names for events, a clock that stands still, every page of a reader."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event
from typing import Any

from gossamer.core.ids import EventId
from gossamer.live.spool import Kept, Lost, Outgoing, Spool, Stored
from gossamer.live.spool.jobs import Change
from gossamer.live.spool.progress import Progress, Save
from gossamer.live.spool.schema import FILE
from gossamer.live.spool.subscriptions import Key, SubscriptionRow

DAY_US = 86_400_000_000


class Clock:
    """Moves when told to."""

    def __init__(self, now_us: int = 1_000 * DAY_US) -> None:
        self.now_us = now_us

    def __call__(self) -> int:
        return self.now_us


def named(sequence: int, publisher: int = 7) -> EventId:
    return EventId(publisher, 1, sequence)


def sealed(sequence: int, size: int = 64) -> bytes:
    return (b"%d:" % sequence).ljust(size, b".")


def outgoing(sequence: int, topic: str = ".soccer", key: str | None = None, size: int = 64) -> Outgoing:
    return Outgoing(named(sequence), topic, sealed(sequence, size), key)


def kept(sequence: int, topic: str = ".soccer", size: int = 64, at_us: int = 1_000 * DAY_US) -> Kept:
    return Kept(named(sequence), topic, sealed(sequence, size), 3, at_us)


def durable(name: str, topic: str = ".soccer", owner: str = "a", acked: int = 0) -> SubscriptionRow:
    return SubscriptionRow(owner, name, topic, "", False, True, (topic,), 0, 0, Progress(acked))


async def saved(spool: Spool, key: Key, save: Save) -> None:
    await spool.subscriptions.save(key, save, 0)


@asynccontextmanager
async def spooling(folder: Path | None = None, **settings: Any) -> AsyncIterator[Spool]:
    spool = await Spool.open(folder, **{"now_us": Clock(), **settings})
    try:
        yield spool
    finally:
        await spool.close()


async def read_all(
    spool: Spool, topics: Sequence[str] = (".",), after: int = 0, limit: int = 256, limit_bytes: int = 1 << 20
) -> tuple[list[Stored], list[Lost]]:
    """Everything a reader gets that goes from page to page to the end."""
    items, lost = [], []
    while after < spool.last_place:
        page = await spool.read(after, topics, limit, limit_bytes)
        assert page.examined > after
        items += page.items
        lost += page.lost
        after = page.examined
    return items, lost


async def sequences(spool: Spool, topics: Sequence[str] = (".",)) -> list[int]:
    items, _ = await read_all(spool, topics)
    return [int(each.sealed.partition(b":")[0]) for each in items]


async def waiting(spool: Spool) -> list[int]:
    return [each.id.sequence for each in await spool.outbox(1000)]


def ask(spool: Spool, question: str) -> "asyncio.Future[Any]":
    """Straight to the database, on its thread."""
    return spool._courier.ask(lambda store: store.db.execute(question).fetchall())


def held_up(spool: Spool) -> Callable[[], None]:
    """The thread stops until the answer is called."""
    go_on = Event()
    spool._courier.writer.queue.put([Change(lambda store: go_on.wait(60) and None)])
    return go_on.set


def file_of(folder: Path) -> Path:
    return folder / FILE
