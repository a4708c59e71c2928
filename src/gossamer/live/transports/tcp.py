"""TCP, with TLS 1.3 where there are keys. OpenSSL does the handshake; nothing is said before it is over."""

import asyncio
import errno
import ssl
from typing import cast

from gossamer.core.errors import Misuse, TransportDown
from gossamer.live.transports import HANDSHAKE_S, HIGH_WATER, Answer, Channel, Listener, TurnedAway, unheard
from gossamer.live.trust import Trust, split_address

BACKLOG = 256
UNPROVED_MAX = 256
"Callers that may be about to prove themselves at the same time."
SHUTDOWN_S = 5.0
"For the other end to agree that a stream is over."


class Early:
    """Listens until the listener is there: TLS may have something to tell together with the end of its handshake."""

    def __init__(self) -> None:
        self.data: list[bytes] = []
        self.why: str | None = None

    def heard(self, data: bytes) -> None:
        self.data.append(data)

    def drained(self) -> None:
        """Nothing was written yet."""

    def lost(self, why: str) -> None:
        self.why = why


class TcpChannel(asyncio.Protocol):
    """A connection, of which asyncio tells us, and we tell the listener."""

    transport: asyncio.Transport

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.early = Early()
        self.listener: Listener = self.early
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
        for data in self.early.data:
            self.listener.heard(data)
        if self.early.why is not None:
            self.listener.lost(self.early.why)

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


class Doorstep(asyncio.Protocol):
    """A caller that has yet to prove itself."""

    def __init__(self, tcp: "Tcp", answer: Answer) -> None:
        self.tcp, self.answer = tcp, answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.tcp.let_in(cast(asyncio.Transport, transport), self.answer)


class Tcp:
    """The transport of nodes in use. Contexts are asked for at every call, so that new keys serve at once."""

    def __init__(self, trust: Trust) -> None:
        self.trust = trust
        self.server: asyncio.Server | None = None
        self.handshake_s = HANDSHAKE_S
        self.turned_away: TurnedAway = unheard
        self._unproved: set[asyncio.Task[None]] = set()

    async def listen(self, address: str, answer: Answer) -> str:
        host, port = split_address(address)
        contexts = self.trust.contexts()
        loop = asyncio.get_running_loop()
        try:
            self.server = await loop.create_server(
                lambda: Doorstep(self, answer) if contexts else TcpChannel(answer), host, port, backlog=BACKLOG
            )
        except OSError as wrong:
            raise Misuse(cannot_listen(address, wrong)) from wrong
        bound = self.server.sockets[0].getsockname()
        return spell_address(bound[0], bound[1])

    def let_in(self, transport: asyncio.Transport, answer: Answer) -> None:
        """Somebody called: first TLS, then the listener."""
        where = spell_address(*(transport.get_extra_info("peername") or ("?", 0))[:2])
        if len(self._unproved) >= UNPROVED_MAX or self.server is None:
            transport.abort()
            self.turned_away("too many callers", where, "too many are about to prove themselves")
            return
        transport.pause_reading()
        task = asyncio.get_running_loop().create_task(self._prove(transport, answer, where))
        self._unproved.add(task)
        task.add_done_callback(self._unproved.discard)

    async def _prove(self, transport: asyncio.Transport, answer: Answer, where: str) -> None:
        contexts = self.trust.contexts()
        assert contexts is not None
        channel = TcpChannel(answer)
        try:
            secure = await asyncio.get_running_loop().start_tls(
                transport,
                channel,
                contexts[0],
                server_side=True,
                ssl_handshake_timeout=self.handshake_s,
                ssl_shutdown_timeout=SHUTDOWN_S,
            )
        except (OSError, ssl.SSLError) as wrong:
            transport.abort()
            slow = isinstance(wrong, ConnectionAbortedError)
            self.turned_away("slow handshake" if slow else "bad handshake", where, str(wrong) or type(wrong).__name__)
        else:
            channel.connection_made(cast(asyncio.BaseTransport, secure))

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
                ssl_handshake_timeout=self.handshake_s if contexts else None,
                ssl_shutdown_timeout=SHUTDOWN_S if contexts else None,
                server_hostname="" if contexts else None,
            )
        except (OSError, ssl.SSLError) as wrong:
            raise TransportDown(f"{address} cannot be reached: {wrong}") from wrong
        return channel

    async def close(self) -> None:
        if self.server is not None:
            self.server.close()
            self.server = None
        for task in tuple(self._unproved):
            task.cancel()
        await asyncio.gather(*self._unproved, return_exceptions=True)


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
