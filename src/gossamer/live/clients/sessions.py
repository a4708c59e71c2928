"""Clients of a node: they publish through it and read its spool, under a grant of their own.

A client has no tables and forwards nothing. Each of its readers may have `WINDOW` items on the way; it says how many
it has taken, so a slow client holds up nobody but itself.
"""

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from gossamer.core.errors import GossamerError, Misuse
from gossamer.core.machine import Message
from gossamer.core.topics import Topic
from gossamer.live.clients.subscription_requests import LOCAL, SubscriptionRequest, answered
from gossamer.live.keys.trust import Act
from gossamer.live.links.control import (
    AHEAD_DURABLE,
    Answer,
    Await,
    Copies,
    Delete,
    Enough,
    Handled,
    Item,
    Items,
    ListThem,
    Mark,
    Offer,
    Read,
    Reply,
    Taken,
    refusal_of,
    told,
)
from gossamer.live.links.link import Link
from gossamer.live.links.transports import HIGH_WATER
from gossamer.live.reading.deliveries import Delivery, Gap
from gossamer.live.reading.durable_inbox import DurableInbox
from gossamer.live.reading.inbox import Inbox
from gossamer.live.running.clock import monotonic_us
from gossamer.parts.bucket import Buckets
from gossamer.wire.frame import PART_BYTES, batch_frame, part_frames
from gossamer.wire.sealed import head_of, seal

if TYPE_CHECKING:
    from gossamer.live.node import Node

WINDOW = 1000
PAGE = 100
PAGE_BYTES = 256 << 10
"Items that go in one message, and what they may come to (one may be larger)."
READERS_MAX = 100
OFFERS_MAX = 2000
OFFERS_BYTES = 32 << 20
"Publications of one client that may wait to be spooled; above it nothing more is read from it for the moment."
FILTERS_PER_S = 16_384
FILTERS_BURST = 65_536
"Characters of filters that are read for one client: every one of them costs a microsecond or two."
PLACES_SHARED = 4
"One identity has at most a part of the places for clients: this many have to share them before they are all taken."
AWAITS_MAX = 16
"Times one client may wait at once for members to have its publications."
UNREAD_BYTES = 32 << 20
"What may wait for a client to read it: events wait for room in any case, so this is answers to what it asked."
BUSY_S = 0.01


