"""What a client is told: the kind of every problem is the node's, and what its node cannot read is answered too."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

import msgspec
import pytest

from gossamer import Client, Node
from gossamer.core.errors import GossamerError, Misuse, PeerFault, SpecError, TransportDown
from gossamer.live import arguments
from gossamer.live.control import CLIENT_CONTROL, NUMBERS, Answer, Items, heard, told
from gossamer.live.link import Link
from gossamer.live.transports.memory import Memory
from gossamer.testing import Network
from gossamer.wire.codec import Codec
from gossamer.wire.frame import batch_frame
from live.watching import until

pack = msgspec.msgpack.encode


def attached(act: Callable[[Node, Client, Link], Awaitable[None]]) -> None:
    """A node, its client, and the node's end of their link."""

    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", timeouts={"leave_s": 0.05})
            async with Client(node.address, transport=Memory(network.memory)) as client, asyncio.timeout(60):
                serving: Any = node.station.office.clients
                await until(lambda: serving.attendants)
                await act(node, client, next(iter(serving.attendants)))

    asyncio.run(scenario())


def failing(wrong: GossamerError) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> Any:
        raise wrong

    return fail


# -- kinds of problems -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Misuse, SpecError, TransportDown])
def test_a_clients_error_is_of_the_kind_its_node_met(
    kind: type[GossamerError], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(node: Node, client: Client, link: Link) -> None:
        monkeypatch.setattr(node, "publish", failing(kind("the disk is full: free space")))
        monkeypatch.setattr(node, "subscribe", failing(kind("the disk is slow: have patience")))
        with pytest.raises(kind, match="the disk is full: free space"):
            await client.publish(".a", b"x")
        async with client.subscribe(".a") as reader:
            with pytest.raises(kind, match="the disk is slow: have patience"):
                await anext(reader)

    attached(act)


def test_what_an_elder_or_a_newer_node_says_of_a_problem_is_understood() -> None:
    codec = Codec(CLIENT_CONTROL)
    elder = codec.decode(pack({"type": "client.answer", "number": 1, "id": None, "problem": "no"}))
    assert elder == Answer(1, None, "no", "misuse")
    assert codec.decode(pack({"type": "client.items", "number": 1, "items": [], "problem": "no"})) == Items(1, (), "no")
    assert type(heard("no", "a kind of tomorrow")) is Misuse
    assert told(PeerFault("x" * 2000)) == ("x" * 1000, "misuse")


# -- what cannot be read -----------------------------------------------------------------------------------------


def test_a_request_its_node_cannot_read_is_refused_not_left_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "KEY_MAX", 10_000)  # as a client of other software
    monkeypatch.setattr(arguments, "NAME_MAX", 10_000)

    async def act(node: Node, client: Client, link: Link) -> None:
        with pytest.raises(Misuse, match=r"the node cannot read this: .* length <= 256 - at `\$\.key`"):
            await client.publish(".a", b"x", key="k" * 257)
        with pytest.raises(Misuse, match=r"the node cannot read this: .* length <= 256 - at `\$\.key`"):
            await client.publish(".a", bytes(300_000), key="k" * 257)
        async with client.subscribe(".a", name="n" * 129) as reader:
            with pytest.raises(Misuse, match=r"the node cannot read this: .* length <= 128 - at `\$\.name`"):
                await anext(reader)
        assert node.metrics.refusals["bad message"] == 3
        await client.publish(".a", b"and on it goes")

    attached(act)


def test_what_nobody_waits_for_is_refused_without_a_word() -> None:
    async def act(node: Node, client: Client, link: Link) -> None:
        wrong = [{"type": "client.taken", "number": 1}, {"type": "client.offer", "number": -1}, {"type": 5}, "rubbish"]
        frames = node.metrics.frames_sent
        assert client._link is not None
        client._link.write(batch_frame([], [], [], [*map(pack, wrong)]))
        await until(lambda: node.metrics.refusals["bad message"] == len(wrong))
        assert node.metrics.frames_sent == frames
        await client.publish(".a", b"and on it goes")

    attached(act)


def test_requests_are_numbered_from_the_start_again_once_the_numbers_are_used_up() -> None:
    async def act(node: Node, client: Client, link: Link) -> None:
        client._numbers = count(NUMBERS - 2)
        for _ in range(4):
            await client.publish(".a", b"x")

    attached(act)


def test_an_answer_that_cannot_be_read_ends_the_link_and_the_wait() -> None:
    async def act(node: Node, client: Client, link: Link) -> None:
        client._say = lambda message: None  # type: ignore[method-assign]
        waiting = client.publish(".a", b"x")
        link.write(batch_frame([], [], [], [pack({"type": "client.answer", "number": 1, "id": "none"})]))
        with pytest.raises(TransportDown, match="is gone: not a message: Expected"):
            await waiting
        assert client.metrics.refusals["bad message"] == 1

    attached(act)


def test_messages_of_a_newer_node_are_passed_over_and_counted() -> None:
    async def act(node: Node, client: Client, link: Link) -> None:
        link.write(batch_frame([], [], [], [pack({"type": "client.tomorrow", "what": 1})] * 3))
        await client.publish(".a", b"x")
        assert client.metrics.unknown_tags == 3
        assert not any(client.metrics.refusals.values())

    attached(act)
