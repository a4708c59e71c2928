"""What a client is told: the kind of every problem is the node's, and what its node cannot read is answered too."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

import msgspec
import pytest

from gossamer import Client, Node
from gossamer.core.errors import GossamerError, Misuse, PeerFault, SpecError, TransportDown
from gossamer.live.clients import arguments, served_readers
from gossamer.live.clients.session import ClientSession
from gossamer.live.links.control import CLIENT_CONTROL, NUMBERS, Answer, Items, Read, heard, told
from gossamer.live.links.link import Link
from gossamer.live.links.transports.memory import Memory
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
                serving: Any = node.clients
                await until(lambda: serving.sessions)
                await act(node, client, next(iter(serving.sessions)))

    asyncio.run(scenario())


def session(node: Node) -> ClientSession:
    (only,) = node.clients.sessions.values()
    return only


def failing(wrong: GossamerError) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> Any:
        raise wrong

    return fail


# -- handing over ------------------------------------------------------------------------------------------------


def test_a_client_waits_until_members_have_its_events_and_is_told_how_many() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", timeouts={"leave_s": 0.05, "ack_s": 0.05})
            async with Client(node.address, transport=Memory(network.memory)) as client, asyncio.timeout(60):
                events = [await client.publish(".x", b"%d" % n) for n in range(3)]
                alone = await client.handed_over(events, 0.05)
                assert (bool(alone), alone.waiting, alone.on_disk, alone.in_memory) == (False, 3, 0, 0)
                waiting = asyncio.create_task(client.handed_over(events, 60.0))
                reader = await network.node("b")
                async with reader.subscribe(".x"):
                    done = await waiting
                    assert (bool(done), done.waiting, done.on_disk, done.in_memory) == (True, 0, 0, 1)
                    again = await client.handed_over(events[:1], 0.0)
                    assert again == done, "it is still known"

    asyncio.run(scenario())


def test_a_client_that_waits_too_often_at_once_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.live.clients.session.AWAITS_MAX", 1)

    async def act(node: Node, client: Client, link: Link) -> None:
        event_id = await client.publish(".x", b"x")
        first = asyncio.create_task(client.handed_over([event_id], 0.2))
        await asyncio.sleep(0)
        with pytest.raises(Misuse, match="waits for too many publications already"):
            await client.handed_over([event_id], 0.2)
        assert not await first
        assert not await client.handed_over([event_id], 0.0)

    attached(act)


# -- kinds of problems -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Misuse, SpecError, TransportDown])
def test_a_clients_error_is_of_the_kind_its_node_met(
    kind: type[GossamerError], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(node: Node, client: Client, link: Link) -> None:
        monkeypatch.setattr(node, "offer", failing(kind("the disk is full: free space")))
        monkeypatch.setattr(node, "subscribe_for", failing(kind("the disk is slow: have patience")))
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


# -- what costs much ---------------------------------------------------------------------------------------------


def test_a_frame_full_of_long_filters_is_read_only_as_far_as_one_client_may_ask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each costs some milliseconds, in which nobody else is served."""

    async def act(node: Node, client: Client, link: Link) -> None:
        read: list[str] = []
        session(node).identity.filters.per_us = 0  # however slow this machine is
        wished = served_readers.wished
        monkeypatch.setattr(served_readers, "wished", lambda wish: (read.append(wish.where), wished(wish))[1])
        texts = [f"x == {number} or " + " or ".join(f"a{1000 + at}" for at in range(895)) for number in range(100)]
        assert all(8_000 < len(text) <= 8_192 for text in texts)
        frames = [client.codec.encode(Read(number, ".a", where=text)) for number, text in enumerate(texts, 1_000)]
        assert client._link is not None
        client._link.write(batch_frame([], [], [], frames))
        await until(lambda: node.metrics.refusals["too many filters"] == 100 - 8)
        assert read == texts[:8]
        assert node.metrics.refusals["too many refusals"] == 0
        async with client.subscribe(".a") as reader:  # nobody needs a filter to read
            await client.publish(".a", b"and on it goes", attributes={"x": 3})
            assert (await anext(reader)).payload == b"and on it goes"  # type: ignore[union-attr]
        async with client.subscribe(".a", where=texts[50]) as refused:
            with pytest.raises(Misuse, match="filters come faster than they can be read"):
                await anext(refused)

    attached(act)


# -- what cannot be read -----------------------------------------------------------------------------------------


def test_a_request_its_node_cannot_read_is_refused_not_left_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "KEY_MAX", 10_000)  # as a client of other software
    monkeypatch.setattr(arguments, "NAME_MAX", 10_000)

    async def act(node: Node, client: Client, link: Link) -> None:
        with pytest.raises(Misuse, match=r"the node cannot read this: .* length <= 256 - at `\$\.key`"):
            await client.publish(".a", b"x", key="k" * 257)
        with pytest.raises(Misuse, match=r"the node cannot read this: .* length <= 256 - at `\$\.key`"):
            await client.publish(".a", bytes(300_000), key="k" * 257)
        with pytest.raises(Misuse, match=r"the node cannot read this: .* length <= 128 - at `\$\.name`"):
            await client.subscribe(".a", name="n" * 129).__aenter__()
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
