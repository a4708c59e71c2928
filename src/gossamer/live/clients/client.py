"""A client of a node: publishes through it and reads from its spool, without joining anything.

async with gossamer.Client("127.0.0.1:7400") as client:
    await client.publish(".soccer.italy", b"goal")
    async with client.subscribe(".soccer", from_start=True) as reader:
        async for event in reader: ...
"""

import asyncio
import ssl
import time
from collections.abc import Awaitable, Sequence
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, overload

from gossamer.core.errors import GossamerError, Misuse, PeerFault, TransportDown
from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer, peer_of
from gossamer.core.machine import Message
from gossamer.core.topics import Topic
from gossamer.live.clients.arguments import (
    Publication,
    Subscription,
    patience_of,
    subscription_name,
    too_large,
)
from gossamer.live.clients.reader import Reader
from gossamer.live.config.tables import EVENT_BYTES_MAX
from gossamer.live.keys.trust import Act, OpenTrust, Record, Trust
from gossamer.live.links.complaints import Complaints
from gossamer.live.links.conduct import Conduct
from gossamer.live.links.control import (
    AWAITED_MAX,
    CLIENT_CONTROL,
    NUMBERS,
    Answer,
    Await,
    Bye,
    Copies,
    Delete,
    Handled,
    Items,
    ListThem,
    Look,
    Looked,
    Mark,
    Offer,
    Ping,
    Pong,
    Read,
    Reply,
    Through,
    heard,
)
from gossamer.live.links.link import Link
from gossamer.live.links.transports import HANDSHAKE_S, Channel, Transport
from gossamer.live.links.transports.tcp import Tcp
from gossamer.live.publishing.accepted import Accepted
from gossamer.live.publishing.parcel import HandedOver
from gossamer.live.pubsub import PubSub
from gossamer.live.reading.listing import SubscriptionInfo
from gossamer.live.watching.metrics import Metrics
from gossamer.wire.codec import Codec
from gossamer.wire.frame import OLDEST, PART_BYTES, VERSION, Batch, Copy, Hello, batch_frame, part_frames
from gossamer.wire.sealed import head_of

LOOK_S = 5.0
SILENT_LOOKS = 6
"How often a client looks whether its node said something, and looks after which the node counts as gone."


