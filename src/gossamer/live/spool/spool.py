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
from gossamer.live.spool.items import Delivered, Outgoing, Page, Waiting, places
from gossamer.live.spool.jobs import Commit
from gossamer.live.spool.schema import SYNCHRONOUS, Durability
from gossamer.live.spool.store import Store
from gossamer.live.spool.streams import Stretch
from gossamer.live.spool.subscription_store import SubscriptionStore
from gossamer.live.spool.subscriptions import Key
from gossamer.live.watching.failures import Failures
from gossamer.live.watching.metrics import Metrics
from gossamer.live.watching.watched_loop import WatchedLoop

QUEUE_BYTES = 64 << 20
"What may be queued and not yet committed, of publications and of deliveries each."


def wall_us() -> int:
    return time.time_ns() // 1000


class Spool:
    """Made by `open`, ended by `close`; in between, several calls in one turn of the loop are one commit."""

    def __init__(self, courier: Courier, store: Store) -> None:
        self._courier, self._store = courier, store
        self._last = store.settled
        self.subscriptions = SubscriptionStore(courier)
        self.incarnation = store.incarnation
        "This life of the node: greater than every one before, and on the disk already."
        self.jumped = store.jumped
        "Whether the machine's clock seems to have been set since the last life, or that to have been long ago."
        self.on_disk = store.on_disk
        "Whether what is committed outlives the process."

    @classmethod
    async def open(
        cls,
        folder: Path | None,
        *,
        node: str = "",
        durability: Durability = "process",
        keep_s: float = 86400,
        keep_bytes: int = 1 << 30,
        durable_bytes: int = 1 << 30,
        queue_bytes: int = QUEUE_BYTES,
        now_us: Callable[[], int] = wall_us,
        loop: WatchedLoop | None = None,
    ) -> "Spool":
        """The spool in a folder, which is made if need be; None: in memory. `process` survives the end of the process
        however it comes, `disk` survives the loss of power too. `node` is whose it is; that of another is refused."""
        if durability not in SYNCHRONOUS:
            raise Misuse(f'durability is "process" or "disk", not {durability!r}')
        courier = Courier(
            lambda: Store(folder, durability, keep_s, keep_bytes, now_us, durable_bytes, node),
            queue_bytes,
            loop or WatchedLoop(Failures(Metrics())),
        )
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

    async def outbox(self, limit: int, after: int = 0, limit_bytes: int = 1 << 62) -> list[Waiting]:
        """What still waits, oldest first, after the number of the last one read."""
        return await self._courier.ask(
            lambda store: store.published.waiting(after, limit, limit_bytes, store.lifetime.now_us())
        )

    async def outbox_ids(self, limit: int) -> tuple[list[EventId], int]:
        """The oldest events that still wait, without their bodies, and how many wait in all."""
        return await self._courier.ask(lambda store: store.published.waiting_ids(limit))

    @property
    def outbox_bytes(self) -> int:
        """What waits, as far as it is committed."""
        return self._store.published.outbox_bytes

    def lived_us(self) -> int:
        """The time by which ages are counted."""
        return self._store.lifetime.now_us()

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

    def hear(self, hearer: Callable[[Commit], None]) -> None:
        """Tells, once for every commit, what came into the log, what could not be kept, and what was deleted. Whoever
        is answered by the spool has been told before of what the answer is about. Hearers are not given when the spool
        is built: it is open before them, for each of them asks it first."""
        self._courier.hearers.append(hearer)

    async def held(self) -> list[Stretch]:
        """All there is in the log, by streams."""
        return await self._courier.ask(lambda store: store.events.streams.held())

    async def stream_floors(self) -> list[Stretch]:
        """What of which streams was pruned, given up or is known to be all there is for us, up to the last."""
        return await self._courier.ask(lambda store: store.stream_floors.all())

    async def give_up(self, gone: Stretch) -> dict[Key, int]:
        """Nobody has these any more, which is on disk when this returns. Which durable subscriptions lost them, and how
        many these have lost for good in all their lives."""
        return await self._courier.note(lambda store: store.give_up(gone))

    def settle(self, settled: Sequence[Stretch]) -> None:
        """What is wanted of these is here: a later life need not ask for them."""
        self._courier.change(lambda store: store.stream_floors.rise(settled))

    async def read_stream(
        self, topic: Topic, publisher: Peer, incarnation: int, first: int, last: int, limit_bytes: int = 1 << 20
    ) -> list[bytes]:
        """Events of one stream by their ordinals, sealed with proofs of their own: those that are here and fit, and at
        least one. A single event may be larger than `limit_bytes`."""
        wanted = Stretch(topic, publisher, incarnation, first, last)
        return await self._courier.ask(lambda store: store.events.streams.read(wanted, limit_bytes))

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

    # -- records ----------------------------------------------------------------------------------------------

    def remember(self, peer: Peer, data: bytes) -> None:
        """A peer's signed record, in place of an older one; the newest thousand are kept."""
        self._courier.change(lambda store: store.later.remember(peer, data))

    def renewed(self, version: int) -> None:
        """This node has made a record of its own: those of later lives have greater versions, as their incarnations."""
        self._courier.change(lambda store: store.later.renew(version))

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

    def tune(self, keep_s: float, keep_bytes: int, durable_bytes: int) -> None:
        """New bounds of retention."""
        self._courier.change(lambda store: store.tune(keep_s, keep_bytes, durable_bytes))

    async def tidy(self) -> None:
        """Deletes now what retention would delete by and by."""
        await self._courier.ask(lambda store: store.tidy())

    async def close(self) -> None:
        """Commits everything asked for so far. May be called again."""
        await self._courier.close()
