"""nats-py through nats-server: publish, and a flush (which asks the server) now and then."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import nats
import uvloop
from nats.aio.client import Client
from nats.aio.msg import Msg

from benchmarks.live.systems import program
from benchmarks.live.systems.system import Broker, Net, System
from benchmarks.live.traffic import Reader

SUBJECT = "bench"
FLUSH_MESSAGES = 1024
FLUSH_BYTES = 1 << 20


class Flushing:
    def __init__(self, client: Client) -> None:
        self.client = client
        self.messages = self.bytes = 0

    async def send(self, bodies: Sequence[bytes]) -> None:
        publish = self.client.publish
        for body in bodies:
            await publish(SUBJECT, body)
        self.messages += len(bodies)
        self.bytes += sum(map(len, bodies))
        if self.messages >= FLUSH_MESSAGES or self.bytes >= FLUSH_BYTES:
            self.messages = self.bytes = 0
            await self.client.flush()

    def counters(self) -> dict[str, int]:
        return {}


class Nats(System):
    def broker(self, net: Net) -> Broker:
        path = program("nats-server") or "nats-server"
        return Broker([path, "--addr", "127.0.0.1", "--port", str(net.ports[0])], ready="Server is ready")

    @asynccontextmanager
    async def publisher(self, net: Net) -> AsyncIterator[Flushing]:
        async with await nats.connect(url(net)) as client:
            yield Flushing(client)

    def subscribe(self, net: Net, index: int, reader: Reader) -> None:
        uvloop.run(listen(net, reader))


async def listen(net: Net, reader: Reader) -> None:
    client = await nats.connect(url(net))
    take = reader.take

    async def on_message(message: Msg) -> None:
        take(message.data)

    await client.subscribe(SUBJECT, cb=on_message)
    await client.flush()
    reader.ready()
    await asyncio.Event().wait()


def url(net: Net) -> str:
    return f"nats://127.0.0.1:{net.ports[0]}"
