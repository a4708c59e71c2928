"""What a node reads for one client. Each of its readers may have `WINDOW` items on the way; the client says how many it
has taken, so a slow one holds up nobody but itself."""

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from gossamer.core.errors import GossamerError, Misuse
from gossamer.core.topics import Topic
from gossamer.live.clients.arguments import Subscription, subscription
from gossamer.live.clients.identities import FILTERS_HELD
from gossamer.live.links.control import AHEAD_DURABLE, Item, Items, Read, Reply
from gossamer.live.reading.deliveries import Delivery, Gap
from gossamer.live.reading.durable_inbox import DurableInbox
from gossamer.live.reading.inbox import Inbox
from gossamer.live.running.clock import monotonic_us
from gossamer.wire.sealed import head_of, seal

if TYPE_CHECKING:
    from gossamer.live.clients.session import ClientSession

WINDOW = 1000
PAGE = 100
PAGE_BYTES = 256 << 10
"Items that go in one message, and what they may come to (one may be larger)."


class ServedReaders:
    """By the numbers the client gave them."""

    def __init__(self, session: "ClientSession") -> None:
        self.session, self.node, self.link = session, session.node, session.link
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.inboxes: dict[int, Inbox | DurableInbox] = {}
        self.room: dict[int, asyncio.Semaphore] = {}
        self.on_the_way: dict[int, deque[int]] = {}
        "Places of items sent to each reader that it has not taken."

    def open(self, read: Read) -> None:
        if (refusal := self._refusal(read)) is not None:
            self.session.say(Items(read.number, (), *self.session.refused(Misuse(refusal[1]), refusal[0])))
            return
        identity = self.session.identity
        self.room[read.number] = asyncio.Semaphore(AHEAD_DURABLE if read.name else WINDOW)
        self.on_the_way[read.number] = deque()
        identity.readers += 1
        identity.letters += len(read.where)
        task = self.tasks[read.number] = self.session.spawn(self._pump(read))
        task.add_done_callback(lambda _: self._closed(read))

    def _refusal(self, read: Read) -> tuple[str, str] | None:
        """Why a reader is not opened, if it is not: for the metrics, and for the client."""
        identity, most, now_us = self.session.identity, self.node.config.limits.client_readers, monotonic_us()
        if read.number in self.room:
            return "bad message", "two readers of one client have the same number"
        if identity.readers >= most:
            return "too many readers", f"{self.link.name} has {most} readers (limits.client_readers): close some"
        if not identity.openings.take(now_us):
            return "too many readers", f"{self.link.name} opens readers faster than it may: wait a moment"
        if read.where and not identity.filters.take(now_us, len(read.where)):
            return "too many filters", "filters come faster than they can be read: wait a moment, or say less"
        if read.where and identity.letters + len(read.where) > FILTERS_HELD:
            return "too many filters", f"the filters of {self.link.name} are longer than {FILTERS_HELD} letters in all"
        return None

    def _closed(self, read: Read) -> None:
        self.session.identity.readers -= 1
        self.session.identity.letters -= len(read.where)
        for table in (self.tasks, self.inboxes, self.room, self.on_the_way):
            table.pop(read.number, None)

    async def _pump(self, read: Read) -> None:
        """Reads for the client, in pages, never more than it has room for."""
        session, number = self.session, read.number
        try:
            session.check_granted("subscribe", read.topic)
            inbox = self.node.subscribe_for(session.owner, wished(read))
            async with inbox:
                self.inboxes[number] = inbox
                if read.name:
                    session.say(Reply(number))
                while page := await self._page(inbox, self.room[number], self.on_the_way[number]):
                    while not session.can_write.is_set():
                        await session.can_write.wait()
                    session.say(Items(number, tuple(map(as_item, page))))
        except GossamerError as wrong:
            session.say(Items(number, (), *session.refused(wrong)))

    async def _page(
        self, inbox: Inbox | DurableInbox, room: asyncio.Semaphore, on_the_way: deque[int]
    ) -> list[Delivery | Gap]:
        """What the reader has room for and is there, but at least one; nothing: that was all. Room comes first: what is
        taken from the inbox is on its way to the client, not to others."""
        page: list[Delivery | Gap] = []
        size = 0
        while not page or (len(page) < PAGE and size < PAGE_BYTES and inbox.at_hand() and not room.locked()):
            await room.acquire()
            if (item := await anext(inbox, None)) is None:
                break
            page.append(item)
            on_the_way.append(0 if isinstance(item, Gap) else item.place)
            size += 0 if isinstance(item, Gap) else len(item.payload)
        return page

    def taken(self, number: int, items: int) -> None:
        """The client has read so many more."""
        room = self.room.get(number)
        if room is not None:
            for _ in range(min(items, len(self.on_the_way[number]))):
                self.on_the_way[number].popleft()
                room.release()

    def close(self, number: int) -> None:
        """The client reads no more: what it did not look at is for others."""
        if (task := self.tasks.pop(number, None)) is not None:
            if isinstance(inbox := self.inboxes.get(number), DurableInbox):
                inbox.give_back([*self.on_the_way[number]])
            task.cancel()

    def end_ungranted(self, now_s: float) -> None:
        peer, trust = self.link.peer, self.node.trust
        assert peer is not None
        for inbox in self.inboxes.values():
            if not trust.may(peer, "subscribe", inbox.topic, now_s):
                inbox.fail(grant_ended(self.link.name, inbox.topic), at_once=True)


def grant_ended(name: str, topic: Topic) -> Misuse:
    return Misuse(
        f"the grant of {name} ran out, or does not let it subscribe to {topic} any more: renew it with "
        f"`gossamer keys grant NETWORK --node {name}`, and subscribe again"
    )


def as_item(item: Delivery | Gap) -> Item:
    if isinstance(item, Gap):
        return Item(0, item.why.encode(), lost=max(1, item.lost), topic=item.topic, publisher=item.publisher)
    return Item(item.place, seal(head_of(item), item.payload, None), item.hops, item.redelivered)


def wished(read: Read) -> Subscription:
    choices = (read.from_start, read.ordered, read.recover, read.bookmark, read.parents)
    return subscription(read.topic, read.where, read.name, *choices)