class ClientSessions:
    """All clients of one node."""

    def __init__(self, node: "Node", clients_max: int) -> None:
        self.node, self.clients_max = node, clients_max
        self.sessions: dict[Link, ClientSession] = {}
        self.filters = Buckets(FILTERS_PER_S, FILTERS_BURST)
        "By identity: whoever attaches again finds what it has left."

    def attached(self, link: Link) -> None:
        self.node.metrics.clients += 1
        self.sessions[link] = ClientSession(self.node, link, self.filters)
        own = sum(each.name == link.name for each in self.sessions) if self.node.trust.contexts() is not None else 0
        if len(self.sessions) > self.clients_max or own > max(1, self.clients_max // PLACES_SHARED):
            link.refuse("too many clients")

    def detached(self, link: Link) -> None:
        self.node.metrics.clients -= 1
        if (session := self.sessions.pop(link, None)) is not None:
            session.close()

    def asked(self, link: Link, message: Message) -> None:
        if (session := self.sessions.get(link)) is not None:
            session.asked(message)

    def end_ungranted(self, now_s: float) -> None:
        """Ends readers whose client's grant ran out, or covers their topic no longer."""
        for session in self.sessions.values():
            session.end_ungranted(now_s)

    def unread(self, link: Link, data: bytes, why: str) -> None:
        """A request that cannot be read is answered all the same: somebody may be waiting."""
        if (session := self.sessions.get(link)) is not None and (refusal := refusal_of(data, why)) is not None:
            session.say(refusal)


class ClientSession:
    """Serves one client."""

    def __init__(self, node: "Node", link: Link, filters: Buckets) -> None:
        self.node, self.link, self.filters = node, link, filters
        self.readers: dict[int, asyncio.Task[None]] = {}
        self.inboxes: dict[int, Inbox | DurableInbox] = {}
        self.room: dict[int, asyncio.Semaphore] = {}
        self.on_the_way: dict[int, deque[int]] = {}
        "Places of items sent to each reader that it has not taken."
        self.transfers = 0
        self.offers = self.offered_bytes = self.awaits = 0
        self._tasks: set[asyncio.Task[Any]] = set()

    def asked(self, message: Message) -> None:
        match message:
            case Offer():
                self.offers += 1
                self.offered_bytes += len(message.payload)
                self._start(self._publish(message))
                self._pause()
            case Await():
                self._await(message)
            case Read():
                self._read(message)
            case Taken(number, items):
                self._taken(number, items)
            case Handled() | Mark() | ListThem() | Delete():
                self.offers += 1
                inbox = self.inboxes.get(message.reader) if isinstance(message, Handled | Mark) else None
                self._start(self._reply(message, inbox))
                self._pause()
            case Enough(number):
                if (reader := self.readers.pop(number, None)) is not None:
                    if isinstance(inbox := self.inboxes.get(number), DurableInbox):
                        inbox.give_back([*self.on_the_way[number]])
                    reader.cancel()
            case _:
                self.link.strike("not for nodes", "a client sent what only nodes say")

    def _start(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def say(self, message: Message) -> None:
        if self.link.closed:
            return
        if self.link.channel.pending() > UNREAD_BYTES:
            self.link.refuse("unread answers", "it asks for more than it reads")
            return
        data = self.node.station.codec.encode(message)
        if len(data) <= PART_BYTES:
            self.link.write(batch_frame([], [], [], [data], self.link.version))
            return
        self.transfers += 1
        for part in part_frames(self.transfers, data, None, self.link.version):
            self.link.write(part)

    def _check_granted(self, act: Act, topic: Topic) -> None:
        assert self.link.peer is not None
        if not self.node.trust.may(self.link.peer, act, topic, time.time()):
            way = "to" if act == "subscribe" else "on"
            raise Misuse(f"the grant of {self.link.name} does not let it {act} {way} {topic}")

    def end_ungranted(self, now_s: float) -> None:
        peer, trust = self.link.peer, self.node.trust
        assert peer is not None
        for inbox in self.inboxes.values():
            if not trust.may(peer, "subscribe", inbox.topic, now_s):
                inbox.fail(grant_ended(self.link.name, inbox.topic), at_once=True)

    # -- publishing ---------------------------------------------------------------------------------------------

    def _pause(self) -> None:
        """Lets a client that publishes faster than the spool writes wait."""
        if not self.link.closed:
            self.link.channel.pause(self.offers >= OFFERS_MAX or self.offered_bytes >= OFFERS_BYTES)

    async def _publish(self, offer: Offer) -> None:
        try:
            self._check_granted("publish", offer.topic)
            event_id = await self.node.publish(offer.topic, offer.payload, attributes=offer.attributes, key=offer.key)
            answer = Answer(offer.number, event_id)
        except GossamerError as wrong:
            answer = Answer(offer.number, None, *told(wrong))
        self.offers -= 1
        self.offered_bytes -= len(offer.payload)
        self._pause()
        self.say(answer)

    def _await(self, wish: Await) -> None:
        if self.awaits >= AWAITS_MAX:
            self.say(Copies(wish.number, problem="a client waits for too many publications already"))
            return
        self.awaits += 1
        self._start(self._tell_copies(wish))

    async def _tell_copies(self, wish: Await) -> None:
        try:
            done = await self.node.handed_over(wish.patience_s, wish.events)
            self.say(Copies(wish.number, done.waiting, done.on_disk, done.in_memory, done.given_up))
        finally:
            self.awaits -= 1

    # -- durable subscriptions ----------------------------------------------------------------------------------

    @property
    def owner(self) -> str:
        """Whose durable subscriptions this client opens."""
        return self.link.name if self.node.trust.contexts() is not None else LOCAL

    async def _reply(self, request: SubscriptionRequest, inbox: Inbox | DurableInbox | None) -> None:
        try:
            reply = await answered(self.node, self.owner, request, inbox)
        except GossamerError as wrong:
            reply = Reply(request.number, *told(wrong))
        self.offers -= 1
        self._pause()
        self.say(reply)

    # -- reading ------------------------------------------------------------------------------------------------

    def _read(self, read: Read) -> None:
        if read.number in self.readers or len(self.readers) >= READERS_MAX:
            self.say(Items(read.number, (), "too many readers of one client, or the same number twice"))
        elif read.where and not self.filters.take(self.link.name, monotonic_us(), len(read.where)):
            self.link.decline("too many filters")
            self.say(Items(read.number, (), "filters come faster than they can be read: wait a moment, or say less"))
        else:
            self.room[read.number] = asyncio.Semaphore(AHEAD_DURABLE if read.name else WINDOW)
            self.on_the_way[read.number] = deque()
            self.readers[read.number] = self._start(self._pump(read))

    async def _pump(self, read: Read) -> None:
        """Reads for the client, in pages, never more than it has room for."""
        room = self.room[read.number]
        try:
            self._check_granted("subscribe", read.topic)
            inbox = self.node.subscribe_for(
                self.owner,
                read.topic,
                where=read.where,
                name=read.name,
                from_start=read.from_start,
                ordered=read.ordered,
                recover=read.recover,
                bookmark=read.bookmark,
            )
            async with inbox:
                self.inboxes[read.number] = inbox
                if read.name:
                    self.say(Reply(read.number))
                while page := await self._page(inbox, room, self.on_the_way[read.number]):
                    while self.link.channel.pending() > HIGH_WATER:
                        await asyncio.sleep(BUSY_S)
                    self.say(Items(read.number, tuple(page)))
        except GossamerError as wrong:
            self.say(Items(read.number, (), *told(wrong)))
        finally:
            self.inboxes.pop(read.number, None)
            self.room.pop(read.number, None)
            self.on_the_way.pop(read.number, None)
            self.readers.pop(read.number, None)

    async def _page(self, inbox: Inbox | DurableInbox, room: asyncio.Semaphore, on_the_way: deque[int]) -> list[Item]:
        """What the reader has room for and is there, but at least one; nothing: that was all. Room comes first: what is
        taken from the inbox is on its way to the client, not to others."""
        page: list[Item] = []
        size = 0
        while not page or (len(page) < PAGE and size < PAGE_BYTES and inbox.at_hand() and not room.locked()):
            await room.acquire()
            if (item := await anext(inbox, None)) is None:
                break
            page.append(as_item(item))
            on_the_way.append(page[-1].place)
            size += len(page[-1].sealed)
        return page

    def _taken(self, number: int, items: int) -> None:
        room = self.room.get(number)
        if room is not None:
            for _ in range(min(items, len(self.on_the_way[number]))):
                self.on_the_way[number].popleft()
                room.release()

    def close(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()


def grant_ended(name: str, topic: Topic) -> Misuse:
    return Misuse(
        f"the grant of {name} ran out, or does not let it subscribe to {topic} any more: renew it with "
        f"`gossamer keys grant NETWORK --node {name}`, and subscribe again"
    )


def as_item(item: Delivery | Gap) -> Item:
    if isinstance(item, Gap):
        return Item(0, item.why.encode(), lost=max(1, item.lost), topic=item.topic, publisher=item.publisher)
    return Item(item.place, seal(head_of(item), item.payload, None), item.hops, item.redelivered)
