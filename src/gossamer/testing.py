"""Networks inside one process, for tests: real nodes, real frames, no sockets.

async with gossamer.testing.Network() as network:
    a = await network.node("a")
    b = await network.node("b")
    async with b.subscribe(".soccer") as inbox:
        await a.publish(".soccer.italy", b"goal")
        assert (await anext(inbox)).payload == b"goal"
"""

import asyncio
from types import TracebackType
from typing import Any

from gossamer.live.config.config import load
from gossamer.live.links.transports.memory import Memory, MemoryNetwork
from gossamer.live.node import Node
from gossamer.protocols.scamp.params import Params as ScampParams

QUICK = ScampParams(patience_us=100_000, first_lease_us=1_000_000)
"Where messages take no time, a lone node need not wait long before it knows that it is alone."


class Network:
    """Nodes that know the first of them. They are closed with the network, all at once."""

    def __init__(self) -> None:
        self.memory = MemoryNetwork()
        self.nodes: dict[str, Node] = {}

    async def __aenter__(self) -> "Network":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.gather(*(node.close() for node in self.nodes.values()))

    async def node(self, name: str, **settings: Any) -> Node:
        """Starts a node; any setting may be given, tables as `spool={"folder": "spool"}`. The environment says nothing
        here: a test means the same everywhere."""
        first = next(iter(self.nodes.values()), None)
        given = {"bind": "memory:0", "scamp": QUICK, "seeds": [first.address] if first else [], **settings}
        config = load(environ={}, overrides={"name": name, **given})
        node = Node(config, transport=lambda trust, handshake_s: Memory(self.memory))
        await node.start()
        self.nodes[name] = node
        return node

    async def crash(self, name: str) -> None:
        """Takes a node away without a word: its links break, and nothing of it is heard again."""
        node = self.nodes.pop(name)
        for channel in tuple(self.memory.channels):
            if node.address in (channel.here, channel.where):
                channel.abort()
        self.memory.listening.pop(node.address, None)
        node.station.driver.close()
        node.state = "closing"
        await node.close()

    def split(self, *islands: list[str]) -> None:
        """Cuts the nodes of each island off from those of the others."""
        self.memory.split(*([self.nodes[name].address for name in island] for island in islands))

    def heal(self) -> None:
        self.memory.heal()
