"""Durable subscriptions as the node sees them: asked on the loop, written by the thread."""

from asyncio import Future
from collections.abc import Sequence

from gossamer.core.topics import Topic
from gossamer.live.spool.courier import Courier
from gossamer.live.spool.events import wanted
from gossamer.live.spool.items import Page
from gossamer.live.spool.progress import Save, StreamRanges
from gossamer.live.spool.store import Store
from gossamer.live.spool.subscriptions import Key, SubscriptionRow

COUNTED_MAX = 100_000
"Events that are counted to say how far a subscription is behind: beyond it, that is all that is said."


class SubscriptionStore:
    """Every change is on disk when its future is done; those of one turn of the loop share a commit."""

    def __init__(self, courier: Courier) -> None:
        self._courier = courier

    async def all(self) -> list[SubscriptionRow]:
        return await self._courier.ask(lambda store: list(store.subscriptions.rows.values()))

    async def open(
        self, wish: SubscriptionRow, streams: Sequence[StreamRanges] = (), own: bool = False
    ) -> SubscriptionRow:
        """The subscription as it is, or a new one, as wished. Misuse: there is another of that name, or too many."""
        return await self._courier.note(lambda store: store.subscriptions.open(wish, streams, own))

    async def streams(self, key: Key) -> list[StreamRanges]:
        return await self._courier.ask(lambda store: store.subscriptions.streams(key))

    def save(self, key: Key, save: Save, used_us: int) -> "Future[None]":
        return self._courier.note(lambda store: store.subscriptions.save(key, save, used_us))

    def idle(self, key: Key, idle_us: int) -> None:
        """Nobody waits for it."""
        self._courier.change(lambda store: store.subscriptions.idle(key, idle_us))

    async def delete(self, key: Key) -> bool:
        """Whether there was one."""
        return await self._courier.note(lambda store: store.subscriptions.delete(key))

    async def read(
        self, key: Key, after: int, topics: Sequence[Topic], limit: int, limit_bytes: int
    ) -> tuple[Page, int]:
        """Kept events in places after one, and how many retention took from this subscription, ever."""
        return await self._courier.ask(lambda store: store.page_for(key, after, topics, limit, limit_bytes))

    async def behind(self, row: SubscriptionRow) -> int:
        """How many events of its topic it has not acknowledged, those its filter would pass over included."""
        return await self._courier.ask(lambda store: count_after(store, row))


def count_after(store: Store, row: SubscriptionRow) -> int:
    condition, values = wanted(row.subtrees)
    progress = row.progress
    apart = f"SELECT place AS first, place AS last FROM events WHERE place > ? AND ({condition})"
    together = f"SELECT max(first, ?), last FROM runs WHERE last > ? AND ({condition})"
    found = store.db.execute(
        f"SELECT * FROM ({apart} UNION ALL {together}) LIMIT {COUNTED_MAX}",
        (progress.acked, *values, progress.acked + 1, progress.acked, *values),
    ).fetchall()
    return sum(row.needs(first, last, row.topic) for first, last in found)
