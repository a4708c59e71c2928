"""Honest traffic that goes on while something happens, and a count of what arrived where, how often."""

import asyncio
from collections import Counter
from types import TracebackType

from gossamer.live.node import Node
from gossamer.live.reading.deliveries import Delivery
from live.hostile.arena import TOPIC, Arena, until

EVERY_S = 0.004


class Traffic:
    """These nodes publish all the time, and read what all of them publish."""

    def __init__(self, arena: Arena, *names: str) -> None:
        self.arena, self.names = arena, names
        self.published: Counter[bytes] = Counter()
        self.got: dict[str, Counter[bytes]] = {name: Counter() for name in names}

    async def __aenter__(self) -> "Traffic":
        await self.arena.is_unharmed()
        self.readers = [asyncio.create_task(self.read(name)) for name in self.names]
        self.writers = {name: self.writer(name) for name in self.names}
        await self.goes_on()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        await ended(*self.writers.values(), *self.readers)

    def writer(self, name: str) -> asyncio.Task[None]:
        return asyncio.create_task(self.write(name, self.arena.nodes[name]))

    async def write(self, name: str, node: Node) -> None:
        while True:
            payload = f"{name} {self.published.total()}".encode()
            await node.publish(f"{TOPIC}.italy", payload)
            self.published[payload] += 1
            await asyncio.sleep(EVERY_S)

    async def read(self, name: str) -> None:
        async for item in self.arena.inboxes[name]:
            if isinstance(item, Delivery):  # a gap only tells that something is late
                self.got[name][item.payload] += 1

    async def goes_on(self, events: int = 20) -> None:
        """Waits until so many more events were published."""
        target = self.published.total() + events
        await until(lambda: self.published.total() >= target)

    async def pause(self, name: str) -> None:
        """One node holds its pen, until all it published has arrived; `resume` lets it go on."""
        await ended(self.writers[name])
        await self.arrived({payload for payload in self.published if payload.decode().split()[0] == name})

    def resume(self, name: str) -> None:
        self.writers[name] = self.writer(name)

    async def arrived(self, payloads: set[bytes]) -> None:
        await until(lambda: all(payloads <= got.keys() for got in self.got.values()))

    async def nothing_is_lost(self) -> None:
        """Stops publishing; every event must have been delivered everywhere, once."""
        await self.goes_on()
        await ended(*self.writers.values())
        ours = {payload for payload in self.published if payload.decode().split()[0] in self.names}
        await self.arrived(ours)
        for name, got in self.got.items():
            assert all(got[payload] == 1 for payload in ours), name


async def ended(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
