"""A client that says what it likes: TLS and frames by hand."""

import asyncio
import ssl
import time

import msgspec
from msgspec import Struct

from gossamer.live.keys.keyring import Keyring
from gossamer.live.keys.trust import split_address
from gossamer.live.links.control import Pong
from gossamer.wire.frame import OLDEST, VERSION, Hello, batch_frame, hello_frame

GONE = (OSError, ssl.SSLError, EOFError, TimeoutError)
READ_BYTES = 1 << 16


class Wire:
    """One connection of one identity."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def __init__(self, address: str, keys: Keyring) -> None:
        self.address, self.keys = address, keys
        self._listening: asyncio.Task[None] | None = None

    async def open(self, listens: bool = True) -> "Wire":
        """Attached as a client. One that does not listen never reads a byte of what it is told."""
        host, port = split_address(self.address)
        self.reader, self.writer = await asyncio.open_connection(
            host, port, ssl=self.keys.contexts()[1], server_hostname="", limit=READ_BYTES
        )
        record = self.keys.record((), time.time_ns() // 1000)
        self.writer.write(hello_frame(Hello(OLDEST, VERSION, "default", "client", record)))
        if listens:
            self._listening = asyncio.create_task(self._listen())
        else:
            self.writer.transport.pause_reading()  # type: ignore[attr-defined]
        return self

    async def _listen(self) -> None:
        try:
            while data := await self.reader.read(READ_BYTES):
                if b"client.ping" in data:
                    self.say(Pong())
        except GONE:
            pass

    def say(self, *messages: Struct) -> None:
        """All of them in one frame."""
        self.writer.write(batch_frame([], [], [], [*map(msgspec.msgpack.encode, messages)], VERSION))

    async def drain(self) -> None:
        if self.writer.is_closing() or (self._listening is not None and self._listening.done()):
            raise EOFError
        await self.writer.drain()
        await asyncio.sleep(0)  # others in this process want to attack too

    def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
        self.writer.transport.abort()
