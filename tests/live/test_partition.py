"""A network cut in two and healed: the halves forget each other, and find each other again."""

import asyncio
from collections import Counter

from gossamer.live.deliveries import Delivery
from gossamer.live.node import Node
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
