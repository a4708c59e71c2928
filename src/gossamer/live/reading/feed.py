"""A durable subscription at work: performs what its decisions ask of disk and clock, and wakes its readers."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING

from gossamer.core.errors import GossamerError, Misuse, TransportDown
from gossamer.core.patterns import Pattern
from gossamer.live.reading.bookmarks import Bookmark, Coverage
from gossamer.live.reading.deliveries import Delivery, Gap, read_delivery
from gossamer.live.reading.durable import DurableSubscription, Read
from gossamer.live.reading.ordering import Order
from gossamer.live.reading.turns import ReaderId
from gossamer.live.spool.items import Stored
from gossamer.live.spool.progress import StreamRanges
from gossamer.live.spool.subscription_store import SubscriptionStore
from gossamer.live.spool.subscriptions import SubscriptionRow
from gossamer.live.watching.watched_loop import WatchedLoop
from gossamer.wire.sealed import TooDeep

if TYPE_CHECKING:
    from asyncio import Future

    from gossamer.core.filters import Filter

log = logging.getLogger("gossamer.readers")

AGAIN_S = 1.0
"How soon the disk is asked again after it refused."


class DurableFeed:
    """One (owner, name) of a node, whether or not anybody reads it."""

    def __init__(
        self,
        row: SubscriptionRow,
        streams: Sequence[StreamRanges],
        filter: "Filter | None",
        store: SubscriptionStore,
        settled: Callable[[], int],
        now_us: Callable[[], int],
        loop: WatchedLoop,
        gave: Callable[[Delivery | Gap], None],
        *,
        counted: Pattern | None,
        patience_s: float,
        items_max: int,
        bytes_max: int,
    ) -> None:
        self.row, self.topic, self.where, self.filter = row, row.topic, row.where, filter
        self.store, self.settled, self.now_us, self.gave = store, settled, now_us, gave
        self.coverage = Coverage(streams)
        self.sub = DurableSubscription(
            row.progress,
            self.coverage,
            self._matches,
            Order(counted=counted) if row.ordered else None,
            patience_us=round(patience_s * 1e6),
            items_max=items_max,
            bytes_max=bytes_max,
        )
        self.unread = 0
        "About how many events of its own the log has after those it has examined."
        self.takes_part = False
        "Whether the node reads its topic."
        self.gone = row.gone
        "How many of its events it had lost for good when that was last told."
        self.used_us = row.used_us
        self.idle_us = 0
        "For how long the node ran and nobody read it."
        self.problem: GossamerError | None = None
        self._numbers = count(1)
        self._wakers: dict[ReaderId, Future[None]] = {}
        self._acks: list[tuple[int, Future[None]]] = []
        self._loop = loop
        self._scheduled = self._complained = False
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._saved: Future[None] | None = None

    def _matches(self, item: Delivery) -> bool:
        row = self.row
        if item.place <= row.began and item.published_us < row.since_us and not self.coverage.began(item):
            return False  # it was opened with a bookmark, and had not begun when this was published
        return self.filter is None or self.filter.wants(item)

    @property
    def behind(self) -> int:
        """About how many events wait to be acknowledged."""
        return self.unread + len(self.sub.position.open)

    def bookmark(self) -> Bookmark:
        return Bookmark(self.row.topic, self.row.where, self.row.since_us, self.coverage.read())

    # -- the node's side ----------------------------------------------------------------------------------------

    def committed(self, items: Sequence[Delivery], before: int, last: int) -> None:
        """All events of its topic that came into the log in places after one and up to another."""
        if not self.sub.committed(items, before, last, self._now_us()):
            self.unread += sum(map(self._matches, items)) if self.filter is not None else len(items)
        if self.sub.readers:
            self._work_soon()

    def offer_gap(self, gap: Gap) -> None:
        """Events have not come, and may yet."""
        self.sub.tell(gap)
        self.wake()

    def lose(self, gone: int) -> None:
        """So many it has lost for good, as the disk knows: who reads is told now, who comes later then."""
        self.gone = gone
        if self.sub.readers:
            self.sub.lose(gone)
            self._work_soon()
            self.wake()

    def fail(self, problem: GossamerError) -> None:
        """Ends its readers' loops with an error, and those that wait for acknowledgements: none is written any more."""
        self.problem = problem
        self.wake()
        waiting, self._acks = self._acks, []
        for _, done in waiting:
            if not done.done():
                done.set_exception(problem)

    async def close(self) -> None:
        """Writes down what was handed out, and no place more."""
        for reader in tuple(self.sub.readers):
            self.sub.leave(reader)
        await self.settle()

    # -- readers ------------------------------------------------------------------------------------------------

    def join(self) -> ReaderId:
        reader = next(self._numbers)
        self.sub.join(reader)
        self.sub.lose(self.gone)
        self.used_us, self.idle_us = self.now_us(), 0
        self._work_soon()
        return reader

    async def leave(self, reader: ReaderId) -> None:
        """What it had goes to others, or comes again."""
        if reader not in self.sub.readers:
            return
        if len(self.sub.readers) == 1:
            self.unread += len(self.sub.position.open)
        self.sub.leave(reader)
        self._work_soon()
        if not self.sub.readers:
            await self.settle()

    async def settle(self) -> None:
        """Nobody reads: the disk knows exactly how far it came."""
        while not self.sub.readers and self.problem is None:
            if self._saved is None:
                self._save(exactly=True)
            if (saved := self._saved) is None:
                return
            await asyncio.wait([saved])
            if saved.cancelled() or saved.exception() is not None:
                return  # then more is marked than was handed out

    def give_back(self, reader: ReaderId, places: Sequence[int]) -> None:
        """It never saw these."""
        if reader in self.sub.readers:
            self.sub.give_back(reader, places)
            self._work_soon()

    def first(self, reader: ReaderId) -> Delivery | Gap | None:
        return self.sub.first(reader)

    def take(self, reader: ReaderId) -> Delivery | Gap | None:
        item = self.sub.take(reader, self._now_us())
        if item is not None:
            self._work_soon()
            if isinstance(item, Gap) or item.redelivered:
                self.gave(item)
        return item

    async def wait(self, reader: ReaderId) -> None:
        """Until there may be something to take."""
        self._work_soon()
        waker = self._wakers[reader] = self._loop.create_future()
        try:
            await waker
        finally:
            self._wakers.pop(reader, None)

    async def ack(self, places: Sequence[int]) -> None:
        """Returns when it is on disk."""
        if self.problem is not None:
            raise self.problem
        number = self.sub.ack(places, self._now_us())
        self._work_soon()
        if number:
            done: Future[None] = self._loop.create_future()
            self._acks.append((number, done))
            await done

    def check_unread(self) -> None:
        if self.problem is not None:
            raise self.problem
        if self.sub.readers:
            raise Misuse(f"somebody reads {self.row.name!r}: what is out with readers they acknowledge themselves")

    async def handle(self, items: Sequence[Delivery], after: int, until: int) -> None:
        """These, all of its topic in places after one and up to another, were handled by one who reads by pages."""
        self.check_unread()
        if self.sub.position.examined != after or until <= after:
            return  # another has acknowledged it meanwhile
        number = self.sub.handle(items, until)
        self.unread = max(0, self.unread - len(items))
        done: Future[None] = self._loop.create_future()
        self._acks.append((number, done))
        self._work_soon()
        await done

    def wake(self) -> None:
        """Whoever waits looks again."""
        for waker in self._wakers.values():
            if not waker.done():
                waker.set_result(None)

    # -- what is due --------------------------------------------------------------------------------------------

    def _now_us(self) -> int:
        return round(self._loop.time() * 1e6)

    def _work_soon(self) -> None:
        """Once per turn of the loop: acknowledgements of one turn share a commit."""
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._work)

    def _work(self) -> None:
        self._scheduled = False
        if self.sub.overdue(self._now_us()):
            log.info("%s: items that were not acknowledged in time go out again", self.row.name)
        self._save(exactly=not self.sub.readers)
        if self.problem is None and (read := self.sub.wants(self.settled())) is not None:
            self._start(read)
        self._complain()
        if any(self.sub.first(reader) is not None for reader in self._wakers):
            self.wake()
        self._set_timer()

    def _complain(self) -> None:
        if not self.sub.is_full:
            self._complained = False
        elif not self._complained and len(self.sub.out) >= len(self.sub.position.open):
            self._complained = True
            log.warning(
                "%s: %d items are with readers and not acknowledged: no more are handed out until some are",
                *(self.row.name, len(self.sub.out)),
            )

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due_us = self.sub.due_us(self._now_us())
        if due_us is not None and self.problem is None:
            self._timer = self._loop.call_at(due_us / 1e6, self._work_soon)

    # -- the disk -----------------------------------------------------------------------------------------------

    def _save(self, exactly: bool) -> None:
        if self.problem is None and (save := self.sub.save(exactly)) is not None:
            try:
                self.used_us = self.now_us()
                self._saved = self.store.save(self.row.key, save, self.used_us)
            except GossamerError as wrong:  # the spool is closed
                self._not_written(wrong)
                return
            self._loop.when_done(self._saved, self._written)

    def _written(self, future: "Future[None]") -> None:
        self._saved = None
        if future.cancelled() or (wrong := future.exception()) is not None:
            self._not_written(wrong if not future.cancelled() else None)
            return
        self._tell(self.sub.saved(), None)
        self._work_soon()

    def _not_written(self, wrong: BaseException | None) -> None:
        problem = wrong if isinstance(wrong, GossamerError) else TransportDown("the spool was closed")
        self._tell(self.sub.not_saved(), problem)
        self._loop.call_later(AGAIN_S, self._work_soon)

    def _tell(self, number: int, wrong: GossamerError | None) -> None:
        """Whoever waits for this save, or one before it."""
        ready = [done for least, done in self._acks if least <= number and not done.done()]
        self._acks = [(least, done) for least, done in self._acks if least > number]
        for done in ready:
            if wrong is None:
                done.set_result(None)
            else:
                done.set_exception(wrong)

    def _start(self, read: Read) -> None:
        task = self._loop.create_task(self._read(read))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read(self, read: Read) -> None:
        try:
            found, gone = await self.store.read(self.row.key, read.after, self.row.subtrees, read.items, read.bytes)
        except GossamerError as wrong:
            self.sub.unread(read)
            log.warning("%s: the log cannot be read: %s", self.row.name, wrong)
            self._loop.call_later(AGAIN_S, self._work_soon)
            return
        items, gaps = opened(found.items)
        self.unread = 0 if found.examined >= self.settled() else max(0, self.unread - len(items))
        self.sub.page(read, items, found.examined, gaps, gone, self._now_us())
        self._work_soon()


def opened(stored: Sequence[Stored]) -> tuple[list[Delivery], list[Gap]]:
    """Events as they stand in the log, and word of those that cannot be read."""
    items: list[Delivery] = []
    gaps: list[Gap] = []
    for each in stored:
        try:
            items.append(read_delivery(each.sealed, each.place, each.hops, False))
        except TooDeep:
            gaps.append(Gap(1, "an event goes deeper than can be read from where this reader is called"))
    return items, gaps
