"""All durable subscriptions of a node: opened, listed, deleted, forgotten.

The node takes part in the topic of each as long as it exists, whether or not anybody reads it.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gossamer.core.errors import GossamerError, Misuse
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy, Topic
from gossamer.live.reading.bookmarks import Bookmark
from gossamer.live.reading.committed import CommittedLog
from gossamer.live.reading.deliveries import Delivery, Gap
from gossamer.live.reading.feed import DurableFeed
from gossamer.live.reading.limits import ReadingLimits
from gossamer.live.reading.listing import SubscriptionInfo
from gossamer.live.reading.subscriptions import Subscriptions
from gossamer.live.spool.progress import Progress, StreamRanges
from gossamer.live.spool.spool import Spool
from gossamer.live.spool.subscriptions import Key, SubscriptionRow
from gossamer.live.watching.watched_loop import WatchedLoop

if TYPE_CHECKING:
    from gossamer.core.filters import Filter

log = logging.getLogger("gossamer.readers")

LOOK_S = 60.0
"How often subscriptions that nobody reads are looked at."
NOTED_US = 3_600_000_000
"How much of their idle time a crash may undo."
WARNED = 0.9
"The share of the idle time after which the log warns."


class Opening(NamedTuple):
    """What somebody wants to read under a name."""

    owner: str
    name: str
    topic: Topic
    filter: "Filter | None"
    from_start: bool = False
    ordered: bool = False
    recover: bool = True
    bookmark: Bookmark | None = None


class Durables:
    """By owner and name."""

    def __init__(
        self,
        spool: Spool,
        hierarchy: Hierarchy,
        subscriptions: Subscriptions,
        now_us: Callable[[], int],
        gave: Callable[[Topic, Delivery | Gap], None],
        owner: str,
        limits: ReadingLimits,
        loop: WatchedLoop,
    ) -> None:
        self.spool, self.store, self.hierarchy, self.subscriptions = (
            spool,
            spool.subscriptions,
            hierarchy,
            subscriptions,
        )
        self.now_us, self.limits, self.gave = now_us, limits, gave
        self.owner = owner
        "Whose the subscriptions of the node's own process are."
        self.feeds: dict[Key, DurableFeed] = {}
        self.log = CommittedLog(spool, hierarchy, self.feeds)
        self._opening = asyncio.Lock()
        self._loop = loop
        self._looked_s = self._loop.time()
        self._looking: asyncio.TimerHandle | None = None
        self._counting: set[asyncio.Task[None]] = set()

    def reading(self, topic: Topic) -> list[DurableFeed]:
        """Those that somebody reads, of this topic, one above, or one below."""
        includes = self.hierarchy.includes
        return [
            feed
            for feed in self.feeds.values()
            if feed.sub.readers and (includes(feed.topic, topic) or includes(topic, feed.topic))
        ]

    def lose(self, gone: Mapping[Key, int]) -> None:
        """How many events these have lost for good: nobody has them any more."""
        for key, events in gone.items():
            if key in self.feeds:
                self.feeds[key].lose(events)

    # -- life ---------------------------------------------------------------------------------------------------

    async def begin(self, may_read: Callable[[Topic], bool]) -> None:
        """Takes up those of former lives. One whose topic the node may no longer read gets nothing new."""
        for row in await self.store.all():
            feed = self._add(row, await self.store.streams(row.key), filter_of(row.where))
            if may_read(row.topic):
                self._take_part(feed)
            else:
                log.warning("the grant of this node no longer covers %s: nothing new comes for %s", row.topic, row.name)
        counting = self._loop.create_task(self._count(tuple(self.feeds.values())))
        self._counting.add(counting)
        counting.add_done_callback(self._counting.discard)
        self._look()

    async def _count(self, feeds: Sequence[DurableFeed]) -> None:
        for feed in feeds:
            try:
                feed.unread += await self.store.behind(feed.row)
            except GossamerError as wrong:
                log.debug("the log cannot be counted: %s", wrong)

    def _add(self, row: SubscriptionRow, streams: Sequence[StreamRanges], filter: "Filter | None") -> DurableFeed:
        feed = self.feeds[row.key] = DurableFeed(
            row,
            streams,
            filter,
            self.store,
            self.log.settled,
            self.now_us,
            self._loop,
            lambda item: self.gave(row.topic, item),
            counted=Pattern(row.topic, row.where) if row.where and self.subscriptions.inside else None,
            patience_s=self.limits.patience_s,
            items_max=self.limits.items_max,
            bytes_max=self.limits.bytes_max,
        )
        feed.idle_us = row.idle_us
        self.log.forget_topics()
        return feed

    def _take_part(self, feed: DurableFeed) -> None:
        """The node reads the topic for it, now and while nobody does."""
        if not feed.takes_part:
            # One that began with what the log had wants all there is.
            self.subscriptions.add(feed.topic, feed.where, feed.row.recover, since_us=max(1, feed.row.since_us))
            feed.takes_part = True

    async def open(self, wish: Opening) -> DurableFeed:
        """The subscription of that name, on disk. A new one begins now; or with what the log has, if that was asked
        for, or behind what a bookmark covers."""
        if (wish.owner, wish.name) not in self.feeds:
            self.subscriptions.check([wish.topic])
        async with self._opening:  # two that open the same are one
            feed = self.feeds.get((wish.owner, wish.name))
            if feed is not None:
                await self._change(feed, wish)
            row = await self.store.open(self._wished(wish), own=wish.owner == self.owner)
            feed = self.feeds.get(row.key) or self._add(row, await self.store.streams(row.key), wish.filter)
            self._take_part(feed)
            if wish.bookmark is not None:
                feed.coverage.merge(wish.bookmark)
                await self.store.open(row, feed.coverage.changes())
            return feed

    def _wished(self, wish: Opening) -> SubscriptionRow:
        mark, now_us, last = wish.bookmark, self.now_us(), self.spool.last_place
        begin = self.spool.first_place - 1 if wish.from_start or mark is not None else last
        since_us = mark.since_us if mark is not None else 0 if wish.from_start else now_us
        return SubscriptionRow(
            *(wish.owner, wish.name, wish.topic, "" if wish.filter is None else wish.filter.text),
            *(wish.ordered, wish.recover, (wish.topic, *self.hierarchy.joined_below(wish.topic))),
            since_us=since_us,
            used_us=now_us,
            progress=Progress(begin),
            began=last if mark is not None else 0,
        )

    async def _change(self, feed: DurableFeed, wish: Opening) -> None:
        """Options may change while nobody reads."""
        if (feed.row.ordered, feed.row.recover) == (wish.ordered, wish.recover):
            return
        if feed.sub.readers:
            raise Misuse(f"others read {wish.name!r} with other options: give the same ordered and recover")
        await self._drop(feed)

    async def _drop(self, feed: DurableFeed) -> None:
        await feed.close()
        del self.feeds[feed.row.key]
        self.log.forget_topics()
        if feed.takes_part:
            self.subscriptions.remove(feed.topic, feed.where, feed.row.recover)

    async def delete(self, owner: str, name: str) -> bool:
        """It is as if it had never been; whoever reads it is told. False: there is none."""
        async with self._opening:
            if (feed := self.feeds.get((owner, name))) is None:
                return False
            feed.fail(Misuse(f"the subscription {name!r} was deleted: open it anew to read on"))
            await self._drop(feed)
            return await self.store.delete(feed.row.key)

    def listed(self) -> list[SubscriptionInfo]:
        return [info_of(self.feeds[key]) for key in sorted(self.feeds)]

    async def close(self, problem: GossamerError) -> None:
        if self._looking is not None:
            self._looking.cancel()
        for task in self._counting:
            task.cancel()
        for feed in self.feeds.values():
            if feed.idle_us:
                self.store.idle(feed.row.key, feed.idle_us)
            await feed.close()
            feed.fail(problem)

    def tune(self, limits: ReadingLimits) -> None:
        self.limits = limits
        for feed in self.feeds.values():
            feed.sub.tune(limits.items_max, limits.bytes_max, round(limits.patience_s * 1e6))

    # -- those that nobody reads --------------------------------------------------------------------------------

    def _look(self) -> None:
        """Time in which the node does not run does not count, nor does a clock that was set."""
        now_s = self._loop.time()
        passed_us, self._looked_s = round((now_s - self._looked_s) * 1e6), now_s
        for feed in tuple(self.feeds.values()):
            if not feed.sub.readers:
                self._idle(feed, passed_us)
        self._looking = self._loop.call_later(LOOK_S, self._look)

    def _idle(self, feed: DurableFeed, passed_us: int) -> None:
        row, before_us, most_us = feed.row, feed.idle_us, self.limits.forget_s * 1e6
        feed.idle_us += passed_us
        if feed.idle_us >= most_us:
            log.warning(
                "the subscription %r of %s to %s is forgotten: nobody read it for %.1f days (spool.forget_s), and %d "
                "events waited for it",
                *(row.name, row.owner, row.topic, feed.idle_us / 86_400e6, feed.behind),
            )
            task = self._loop.create_task(self._forget(row.key))
            self._counting.add(task)
            task.add_done_callback(self._counting.discard)
        elif before_us < WARNED * most_us <= feed.idle_us:
            log.warning(
                "the subscription %r of %s to %s will be forgotten in %.1f days unless somebody reads it",
                *(row.name, row.owner, row.topic, (most_us - feed.idle_us) / 86_400e6),
            )
        if before_us // NOTED_US != feed.idle_us // NOTED_US:
            self.store.idle(row.key, feed.idle_us)

    async def _forget(self, key: Key) -> None:
        try:
            await self.delete(*key)
        except GossamerError as wrong:
            log.warning("the subscription %r could not be forgotten: %s", key[1], wrong)


def info_of(feed: DurableFeed) -> SubscriptionInfo:
    row, sub = feed.row, feed.sub
    return SubscriptionInfo(
        row.name,
        row.owner,
        row.topic,
        row.where,
        sub.position.acked,
        feed.behind,
        len(sub.readers),
        row.since_us,
        feed.used_us,
        row.ordered,
        sub.on_disk.told,
    )


def no_subscription(name: str, whose: str) -> Misuse:
    return Misuse(f"there is no subscription {name!r} of {whose}: `gossamer subscriptions` lists those there are")


def filter_of(where: str) -> "Filter | None":
    if not where:
        return None
    from gossamer.core.filters import parse  # a node that filters nothing need not load the grammar

    return parse(where)
