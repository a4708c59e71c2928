"""One client of a node: it publishes through it and reads its spool, under a grant of its own.

A client has no tables and forwards nothing. What it asks is served in its turn, and only while it reads the answers.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from gossamer.core.errors import Full, GossamerError, Misuse
from gossamer.core.ids import EventId
from gossamer.core.machine import Message
from gossamer.core.topics import Topic
from gossamer.live.clients.arguments import filter_of, not_granted, publication
from gossamer.live.clients.costs import REFUSED, cost_of
from gossamer.live.clients.identities import AWAITED_MAX, AWAITS_MAX, Identity
from gossamer.live.clients.served_readers import ServedReaders, as_item
from gossamer.live.clients.subscription_requests import LOCAL, SubscriptionRequest, answered
from gossamer.live.clients.turns import Turns
from gossamer.live.keys.trust import Act
from gossamer.live.links.control import (
    Answer,
    Await,
    Copies,
    Delete,
    Enough,
    Handled,
    ListThem,
    Look,
    Looked,
    Mark,
    Offer,
    Ping,
    Pong,
    Read,
    Reply,
    Taken,
    Through,
    told,
)
from gossamer.live.links.link import Link
from gossamer.live.links.transports import HIGH_WATER
from gossamer.live.publishing.publishing import FULL_LOOK_S
from gossamer.live.reading.durable_inbox import DurableInbox
from gossamer.live.reading.inbox import Inbox
from gossamer.live.reading.log_pages import Asked
from gossamer.live.running.clock import monotonic_us
from gossamer.wire.frame import PART_BYTES, batch_frame, part_frames

if TYPE_CHECKING:
    from gossamer.live.node import Node

PING_S = 5
"How often a client is asked whether it is there. It knows by the same that its node is."


class ClientSession:
    """Serves one client."""

    def __init__(self, node: "Node", link: Link, identity: Identity, turns: Turns) -> None:
        self.node, self.link, self.identity, self.turns = node, link, identity, turns
        self.readers = ServedReaders(self)
        self.backlog: deque[bytes] = deque()
        "What the client said and was not looked at yet."
        self.silent_s = self.unread_s = 0
        "Seconds in which it said nothing, though it could have, and in which it read nothing, though it should have."
        self.can_write = asyncio.Event()
        self.can_write.set()
        "What was written to it has mostly left."
        self._take: Callable[[Link, bytes], None]
        self._cost = 0.0
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0
        self._frames = self._pending = self._sweeps = self._transfers = 0
        self._tasks: set[asyncio.Task[Any]] = set()

    # -- its turns ----------------------------------------------------------------------------------------------

    def heard(self, said: Sequence[bytes], take: Callable[[Link, bytes], None]) -> None:
        """Requests wait here; `take` has them read and brings them to `asked`."""
        self._take = take
        more = bool(self.backlog)
        self.backlog.extend(said)
        if more or not self.turns.wait(self):
            self.link.hold(True)

    def can_go_on(self) -> bool:
        """Whether there is something to be served, and the client reads the answers."""
        return bool(self.backlog) and self.can_write.is_set() and not self.link.closed

    def serve_next(self) -> float:
        """What it cost."""
        self._cost = 1.0
        self._take(self.link, self.backlog.popleft())
        return self._cost

    def settle(self) -> None:
        """Its turn is over: as long as something is left, nothing more is read from it."""
        if not self.link.closed:
            self.link.hold(bool(self.backlog))

    def drained(self) -> None:
        if not self.can_write.is_set():
            self.can_write.set()
            if self.backlog and self not in self.identity.waiting:
                self.turns.wait(self)

    def swept(self) -> None:
        """Once a second."""
        frames, pending = self.link.frames, self.link.channel.pending()
        self.silent_s = 0 if frames != self._frames or self.link.held else self.silent_s + 1
        self.unread_s = self.unread_s + 1 if pending > HIGH_WATER and pending >= self._pending else 0
        self._frames, self._pending = frames, pending
        self._sweeps += 1
        if self._sweeps % PING_S == 0 and self.can_write.is_set():
            self.say(Ping())

    # -- requests -----------------------------------------------------------------------------------------------

    def asked(self, message: Message) -> None:
        self._cost = cost_of(message)
        match message:
            case Offer():
                self._offer(message)
            case Await():
                self._await(message)
            case Read():
                self.readers.open(message)
            case Taken(number, items):
                self.readers.taken(number, items)
            case Look():
                self._start(self._look(message))
            case Handled() | Mark() | ListThem() | Delete() | Through():
                inbox = self.readers.inboxes.get(message.reader) if isinstance(message, Handled | Mark) else None
                self._start(self._reply(message, inbox))
            case Enough(number):
                self.readers.close(number)
            case Pong():
                pass  # that it was heard is enough
            case _:
                self.link.strike("not for nodes", "a client sent what only nodes say")

    def _start(self, work: Coroutine[Any, Any, None], size: int = 0) -> None:
        self.turns.begun(self.identity, size)
        task = self.spawn(work)
        task.add_done_callback(lambda _: self.turns.done(self.identity, size))  # also of one that never began

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self.node.station.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def say(self, message: Message) -> None:
        link = self.link
        if link.closed:
            return
        data = self.node.station.codec.encode(message)
        if len(data) > PART_BYTES:
            self._flush()
            self._transfers += 1
            for part in part_frames(self._transfers, data, None, link.version):
                link.write(part)
        else:
            if not self._unsent:
                self.node.station.loop.call_soon(self._flush)
            self._unsent.append(data)
            self._unsent_bytes += len(data)
            if self._unsent_bytes > PART_BYTES:
                self._flush()
        if link.channel.pending() > HIGH_WATER:
            self.can_write.clear()

    def _flush(self) -> None:
        """What is said in one turn of the loop goes in one frame."""
        if self._unsent and not self.link.closed:
            self.link.write(batch_frame([], [], [], self._unsent, self.link.version))
            if self.link.channel.pending() > HIGH_WATER:
                self.can_write.clear()
        self._unsent, self._unsent_bytes = [], 0

    def refused(self, wrong: GossamerError, reason: str = "refused to a client") -> tuple[str, str]:
        """Counts what a client may not do, as it is told."""
        self.link.decline(reason)
        self.identity.requests.spend(monotonic_us(), REFUSED)
        return told(wrong)

    def check_granted(self, act: Act, topic: Topic) -> None:
        assert self.link.peer is not None
        if not self.node.trust.may(self.link.peer, act, topic, time.time()):
            raise not_granted(self.link.name, act, topic)

    # -- publishing ---------------------------------------------------------------------------------------------

    def _offer(self, offer: Offer) -> None:
        most = self.node.config.limits.client_topics
        try:
            self.check_granted("publish", offer.topic)
        except Misuse as wrong:
            self.say(Answer(offer.number, None, *self.refused(wrong)))
            return
        if not self.identity.opens(offer.topic, most, monotonic_us()):
            many = Misuse(
                f"{self.link.name} published on {most} topics within two minutes, and may on no more "
                "(limits.client_topics): publish on fewer, or wait"
            )
            self.say(Answer(offer.number, None, *self.refused(many, "too many topics of a client")))
            return
        self._start(self._publish(offer), len(offer.payload))

    async def _publish(self, offer: Offer) -> None:
        try:
            await self._room_in_outbox()
            answer = Answer(offer.number, await self._published(offer))
        except GossamerError as wrong:
            answer = Answer(offer.number, None, *self.refused(wrong))
        self.say(answer)

    async def _published(self, offer: Offer) -> EventId:
        share, size = self.identity.outbox, self.identity.outbox.reserve(offer.payload)
        try:
            wish = publication(offer.topic, offer.payload, offer.attributes, offer.key, offer.climb, offer.parents)
            event_id = await self.node.offer(wish)
        except BaseException:
            share.release(size)
            raise
        share.keep(event_id, size, self.node.station.handover.has_been_taken)
        return event_id

    async def _room_in_outbox(self) -> None:
        """An identity whose events nobody takes waits, or is refused, before the outbox is full for others too."""
        spool, is_over = self.node.config.spool, self.node.station.handover.has_been_taken
        async with self.identity.outbox.in_turn:
            while not self.identity.outbox.has_room(spool.outbox_bytes, is_over):
                if spool.outbox_full == "refuse":
                    raise Full(
                        f"the publications of {self.link.name} fill half of the outbox, for too few members take them "
                        f"({spool.outbox_bytes} bytes, spool.outbox_bytes): publish again later"
                    )
                await asyncio.sleep(FULL_LOOK_S)

    def _await(self, wish: Await) -> None:
        identity = self.identity
        if identity.awaits >= AWAITS_MAX or identity.awaited + len(wish.events) > AWAITED_MAX:
            wrong = Misuse(f"{self.link.name} waits for too many publications already: wait for some of them first")
            self.say(Copies(wish.number, 0, 0, 0, 0, *self.refused(wrong, "too many requests of a client")))
            return
        identity.awaits += 1
        identity.awaited += len(wish.events)
        self.spawn(self._tell_copies(wish)).add_done_callback(lambda _: self._awaited(len(wish.events)))

    def _awaited(self, events: int) -> None:
        self.identity.awaits -= 1
        self.identity.awaited -= events

    async def _tell_copies(self, wish: Await) -> None:
        try:
            done = await self.node.handed_over(wish.patience_s, wish.events)
        except Misuse as wrong:
            self.say(Copies(wish.number, 0, 0, 0, 0, *self.refused(wrong)))
        else:
            self.say(Copies(wish.number, done.waiting, done.on_disk, done.in_memory, done.given_up))

    # -- durable subscriptions ----------------------------------------------------------------------------------

    @property
    def owner(self) -> str:
        """Whose durable subscriptions this client opens."""
        return self.link.name if self.node.trust.contexts() is not None else LOCAL

    async def _reply(self, request: SubscriptionRequest, inbox: Inbox | DurableInbox | None) -> None:
        try:
            reply = await answered(self.node, self.owner, request, inbox)
        except GossamerError as wrong:
            reply = Reply(request.number, *self.refused(wrong))
        self.say(reply)

    async def _look(self, look: Look) -> None:
        try:
            self.check_granted("subscribe", look.topic)
            if look.where and not self.identity.filters.take(monotonic_us(), len(look.where)):
                raise Misuse("filters come faster than they can be read: wait a moment, or say less")
            asked = Asked(look.topic, filter_of(look.where), look.after, look.until, look.items)
            page = await self.node.log_page(asked)
        except GossamerError as wrong:
            problem, kind = self.refused(wrong)
            self.say(Looked(look.number, problem=problem, kind=kind))
            return
        items = () if look.counted else tuple(map(as_item, page.items))
        self.say(Looked(look.number, items, len(page.items), page.examined, page.lost, page.settled))

    def close(self) -> None:
        self.backlog.clear()
        if self in self.identity.waiting:
            self.identity.waiting.remove(self)
        for task in tuple(self._tasks):
            task.cancel()
