"""Twenty processes with keys over TLS, ten to seventy unrelated topics each, a fifth of them killed: the audit says
that everybody got what it wants, and nobody anything else."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.test_lossless_processes import now_s, until
from gossamer.cli.config import toml
from gossamer.cli.demo_network import NAME, DemoNetwork, together
from gossamer.cli.demo_plan import Part
from gossamer.cli.demo_story import GRACE_S
from gossamer.core.topics import Topic
from gossamer.live.clients.client import Client
from gossamer.live.keys.network import Network
from protocols.spidercast.towns import unrelated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTS = [Part(f"node-{number:02}", ".") for number in range(20)]
KILLED = PARTS[2::5]
TOPICS = {part: unrelated(120)(number) for number, part in enumerate(PARTS)}
PATIENCE_S = 120.0


class Overlay(DemoNetwork):
    """Nodes of a demo, with other topics and another spread."""

    def _settings(self, part: Part, folder: Path) -> str:
        tables = super()._settings(part, folder).splitlines()
        lines = [line for line in tables if not line.startswith("subscribe")]
        told = {"subscribe": tuple(TOPICS[part]), "spread": "spidercast"}
        return "\n".join([*(f"{name} = {toml(value)}" for name, value in told.items()), *lines, ""])

    def make_keys(self) -> None:  # type: ignore[override]
        keys = Network.init(self.folder / "keys", name=NAME)
        for part in PARTS:
            keys.grant(part.name, TOPICS[part], TOPICS[part])
            keys.grant(f"client-of-{part.name}", TOPICS[part])

    async def settled(self) -> bool:
        """Whether everybody knows all others that run, nobody else, and has a place in all its topics."""
        health = await self.health()
        ok = all(each.get("status") == "ok" for each in health.values())
        return ok and await self.total("gossamer_view_nodes") == len(self.running) * (len(self.running) - 1)

    async def publish(self, part: Part, topics: Sequence[Topic]) -> None:
        keys, address = self.keys_of(f"client-of-{part.name}"), self.running[part.name].address
        async with Client(address, keys=keys, network=NAME, patience_s=PATIENCE_S) as client:
            for topic in topics:
                await client.publish(topic, f"{part.name} on {topic}")

    async def publish_everywhere(self) -> int:
        """Some nodes publish on each of their topics."""
        publishing = [part for part in PARTS if part.name in self.running][::3]
        await together(self.publish(part, TOPICS[part]) for part in publishing)
        return sum(len(TOPICS[part]) for part in publishing)

    async def at_rest(self, deliveries: int) -> None:
        """Until so much was delivered, and nothing more for as long as the audit would doubt."""

        async def enough() -> bool:
            return await self.delivered() >= deliveries and await self.total("gossamer_spool_pending") == 0

        await until(enough)
        await self.quiet()

    async def quiet(self) -> None:
        since_s = now_s()

        async def over() -> bool:
            return now_s() > since_s + GRACE_S

        await until(over)


def owed(publishing: Sequence[Part], reading: Sequence[Part]) -> int:
    return sum(topic in TOPICS[reader] for part in publishing for topic in TOPICS[part] for reader in reading)


@pytest.mark.slow
@pytest.mark.spark
def test_processes_with_many_topics_get_what_they_want_and_nothing_else_also_after_a_fifth_was_killed(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gossamer.pipeline.audit import audit_folder

    for name in [name for name in os.environ if name.startswith("GOSSAMER_")]:
        monkeypatch.delenv(name)
    network = Overlay(tmp_path)

    async def story() -> int:
        async with network:
            network.make_keys()
            await network.start_all(PARTS, PARTS[:2], lambda: None)
            await until(network.settled)
            await network.quiet()
            count = await network.publish_everywhere()
            await network.at_rest(owed(PARTS[::3], PARTS))
            before = owed(PARTS[::3], [part for part in PARTS if part not in KILLED])
            await network.kill(KILLED)
            await until(network.settled)
            left = [part for part in PARTS if part not in KILLED]
            count += await network.publish_everywhere()
            await network.at_rest(before + owed(left[::3], left))
            assert await network.total("gossamer_parasites_total") == 0
            assert await network.leave(lambda gone: None) == []
        return count

    events = asyncio.run(story())
    verdict = audit_folder(spark, tmp_path / "traces", tmp_path / "audit")
    print(f"{verdict.events} events, {verdict.delivered} of {verdict.expected} deliveries, {verdict.messages} messages")
    assert verdict.holds
    assert (verdict.nodes, verdict.silenced, verdict.events) == (len(PARTS), len(KILLED), events)
    assert (verdict.delivered, verdict.missing) == (verdict.expected, 0)
    assert (verdict.parasites, verdict.strays, verdict.relays, verdict.duplicates) == (0, 0, 0, 0)
