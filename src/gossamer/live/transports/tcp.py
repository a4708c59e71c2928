"""TCP, with TLS 1.3 where there are keys. OpenSSL does the handshake; nothing is said before it is over."""

import asyncio
import errno
import ssl
from typing import cast

from gossamer.core.errors import Misuse, TransportDown
from gossamer.live.transports import HIGH_WATER, Answer, Channel, Listener
from gossamer.live.trust import Trust, split_address

HANDSHAKE_S = 5.0
BACKLOG = 256


class TcpChannel(asyncio.Protocol):
    """A connection, of which asyncio tells us, and we tell the listener."""

    listener: Listener
    transport: asyncio.Transport

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.certificate: bytes | None = None
        self.where = "?"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=HIGH_WATER, low=HIGH_WATER // 4)
        if (tls := transport.get_extra_info("ssl_object")) is not None:
            self.certificate = tls.getpeercert(binary_form=True)
        if peer := transport.get_extra_info("peername"):
            self.where = spell_address(peer[0], peer[1])
        self.listener = self.answer(self)

    def data_received(self, data: bytes) -> None:
        self.listener.heard(data)

    def resume_writing(self) -> None:
        self.listener.drained()

    def connection_lost(self, exc: Exception | None) -> None:
        self.listener.lost(str(exc) if exc else "closed")

    def write(self, data: bytes) -> None:
        self.transport.write(data)

    def pending(self) -> int:
        return self.transport.get_write_buffer_size()

    def close(self) -> None:
        self.transport.close()

    def abort(self) -> None:
        self.transport.abort()

    def pause(self, paused: bool) -> None:
        if paused == self.transport.is_reading():
            self.transport.pause_reading() if paused else self.transport.resume_reading()


class Tcp:
    """The transport of nodes in use. Contexts are asked for at every call, so that new keys serve at once."""

    def __init__(self, trust: Trust) -> None:
        self.trust = trust
        self.server: asyncio.Server | None = None

    async def listen(self, address: str, answer: Answer) -> str:
        host, port = split_address(address)
        contexts = self.trust.contexts()
        loop = asyncio.get_running_loop()
        try:
            self.server = await loop.create_server(
                lambda: TcpChannel(answer),
                host,
                port,
                backlog=BACKLOG,
                ssl=contexts[0] if contexts else None,
                ssl_handshake_timeout=HANDSHAKE_S if contexts else None,
            )
        except OSError as wrong:
            raise Misuse(cannot_listen(address, wrong)) from wrong
        bound = self.server.sockets[0].getsockname()
        return spell_address(bound[0], bound[1])

    async def dial(self, address: str, answer: Answer) -> Channel:
        host, port = split_address(address)
        contexts = self.trust.contexts()
        loop = asyncio.get_running_loop()
        try:
            _, channel = await loop.create_connection(
                lambda: TcpChannel(answer),
                host,
                port,
                ssl=contexts[1] if contexts else None,
                ssl_handshake_timeout=HANDSHAKE_S if contexts else None,
                server_hostname="" if contexts else None,
            )
        except (OSError, ssl.SSLError) as wrong:
            raise TransportDown(f"{address} cannot be reached: {wrong}") from wrong
        return channel

    async def close(self) -> None:
        if self.server is not None:
            self.server.close()
            self.server = None


def spell_address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def cannot_listen(address: str, wrong: OSError) -> str:
    if wrong.errno == errno.EADDRINUSE:
        return f"{address} is taken by another program: choose another port for bind, or 0 for any free one"
    if wrong.errno == errno.EADDRNOTAVAIL:
        return f"{address} is not an address of this machine: bind to one of its own, and advertise the other"
    if wrong.errno == errno.EACCES:
        return f"{address} may not be bound by this user: choose a port above 1023"
    return f"{address} cannot be bound: {wrong}"
