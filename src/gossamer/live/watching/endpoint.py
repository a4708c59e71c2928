"""/metrics and /healthz over HTTP: just enough of it for a scraper, a probe and curl.

One request per connection, read within a size and a time; whoever is slower or longer is cut off. On loopback only
requests to this machine by name or number are answered, so that no web page can read it through a name of its own.
"""

import asyncio
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import NamedTuple, Protocol

import msgspec

from gossamer.core.errors import Misuse
from gossamer.live.keys.trust import is_loopback, split_address
from gossamer.live.links.transports.tcp import cannot_listen, spell_address
from gossamer.live.watching.health import Health
from gossamer.live.watching.metrics import CONTENT_TYPE

log = logging.getLogger("gossamer.endpoint")

REQUEST_BYTES_MAX = 8 << 10
PATIENCE_S = 5.0
CONNECTIONS_MAX = 32


class Answer(NamedTuple):
    status: HTTPStatus
    body: bytes = b""
    kind: str = "text/plain; charset=utf-8"
    further: str = ""


class Refused(Exception):
    """A request that gets no more than a status."""

    def __init__(self, status: HTTPStatus, further: str = "") -> None:
        self.answer = Answer(status, f"{status.phrase}\n".encode(), further=further)


class Numbers(Protocol):
    """Whatever has a page of them."""

    def page(self) -> bytes: ...


class Endpoint:
    """Serves while it is entered; `off` as an address serves nothing."""

    def __init__(
        self, bind: str, numbers: Numbers, health: Callable[[], Health], patience_s: float = PATIENCE_S
    ) -> None:
        self.bind, self.numbers, self.health, self.patience_s = bind, numbers, health, patience_s
        self.address: str | None = None
        "Where it is really bound."
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "Endpoint":
        if self.bind == "off":
            return self
        host, port = split_address(self.bind)
        try:
            self._server = await asyncio.start_server(self._called, host, port, limit=REQUEST_BYTES_MAX)
        except OSError as wrong:
            raise Misuse(f"metrics.bind: {cannot_listen(self.bind, wrong)}") from wrong
        self.address = spell_address(*self._server.sockets[0].getsockname()[:2])
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
            for task in self._serving:
                task.cancel()
            await asyncio.gather(*self._serving, return_exceptions=True)
            await self._server.wait_closed()

    def _called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._serving) >= CONNECTIONS_MAX:
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(self.patience_s):
                writer.write(await self._reply(reader))
                writer.close()
                await writer.wait_closed()
        except (OSError, EOFError, TimeoutError) as gone:
            log.debug("a request was not finished: %r", gone)
        finally:
            writer.transport.abort()

    async def _reply(self, reader: asyncio.StreamReader) -> bytes:
        bodiless = False
        try:
            method, target, headers = parsed(await reader.readuntil(b"\r\n\r\n"))
            bodiless = method == "HEAD"
            self._check_host(headers.get("host", ""))
            answer = self._answer(target)
        except asyncio.LimitOverrunError:
            answer = Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE).answer
        except Refused as refused:
            answer = refused.answer
        return written(answer, bodiless)

    def _check_host(self, host: str) -> None:
        whole = host if host.rpartition(":")[2].isdigit() else f"{host}:80"
        if host and is_loopback(self.address or "") and not is_loopback(whole):
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST)

    def _answer(self, target: str) -> Answer:
        try:
            if target == "/metrics":
                return Answer(HTTPStatus.OK, self.numbers.page(), CONTENT_TYPE)
            if target == "/healthz":
                health = self.health()
                status = HTTPStatus.OK if health.ok else HTTPStatus.SERVICE_UNAVAILABLE
                body = msgspec.json.encode({"status": health.status, **health.about})
                return Answer(status, body + b"\n", "application/json")
        except Exception:  # a number that cannot be looked up must not take the others' page away for good
            log.exception("%s could not be answered", target)
            raise Refused(HTTPStatus.INTERNAL_SERVER_ERROR) from None
        raise Refused(HTTPStatus.NOT_FOUND)


def parsed(head: bytes) -> tuple[str, str, dict[str, str]]:
    """Method, path without its query, and headers."""
    try:
        first, *rest = head.decode("ascii").removesuffix("\r\n\r\n").split("\r\n")
        method, target, version = first.split(" ")
        pairs = [line.split(":", 1) for line in rest]
        headers = {name.strip().lower(): value.strip() for name, value in pairs}
    except ValueError:
        raise Refused(HTTPStatus.BAD_REQUEST) from None
    if version not in ("HTTP/1.0", "HTTP/1.1") or not target.startswith("/"):
        raise Refused(HTTPStatus.BAD_REQUEST)
    if method not in ("GET", "HEAD"):
        raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, "Allow: GET, HEAD\r\n")
    return method, target.partition("?")[0], headers


def written(answer: Answer, bodiless: bool) -> bytes:
    head = (
        f"HTTP/1.1 {answer.status.value} {answer.status.phrase}\r\n"
        f"Content-Type: {answer.kind}\r\nContent-Length: {len(answer.body)}\r\n"
        f"Cache-Control: no-store\r\n{answer.further}Connection: close\r\n\r\n"
    )
    return head.encode() + (b"" if bodiless else answer.body)
