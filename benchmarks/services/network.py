"""One network in one process: its nodes come one after the other, its events one after the other, then all go.

`python -m benchmarks.services.network PLAN FOLDER` says on a line each what it does, and ends when its input does.
"""

import asyncio
import itertools
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from benchmarks.services.plan import BOTTOM, LEVELS, LINKS, SETTINGS, Plan
from gossamer import Node
from gossamer.cli.leashed import end_with_input
from gossamer.core.topics import Topic
from gossamer.live.config.config import load
from gossamer.live.keys.network import Network as Keys
from gossamer.live.running.daemon import run

LOOK_S = 0.2
GRACE_S = 2.5
"The audit expects nothing of nodes that came or went within two seconds of an event."


class Published(Struct, frozen=True):
    """An event, and the chance with which each process carried it upwards."""

    run: str
    publisher: int
    incarnation: int
    sequence: int
    climb: float


class Said(Struct, frozen=True):
    """What a network is busy with."""

    what: str
    done: int
    total: int


class Told(Struct, frozen=True):
    """What became of a network, beside its traces."""

    plan: Plan
    published: list[Published]
    up_s: float
    "Until all nodes were up, and from then to the first event."
    settled_s: float
    unsettled: int
    "Nodes that had not counted their community right, or lacked links, when events began."
    cpu_s: float
    memory_mb: int


Tell = Callable[[str, int, int], None]


class Town:
    """The nodes of a plan, by name."""

    def __init__(self, plan: Plan, folder: Path, tell: Tell) -> None:
        self.plan, self.folder, self.tell = plan, folder, tell
        self.size = dict(zip(LEVELS, plan.sizes, strict=True))
        self.nodes: dict[str, Node] = {}
        self.topics: dict[str, Topic] = dict(plan.arrivals())

    async def run(self) -> Told:
        began_s = time.monotonic()
        self.grant()
        try:
            for number, (name, topic) in enumerate(self.topics.items(), 1):
                await asyncio.gather(self.come(name, topic), asyncio.sleep(self.plan.join_every_s))
                self.tell("coming up", number, len(self.topics))
            up_s = time.monotonic()
            unsettled = await self.settle()
            settled_s = time.monotonic()
            published = await self.publish()
        finally:
            await asyncio.gather(*(node.close() for node in self.nodes.values()))
        used = resource.getrusage(resource.RUSAGE_SELF)
        cpu_s, memory_mb = round(used.ru_utime + used.ru_stime, 1), used.ru_maxrss // 1024
        took = (round(up_s - began_s, 1), round(settled_s - up_s, 1))
        return Told(self.plan, published, *took, unsettled, cpu_s, memory_mb)

    def grant(self) -> None:
        keys = Keys.init(self.folder / "keys", name=self.plan.name)
        for name, topic in self.topics.items():
            keys.grant(name, [BOTTOM] if topic == BOTTOM else [], [topic])

    async def come(self, name: str, topic: Topic) -> None:
        settings = {
            **SETTINGS,
            "membership": self.plan.service,
            "network": self.plan.name,
            "keys": str(self.folder / "keys" / "nodes" / name),
            "bind": "127.0.0.1:0",
            "seeds": [self.nodes[each].address for each in self.plan.known(name, [*self.nodes])],
            "subscribe": [topic],
            "trace": {"folder": str(self.folder / "traces"), "level": "full"},
        }
        node = Node(load(environ={}, overrides=settings))
        await node.start()
        self.nodes[name] = node

    async def settle(self) -> int:
        """Waits until all know what they should, or for as long as patience lasts; how many do not."""
        deadline_s = time.monotonic() + self.plan.patience_s
        self.tell("warming up", 0, 1)
        await asyncio.sleep(self.plan.warmup_s)
        while (missing := sum(not self.is_settled(name) for name in self.nodes)) and time.monotonic() < deadline_s:
            self.tell("settling", len(self.nodes) - missing, len(self.nodes))
            await asyncio.sleep(LOOK_S)
        return missing

    def is_settled(self, name: str) -> bool:
        """Whether a node knows how many its community is, and has all the links it wants."""
        machine, topic = self.nodes[name].station.machine, self.topics[name]
        assert machine.members is not None
        assert machine.links is not None
        above = LEVELS.index(topic) - 1
        wanted = min(LINKS, self.plan.sizes[above]) if above >= 0 else 0
        known = sum(map(len, machine.links.tables(topic)))
        return machine.members.size(topic) == self.size[topic] and known >= wanted

    async def publish(self) -> list[Published]:
        """Each publisher's first event is not measured: it offers that one again when it has looked around."""
        names = [name for name, topic in self.topics.items() if topic == BOTTOM][: self.plan.publishers]
        for name in names:
            await self.nodes[name].publish(BOTTOM, b"first", climb=0.0)
        await asyncio.sleep(GRACE_S)
        chances, published = self.plan.chances(), []
        for number, (climb, name) in enumerate(zip(chances, itertools.cycle(names)), 1):
            event = await self.nodes[name].publish(BOTTOM, b"measured", climb=climb)
            published.append(Published(self.plan.name, event.publisher, event.incarnation, event.sequence, climb))
            await asyncio.sleep(self.plan.every_s)
            self.tell("publishing", number, len(chances))
        await asyncio.sleep(GRACE_S)
        return published


def allow_open_files() -> None:
    """As many as may be: both ends of every link are here."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def main() -> None:
    end_with_input()
    allow_open_files()
    plan = msgspec.json.decode(sys.argv[1], type=Plan)
    folder = Path(sys.argv[2])

    def tell(what: str, done: int, total: int) -> None:
        print(msgspec.json.encode(Said(what, done, total)).decode(), flush=True)

    told = run(Town(plan, folder, tell).run())
    (folder / "told.json").write_bytes(msgspec.json.encode(told))


if __name__ == "__main__":
    main()