class Client(PubSub[Reader]):
    """Attached to one node. The node's spool is what makes publications safe and reading resumable."""

    def __init__(
        self,
        address: str,
        *,
        keys: Path | None = None,
        name: str = "client",
        network: str = "default",
        node: str = "",
        transport: Transport | None = None,
        patience_s: float = 5.0,
    ) -> None:
        self.address, self.network, self.handshake_s = address, network, patience_s
        self.node = node
        "The name of the node it expects there; empty: whoever its authority knows."
        self.trust: Trust = load_keys(keys) if keys is not None else OpenTrust(name)
        self.me: Peer = peer_of(self.trust.name)
        self.metrics = Metrics()
        self.codec = Codec(CLIENT_CONTROL)
        self.transport = transport or Tcp(self.trust, HANDSHAKE_S)
        self.readers: dict[int, Reader] = {}
        self.offers: dict[int, Accepted] = {}
        self.awaits: dict[int, asyncio.Future[Copies]] = {}
        self.replies: dict[int, asyncio.Future[Any]] = {}
        self.problem = ""
        self.answered = False
        "Whether anybody is at that address, be it no node or one that does not take us."
        self.complaints = Complaints()
        self.conduct = Conduct()
        self._numbers = count(1)
        self._transfers = count(1)
        self._link: Link | None = None

    async def __aenter__(self) -> "Client":
        made: list[Link] = []

        def answer(channel: Channel) -> Link:
            made.append(Link(self, self, channel, dialed=True))
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
                why = "has no keys, or does not take ours: attach with those of its network, if it has any"
                raise TransportDown(f"the node at {self.address} {why}") from wrong
            raise
        finally:
            if made and not greeted:  # also when whoever attaches is told to stop
                made[0].channel.abort()
        if not greeted:
            why = f": {self.problem}" if self.problem else ""
            if self.problem in ("", "closed") and not self.trust.contexts():
                why = ": if its network has keys, attach with yours"
            raise TransportDown(f"the node at {self.address} did not take us as its client{why}")
        self._link = made[0]
        if self.node and made[0].name != self.node:
            await self.__aexit__(None, None, None)
            raise Misuse(f"the node at {self.address} is {made[0].name}, not {self.node}: nothing was handed to it")
        self._watch(made[0])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._link is not None and not self._link.closed:
            gone = asyncio.get_running_loop().create_future()
            self._gone = gone
            self.say(Bye())
            self._link.close()
            await asyncio.wait([gone], timeout=self.handshake_s)

    _gone: "asyncio.Future[None] | None" = None

    def _watch(self, link: Link, frames: int = 0, silent: int = 0) -> None:
        """Looks now and then whether the node says anything, and it says something now and then. Looks are counted, not
        seconds: a program that stands still for long has heard nothing itself."""
        if link.closed:
            return
        silent = silent + 1 if link.frames == frames else 0
        if silent >= SILENT_LOOKS:
            link.refuse("silent node", f"it said nothing for {round(LOOK_S * SILENT_LOOKS)} s")
        else:
            asyncio.get_running_loop().call_later(LOOK_S, self._watch, link, link.frames, silent)

    # -- using it -----------------------------------------------------------------------------------------------

    def offer(self, wish: Publication) -> Awaitable[EventId]:
        """Hands an event to the node; await the result to know that the node has spooled it."""
        head = head_of(Event(EventId(self.me, 0, 0), wish.topic, attributes=wish.attributes))
        if (wrong := too_large(head, wish.payload, EVENT_BYTES_MAX)) is not None:
            raise wrong
        self.check_node("publish", wish.topic)
        number = self.number()
        self.say(Offer(number, wish.topic, wish.payload, wish.attributes, wish.key, wish.climb, {**wish.parents}))
        accepted = self.offers[number] = Accepted(loop=asyncio.get_running_loop())
        return accepted

    async def handed_over(self, events: Sequence[EventId], patience_s: float = 10.0) -> HandedOver:
        """Waits until enough members have these events of the node, as `Node.handed_over` does."""
        loop = asyncio.get_running_loop()
        until_s, told = loop.time() + patience_of(patience_s), []
        for start in range(0, len(events), AWAITED_MAX):
            number, left_s = self.number(), max(0.0, until_s - loop.time())
            self.say(Await(number, tuple(events[start : start + AWAITED_MAX]), left_s))
            self.awaits[number] = loop.create_future()
            told.append(await self.awaits[number])
        fewest = min(((each.disk, each.memory) for each in told if each.disk or each.memory), default=(0, 0))
        return HandedOver(sum(each.waiting for each in told), *fewest, sum(each.given_up for each in told))

    def open(self, wish: Subscription) -> Reader:
        """The node asks the filter: what does not match is not even sent here. It keeps what is durable."""
        self.check_node("subscribe", wish.topic)
        topic, _, name, from_start, ordered, recover, mark, parents = wish
        return Reader(
            self, Read(self.number(), topic, name, from_start, ordered, wish.where, recover, mark, {**parents})
        )

    def check_node(self, act: Act, topic: Topic) -> None:
        """Nothing is handed to a node that its own grant would not let do this."""
        link = self._link
        if link is not None and link.peer is not None and not self.trust.may(link.peer, act, topic, time.time()):
            raise Misuse(
                f"the grant of {link.name}, the node at {self.address}, does not let it {act} "
                f"{'to' if act == 'subscribe' else 'on'} {topic}: nothing was handed to it"
            )

    async def subscriptions(self) -> list[SubscriptionInfo]:
        """Durable subscriptions at the node that are ours; all, if we have its keys, or nobody has any."""
        return [*(await self.request(ListThem(self.number()))).subscriptions]

    async def delete_subscription(self, name: str, *, owner: str = "") -> None:
        """Forgets a durable subscription."""
        await self.request(Delete(self.number(), subscription_name(name, least=1), owner))

    @overload
    async def request(self, message: Look) -> Looked: ...
    @overload
    async def request(self, message: Handled | Mark | ListThem | Delete | Through) -> Reply: ...
    async def request(self, message: Handled | Mark | ListThem | Delete | Through | Look) -> Reply | Looked:
        """Says this, and waits for the answer."""
        self.say(message)
        reply: Reply | Looked = await self.reply_to(message.number)
        return reply

    def reply_to(self, number: int) -> "asyncio.Future[Any]":
        future = self.replies[number] = asyncio.get_running_loop().create_future()
        return future

    def number(self) -> int:
        """Of the next request. They begin again once they are used up: nothing is under way for that long."""
        return next(self._numbers) % NUMBERS

    @property
    def is_attached(self) -> bool:
        return self._link is not None and not self._link.closed

    def say(self, message: Message) -> None:
        link = self._link
        if link is None:
            raise Misuse("a client is attached inside `async with gossamer.Client(…) as client:`: use it there")
        if link.closed:
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
        for record in batch.records:
            self.trust.admit(record, time.time())  # the node has another grant or key
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
            case Reply(_, problem, kind) | Looked(problem=problem, kind=kind):
                self._replied(message, heard(problem, kind) if problem else None)
            case Copies(number):
                waiting = self.awaits.pop(number, None)
                if waiting is not None and not waiting.done():
                    if message.problem:
                        waiting.set_exception(heard(message.problem, message.kind))
                    else:
                        waiting.set_result(message)
            case Items(number, items, problem, kind):
                if number in self.replies and problem:
                    self._replied(Reply(number), heard(problem, kind))
                if (reader := self.readers.get(number)) is not None:
                    reader.heard(items, heard(problem, kind) if problem else None)
            case Ping() if self.is_attached:
                self.say(Pong())
            case Bye(why):
                self.problem = why or "the node is closing"

    def _replied(self, reply: Reply | Looked, problem: GossamerError | None) -> None:
        future = self.replies.pop(reply.number, None)
        if future is not None and not future.done():
            if problem is None:
                future.set_result(reply)
            else:
                future.set_exception(problem)

    def lost(self, link: Link, why: str) -> None:
        self.problem = self.problem or link.refusal or why
        wrong = f"the link to the node at {self.address} is gone: {self.problem}"
        waiting: list[asyncio.Future[Any]] = [*self.offers.values(), *self.awaits.values(), *self.replies.values()]
        for future in waiting:
            if not future.done():
                future.set_exception(TransportDown(wrong))
        for reader in tuple(self.readers.values()):
            reader.heard((), TransportDown(wrong))
        if self._gone is not None and not self._gone.done():
            self._gone.set_result(None)

    def drained(self, link: Link) -> None:
        """Nothing waits here: what a client says is short."""


def load_keys(folder: Path) -> Trust:
    from gossamer.live.keys.keyring import Keyring  # a client without keys need not load the cryptography

    return Keyring.load(folder)
