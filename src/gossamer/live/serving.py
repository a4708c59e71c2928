"""Clients of a node: they publish through it and read its spool, under a grant of their own.

A client has no tables and forwards nothing. Each of its readers may have `WINDOW` items on the way; it says how many
it has taken, so a slow client holds up nobody but itself.
"""

import asyncio
import time
from typing import TYPE_CHECKING, Any

from gossamer.core.errors import GossamerError, Misuse
from gossamer.core.machine import Message
from gossamer.core.topics import Topic
from gossamer.live.control import Answer, Enough, Item, Items, Offer, Read, Taken, refusal_of, told
from gossamer.live.deliveries import Delivery, Gap
from gossamer.live.inbox import Inbox
from gossamer.live.link import Link
from gossamer.live.transports import HIGH_WATER
from gossamer.live.trust import Act
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
BUSY_S = 0.01


class Serving:
    """All clients of one node."""

    def __init__(self, node: "Node", clients_max: int) -> None:
        self.node, self.clients_max = node, clients_max
        self.attendants: dict[Link, Attendant] = {}

    def attached(self, link: Link) -> None:
        self.node.metrics.clients += 1
        self.attendants[link] = Attendant(self.node, link)
        if len(self.attendants) > self.clients_max:
            link.refuse("too many clients")

    def detached(self, link: Link) -> None:
        self.node.metrics.clients -= 1
        if (attendant := self.attendants.pop(link, None)) is not None:
            attendant.close()

    def asked(self, link: Link, message: Message) -> None:
        if (attendant := self.attendants.get(link)) is not None:
            attendant.asked(message)

    def unread(self, link: Link, data: bytes, why: str) -> None:
        """A request that cannot be read is answered all the same: somebody may be waiting."""
        if (attendant := self.attendants.get(link)) is not None and (refusal := refusal_of(data, why)) is not None:
            attendant.say(refusal)


class Attendant:
    """Serves one client."""

    def __init__(self, node: "Node", link: Link) -> None:
        self.node, self.link = node, link
        self.readers: dict[int, asyncio.Task[None]] = {}
        self.inboxes: dict[int, Inbox] = {}
        self.room: dict[int, asyncio.Semaphore] = {}
        self.on_the_way: dict[int, int] = {}
        "Items sent to each reader that it has not taken."
        self.transfers = 0
        self.offers = self.offered_bytes = 0
        self._tasks: set[asyncio.Task[Any]] = set()

    def asked(self, message: Message) -> None:
        match message:
            case Offer():
                self.offers += 1
                self.offered_bytes += len(message.payload)
                self._start(self._publish(message))
                self._pause()
            case Read():
                self._read(message)
            case Taken(number, items, acked):
                self._taken(number, items, acked)
            case Enough(number):
                if (reader := self.readers.pop(number, None)) is not None:
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

    # -- reading ------------------------------------------------------------------------------------------------

    def _read(self, read: Read) -> None:
        if read.number in self.readers or len(self.readers) >= READERS_MAX:
            self.say(Items(read.number, (), "too many readers of one client, or the same number twice"))
        else:
            self.room[read.number] = asyncio.Semaphore(WINDOW)
            self.on_the_way[read.number] = 0
            self.readers[read.number] = self._start(self._pump(read))

    async def _pump(self, read: Read) -> None:
        """Reads for the client, in pages, never more than it has room for."""
        room = self.room[read.number]
        try:
            self._check_granted("subscribe", read.topic)
            inbox = self.node.subscribe(
                read.topic,
                where=read.where,
                name=read.name,
                from_start=read.from_start,
                ordered=read.ordered,
                recover=read.recover,
            )
            async with inbox:
                self.inboxes[read.number] = inbox
                async for item in inbox:
                    page = [as_item(item)]
                    await room.acquire()
                    size = len(page[0].sealed)
                    while len(page) < PAGE and size < PAGE_BYTES and inbox.at_hand() and not room.locked():
                        page.append(as_item(await anext(inbox)))
                        size += len(page[-1].sealed)
                        await room.acquire()
                    self.on_the_way[read.number] += len(page)
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

    def _taken(self, number: int, items: int, acked: tuple[int, ...]) -> None:
        room, inbox = self.room.get(number), self.inboxes.get(number)
        if room is not None:
            taken = min(items, self.on_the_way[number])
            self.on_the_way[number] -= taken
            for _ in range(taken):
                room.release()
        if inbox is not None and inbox.name:
            for place in acked:
                inbox.ack_place(place)

    def close(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()


def as_item(item: Delivery | Gap) -> Item:
    if isinstance(item, Gap):
        return Item(0, item.why.encode(), lost=max(1, item.lost), topic=item.topic, publisher=item.publisher)
    return Item(item.place, seal(head_of(item), item.payload, None), item.hops, item.redelivered)
