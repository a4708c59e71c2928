"""A client of a node: publishes through it and reads from its spool, without joining anything.

async with gossamer.Client("127.0.0.1:7400") as client:
    await client.publish(".soccer.italy", b"goal")
    async with client.subscribe(".soccer", from_start=True) as reader:
        async for event in reader: ...
"""

import asyncio
import ssl
import time
from collections import deque
from collections.abc import Awaitable, Mapping
from itertools import count
from pathlib import Path
from types import TracebackType

from gossamer.core.errors import GossamerError, Misuse, PeerFault, TransportDown
from gossamer.core.events import Attribute, Event
from gossamer.core.ids import EventId, Peer, peer_of
from gossamer.core.machine import Message
from gossamer.live.arguments import publication, subscription, too_large
from gossamer.live.complaints import Complaints
from gossamer.live.config_tables import EVENT_BYTES_MAX
from gossamer.live.control import CLIENT_CONTROL, NUMBERS, Answer, Bye, Enough, Item, Items, Offer, Read, Taken, heard
from gossamer.live.deliveries import Delivery, Gap, read_delivery
from gossamer.live.link import Link
from gossamer.live.metrics import Metrics
from gossamer.live.transports import Channel, Transport
from gossamer.live.transports.tcp import Tcp
from gossamer.live.trust import OpenTrust, Record, Trust
from gossamer.wire.codec import Codec
from gossamer.wire.frame import OLDEST, PART_BYTES, VERSION, Batch, Copy, Hello, batch_frame, part_frames
from gossamer.wire.sealed import head_of

TAKEN_EVERY = 100
"Items after which the node is told that there is room for more."


