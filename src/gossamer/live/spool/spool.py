"""The spool as the node sees it: calls that return at once, and futures for what must be waited for."""

import time
from asyncio import Future
from collections.abc import Callable, Sequence
from pathlib import Path

from gossamer.core.errors import GossamerError, Misuse
from gossamer.core.ids import EventId, Peer
from gossamer.core.topics import ROOT, Topic
from gossamer.live.spool.courier import Courier
from gossamer.live.spool.events import seen
from gossamer.live.spool.items import Cursor, Delivered, Outgoing, Page, Waiting, places
from gossamer.live.spool.schema import SYNCHRONOUS, Durability
from gossamer.live.spool.store import Store

QUEUE_BYTES = 64 << 20
"What may be queued and not yet committed, of publications and of deliveries each."


def wall_us() -> int:
    return time.time_ns() // 1000


class Spool:
    """Made by `open`, ended by `close`; in between, several calls in one turn of the loop are one commit."""

    def __init__(self, courier: Courier, store: Store) -> None:
        self._courier, self._store = courier, store
        self._last = store.settled
        self.incarnation = store.incarnation
        "This life of the node: greater than every one before, and on the disk already."

    @classmethod
    async def open(
        cls,
        folder: Path | None,
        *,
        durability: Durability = "process",
        keep_s: float = 86400,
        keep_bytes: int = 1 << 30,
        queue_bytes: int = QUEUE_BYTES,
        now_us: Callable[[], int] = wall_us,
    ) -> "Spool":
        """The spool in a folder, which is made if need be; None: in memory. `process` survives the end of the process
        however it comes, `disk` survives the loss of power too."""
        if durability not in SYNCHRONOUS:
            raise Misuse(f'durability is "process" or "disk", not {durability!r}')
        courier = Courier(lambda: Store(folder, durability, keep_s, keep_bytes, now_us), queue_bytes)
        return cls(courier, await courier.start())

    # -- publications -------------------------------------------------------------------------------------------

    def accept(self, publications: Sequence[Outgoing]) -> "Future[None]":
        """Done once they are committed. While too much is queued already, these wait for their turn."""
        return self._courier.accept(publications)

    async def keyed(self, topic: Topic, key: str) -> EventId | None:
        """The first publication accepted under this key, within retention."""
        return await self._courier.ask_in_turn(lambda store: store.published.keyed(topic, key))

    def done(self, firsts: Sequence[EventId]) -> None:
        """Members have these (of what was accepted in a pack: all of it, and this is the first): they need not be sent
        after a restart."""
        handed = tuple(firsts)
        self._courier.change(lambda store: store.later.hand_over(handed))

    async def outbox(self, limit: int, after: int = 0) -> list[Waiting]:
        """What still waits, oldest first, after the number of the last one read."""
        return await self._courier.ask(lambda store: store.published.waiting(after, limit))

    # -- deliveries ---------------------------------------------------------------------------------------------

    def keep(self, deliveries: Delivered) -> int:
        """Gives them places, one after the other, and returns the first: whoever reads from now on finds them there.

        If too much is queued already they are not kept: `lost` counts them, and `read` tells it in their places.
        An event kept before stays where it was, and the place given here stays empty.
        """
        first = self._last + 1
        if deliveries:
            self._courier.keep(first, deliveries)
            self._last += places(deliveries)
        return first

    async def read(
        self, after: int, topics: Sequence[Topic] = (ROOT,), limit: int = 256, limit_bytes: int = 1 << 20
    ) -> Page:
        """Kept events of these subtrees in places after one; read on after `examined`, until that is `last_place`.

        A single event may be larger than `limit_bytes`. What was pruned or not kept is told in `lost`.
        """
        return await self._courier.ask(lambda store: store.page(after, topics, limit, limit_bytes))

    async def find(self, ids: Sequence[EventId]) -> dict[EventId, bytes]:
        """The sealed bytes of those of these events that are here: the cache of recovery."""
        return await self._courier.ask(lambda store: store.find(ids))

    async def delivered(self, ids: Sequence[EventId]) -> set[EventId]:
        """Those of these events that were delivered here, and kept."""
        return await self._courier.ask(lambda store: store.events.delivered(ids))

    async def seen(self, limit: int) -> list[EventId]:
        """The ids last delivered or published, newest last: what a new life must not deliver again."""
        return await self._courier.ask(lambda store: seen(store.db, limit))

    @property
    def first_place(self) -> int:
        """Retention has left nothing before it."""
        return self._store.floor + 1

    @property
    def last_place(self) -> int:
        """The last place given out, in this life or before."""
        return self._last

    # -- cursors and records ------------------------------------------------------------------------------------

    async def cursor(self, name: str) -> Cursor | None:
        """How far a named subscription came; None: nobody used that name."""
        return await self._courier.ask(lambda store: store.later.cursor(name))

    def advance(self, name: str, acked: int, offered: int) -> None:
        """A named subscription came further; it never goes back."""
        self._courier.change(lambda store: store.later.advance(name, Cursor(acked, offered)))

    async def forget(self, name: str) -> None:
        """Nobody will use this name again."""
        await self._courier.ask(lambda store: store.later.forget_cursor(name))

    def remember(self, peer: Peer, data: bytes) -> None:
        """A peer's signed record, in place of an older one; the newest thousand are kept."""
        self._courier.change(lambda store: store.later.remember(peer, data))

    async def remembered(self) -> list[tuple[Peer, bytes]]:
        """Those records, newest last."""
        return await self._courier.ask(lambda store: store.later.remembered())

    # -- the whole ----------------------------------------------------------------------------------------------

    @property
    def lost(self) -> int:
        """Deliveries of this life that could not be kept."""
        return self._courier.dropped + self._courier.writer.lost

    @property
    def used_bytes(self) -> int:
        """What the spool takes up, as last counted."""
        return self._store.retention.used

    @property
    def trouble(self) -> GossamerError | None:
        """Why the last attempt to write failed; None: it did not."""
        return self._courier.writer.trouble

    def tune(self, keep_s: float, keep_bytes: int) -> None:
        """New bounds of retention."""
        self._courier.change(lambda store: store.retention.tune(keep_s, keep_bytes))

    async def tidy(self) -> None:
        """Deletes now what retention would delete by and by."""
        await self._courier.ask(lambda store: store.tidy())

    async def close(self) -> None:
        """Commits everything asked for so far. May be called again."""
        await self._courier.close()
