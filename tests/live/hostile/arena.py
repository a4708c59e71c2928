"""Honest nodes with keys, on real sockets, and a watch for everything that must not happen while they are attacked."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from gossamer import Gap
from gossamer.live.config.config import Config
from gossamer.live.config.tables import SpoolConfig, Timeouts
from gossamer.live.keys.keyring import Keyring
from gossamer.live.keys.network import Network
from gossamer.live.node import Node
from gossamer.live.reading.inbox import Inbox
from gossamer.protocols.scamp.params import Params as ScampParams

TOPIC = ".soccer"
TIMES = Timeouts(handshake_s=60.0, dial_s=60.0, leave_s=0.5, ack_s=0.3)
"Whoever is turned away is so for what it did, not for what else the machine had to do."
QUICK = ScampParams(patience_us=50_000, tries=1, first_lease_us=1_000_000)
PATIENCE_S = 60.0
"For what does happen: far longer than it takes, on a machine that has other things to do."


async def until(condition: Callable[[], object]) -> None:
    """Waits for something to become true."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE_S
    while not condition():
        assert loop.time() < deadline, "it did not happen in time"
        await asyncio.sleep(0.005)


async def soon(waiting: Coroutine[Any, Any, Any]) -> Any:
    async with asyncio.timeout(PATIENCE_S):
        return await waiting


class Troubles(logging.Handler):
    """Everything that was logged as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


class Watch:
    """No exception may escape into the loop, and nothing may be logged as an error."""

    async def __aenter__(self) -> "Watch":
        self.escaped: list[dict[str, Any]] = []
        self.troubles = Troubles()
        logging.getLogger().addHandler(self.troubles)
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: self.escaped.append(context))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        logging.getLogger().removeHandler(self.troubles)
        print(*self.escaped, *self.troubles.said, sep="\n")  # shown if the test failed for another reason
        if kind is None:
            assert self.escaped == []
            assert self.troubles.said == []


class Arena:
    """A victim and a friend of its, both members of `.soccer`, and a network that can let others in."""

    def __init__(self, network: Network, **settings: Any) -> None:
        self.network, self.settings = network, settings
        self.nodes: dict[str, Node] = {}
        self.inboxes: dict[str, Inbox] = {}
        self.published = 0
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "Arena":
        self.watch = await self._stack.enter_async_context(Watch())
        self.victim = await self.node("victim", **self.settings)
        self.friend = await self.node("friend")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.gather(*(node.close() for node in self.nodes.values()))
        await self._stack.__aexit__(kind, wrong, trace)

    async def node(self, name: str, folder: Path | None = None, **settings: Any) -> Node:
        """An honest node that reads all of `.soccer`."""
        first = next(iter(self.nodes.values()), None)
        given = {
            "bind": "127.0.0.1:0",
            "scamp": QUICK,
            "timeouts": TIMES,
            "spool": SpoolConfig(durability="off"),
            "seeds": (first.address,) if first else (),
            **settings,
        }
        node = Node(Config(keys=folder or self.network.folder_of(name), **given))
        await node.start()
        self.nodes[name] = node
        inbox = self.inboxes[name] = node.subscribe(TOPIC)
        await inbox.__aenter__()
        await until(lambda: all(self.knows_all(each) for each in self.nodes.values()))
        return node

    def knows_all(self, node: Node) -> bool:
        """Whether a node has found every other."""
        members = node.station.machine.spread.members  # type: ignore[attr-defined]
        return members.ready(TOPIC) and len(members.about(TOPIC)) == len(self.nodes) - 1

    def keys(self, name: str) -> Keyring:
        return Keyring.load(self.network.folder_of(name))

    def refused(self, reason: str, node: Node | None = None) -> int:
        return (node or self.victim).metrics.refusals.get(reason, 0)

    async def refuses(self, reason: str, times: int = 1, node: Node | None = None) -> None:
        """Waits until something was refused for this reason so many times."""
        await until(lambda: self.refused(reason, node) >= times)

    async def is_unharmed(self, alone: bool = True) -> None:
        """An event of every honest node reaches every other; nothing else is delivered meanwhile, unless it may."""
        for name, node in self.nodes.items():
            self.published += 1
            payload = f"{name} {self.published}".encode()
            await soon(_awaited(node.publish(f"{TOPIC}.italy", payload)))
            for other, inbox in self.inboxes.items():
                item = await soon(anext(inbox))
                while not alone and (isinstance(item, Gap) or item.payload != payload):
                    item = await soon(anext(inbox))
                assert item.payload == payload, (other, item)

    def links_of(self, name: str, node: Node | None = None) -> int:
        """Links a node has to a peer of this name."""
        return sum(1 for link in (node or self.victim).station.connections.links if link.name == name)

    def is_bounded(self) -> None:
        """Whatever was sent, no table has grown beyond what honest nodes put there."""
        station = self.victim.station
        assert len(station.book) <= 20
        assert len(station.connections.lines) <= 20
        assert len(station.connections.links) <= 20
        assert len(station.machine.owners) <= 20
        assert len(station.bodies.leaves) <= 200
        assert station.bodies.size == sum(
            map(len, {id(each): each for each in station.bodies.bodies.values()}.values())
        )
        assert all(not link.pieces or len(link.pieces) <= 4 for link in station.connections.links)


async def _awaited(waiting: Any) -> Any:
    return await waiting
