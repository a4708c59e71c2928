"""Gossamer: every process is a node, all are members of one topic, and there is nobody in the middle.

Five variants: as one would run it (TLS, signatures, recovery, spool on disk), with traces of deliveries, without the
spool, without recovery as well, and without keys as well.
"""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.live.systems.system import Net, System
from benchmarks.live.traffic import WINDOW, Reader
from gossamer.core.ids import EventId
from gossamer.live.config.config import Config
from gossamer.live.config.tables import Limits, MetricsConfig, SpoolConfig, TraceConfig
from gossamer.live.keys.network import Network
from gossamer.live.node import Node
from gossamer.live.reading.deliveries import Delivery
from gossamer.live.running.daemon import calm_collector, run
from gossamer.protocols.recovery.params import Params as Recovery

TOPIC = ".bench"
UNDER_WAY = 1024
"Publications that wait for the spool at once: they share signatures and commits."
PUBLISHER = 0
"The publisher's number among the nodes; it is also whom the others begin with."


class Streaming:
    def __init__(self, node: Node) -> None:
        self.node = node
        self.under_way: deque[Awaitable[EventId]] = deque()

    async def send(self, bodies: Sequence[bytes]) -> None:
        publish = self.node.publish
        self.under_way.extend([publish(TOPIC, body) for body in bodies])
        while len(self.under_way) > UNDER_WAY:
            await self.under_way.popleft()

    def counters(self) -> dict[str, int]:
        return counters(self.node)


class Gossamer(System):
    keys = True
    spool = True
    recovery = True
    traces = False

    def prepare(self, net: Net) -> None:
        if self.keys:
            network = Network.init(keys_folder(net), name="bench")
            for index in range(net.subscribers + 1):
                network.grant(node_name(index), publish=[TOPIC], subscribe=[TOPIC])

    @asynccontextmanager
    async def publisher(self, net: Net) -> AsyncIterator[Streaming]:
        calm_collector()
        async with Node(self.config(net, PUBLISHER)) as node:
            yield Streaming(node)

    def subscribe(self, net: Net, index: int, reader: Reader) -> None:
        run(listen(self.config(net, index), reader))

    def config(self, net: Net, index: int) -> Config:
        name = node_name(index)
        on_disk = SpoolConfig(folder=net.place / f"spool-{name}")
        return Config(
            name=name,
            network="bench",
            bind=address(net, index),
            seeds=() if index == PUBLISHER else (address(net, PUBLISHER),),
            keys=keys_folder(net) / "nodes" / name if self.keys else None,
            publish=(TOPIC,) if index == PUBLISHER else (),
            spool=on_disk if self.spool else SpoolConfig(durability="off"),
            # Without a spool a reader has nowhere to wait but here: it gets room for all that can be under way.
            limits=Limits() if self.spool else Limits(inbox_items=2 * WINDOW),
            metrics=MetricsConfig(bind="off"),
            trace=TraceConfig(folder=net.place / "traces") if self.traces else TraceConfig(),
            recovery=Recovery.live() if self.recovery else Recovery(method="none"),
        )


class Traced(Gossamer):
    traces = True


class Unspooled(Gossamer):
    spool = False


class Plain(Unspooled):
    recovery = False


class Open(Plain):
    keys = False


async def listen(config: Config, reader: Reader) -> None:
    take = reader.take
    async with Node(config) as node, node.subscribe(TOPIC) as inbox:
        reader.counters = lambda: counters(node)
        await node.joined(TOPIC)
        reader.ready()
        async for item in inbox:
            if type(item) is Delivery:
                take(item.payload)


def counters(node: Node) -> dict[str, int]:
    return {"copies": node.metrics.copies_received}


def node_name(index: int) -> str:
    return f"node-{index}"


def address(net: Net, index: int) -> str:
    return f"127.0.0.1:{net.ports[index]}"


def keys_folder(net: Net) -> Path:
    return net.place / "net"
