"""The endpoint over real sockets: what it answers, and whom it cuts off."""

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable

import pytest

from gossamer.core.errors import Misuse
from gossamer.live.watching import endpoint
from gossamer.live.watching.endpoint import REQUEST_BYTES_MAX, Endpoint
from gossamer.live.watching.health import Health
from gossamer.live.watching.metrics import CONTENT_TYPE, Metrics
from live.exposition import value

LONG_S = 60.0
"No test waits this long: whoever is cut off is cut off for another reason."


async def ask(address: str, request: bytes) -> bytes:
    """Everything that comes back until the other side closes."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    try:
        writer.write(request)
        return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.transport.abort()


async def get(
    address: str, path: str, method: str = "GET", host: str = "localhost"
) -> tuple[int, dict[str, str], bytes]:
    reply = await ask(address, f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    head, _, body = reply.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    return int(first.split(" ")[1]), dict(line.split(": ", 1) for line in rest), body


def fine() -> Health:
    return Health("ok", {"name": "n", "links": 3})


def served(
    scenario: Callable[[str], Awaitable[None]],
    metrics: Metrics | None = None,
    health: Callable[[], Health] = fine,
    bind: str = "127.0.0.1:0",
) -> None:
    async def run() -> None:
        async with Endpoint(bind, metrics or Metrics(), health, LONG_S) as serving:
            assert serving.address is not None
            await scenario(serving.address)

    asyncio.run(run())


def test_metrics_are_served_in_the_format_a_scraper_expects() -> None:
    metrics = Metrics(copies_received=7)

    async def scenario(address: str) -> None:
        status, headers, body = await get(address, "/metrics")
        assert (status, headers["Content-Type"], headers["Connection"]) == (200, CONTENT_TYPE, "close")
        assert int(headers["Content-Length"]) == len(body)
        assert value(body, "gossamer_copies_received_total") == 7
        metrics.copies_received += 1
        assert value((await get(address, "/metrics?x=1"))[2], "gossamer_copies_received_total") == 8

    served(scenario, metrics)


def test_health_is_200_while_the_node_works_and_503_while_it_joins_or_leaves() -> None:
    said = [Health("joining"), Health("ok", {"links": 3}), Health("leaving")]

    async def scenario(address: str) -> None:
        for status, health in zip((503, 200, 503), tuple(said), strict=True):
            got, headers, body = await get(address, "/healthz")
            assert (got, headers["Content-Type"]) == (status, "application/json")
            assert json.loads(body) == {"status": health.status, **health.about}

    served(scenario, health=lambda: said.pop(0))


def test_a_head_request_gets_the_head_alone() -> None:
    async def scenario(address: str) -> None:
        status, headers, body = await get(address, "/healthz", "HEAD")
        assert (status, body) == (200, b"")
        assert int(headers["Content-Length"]) == len((await get(address, "/healthz"))[2])
        assert (await get(address, "/nothing", "HEAD"))[::2] == (404, b"")

    served(scenario)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 404),
        (b"GET /metrics/ HTTP/1.1\r\n\r\n", 404),
        (b"GET /../metrics HTTP/1.1\r\n\r\n", 404),
        (b"POST /metrics HTTP/1.1\r\n\r\n", 405),
        (b"get /metrics HTTP/1.1\r\n\r\n", 405),
        (b"GET /metrics HTTP/2.0\r\n\r\n", 400),
        (b"GET /metrics\r\n\r\n", 400),
        (b"GET metrics HTTP/1.1\r\n\r\n", 400),
        (b"GET http://x/metrics HTTP/1.1\r\n\r\n", 400),
        (b"GET  /metrics HTTP/1.1\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET /m\xc3\xbc HTTP/1.1\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", 400),
        (b"\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.0\r\n\r\n", 200),
        (b"GET /metrics HTTP/1.1\r\nHost: evil.example:80\r\n\r\n", 421),
        (b"GET /metrics HTTP/1.1\r\nhost:   127.0.0.1\r\n\r\n", 200),
        (b"GET /metrics HTTP/1.1\r\nHost: [::1]:9\r\n\r\n", 200),
        (b"GET /metrics HTTP/1.1\r\nHost: [::1]\r\n\r\n", 200),
    ],
)
def test_every_request_is_answered_with_a_status(request_: bytes, status: int) -> None:
    async def scenario(address: str) -> None:
        reply = await ask(address, request_)
        assert reply.startswith(b"HTTP/1.1 %d " % status), reply
        assert (b"Allow: GET, HEAD\r\n" in reply) == (status == 405)

    served(scenario)


def test_a_request_that_is_too_long_is_cut_off() -> None:
    async def scenario(address: str) -> None:
        reply = await ask(address, b"GET /metrics HTTP/1.1\r\nx: " + b"x" * REQUEST_BYTES_MAX)
        assert reply == b"" or reply.startswith(b"HTTP/1.1 431 ")
        assert (await get(address, "/healthz"))[0] == 200

    served(scenario)


def test_a_request_that_drips_or_never_comes_is_cut_off() -> None:
    async def run() -> None:
        async with Endpoint("127.0.0.1:0", Metrics(), fine, 0.1) as serving:
            assert serving.address is not None
            slow = ask(serving.address, b"GET /metrics HT"), ask(serving.address, b"")
            assert await asyncio.gather(*slow) == [b"", b""]
            serving.patience_s = LONG_S
            assert (await get(serving.address, "/healthz"))[0] == 200

    asyncio.run(run())


def test_a_caller_that_goes_away_troubles_nobody() -> None:
    async def scenario(address: str) -> None:
        host, port = address.split(":")
        for sent in (b"", b"GET /me"):
            _, writer = await asyncio.open_connection(host, int(port))
            writer.write(sent)
            writer.close()
            await writer.wait_closed()
        assert (await get(address, "/healthz"))[0] == 200

    served(scenario)


def test_callers_beyond_the_limit_are_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "CONNECTIONS_MAX", 2)

    async def scenario(address: str) -> None:
        host, port = address.split(":")
        held = [await asyncio.open_connection(host, int(port)) for _ in range(2)]
        assert await ask(address, b"") == b""
        for reader, writer in held:
            writer.write(b"GET /healthz HTTP/1.1\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
            writer.transport.abort()

    served(scenario)


def test_an_answer_that_fails_is_a_500_and_logged_and_the_next_one_is_fine(caplog: pytest.LogCaptureFixture) -> None:
    troubles = [RuntimeError("spool gone")]

    def health() -> Health:
        if troubles:
            raise troubles.pop()
        return fine()

    async def scenario(address: str) -> None:
        assert [(await get(address, "/healthz"))[0] for _ in range(2)] == [500, 200]

    with caplog.at_level(logging.ERROR, "gossamer"):
        served(scenario, health=health)
    assert [record.getMessage() for record in caplog.records] == ["/healthz could not be answered"]


def test_leaving_ends_requests_under_way() -> None:
    async def run() -> None:
        async with Endpoint("127.0.0.1:0", Metrics(), fine, LONG_S) as serving:
            assert serving.address is not None
            host, port = serving.address.split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(b"GET /heal")
            while not serving._serving:
                await asyncio.sleep(0)
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.transport.abort()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(host, int(port))

    asyncio.run(run())


def test_a_taken_port_is_said_in_one_sentence_with_what_to_do() -> None:
    async def scenario(address: str) -> None:
        with pytest.raises(Misuse) as refused:
            async with Endpoint(address, Metrics(), fine):
                pass
        assert str(refused.value).startswith(
            f"metrics.bind: {address} is taken by another program: choose another port"
        )

    served(scenario)


def test_off_serves_nothing() -> None:
    async def run() -> None:
        async with Endpoint("off", Metrics(), fine) as serving:
            assert serving.address is None

    asyncio.run(run())


def test_a_name_of_a_machine_is_fine_where_the_endpoint_was_told_to_leave_loopback() -> None:
    async def scenario(address: str) -> None:
        assert (await get(address.replace("0.0.0.0", "127.0.0.1"), "/healthz", host="node.example"))[0] == 200

    served(scenario, bind="0.0.0.0:0")


def test_ipv6_is_served_too() -> None:
    async def scenario(address: str) -> None:
        assert address.startswith("[::1]:")
        assert (await get(address, "/healthz", host=address))[0] == 200

    try:
        served(scenario, bind="[::1]:0")
    except Misuse as nowhere:
        pytest.skip(str(nowhere))
