"""pyzmq: PUB binds, SUB connects, queues without a limit (the window keeps them short)."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import zmq

from benchmarks.live.systems.system import Net, System
from benchmarks.live.traffic import Reader


class Pub:
    def __init__(self, socket: "zmq.Socket[bytes]") -> None:
        self.socket = socket

    async def send(self, bodies: Sequence[bytes]) -> None:
        send = self.socket.send
        for body in bodies:
            send(body)

    def counters(self) -> dict[str, int]:
        return {}


class Zmq(System):
    @asynccontextmanager
    async def publisher(self, net: Net) -> AsyncIterator[Pub]:
        with zmq.Context() as context, context.socket(zmq.PUB) as socket:
            socket.set_hwm(0)
            socket.linger = 0
            socket.bind(f"tcp://127.0.0.1:{net.ports[0]}")
            yield Pub(socket)

    def subscribe(self, net: Net, index: int, reader: Reader) -> None:
        with zmq.Context() as context, context.socket(zmq.SUB) as socket:
            socket.set_hwm(0)
            socket.connect(f"tcp://127.0.0.1:{net.ports[0]}")
            socket.subscribe(b"")
            reader.ready()
            receive, take = socket.recv, reader.take
            while True:
                take(receive())
