"""TCP, with TLS 1.3 where there are keys. OpenSSL does the handshake; nothing is said before it is over."""

import asyncio
import errno
import socket
import ssl
from typing import cast

from gossamer.core.errors import Misuse, TransportDown
from gossamer.live.keys.trust import Trust, split_address
from gossamer.live.links.transports import HIGH_WATER, Answer, Channel, Listener, TurnedAway

BACKLOG = 256
UNPROVED_MAX = 256
"Callers that may be about to prove themselves at the same time; the slowest gives way to the next."
ABSENT = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
PAUSE_S = 0.5
"After a call could not be taken: the system has no more to give."
SHUTDOWN_S = 5.0
"For the other end to agree that a stream is over."
SILENT_S = 5
ASKED_EVERY_S = 2
ASKED_TIMES = 3
"""After so many seconds without a byte the kernel asks whether the other end is there, this often, before the stream
is over: a cut that nobody announces is noticed within seconds."""


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
        notice_silence(transport.get_extra_info("socket"))
        self.listener = self.answer(self)

    def data_received(self, data: bytes) -> None:
        self.listener.heard(data)

    def resume_writing(self) -> None:
        self.listener.drained()

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = Over()
        self.listener.lost(str(exc) if exc else "closed")

    # A stream of asyncio's TLS that is closed once more cannot be asked or told anything again, and asyncio itself
    # closes one whose task was cancelled just when the stream was made: who is closing is left alone.

    def write(self, data: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(data)

    def pending(self) -> int:
        return 0 if self.transport.is_closing() else self.transport.get_write_buffer_size()

    def close(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()

    def abort(self) -> None:
        self.transport.abort()

    def end_unless_taken(self, within_s: float) -> None:
        if hasattr(socket, "TCP_USER_TIMEOUT") and not self.transport.is_closing():
            option = socket.TCP_USER_TIMEOUT
            self.transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, option, round(within_s * 1000))

    def pause(self, paused: bool) -> None:
        if not self.transport.is_closing() and paused == self.transport.is_reading():
            self.transport.pause_reading() if paused else self.transport.resume_reading()


class Over(asyncio.Transport):
    """In place of a transport that has ended: whoever is asked about the channel later on has nothing to say, and the
    quarter of a MiB that TLS holds for each is free at once."""

    def is_closing(self) -> bool:
        return True

    def is_reading(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: object) -> None: ...
    def abort(self) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...


class Tcp:
    """The transport of nodes in use. Contexts are asked for at every call, so that new keys serve at once.

    Calls are taken one by one rather than by a server of asyncio's, which would not tell whom TLS turned away."""

    _turned_away: TurnedAway
    "Given by whoever has it listen."

    def __init__(self, trust: Trust, handshake_s: float) -> None:
        self.trust, self.handshake_s = trust, handshake_s
        self._listening: list[socket.socket] = []
        self._unproved: dict[asyncio.Task[None], None] = {}

    async def listen(self, address: str, answer: Answer, turned_away: TurnedAway) -> str:
        self._turned_away = turned_away
        host, port = split_address(address)
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            self._listening = bound_to(list(dict.fromkeys((each[0], str(each[4][0])) for each in found)), port)
        except OSError as wrong:
            raise Misuse(cannot_listen(address, wrong)) from wrong
        for each in self._listening:
            each.setblocking(False)
            self._watch(each, answer)
        bound = self._listening[0].getsockname()
        return spell_address(bound[0], bound[1])

    def _watch(self, listening: socket.socket, answer: Answer) -> None:
        """Waits for calls. Not by `sock_accept`, which loses a connection when it is cancelled just then."""
        if listening in self._listening:
            asyncio.get_running_loop().add_reader(listening, self._take_calls, listening, answer)

    def _take_calls(self, listening: socket.socket, answer: Answer) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(BACKLOG):
            try:
                caller, _ = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as wrong:
                self._turned_away("too many callers", "?", f"a call could not be taken: {wrong}")
                loop.call_exception_handler({"message": "a call could not be taken", "exception": wrong})
                loop.remove_reader(listening)
                loop.call_later(PAUSE_S, self._watch, listening, answer)
                return
            self._take(caller, answer)

    def _take(self, caller: socket.socket, answer: Answer) -> None:
        caller.setblocking(False)
        if len(self._unproved) >= UNPROVED_MAX:
            next(each for each in self._unproved if not each.cancelling()).cancel()
            self._turned_away("too many callers", "?", "too many were about to prove themselves")
        begun: list[bool] = []
        task = asyncio.get_running_loop().create_task(self._let_in(caller, answer, begun))
        self._unproved[task] = None

        def over(done: asyncio.Task[None]) -> None:
            del self._unproved[done]
            if not begun:  # or asyncio looks after the socket
                caller.close()

        task.add_done_callback(over)

    async def _let_in(self, caller: socket.socket, answer: Answer, begun: list[bool]) -> None:
        """First TLS, then the listener."""
        contexts, where = self.trust.contexts(), "?"
        begun.append(True)
        try:
            where = spell_address(*caller.getpeername()[:2])
            caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: TcpChannel(answer),
                caller,
                ssl=contexts[0] if contexts else None,
                ssl_handshake_timeout=self.handshake_s if contexts else None,
                ssl_shutdown_timeout=SHUTDOWN_S if contexts else None,
            )
        except (OSError, ssl.SSLError) as wrong:
            caller.close()
            slow = isinstance(wrong, ConnectionAbortedError)
            self._turned_away("slow handshake" if slow else "bad handshake", where, str(wrong) or type(wrong).__name__)

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
        except (OSError, ssl.SSLError, ValueError) as wrong:  # ValueError: a name that no resolver is even asked
            raise TransportDown(f"{address} cannot be reached: {wrong}") from wrong
        return channel

    async def close(self) -> None:
        self._stop_listening()
        for task in tuple(self._unproved):
            task.cancel()
        await asyncio.gather(*self._unproved, return_exceptions=True)

    def _stop_listening(self) -> None:
        listening, self._listening = self._listening, []
        for each in listening:
            asyncio.get_running_loop().remove_reader(each)
            each.close()


def notice_silence(stream: socket.socket) -> None:
    """Has the kernel ask an end that is silent whether it is still there."""
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("KEEPIDLE", SILENT_S), ("KEEPINTVL", ASKED_EVERY_S), ("KEEPCNT", ASKED_TIMES)):
        if (option := getattr(socket, f"TCP_{name}", None)) is not None:  # not every system lets us say
            stream.setsockopt(socket.IPPROTO_TCP, option, value)


def bound_to(addresses: list[tuple[int, str]], port: int) -> list[socket.socket]:
    """A socket for each address of a name, all on one port; what this machine lacks (IPv6, often) is left out."""
    made: list[socket.socket] = []
    for family, where in addresses:
        try:
            made.append(socket.create_server((where, port), family=family, backlog=BACKLOG))
        except OSError as wrong:
            if wrong.errno in ABSENT and (made or (family, where) != addresses[-1]):
                continue
            for each in made:
                each.close()
            raise
        port = made[0].getsockname()[1]
    return made


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
