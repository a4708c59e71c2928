"""Twenty nodes below seven below three, nothing lost, nobody killed: who gets what is published at the bottom?"""

import asyncio
import math
from collections import Counter

import pytest

from gossamer.live.node import Node
from gossamer.live.reading.deliveries import Delivery
from gossamer.protocols.camcast.params import Params
from gossamer.testing import Network

LEVELS = {".a": 3, ".a.b": 7, ".a.b.c": 20}


class Crowd:
    """Nodes of three communities in one process, and what each was delivered."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.nodes: dict[str, list[Node]] = {topic: [] for topic in LEVELS}
        self.got: dict[Node, Counter[bytes]] = {}
        self.readers: list[asyncio.Task[None]] = []

    async def gather(self, params: Params) -> None:
        for topic, count in LEVELS.items():
            for i in range(count):
                name, alone = f"n{topic.count('.')}-{i}", {"method": "none"}  # recovery would hide what stays below
                node = await self.network.node(name, camcast=params, recovery=alone)
                self.nodes[topic].append(node)
                self.got[node] = Counter()
                self.readers.append(asyncio.create_task(self.read(node, topic)))
        for topic, nodes in self.nodes.items():
            assert all(await asyncio.gather(*(node.joined(topic, 60.0) for node in nodes)))
        await self.until(
            lambda: all(self.settled(node, topic) for topic, nodes in self.nodes.items() for node in nodes)
        )

    def settled(self, node: Node, topic: str) -> bool:
        """Whether a node has counted its whole community, and has as many ways up as it wants (or as there are)."""
        spread = node.station.machine.spread
        most = min(node.config.camcast.links, LEVELS.get(topic.rpartition(".")[0], 0))
        ways = spread.links.tables(topic)
        return spread.members.size(topic) == LEVELS[topic] and (most == 0 or all(len(way) == most for way in ways))

    async def read(self, node: Node, topic: str) -> None:
        async with node.subscribe(topic) as inbox:
            async for item in inbox:
                if isinstance(item, Delivery):
                    self.got[node][item.payload] += 1

    async def until(self, condition, patience_s: float = 60.0) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience_s
        while not condition():
            assert loop.time() < deadline, "it did not happen in time"
            await asyncio.sleep(0.05)

    def reached(self, topic: str, payload: bytes) -> int:
        return sum(self.got[node][payload] > 0 for node in self.nodes[topic])

    async def publish(self, count: int) -> None:
        bottom = self.nodes[".a.b.c"]
        await asyncio.gather(*(bottom[i % len(bottom)].publish(".a.b.c", b"%d" % i) for i in range(count)))
        assert all(await asyncio.gather(*(node.handed_over(60.0) for node in bottom)))

    def at_rest(self) -> bool:
        """Whether all copies that were sent have arrived, and no other since this was asked last."""
        received = sum(node.metrics.copies_received for node in self.got)
        sent = sum(node.metrics.copies_sent for node in self.got)
        before, self.copies = getattr(self, "copies", -1), received
        return sent == received == before

    def close(self) -> None:
        for reader in self.readers:
            reader.cancel()


async def run(params: Params, count: int) -> Crowd:
    async with Network() as network:
        crowd = Crowd(network)
        await crowd.gather(params)
        await crowd.publish(count)
        await crowd.until(crowd.at_rest)
        crowd.close()
    return crowd


def missed(crowd: Crowd, topic: str, count: int) -> int:
    """Events nobody of a community got."""
    return sum(crowd.reached(topic, b"%d" % i) == 0 for i in range(count))


def everybody_has_everything(count: int) -> None:
    crowd = asyncio.run(run(Params.live(), count))
    for node, got in crowd.got.items():
        assert len(got) == count, f"{node.config.name} got {len(got)} of {count}"
        assert set(got.values()) == {1}
        assert node.metrics.parasites == 0


def test_with_the_live_preset_everybody_gets_every_event_once_and_nobody_else_a_byte() -> None:
    everybody_has_everything(100)


@pytest.mark.slow
def test_with_the_live_preset_a_thousand_events_reach_everybody() -> None:
    everybody_has_everything(1000)


def stays_below(size: int, params: Params) -> float:
    """The chance that no process of a community carries an event up: each by its election, then link by link."""
    told = 1 - (1 - params.targets / params.links) ** params.links
    return (1 - min(1.0, params.electors / size) * told) ** size


@pytest.mark.slow
def test_with_the_papers_preset_events_stay_below_as_often_as_the_binomial_says() -> None:
    count, params = 1000, Params.camcast()
    assert (round(stays_below(20, params), 4), round(stays_below(7, params), 4)) == (0.0209, 0.0075)
    crowd = asyncio.run(run(params, count))
    middle, top = missed(crowd, ".a.b", count), missed(crowd, ".a", count)
    print(f"stayed in 20: {middle} of {count}, in 7: {top - middle} of {count - middle}")
    for found, of, size in ((middle, count, 20), (top - middle, count - middle, 7)):
        chance = stays_below(size, params)
        assert abs(found - chance * of) < 5 * math.sqrt(of * chance * (1 - chance))
