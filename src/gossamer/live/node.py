"""A node: the library's front door.

async with gossamer.Node(config) as node:
    async with node.subscribe(".soccer.italy") as inbox:
        await node.publish(".soccer.italy", b"goal", attributes={"minute": 88})
        async for event in inbox:
            ...
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeAlias

from gossamer.core import topics
from gossamer.core.errors import Misuse, TransportDown
from gossamer.core.events import Attribute
from gossamer.core.ids import EventId
from gossamer.core.machine import StopPublishing
from gossamer.live.arguments import publication, subscription
from gossamer.live.clock import Clock
from gossamer.live.config import Config, load
from gossamer.live.config_tables import about
from gossamer.live.inbox import Inbox
from gossamer.live.metrics import Metrics
from gossamer.live.serving import Serving
from gossamer.live.spool import Spool
from gossamer.live.station import Station
from gossamer.live.transports import Transport
from gossamer.live.transports.tcp import Tcp
from gossamer.live.trust import Act, OpenTrust, Trust
from gossamer.protocols.assemble import BY_CONTENT

log = logging.getLogger("gossamer.node")

MEMORY_BYTES = 64 << 20
"Delivered events kept where the spool has no folder: that is memory."

NO_SPOOL = 'set spool.durability to "process" or "disk"'

State: TypeAlias = Literal["new", "starting", "up", "closing", "closed"]


class Node:
    """A member of a network of equals: publishes, subscribes, passes on what it takes part in, and nothing else.

    `config` is a `Config`, the path of a TOML file, or left out in favour of settings by name, as in
    `Node(name="a", bind="127.0.0.1:0")`. Without keys a node stays on this machine."""

    station: Station
    trust: Trust

    def __init__(
        self,
        config: Config | str | Path | None = None,
        *,
        transport: Callable[[Trust], Transport] = Tcp,
        **settings: Any,
    ) -> None:
        if isinstance(config, Config) and settings:
            raise Misuse("give either a Config or single settings, not both")
        self.config = config if isinstance(config, Config) else load(config, overrides=settings)
        self.metrics = Metrics()
        self.state: State = "new"
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
            self.trust = load_trust(self.config)
            clock = Clock()
            self._spool = await open_spool(self.config, clock)
            self.station = Station(self.config, self.trust, self._spool, clock, self.metrics, self._transport)
            self._check_wishes()
            serving = Serving(self, self.config.limits.clients_max)
            self.station.office.clients, self.station.hearing.unread = serving, serving.unread
            self.address = await self.station.listen()
            await self.station.begin()
        except BaseException:
            await self.close()
            raise
        self.state = "up"
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

    def publish(
        self,
        topic: str,
        payload: bytes | str = b"",
        *,
        attributes: Mapping[str, Attribute] | None = None,
        key: str | None = None,
        climb: float | None = None,
    ) -> Awaitable[EventId]:
        """Publishes an event. Await the result: then the event is spooled, and is spread until 3 members (all, if there
        are fewer) have it. What nobody takes for as long as the spool keeps events (`spool.keep_s`, a day) is given up.

        The same `key` on the same topic, within the spool's retention, is the same event: publish again after an
        error without fear of doubles. Where there is no spool, a key is refused. Many publications may be under way at
        once, and then share a signature: call `publish` several times and await the results afterwards.

        `climb` is the chance with which each process carries this event to communities above, where events climb
        (CAMCAST): 1 is surest, 0 keeps it in its own community. Without it the community's parameters decide."""
        self._check_up("publish")
        wish = publication(topic, payload, attributes, key, climb)
        self.check_granted("publish", wish.topic)
        if key is not None and self._spool is None:
            raise Misuse(f"a key is remembered in the spool: {NO_SPOOL}, or leave the key out")
        return self.station.publishing.publish(*wish)

    def stop_publishing(self, topic: str) -> None:
        """This node will not publish on the topic for now: once what it published there went out, it leaves the
        community, unless it subscribes to the topic. It does so by itself two minutes after the last event."""
        self._check_up("stop publishing")
        self.station.driver.feed(StopPublishing(topics.topic(topic)))

    async def handed_over(self, patience_s: float = 10.0) -> bool:
        """Whether everything published so far reached 3 members (all, if there are fewer) within this time."""
        return await self.station.publishing.handed_over(patience_s)

    # -- subscribing --------------------------------------------------------------------------------------------

    def subscribe(
        self,
        topic: str,
        *,
        where: str = "",
        name: str = "",
        from_start: bool = False,
        ordered: bool = False,
        recover: bool = True,
    ) -> Inbox:
        """Events of a topic and all its subtopics: use it with `async with`, then `async for`.

        Items are `Delivery` (an event) or `Gap` (events lost to this reader, or missing until they are found; they are
        looked for unless every reader of the topic says `recover=False`). They come in no particular order, or per
        publisher and topic with `ordered=True`. `where` is a filter on attributes, such as
        `'symbol in ("IBM", "SAP") and price > 100'`: other events are passed over. `from_start` also gives what the
        spool still has. A `name` makes the subscription remember, across restarts, what was acknowledged with
        `await inbox.ack(item)`."""
        self._check_up("subscribe")
        wide, filter, name = subscription(topic, where, name, from_start=from_start, ordered=ordered, recover=recover)
        self.check_granted("subscribe", wide)
        if name and self._spool is None:
            raise Misuse(f"a named subscription needs a spool: {NO_SPOOL}")
        if ordered and filter is not None and self.station.readers.subscriptions.inside and not self._recovers(wide):
            raise Misuse(
                f"where filters run inside the network, order needs the counts of recovery: set a method for {wide}"
            )
        return self.station.readers.open(wide, filter, name, from_start, ordered, recover)

    def _recovers(self, topic: topics.Topic) -> bool:
        return self.config.recovery_of(topic).method != "none"

    async def joined(self, topic: str, patience_s: float = 10.0) -> bool:
        """Waits until this node has found its place among the topic's members; False: not within this time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience_s
        while not self.station.machine.spread.has_place(topics.topic(topic)):
            if loop.time() > deadline:
                return False
            await asyncio.sleep(0.02)
        return True

    # -- checks -------------------------------------------------------------------------------------------------

    def _check_up(self, wish: str) -> None:
        if self.state != "up":
            raise TransportDown(f"this node is {self.state}: {wish} between its start and its close")

    def _check_wishes(self) -> None:
        """Nobody would let a node in that asks for more than its grant covers, and nobody would tell it."""
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
        if not self.station.hearing.may(self.station.me, act, topic):
            raise Misuse(
                f"the grant of {self.trust.name} does not let it {act} {'to' if act == 'subscribe' else 'on'} {topic}: "
                f"`gossamer keys grant NETWORK --node {self.trust.name} --{act} {topic}` makes one that does"
            )


def load_trust(config: Config) -> Trust:
    if config.keys is None:
        return OpenTrust(config.name)
    from gossamer.live.keys.keyring import Keyring  # a node without keys need not load the cryptography

    keyring = Keyring.load(config.keys)
    if config.name and config.name != keyring.name:
        raise Misuse(
            f"name is {config.name!r}, but the keys in {config.keys} are those of {keyring.name!r}: "
            "leave name out, or point keys to the right folder"
        )
    return keyring


async def open_spool(config: Config, clock: Clock) -> Spool | None:
    spool = config.spool
    if spool.durability == "off":
        return None
    keep_bytes = spool.keep_bytes if spool.folder is not None else min(spool.keep_bytes, MEMORY_BYTES)
    return await Spool.open(
        spool.folder,
        durability=spool.durability,
        keep_s=spool.keep_s,
        keep_bytes=keep_bytes,
        now_us=clock.now_us,  # a clock that is set while the node runs must not make events old
    )
