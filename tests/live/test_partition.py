"""A network cut in two and healed: the halves forget each other, and find each other again."""

import asyncio
import contextlib
from collections import Counter

import pytest

from gossamer.live.links import seeds
from gossamer.live.node import Node
from gossamer.live.reading.deliveries import Delivery
from gossamer.protocols.scamp.params import Params
from gossamer.testing import Network
from live.watching import until

HASTY = Params(
    patience_us=100_000,
    first_lease_us=500_000,
    lease_us=1_000_000,
    beat_every_us=200_000,
    isolated_us=1_500_000,
    size_every_us=50_000,
    epoch_us=500_000,
)
"A minute of an ordinary network in a second."
LEVELS = {".a": 4, ".a.b": 8}


def counted(nodes: dict[str, Node], topics: dict[str, str], expected: dict[str, int]) -> bool:
    """Whether every node counts as many members of its topic as there are."""
    size = {name: node.station.machine.spread.members.size(topics[name]) for name, node in nodes.items()}
    return all(size[name] == expected[topics[name]] for name in nodes)


def forgot(nodes: dict[str, Node], topics: dict[str, str], most: dict[str, int]) -> bool:
    """Whether no node counts more members of its topic than its half has."""
    return all(
        node.station.machine.spread.members.size(topics[name]) <= most[topics[name]] for name, node in nodes.items()
    )


def test_halves_that_forgot_each_other_are_one_again_and_later_events_reach_everybody() -> None:
    async def scenario() -> None:
        async with Network() as network:
            nodes, topics, got = {}, {}, {}
            for topic, count in LEVELS.items():
                for i in range(count):
                    name = f"n{topic.count('.')}-{i}"
                    nodes[name] = await network.node(name, scamp=HASTY)
                    topics[name], got[name] = topic, Counter[bytes]()

            async def read(name: str) -> None:
                async with nodes[name].subscribe(topics[name]) as inbox:
                    async for item in inbox:
                        if isinstance(item, Delivery):
                            got[name][item.payload] += 1

            readers = [asyncio.create_task(read(name)) for name in nodes]
            await until(lambda: counted(nodes, topics, LEVELS))
            names = list(nodes)
            network.split(names[::2], names[1::2])
            await until(lambda: forgot(nodes, topics, {".a": 2, ".a.b": 4}))
            network.heal()
            await until(lambda: counted(nodes, topics, LEVELS))
            await nodes["n2-0"].publish(".a.b", b"one again")
            await until(lambda: all(each[b"one again"] == 1 for each in got.values()))
            for reader in readers:
                reader.cancel()

    asyncio.run(scenario())


def test_halves_whose_seed_is_gone_call_each_other_again_once_the_cut_is_mended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(seeds, "AGAIN_S", 0.05)
    monkeypatch.setattr(seeds, "AGAIN_SOON_S", 0.05)

    async def scenario() -> None:
        async with Network() as network:
            nodes = {name: await network.node(name, scamp=HASTY) for name in ("seed", "a", "b", "c", "d")}
            topics = dict.fromkeys(nodes, ".a")
            async with contextlib.AsyncExitStack() as readers:
                for name, node in nodes.items():
                    if name != "seed":
                        await readers.enter_async_context(node.subscribe(".a"))
                del nodes["seed"]
                await until(lambda: counted(nodes, topics, {".a": 4}))
                await network.nodes.pop("seed").close()
                network.split(["a", "b"], ["c", "d"])
                await until(lambda: forgot(nodes, topics, {".a": 2}))
                network.heal()
                await until(lambda: counted(nodes, topics, {".a": 4}))
                await until(lambda: not any(node.station.connections.calls.lost for node in nodes.values()))

    asyncio.run(scenario())


def test_a_peer_that_said_goodbye_is_not_called_again() -> None:
    async def scenario() -> None:
        async with Network() as network:
            a, b = await network.node("a"), await network.node("b")
            await until(lambda: bool(a.station.connections.links))
            await network.nodes.pop("b").close()
            await until(lambda: not a.station.connections.links)
            assert b.state == "closed"
            assert not a.station.connections.calls.lost

    asyncio.run(scenario())
