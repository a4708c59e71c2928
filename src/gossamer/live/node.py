"""A node: the library's front door.

async with gossamer.Node(config) as node:
    async with node.subscribe(".soccer.italy") as inbox:
        await node.publish(".soccer.italy", b"goal", attributes={"minute": 88})
        async for event in inbox:
            ...
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeAlias
from weakref import WeakSet

from gossamer.core import topics
from gossamer.core.errors import Misuse, TransportDown
from gossamer.core.ids import EventId
from gossamer.core.machine import StopPublishing
from gossamer.core.typed import check_parents
from gossamer.live.clients.arguments import Publication, Subscription, not_granted
from gossamer.live.clients.served_readers import grant_ended
from gossamer.live.clients.sessions import ClientSessions
from gossamer.live.config.config import Config, load, with_parents_of_types
from gossamer.live.config.tables import about
from gossamer.live.keys.trust import Act, Trust
from gossamer.live.links.transports import Transport
from gossamer.live.links.transports.tcp import Tcp
from gossamer.live.publishing.parcel import HandedOver
from gossamer.live.pubsub import PubSub
from gossamer.live.reading.deliveries import LogPage
from gossamer.live.reading.durable_inbox import DurableInbox
from gossamer.live.reading.durables import Durables, Opening, no_subscription
from gossamer.live.reading.inbox import Inbox
from gossamer.live.reading.listing import SubscriptionInfo
from gossamer.live.reading.log_pages import Asked, acknowledge_through, log_page
from gossamer.live.running.clock import Clock
from gossamer.live.running.opening import load_trust, open_spool
from gossamer.live.running.station import Station
from gossamer.live.spool import Spool
from gossamer.live.watching.failures import Failures
from gossamer.live.watching.gauges import look_up
from gossamer.live.watching.health import Health, health_of
from gossamer.live.watching.metrics import Metrics
from gossamer.live.watching.watched_loop import WatchedLoop
from gossamer.protocols.assemble import BY_CONTENT

log = logging.getLogger("gossamer.node")

GRANTS_S = 10.0
"How often it is looked whether readers may still read."

NO_SPOOL = 'set spool.durability to "process" or "disk"'

State: TypeAlias = Literal["new", "starting", "up", "closing", "closed"]


class Node(PubSub[Inbox | DurableInbox]):
    """A member of a network of equals: publishes, subscribes, passes on what it takes part in, and nothing else.

    `config` is a `Config`, the path of a TOML file, or left out in favour of settings by name, as in
    `Node(name="a", bind="127.0.0.1:0")`. Without keys a node stays on this machine."""

    station: Station
    clients: ClientSessions
    trust: Trust

    def __init__(
        self,
        config: Config | str | Path | None = None,
        *,
        transport: Callable[[Trust, float], Transport] = Tcp,
        **settings: Any,
    ) -> None:
        if isinstance(config, Config) and settings:
            raise Misuse("give either a Config or single settings, not both")
        self.config = config if isinstance(config, Config) else load(config, overrides=settings)
        self.metrics = Metrics()
        self.failures = Failures(self.metrics)
        self.state: State = "new"
        self._durable_readers: WeakSet[DurableInbox] = WeakSet()
        self.address = ""
        "Where it is bound, once it has started."
        self._transport = transport
        self._spool: Spool | None = None
        self._closed: asyncio.Task[None] | None = None

    # -- life ---------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> "Node":
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Binds, reaches the seeds, takes up where a former life ended. `async with` does it for you."""
        if self.state != "new":
            raise Misuse("a node starts once: make another one")
        self.state = "starting"
        try:
            self.config = with_parents_of_types(self.config)
            self.trust = load_trust(self.config)
            clock, loop = Clock(), WatchedLoop(self.failures)
            self._spool = await open_spool(self.config, self.trust.name, clock, loop)
            clock.jumps += self._spool is not None and self._spool.jumped
            self.clients = ClientSessions(self)
            self.station = Station(
                self.config, self.trust, self._spool, clock, self.metrics, self._transport, self.clients, loop
            )
            self._check_wishes()
            self.address = await self.station.listen()
            await self.station.begin()
        except BaseException:
            await self.close()
            raise
        self.state = "up"
        self._look_at_grants()
        log.info("%s is up at %s", self.trust.name, self.address)

    async def close(self) -> None:
        """Hands over what was published, says goodbye, writes everything down. Calling it twice does no harm."""
        if self._closed is None:
            self._closed = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closed)

    async def _close(self) -> None:
        leave, self.state = self.state == "up", "closing"
        try:
            if hasattr(self, "station"):
                await self.station.close(leave)
        finally:
            if self._spool is not None:
                await self._spool.close()
            self.state = "closed"

    # -- publishing ---------------------------------------------------------------------------------------------

    def offer(self, wish: Publication) -> Awaitable[EventId]:
        self._check_up("publish")
        check_parents(wish.parents, self.station.hierarchy.further)
        self.check_granted("publish", wish.topic)
        if wish.key is not None and self._spool is None:
            raise Misuse(f"a key is remembered in the spool: {NO_SPOOL}, or leave the key out")
        return self.station.publishing.publish(wish.topic, wish.payload, wish.attributes, wish.key, wish.climb)

    def stop_publishing(self, topic: str) -> None:
        """This node will not publish on the topic for now: once what it published there went out, it leaves the
        community, unless it subscribes to the topic. It does so by itself two minutes after the last event."""
        self._check_up("stop publishing")
        self.station.driver.feed(StopPublishing(topics.topic(topic)))

    async def handed_over(self, patience_s: float = 10.0, events: Sequence[EventId] | None = None) -> HandedOver:
        """Waits until 3 members (`spool.copies`; all that have a disk, if fewer) have everything published so far, or
        these events, on disk; where nobody has a disk, in memory. Members that only publish do not count.

        The answer is true if so, and says how many copies there are at least and how many events still wait. Nobody
        there to take an event: it waits all that time, and the event stays in the outbox."""
        for each in events or ():
            if not (isinstance(each, EventId) and each.publisher == self.station.me):
                raise Misuse(f"{each!r} is no event of this node: give ids that its publish returned")
        return await self.station.publishing.handed_over(patience_s, events)

    # -- subscribing --------------------------------------------------------------------------------------------

    def open(self, wish: Subscription) -> Inbox | DurableInbox:
        return self.subscribe_for(self.trust.name if self.state == "up" else "", wish)

    def above(self, topic: topics.Topic) -> tuple[topics.Topic, ...]:
        return self.station.hierarchy.ancestors(topic)

    def subscribe_for(self, owner: str, wish: Subscription) -> Inbox | DurableInbox:
        """The same for a client: a durable subscription belongs to whoever opened it, and is unknown to others."""
        self._check_up("subscribe")
        wide, filter, name, from_start, ordered, recover, mark, parents = wish
        check_parents(parents, self.station.hierarchy.further)
        self.check_granted("subscribe", wide)
        if ordered and filter is not None and self.station.readers.subscriptions.inside and not self._recovers(wide):
            raise Misuse(
                f"where filters run inside the network, order needs the counts of recovery: set a method for {wide}"
            )
        if not name:
            return self.station.readers.open(wide, filter, from_start, ordered, recover)
        durables = self._durables()
        opening = Opening(owner, name, wide, filter, from_start, ordered, recover, mark)
        inbox = DurableInbox(wide, name, lambda: durables.open(opening))
        self._durable_readers.add(inbox)
        return inbox

    def _durables(self) -> Durables:
        if (durables := self.station.readers.durables) is None:
            raise Misuse(f"a named subscription needs a spool: {NO_SPOOL}")
        return durables

    async def subscriptions(self) -> list[SubscriptionInfo]:
        """The durable subscriptions this node keeps, whoever they belong to."""
        self._check_up("list subscriptions")
        return [] if self.station.readers.durables is None else self.station.readers.durables.listed()

    async def delete_subscription(self, name: str, *, owner: str | None = None) -> None:
        """Forgets a durable subscription of this node, or, with an owner, of one of its clients."""
        self._check_up("delete subscriptions")
        if not await self._durables().delete(self.trust.name if owner is None else owner, name):
            raise no_subscription(name, owner or self.trust.name)

    async def log_page(self, asked: Asked) -> LogPage:
        """A page of the log, for those who keep their place themselves."""
        self._check_up("read")
        self.check_granted("subscribe", asked.topic)
        return await log_page(self._durables(), asked)

    async def acknowledge_through(self, owner: str, name: str, place: int) -> None:
        """Everything of a durable subscription up to a place of the log is handled."""
        self._check_up("acknowledge")
        await acknowledge_through(self._durables(), owner, name, place)

    def _recovers(self, topic: topics.Topic) -> bool:
        return self.config.recovery_of(topic).method != "none"

    def _look_at_grants(self) -> None:
        """Now and then: a reader does not outlive the grant it was opened under."""
        if self.state == "up":
            self.station.loop.call_later(GRANTS_S, self._look_at_grants)
            self.end_ungranted(time.time())

    def end_ungranted(self, now_s: float) -> None:
        """Ends readers, of this process and of clients, who may not read their topic any more: each gets one error."""
        readers: list[Inbox | DurableInbox] = [*self.station.readers.inboxes, *self._durable_readers]
        for inbox in readers:
            if not self.trust.may(self.station.me, "subscribe", inbox.topic, now_s):
                inbox.fail(grant_ended(self.trust.name, inbox.topic), at_once=True)
        self.clients.end_ungranted(now_s)

    async def joined(self, topic: str, patience_s: float = 10.0) -> bool:
        """Waits until this node has found its place among the topic's members; False: not within this time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience_s
        while not self.station.machine.spread.has_place(topics.topic(topic)):
            if loop.time() > deadline:
                return False
            await asyncio.sleep(0.02)
        return True

    def page(self) -> bytes:
        """Its numbers, as /metrics shows them."""
        if hasattr(self, "station"):
            look_up(self.station)
        return self.metrics.page()

    def health(self) -> Health:
        """How it fares, as /healthz shows it."""
        return health_of(self)

    # -- checks -------------------------------------------------------------------------------------------------

    def _check_up(self, wish: str) -> None:
        if self.state != "up":
            raise TransportDown(f"this node is {self.state}: {wish} between its start and its close")

    def _check_wishes(self) -> None:
        """Nobody would let a node in that asks for more than its grant covers, and nobody would tell it."""
        if self.trust.is_client(self.station.me):
            raise Misuse(f"{self.trust.name} is granted to be a client: grant it with --no-client to run it as a node")
        for name in self.config.subscribe:
            with about("subscribe"):
                self.check_granted("subscribe", topics.topic(name))
        with about("subscribe"):
            self.station.readers.subscriptions.check([*map(topics.topic, self.config.subscribe)])
        if self.config.spread in BY_CONTENT:
            with about("community"):
                self.check_granted("subscribe", topics.topic(self.config.community))

    def check_granted(self, act: Act, topic: topics.Topic) -> None:
        """Misuse unless this node's own grant covers it, and its network reaches there."""
        community = self.config.community
        if self.config.spread in BY_CONTENT and not self.station.hierarchy.includes(community, topic):
            raise Misuse(f"{topic} does not lie below {community}, the community of these nodes: nobody hears of it")
        if not self.station.permissions.may(self.station.me, act, topic):
            raise not_granted(self.trust.name, act, topic)
