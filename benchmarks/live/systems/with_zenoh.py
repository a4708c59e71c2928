"""zenoh, peer to peer: subscribers connect to the publisher, nobody looks for anybody, and a full queue blocks."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from threading import Event

import zenoh

from benchmarks.live.systems.system import Net, System
from benchmarks.live.traffic import Reader

KEY = "bench"


class Blocking:
    def __init__(self, publisher: zenoh.Publisher) -> None:
        self.publisher = publisher

    async def send(self, bodies: Sequence[bytes]) -> None:
        put = self.publisher.put
        for body in bodies:
            put(body)

    def counters(self) -> dict[str, int]:
        return {}


class Zenoh(System):
    @asynccontextmanager
    async def publisher(self, net: Net) -> AsyncIterator[Blocking]:
        with zenoh.open(settings(listen=[address(net)])) as session:
            blocks = zenoh.CongestionControl.BLOCK
            with session.declare_publisher(KEY, congestion_control=blocks) as publisher:
                yield Blocking(publisher)

    def subscribe(self, net: Net, index: int, reader: Reader) -> None:
        take = reader.take

        def on_sample(sample: zenoh.Sample) -> None:
            take(sample.payload.to_bytes())

        with zenoh.open(settings(connect=[address(net)])) as session, session.declare_subscriber(KEY, on_sample):
            reader.ready()
            Event().wait()


def address(net: Net) -> str:
    return f"tcp/127.0.0.1:{net.ports[0]}"


def settings(listen: Sequence[str] = (), connect: Sequence[str] = ()) -> zenoh.Config:
    config = zenoh.Config()
    for key, value in {
        "mode": "peer",
        "listen/endpoints": list(listen),
        "connect/endpoints": list(connect),
        "scouting/multicast/enabled": False,
        "scouting/gossip/enabled": False,
    }.items():
        config.insert_json5(key, json.dumps(value))
    return config
