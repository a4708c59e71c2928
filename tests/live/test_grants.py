"""Grants while nodes run: the newest counts at once and everywhere, and a reader does not outlive its own."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gossamer import Client, Node
from gossamer.core.errors import Misuse
from gossamer.core.ids import peer_of
from gossamer.live import node as node_module
from gossamer.live.keys.network import Network
from gossamer.live.running.reloading import reload_keys
from gossamer.testing import QUICK
from live.watching import payloads, until

DAY = 86400.0
LATE_S = 400 * DAY


@pytest.fixture
def net(tmp_path: Path) -> Network:
    made = Network.init(tmp_path / "net")
    for name in ("a", "b", "c"):
        made.grant(name, [".soccer", ".tennis"], [".soccer", ".tennis"], days=1000)
    made.grant("client", [".soccer"], [".soccer"], days=30)
    return made


async def up(net: Network, name: str, *seeds: Node, **settings: Any) -> Node:
    node = Node(
        keys=net.folder_of(name),
        bind="127.0.0.1:0",
        seeds=[each.address for each in seeds],
        scamp=QUICK,
        timeouts={"leave_s": 0.1},
        **settings,
    )
    await node.start()
    return node


def attached(net: Network, act: Callable[[Node, Client], Awaitable[None]]) -> None:
    async def scenario() -> None:
        node = await up(net, "a")
        try:
            async with Client(node.address, keys=net.folder_of("client")) as client, asyncio.timeout(60):
                await act(node, client)
        finally:
            await node.close()

    asyncio.run(scenario())


def test_a_clients_reader_ends_with_its_grant_by_one_clear_error(net: Network) -> None:
    async def act(node: Node, client: Client) -> None:
        async with client.subscribe(".soccer") as reader:
            await client.publish(".soccer", b"before")
            assert (await anext(reader)).payload == b"before"  # type: ignore[union-attr]
            node.end_ungranted(time.time() + 40 * DAY)
            for _ in range(3):
                await node.publish(".soccer", b"after")
            with pytest.raises(Misuse, match=r"the grant of client ran out, .* --node client`, and subscribe again"):
                await anext(reader)
        async with node.subscribe(".soccer") as inbox:  # the node's own grant is good for longer
            node.end_ungranted(time.time() + 40 * DAY)
            await node.publish(".soccer", b"on it goes")
            assert await payloads(inbox, 1) == [b"on it goes"]

    attached(net, act)


def test_a_reader_of_the_node_itself_ends_with_its_grant_and_gets_nothing_that_waits(net: Network) -> None:
    async def scenario() -> None:
        node = await up(net, "a")
        async with node.subscribe(".soccer") as inbox, asyncio.timeout(60):
            await node.publish(".soccer", b"waits")
            await until(inbox.at_hand)
            node.end_ungranted(time.time() + 3 * LATE_S)
            with pytest.raises(Misuse, match="the grant of a ran out"):
                await anext(inbox)
        await node.close()

    asyncio.run(scenario())


def test_readers_are_looked_at_by_themselves_three_times_in_half_a_minute(
    net: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert node_module.GRANTS_S <= 10
    monkeypatch.setattr(node_module, "GRANTS_S", 0.02)

    async def act(node: Node, client: Client) -> None:
        async with client.subscribe(".soccer") as reader:
            await until(lambda: node.station.readers.inboxes)
            monkeypatch.setattr(node.trust, "may", lambda *_: False)
            with pytest.raises(Misuse, match="ran out"):
                await anext(reader)

    attached(net, act)


def test_who_is_granted_less_gets_nothing_more_of_what_was_taken_away(net: Network) -> None:
    """As soon as its new record is seen, though it is a member still: by those who send to it."""

    async def scenario() -> None:
        a = await up(net, "a", publish=[".tennis"])
        b, c = await up(net, "b", a, subscribe=[".tennis"]), await up(net, "c", a, subscribe=[".soccer", ".tennis"])
        async with b.subscribe(".tennis") as left, c.subscribe(".soccer") as other:
            await until(lambda: len(a.station.machine.members.about(".tennis")) == 2)  # type: ignore[union-attr]
            await a.publish(".tennis", b"1")
            await until(lambda: c.metrics.events_delivered == 1)
            net.grant("c", no_publish=[".tennis"], no_subscribe=[".tennis"])
            reload_keys(c)
            for each in (a, b):
                await until(lambda each=each: not may_read(each, "c", ".tennis"))  # type: ignore[misc]
                assert may_read(each, "c", ".soccer")
            await a.publish(".tennis", b"2")
            await b.publish(".soccer", b"3")
            assert await payloads(left, 2) == [b"1", b"2"]
            assert await payloads(other, 1) == [b"3"]
            assert c.metrics.deliveries == {".tennis": 1, ".soccer": 1}
            with pytest.raises(Misuse, match=r"does not let it publish on \.tennis"):
                await c.publish(".tennis", b"no more")
        await asyncio.gather(*(each.close() for each in (a, b, c)))

    asyncio.run(scenario())


def may_read(node: Node, name: str, topic: str) -> bool:
    return node.station.permissions.may(peer_of(name), "subscribe", topic)


def test_what_a_node_may_changes_also_when_its_newer_grant_comes_by_a_client(net: Network) -> None:
    async def scenario() -> None:
        a = await up(net, "a")
        old = await up(net, "b", a)
        await until(lambda: may_read(a, "b", ".tennis"))
        net.grant("b", no_subscribe=[".tennis"])
        async with Client(a.address, keys=net.folder_of("b")):
            assert not may_read(a, "b", ".tennis")
            assert may_read(a, "b", ".soccer")
        await asyncio.gather(a.close(), old.close())

    asyncio.run(scenario())