class Client:
    """Attached to one node. The node's spool is what makes publications safe and reading resumable."""

    def __init__(
        self,
        address: str,
        *,
        keys: Path | None = None,
        name: str = "client",
        network: str = "default",
        transport: Transport | None = None,
        patience_s: float = 5.0,
    ) -> None:
        self.address, self.network, self.handshake_s = address, network, patience_s
        self.trust: Trust = load_keys(keys) if keys is not None else OpenTrust(name)
        self.me: Peer = peer_of(self.trust.name)
        self.metrics = Metrics()
        self.codec = Codec(CLIENT_CONTROL)
        self.transport = transport or Tcp(self.trust)
        self.readers: dict[int, Reader] = {}
        self.offers: dict[int, asyncio.Future[EventId]] = {}
        self.problem = ""
        self.answered = False
        "Whether anybody is at that address, be it no node or one that does not take us."
        self.complaints = Complaints()
        self._numbers = count(1)
        self._transfers = count(1)
        self._link: Link | None = None

    async def __aenter__(self) -> "Client":
        made: list[Link] = []

        def answer(channel: Channel) -> Link:
            made.append(Link(self, channel, dialed=True))
            return made[0]

        greeted = False
        try:
            async with asyncio.timeout(self.handshake_s):
                await self.transport.dial(self.address, answer)
                self.answered = True
                greeted = await made[0].up
        except TimeoutError:
            pass
        except TransportDown as wrong:
            self.answered = isinstance(wrong.__cause__, ssl.SSLError | ConnectionResetError)
            if self.answered:
                raise TransportDown(f"the node at {self.address} has no keys, or does not take ours") from wrong
            raise
        finally:
            if made and not greeted:  # also when whoever attaches is told to stop
                made[0].channel.abort()
        if not greeted:
            why = f": {self.problem}" if self.problem else ""
            unexplained = self.problem in ("", "closed") and not self.trust.contexts()
            keys = " (if its network has keys, attach with yours)" if unexplained else ""
            raise TransportDown(f"the node at {self.address} did not take us as its client{why}{keys}")
        self._link = made[0]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._link is not None and not self._link.closed:
            gone = asyncio.get_running_loop().create_future()
            self._gone = gone
            self._say(Bye())
            self._link.close()
            await asyncio.wait([gone], timeout=self.handshake_s)

    _gone: "asyncio.Future[None] | None" = None

    # -- using it -----------------------------------------------------------------------------------------------

    def publish(
        self,
        topic: str,
        payload: bytes | str = b"",
        *,
        attributes: Mapping[str, Attribute] | None = None,
        key: str | None = None,
    ) -> Awaitable[EventId]:
        """Hands an event to the node; await the result to know that the node has spooled it."""
        wish = publication(topic, payload, attributes, key)
        head = head_of(Event(EventId(self.me, 0, 0), wish.topic, attributes=wish.attributes))
        if (wrong := too_large(head, wish.payload, EVENT_BYTES_MAX)) is not None:
            raise wrong
        number = self._number()
        self._say(Offer(number, wish.topic, wish.payload, wish.attributes, wish.key))
        future = self.offers[number] = asyncio.get_running_loop().create_future()
        return future

    def subscribe(
        self,
        topic: str,
        *,
        where: str = "",
        name: str = "",
        from_start: bool = False,
        ordered: bool = False,
        recover: bool = True,
    ) -> "Reader":
        """Events of a topic and its subtopics, as the node gets them; `from_start`: also those its spool still has.
        The node asks the filter `where`: what does not match is not even sent here."""
        wide, filter, name = subscription(topic, where, name, from_start=from_start, ordered=ordered, recover=recover)
        said = "" if filter is None else filter.text
        return Reader(self, Read(self._number(), wide, name, from_start, ordered, said, recover))

    def _number(self) -> int:
        """Of the next request. They begin again once they are used up: nothing is under way for that long."""
        return next(self._numbers) % NUMBERS

    def _say(self, message: Message) -> None:
        link = self._link
        if link is None or link.closed:
            raise TransportDown(
                f"the link to the node at {self.address} is gone{': ' if self.problem else ''}{self.problem}"
            )
        data = self.codec.encode(message)
        if len(data) <= PART_BYTES:
            link.write(batch_frame([], [], [], [data], link.version))
            return
        for part in part_frames(next(self._transfers), data, None, link.version):
            link.write(part)

    # -- what the link tells ------------------------------------------------------------------------------------

    def refused(self, peer: Peer | None, reason: str) -> None:
        self.metrics.refuse(reason)

    def hello(self) -> Hello:
        return Hello(OLDEST, VERSION, self.network, "client", self.trust.record((), time.time_ns() // 1000))

    def admit(self, hello: Hello) -> Record:
        return self.trust.admit(hello.record, time.time())

    def greeted(self, link: Link, hello: Hello) -> None:
        if hello.role != "node":
            link.refuse("not for clients", "a client cannot attach to a client")

    def batch(self, link: Link, batch: Batch) -> None:
        for raw in batch.messages:
            self._heard(link, bytes(raw))

    def large(self, link: Link, copy: Copy | None, body: bytes) -> None:
        if copy is None:
            self._heard(link, body)

    def _heard(self, link: Link, data: bytes) -> None:
        try:
            message = self.codec.decode(data)
        except PeerFault as wrong:
            if self.codec.knows(data):
                link.refuse("bad message", str(wrong))  # it may be the answer somebody waits for
            else:
                self.metrics.unknown_tags += 1
            return
        match message:
            case Answer(number, event_id, problem, kind):
                future = self.offers.pop(number, None)
                if future is not None and not future.done():
                    if event_id is None:
                        future.set_exception(heard(problem or "the node refused the event", kind))
                    else:
                        future.set_result(event_id)
            case Items(number, items, problem, kind):
                if (reader := self.readers.get(number)) is not None:
                    reader.heard(items, heard(problem, kind) if problem else None)
            case Bye(why):
                self.problem = why or "the node is closing"

    def lost(self, link: Link, why: str) -> None:
        self.problem = self.problem or link.refusal or why
        wrong = f"the link to the node at {self.address} is gone: {self.problem}"
        for future in self.offers.values():
            if not future.done():
                future.set_exception(TransportDown(wrong))
        for reader in tuple(self.readers.values()):
            reader.heard((), TransportDown(wrong))
        if self._gone is not None and not self._gone.done():
            self._gone.set_result(None)

    def drained(self, link: Link) -> None:
        """Nothing waits here: what a client says is short."""


class Reader:
    """A client's inbox: `async with`, `async for`; items are `Delivery` or `Gap`."""

    def __init__(self, client: Client, read: Read) -> None:
        self.client, self.read = client, read
        self.items: deque[Delivery | Gap] = deque()
        self.problem: GossamerError | None = None
        self._acked: list[int] = []
        self._taken = 0
        self._wake: asyncio.Future[None] | None = None

    async def __aenter__(self) -> "Reader":
        self.client.readers[self.read.number] = self
        self.client._say(self.read)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.readers.pop(self.read.number, None)
        if self.client._link is not None and not self.client._link.closed:
            self._tell()
            self.client._say(Enough(self.read.number))

    def __aiter__(self) -> "Reader":
        return self

    async def __anext__(self) -> Delivery | Gap:
        while not self.items:
            if self.problem is not None:
                raise self.problem
            self._wake = asyncio.get_running_loop().create_future()
            await self._wake
        self._taken += 1
        if self._taken >= TAKEN_EVERY:
            self._tell()
        return self.items.popleft()

    def heard(self, items: tuple[Item, ...], problem: GossamerError | None) -> None:
        for item in items:
            self.items.append(as_read(item))
        self.problem = problem or self.problem
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def ack(self, item: Delivery | Gap) -> None:
        """Acknowledges an item of a named subscription: after a restart it goes on behind it."""
        if not self.read.name:
            raise Misuse("only a named subscription remembers what was acknowledged: subscribe with name=…")
        if isinstance(item, Delivery):
            self._acked.append(item.place)
            self._tell()

    def _tell(self) -> None:
        taken, acked = self._taken, tuple(self._acked)
        self._taken, self._acked = 0, []
        if taken or acked:
            self.client._say(Taken(self.read.number, taken, acked))


def as_read(item: Item) -> Delivery | Gap:
    if item.lost:
        return Gap(item.lost, item.sealed.decode(errors="replace"), item.topic, item.publisher)
    return read_delivery(item.sealed, item.place, item.hops, item.redelivered)


def load_keys(folder: Path) -> Trust:
    from gossamer.live.keys.keyring import Keyring  # a client without keys need not load the cryptography

    return Keyring.load(folder)
