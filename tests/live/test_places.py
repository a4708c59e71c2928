"""Living in a hierarchy, as whoever runs the nodes sees it: guests, restarts, addresses taken twice or granted anew."""

import asyncio
import contextlib
import logging
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.core.errors import TransportDown
from gossamer.live.clients.guest import guest_config, wait_until_taken
from gossamer.live.config.config import Config, load
from gossamer.live.keys.network import Network as Keys
from gossamer.live.node import Node
from gossamer.live.running.reloading import reload_keys, take_over
from gossamer.testing import Network
from live.hostile.test_hierarchies import TOPIC, are_unharmed, refused, settings
from live.test_hpmcast import HASTY, part_of, place, settled, town, until
from live.test_traces import rows_below


def test_two_nodes_at_one_address_are_told_of_each_other_once(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = [await network.node(name, **place(4), subscribe=[".a"]) for name in ("one", "two")]
            await until(lambda: settled(nodes) and caplog.text.count("lives at 0.1.1") == 2)
            await nodes[0].publish(".a", b"1")
            await until(lambda: all(node.metrics.events_delivered == 1 for node in nodes))
            part_of(nodes[0]).members.say_again()  # a later row of the same node is no news
            await until(lambda: settled(nodes))

    with caplog.at_level("WARNING", "gossamer"):
        asyncio.run(scenario())
    for one, other in (("one", "two"), ("two", "one")):
        said = f"{one} lives at 0.1.1, and so does {other}: give every node an address of its own"
        assert caplog.messages.count(said) == 1


@pytest.mark.parametrize("how", ["crash", "close"])
def test_a_node_that_comes_back_with_its_spool_finds_its_place_and_what_it_published(how: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes = await town(network, 4, subscribe=[".a"])
            await until(lambda: settled(nodes))
            spool = {"folder": tmp_path, "durability": "process"}
            again = {**place(4), "subscribe": [".a"], "spool": spool}
            nodes.append(await network.node("back", **again))
            await until(lambda: settled(nodes))
            await nodes[4].publish(".a", b"before")
            await until(lambda: all(node.metrics.events_delivered == 1 for node in nodes))
            await (network.crash("back") if how == "crash" else nodes[4].close())
            nodes[4] = await network.node("back", **again)
            await nodes[0].publish(".a", b"after")
            await nodes[4].publish(".a", b"again")
            await until(lambda: all(node.metrics.events_delivered == 3 for node in nodes[:4]))
            await until(lambda: settled(nodes) and nodes[4].metrics.events_delivered == 2)

    asyncio.run(scenario())


def config(**given: Any) -> Config:
    return load(environ={}, overrides={**HASTY, "spool": {"durability": "off"}, **given})


def test_a_guest_hands_its_events_to_a_hierarchy_and_is_gone() -> None:
    async def scenario() -> None:
        async with Node(
            config(name="n", bind="127.0.0.1:0", subscribe=[".a"], hpmcast={"address": "127.0.0.1.1"})
        ) as node:
            own = config(name="m", bind="127.0.0.1:2", seeds=[node.address])
            visiting = guest_config(own, None, "default", ())
            assert visiting is not None
            async with Node(visiting) as guest:
                guest.station.handover.joins = False
                await guest.publish(".a", b"1")
                await wait_until_taken(guest, ".a", 20, hopefully=True)
            assert node.metrics.events_delivered == 1
            await until(lambda: part_of(node).size(".") == 1)

    asyncio.run(scenario())


def test_a_guest_that_knows_nothing_of_the_hierarchy_is_told_what_to_do() -> None:
    async def scenario() -> None:
        async with Node(config(name="n", bind="127.0.0.1:0", hpmcast={"address": "127.0.0.1.1"})) as node:
            visiting = guest_config(None, None, "default", [node.address])
            assert visiting is not None
            async with Node(replace(visiting, timeouts=replace(visiting.timeouts, leave_s=0.1))) as guest:
                await guest.publish(".a", b"1")
                with pytest.raises(TransportDown) as told:
                    await wait_until_taken(guest, ".a", 0.1, hopefully=True)
            assert str(told.value).startswith(f"the seed {node.address} answered, but its spread is 'hpmcast of 256.")
            assert str(told.value).endswith("give the settings of a node of its network with --config")

    asyncio.run(scenario())


def test_a_trace_that_begins_in_the_middle_says_that_the_node_carries_for_others(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            trace = {"folder": tmp_path, "level": "off"}
            node = await network.node("n", **place(4), subscribe=[".a"], trace=trace)
            take_over(node, replace(node.config, trace=replace(node.config.trace, level="deliveries")))

    asyncio.run(scenario())
    assert [row.kind for row in rows_below(tmp_path)][:3] == ["start", "relay", "subscribe"]


def test_a_network_in_use_is_granted_its_addresses_without_a_pause(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """First everybody gets a grant that says where it lives, while it runs; then one after the other starts again."""
    keys = Keys.init(tmp_path / "net")
    places = {"a": "0.0.0", "b": "0.1.0", "c": "1.0.0"}
    for name in (*places, "client"):
        keys.grant(name, [TOPIC], [TOPIC])

    async def scenario() -> None:
        async with contextlib.AsyncExitStack() as closing:
            nodes: list[Node] = []
            for name, address in places.items():
                made = Node(settings(keys, name, nodes[:1], hpmcast={"address": address}))
                nodes.append(await closing.enter_async_context(made))
            await until(lambda: settled(nodes))
            for node, (name, address) in zip(nodes, places.items(), strict=True):
                keys.grant(name, address=address)
                reload_keys(node)
                await are_unharmed(nodes, 1)
            for number, name in enumerate(places):
                await nodes[number].close()
                nodes[number] = Node(settings(keys, name, nodes[:number] or nodes[1:2]))
                await closing.enter_async_context(nodes[number])
                await until(lambda: settled(nodes))
                await are_unharmed(nodes)
            assert refused(nodes, "not its address") == 0
            curious = Node(settings(keys, "client", nodes[:1], hpmcast={"address": "0.0.1"}))
            await closing.enter_async_context(curious)
            await until(lambda: refused(nodes, "not its address") > 0)

    with caplog.at_level("WARNING", "gossamer"):
        asyncio.run(scenario())
    assert caplog.text.count("--node client --address 0.0.1 makes a grant that says it") == 1


def test_a_running_node_that_is_granted_another_address_says_that_it_must_be_started_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keys = Keys.init(tmp_path / "net")
    keys.grant("a", [TOPIC], [TOPIC], address="0.0.0")

    async def scenario() -> None:
        async with Node(settings(keys, "a")) as node:
            for address in ("0.0.0", "1.0.0", ""):
                keys.grant("a", address=address)
                reload_keys(node)

    with caplog.at_level(logging.WARNING, "gossamer"):
        asyncio.run(scenario())
    assert [each for each in caplog.messages if "is granted to live" in each] == [
        "a is granted to live at 1.0.0, and lives at 0.0.0 until it is started again: others may refuse it",
        "a is granted to live at no address, and lives at 0.0.0 until it is started again: others may refuse it",
    ]


def test_a_guest_with_keys_lives_where_its_node_was_granted_to(tmp_path: Path) -> None:
    keys = Keys.init(tmp_path / "net")
    for name, address in (("a", "0.0.0"), ("b", "1.0.0")):
        keys.grant(name, [TOPIC], [TOPIC], address=address)

    async def scenario() -> None:
        async with Node(settings(keys, "a")) as node:
            visiting = guest_config(settings(keys, "b", [node]), keys.folder_of("b"), "default", ())
            assert visiting is not None
            async with Node(visiting) as guest:
                guest.station.handover.joins = False
                assert guest.station.design.address == (1, 0, 0)
                await guest.publish(TOPIC, b"1")
                await wait_until_taken(guest, TOPIC, 20, hopefully=True)
            assert node.metrics.events_delivered == 1
            assert refused([node], "not its address") == 0

    asyncio.run(scenario())
