"""The demo's course: a network comes up, events are published at its bottom, nodes are killed, others come, all go."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from gossamer.cli.demo_network import NAME, DemoNetwork, together
from gossamer.cli.demo_plan import TOPIC, Part, Plan
from gossamer.core.errors import TransportDown
from gossamer.live.clients.client import Client

KILL, LATE, RETURN = 0.5, 0.6, 0.7
"When they happen, as shares of the events."
GRACE_S = 2.0
"Who subscribed less than this ago is not blamed by the audit: with this pause, everybody owes everything."
JOIN_S = 60.0
ATTACH_S = 20.0
LOOK_S = 1.0
QUIET = 3
"""The network has settled once nobody waits for anything, and nothing was delivered, for so many looks: longer than
GRACE_S, which counts here too."""
SETTLE_S = 60.0
CLUBS = ("Atalanta", "Bologna", "Genoa", "Lazio", "Lecce", "Napoli", "Parma", "Roma", "Torino", "Udinese")


Act: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


class Watch(Protocol):
    """Whoever looks on."""

    def begin(self, says: str, total: int) -> None:
        """Something that is counted begins."""

    def count(self, done: int, beside: str = "") -> None:
        """So much of it is done."""

    def tell(self, says: str) -> None:
        """Something happened that is worth a line."""


class Happened(Struct, frozen=True):
    """One line of the story: when, since its beginning, and what."""

    at_s: float
    what: str


class Story:
    """One performance of a plan."""

    def __init__(self, plan: Plan, network: DemoNetwork, watch: Watch) -> None:
        self.plan, self.network, self.watch = plan, network, watch
        self.happened: list[Happened] = []
        self.accepted = 0
        self.not_owed: dict[str, int] = {}
        "By node, of those the audit can blame: how many events were accepted before it could."
        self.queue: asyncio.Queue[int] = asyncio.Queue()
        self._began_s = time.monotonic()

    async def perform(self) -> list[Happened]:
        async with self.network:
            await self.come_up()
            reporters = [
                Reporter(f"reporter-{i}", part, self).report() for i, part in enumerate(self.plan.publishers, 1)
            ]
            self.watch.begin("publishing", self.plan.events)
            await alongside(self.publish(), self.look_on(), *reporters)
            await self.settle()
            await self.go()
        return self.happened

    def tell(self, what: str) -> None:
        self.happened.append(Happened(round(time.monotonic() - self._began_s, 1), what))
        self.watch.tell(what)

    # -- before -------------------------------------------------------------------------------------------------

    async def come_up(self) -> None:
        plan, network = self.plan, self.network
        clients = [f"reporter-{i}" for i in range(1, len(plan.publishers) + 1)]
        network.make_keys(plan.everybody, clients)
        self.tell(f"{len(plan.everybody) + len(clients)} keys made and granted, one per node and client")
        self.watch.begin("starting", len(plan.nodes))
        await network.start_all(plan.nodes, plan.seeds, lambda: self.watch.count(len(network.running)))
        levels = ", ".join(f"{level.size} on {level.topic}" for level in plan.levels)
        self.tell(f"{len(plan.nodes)} processes started: {levels}")
        self.watch.begin("joining", len(plan.nodes))
        await self.joined()
        self.tell("all have found the members of their topic, and those above it")
        if plan.loss:
            self.tell(f"every link loses {100 * plan.loss:g} % of what it carries, and has from the start")
        await self.owe(plan.nodes)

    async def joined(self) -> None:
        """Waits until each has a place, somebody to gossip with, and a way up, where there is any to have."""
        deadline = time.monotonic() + JOIN_S
        while without := await self.apart():
            self.watch.count(len(self.plan.nodes) - len(without))
            if time.monotonic() > deadline:
                some = ", ".join(without[:3])
                raise TransportDown(f"{len(without)} nodes ({some} …) did not join in {JOIN_S:.0f} s: see their logs")
            await asyncio.sleep(0.2)
        self.watch.count(len(self.plan.nodes))

    async def apart(self) -> list[str]:
        """Those that have not joined."""
        health = await self.network.health()
        here = {name: each.part.topic for name, each in self.network.running.items()}
        many, top = Counter(here.values()), self.plan.levels[-1].topic
        return [
            name
            for name, topic in here.items()
            if (said := health.get(name, {})).get("status") != "ok"
            or (many[topic] > 1 and not said["members"])
            or (topic != top and not said["above"])
        ]

    async def owe(self, parts: Iterable[Part]) -> None:
        """From now on these should get everything, the audit will say."""
        await asyncio.sleep(GRACE_S)
        self.not_owed |= {part.name: self.accepted for part in parts}

    # -- the run ------------------------------------------------------------------------------------------------

    async def publish(self) -> None:
        """An event at a time, evenly spread over the time there is; in between the network is disturbed."""
        plan, loop = self.plan, asyncio.get_running_loop()
        acts: dict[int, Act] = {
            round(KILL * plan.events): self.kill,
            round(LATE * plan.events): self.come_late,
            round(RETURN * plan.events): self.come_back,
        }
        began_s, under_way = loop.time(), list[asyncio.Task[None]]()
        try:
            for number in range(plan.events):
                await asyncio.sleep(began_s + number * plan.seconds / plan.events - loop.time())
                if act := acts.get(number):
                    under_way.append(asyncio.create_task(act()))
                self.queue.put_nowait(number)
            await asyncio.gather(*under_way)
            await self.queue.join()
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    async def kill(self) -> None:
        for part in self.plan.killed:
            del self.not_owed[part.name]
        await self.network.kill(self.plan.killed)
        self.tell(f"{len(self.plan.killed)} killed with SIGKILL: {names(self.plan.killed)}")

    async def come_late(self) -> None:
        await together(self.network.start(part) for part in self.plan.late)
        self.tell(f"{len(self.plan.late)} joined late: {names(self.plan.late)}")
        await self.owe(self.plan.late)

    async def come_back(self) -> None:
        await self.network.start(self.plan.returning)
        self.tell(f"{self.plan.returning.name} was started again, with its keys and its spool")
        await self.owe([self.plan.returning])

    async def look_on(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            self.watch.count(self.accepted, f"{await self.network.delivered():,} deliveries")

    def is_accepted(self) -> None:
        self.accepted += 1
        self.queue.task_done()

    # -- after --------------------------------------------------------------------------------------------------

    async def settle(self) -> None:
        """Waits until nobody waits for anything, and for as long as the audit would be in doubt. What was lost is found
        again in a moment, mostly; a newcomer whose first words were lost, and the next ones too, takes seconds."""
        self.tell(f"{self.accepted} events published on {TOPIC} by {len(self.plan.publishers)} clients")
        self.watch.begin("settling", QUIET)
        before, quiet = dict[str, int](), 0
        deadline = time.monotonic() + SETTLE_S
        while quiet < QUIET and time.monotonic() < deadline:
            now = await self.network.deliveries()
            calm = now == before and not self.behind(now) and not await self.apart()
            quiet = quiet + 1 if calm else 0
            before = now
            self.watch.count(quiet, f"{sum(now.values()):,} deliveries")
            await asyncio.sleep(LOOK_S)

    def behind(self, delivered: dict[str, int]) -> list[str]:
        """Those that surely miss something. What they have besides may hide it: no proof, that is the audit's."""
        return [name for name, before in self.not_owed.items() if delivered[name] < self.accepted - before]

    async def go(self) -> None:
        many = len(self.network.running)
        self.watch.begin("leaving", many)
        forced = await self.network.leave(self.watch.count)
        self.tell(
            f"{many} left in good order" if not forced else f"{', '.join(forced)} would not leave and were killed"
        )


