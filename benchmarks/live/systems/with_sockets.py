"""The floor: plain TCP sockets, a length before each body, a burst written at once to each subscriber in turn.

No names, no topics, no membership, nothing that could be lost or found: what is above it is what a system costs.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from benchmarks.live.systems.system import Net, System
from benchmarks.live.traffic import Reader

HOST = "127.0.0.1"
CHUNK = 256 * 1024
LENGTH_BYTES = 4


class Star:
    """The publisher in the middle."""

    def __init__(self) -> None:
        self.writers: list[asyncio.StreamWriter] = []

    def joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)

    async def send(self, bodies: Sequence[bytes]) -> None:
        burst = b"".join([part for body in bodies for part in (len(body).to_bytes(LENGTH_BYTES, "little"), body)])
        for writer in self.writers:
            writer.write(burst)
        for writer in self.writers:
            await writer.drain()

    def counters(self) -> dict[str, int]:
        return {}


class Sockets(System):
    @asynccontextmanager
    async def publisher(self, net: Net) -> AsyncIterator[Star]:
        star = Star()
        async with await asyncio.start_server(star.joined, HOST, net.ports[0]):
            yield star

    def subscribe(self, net: Net, index: int, reader: Reader) -> None:
        with socket.create_connection((HOST, net.ports[0])) as link:
            reader.ready()
            waiting = b""
            while chunk := link.recv(CHUNK):
                waiting = taken(waiting + chunk, reader)


def taken(data: bytes, reader: Reader) -> bytes:
    """What is left once every whole body was taken."""
    start, end = 0, len(data)
    while start + LENGTH_BYTES <= end:
        body = start + LENGTH_BYTES
        after = body + int.from_bytes(data[start:body], "little")
        if after > end:
            break
        reader.take(data[body:after])
        start = after
    return data[start:]
