"""Forty processes with keys over TLS, in three levels, each where it was granted to live, a third of them with content
filters; delegates are killed while events are published: the audit says that nobody who lives misses anything, and
lists what was only carried apart."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.test_lossless_processes import now_s, until
from gossamer.cli.config import toml
from gossamer.cli.demo_network import NAME, DemoNetwork, together
from gossamer.cli.demo_plan import Part
from gossamer.cli.demo_story import GRACE_S
from gossamer.live.clients.client import Client, Reader
from gossamer.live.keys.auditing import AuditKey, keys_of_files
from gossamer.live.keys.network import Network
from gossamer.live.reading.deliveries import Delivery
from gossamer.protocols.hpmcast.addresses import address_of, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BRANCHING = (4, 3, 4)
TOPIC = ".news.soccer"
PARTS = [Part(f"node-{number:02}", ".news") for number in range(40)]
READING = PARTS[::3]
"Everything, for their spools: the audit knows what they should have."
FILTERING = PARTS[1::3]
"By a client each, some of it: the clients count, and so does the audit, which opens what publishers sealed for it."
KILLED = [PARTS[number] for number in (0, 12, 14, 24, 26, 36)]
"Delegates of every subsystem of the topmost level; of two of them, two of three."
PUBLISHING = [PARTS[number] for number in (4, 17, 29, 39)]
EVENTS = 15
"Of each publisher, each time."
PATIENCE_S = 120.0


def minute_of(part: Part) -> int:
    """From when on a filtering reader wants to know."""
    return 6 * FILTERING.index(part) % 90


class HierarchyProcesses(DemoNetwork):
    """Nodes of a demo, with other interests and another spread."""

    def _settings(self, part: Part, folder: Path) -> str:
        tables = super()._settings(part, folder).splitlines()
        lines = [line for line in tables if part in READING or not line.startswith("subscribe")]
        told = {"spread": "hpmcast", "community": ".news", "hpmcast.branching": BRANCHING}
        return "\n".join([*(f"{name} = {toml(value)}" for name, value in told.items()), *lines, ""])

    def make_keys(self) -> None:  # type: ignore[override]
        keys = Network.init(self.folder / "keys", name=NAME)
        keys.make_audit_key()
        for number, part in enumerate(PARTS):
            keys.grant(part.name, [".news"], [".news"], address=written(address_of(number, BRANCHING)))
            keys.grant(f"client-of-{part.name}", [".news"], [".news"])

    def client(self, part: Part) -> Client:
        keys, address = self.keys_of(f"client-of-{part.name}"), self.running[part.name].address
        return Client(address, keys=keys, network=NAME, patience_s=PATIENCE_S)

    async def settled(self) -> bool:
        """Whether everybody has a place, and was told of as many others as there are."""
        health = await self.health()
        ok = all(each.get("status") == "ok" for each in health.values())
        return ok and await self.total("gossamer_hierarchy_nodes") == len(self.running) ** 2

    async def publish(self, part: Part, first: int) -> None:
        async with self.client(part) as client:
            for number in range(first, first + EVENTS):
                minute = number * 7 % 90
                await client.publish(TOPIC, f"{minute} {part.name} {number}", attributes={"minute": minute})

    async def publish_all(self, first: int) -> int:
        await together(self.publish(part, first) for part in PUBLISHING)
        return EVENTS * len(PUBLISHING)

    async def at_rest(self) -> None:
        since_s = now_s()

        async def over() -> bool:
            return now_s() > since_s + GRACE_S and await self.total("gossamer_spool_pending") == 0

        await until(over)


async def read(reader: Reader, found: list[bytes]) -> None:
    async for item in reader:
        if isinstance(item, Delivery):
            found.append(item.payload)


def due(part: Part, numbers: Sequence[int]) -> list[bytes]:
    """What the filter of a reader lets through."""
    return sorted(
        f"{number * 7 % 90} {publisher.name} {number}".encode()
        for publisher in PUBLISHING
        for number in numbers
        if number * 7 % 90 >= minute_of(part)
    )


@pytest.mark.slow
@pytest.mark.spark
def test_processes_in_three_levels_get_what_their_filters_match_also_while_delegates_are_killed(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gossamer.pipeline.audit import audit_folder

    for name in [name for name in os.environ if name.startswith("GOSSAMER_")]:
        monkeypatch.delenv(name)
    network = HierarchyProcesses(tmp_path)
    found: dict[Part, list[bytes]] = {part: [] for part in FILTERING}
    survivors = [part for part in READING if part not in KILLED]

    async def story() -> tuple[int, int]:
        async with network, AsyncExitStack() as closing:
            network.make_keys()
            await network.start_all(PARTS, PARTS[:2], lambda: None)
            tasks = []
            for part in FILTERING:
                client = await closing.enter_async_context(network.client(part))
                reader = await closing.enter_async_context(
                    client.subscribe(TOPIC, where=f"minute >= {minute_of(part)}")
                )
                tasks.append(asyncio.create_task(read(reader, found[part])))
            await until(network.settled)
            await network.at_rest()
            published = await network.publish_all(0)
            await network.at_rest()
            await network.kill(KILLED)
            published += await network.publish_all(EVENTS)  # to views that still name the dead
            await until(network.settled)
            published += await network.publish_all(2 * EVENTS)
            numbers = range(3 * EVENTS)

            async def all_here() -> bool:
                filtered = all(sorted(found[part]) == due(part, numbers) for part in FILTERING)
                whole = published * len(survivors) + sum(map(len, found.values()))
                return filtered and await network.delivered() >= whole

            await until(all_here)
            await network.at_rest()
            relayed = await network.total("gossamer_relays_total")
            assert await network.total("gossamer_parasites_total") == 0
            for task in tasks:
                task.cancel()
            await closing.pop_all().aclose()
            assert await network.leave(lambda gone: None) == []
        return published, relayed

    assert not {*KILLED} & {*FILTERING, *PUBLISHING}
    events, relayed = asyncio.run(story())
    key = AuditKey.read(network.folder / "keys" / "audit.key")
    verdict = audit_folder(
        spark, tmp_path / "traces", tmp_path / "audit", unlock=lambda heads: keys_of_files([key], heads)
    )
    print(
        f"{verdict.events} events, {verdict.delivered} of {verdict.expected} deliveries, {verdict.relays} relays, "
        f"{verdict.recovered} recovered, {verdict.messages} messages"
    )
    assert verdict.holds
    assert (verdict.nodes, verdict.silenced, verdict.events) == (len(PARTS), len(KILLED), events)
    assert verdict.expected >= events * len(survivors) + sum(map(len, found.values()))
    assert (verdict.unmatched, verdict.untold, verdict.locked, verdict.damaged) == (0, 0, 0, 0)
    assert (verdict.delivered, verdict.missing) == (verdict.expected, 0)
    assert (verdict.parasites, verdict.strays, verdict.duplicates) == (0, 0, 0)
    assert verdict.relays >= relayed > 0