class Reporter:
    """A client that publishes through one node. If the node dies, what it had not answered for goes to another client;
    or, where the node comes back, to that node once more: under the same key, so that it is the same event."""

    def __init__(self, name: str, part: Part, story: Story) -> None:
        self.name, self.part, self.story = name, part, story
        self.number: int | None = None
        "The event at hand."

    async def report(self) -> None:
        network, returns = self.story.network, self.part == self.story.plan.returning
        while self.part.name in network.running:
            try:
                await self.publish_through(network.running[self.part.name].address)
            except TransportDown:
                if self.part.name in network.running:
                    raise  # nobody killed it
            while returns and self.part.name not in network.running:
                await asyncio.sleep(0.1)
        if self.number is not None:
            self.story.queue.put_nowait(self.number)
            self.story.queue.task_done()

    async def publish_through(self, address: str) -> None:
        keys = self.story.network.keys_of(self.name)
        async with Client(address, keys=keys, network=NAME, patience_s=ATTACH_S) as client:
            while True:
                if self.number is None:
                    self.number = await self.story.queue.get()
                match = self.number % len(CLUBS)
                await client.publish(
                    TOPIC,
                    f"goal for {CLUBS[match]}",
                    attributes={"minute": 1 + self.number % 90, "reporter": self.name},
                    key=f"goal-{self.number}",
                )
                self.number = None
                self.story.is_accepted()


def names(parts: Sequence[Part]) -> str:
    return ", ".join(part.name for part in parts)


async def alongside(main: Coroutine[Any, Any, None], *others: Coroutine[Any, Any, None]) -> None:
    """`main`, while the others go on. The first failure of any of them is raised; in the end nothing goes on."""
    first = asyncio.ensure_future(main)
    waiting = {first, *map(asyncio.ensure_future, others)}
    everything = tuple(waiting)
    try:
        while not first.done():
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
    finally:
        for each in everything:
            each.cancel()
        await asyncio.gather(*everything, return_exceptions=True)
