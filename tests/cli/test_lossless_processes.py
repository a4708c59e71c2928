"""Thirty processes with keys over TLS, twenty below seven below three, nothing lost, nobody killed: the audit says who
got what is published at the bottom and in the middle."""

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import Struct
from msgspec.structs import astuple
from scipy.stats import binom, norm

from gossamer.cli.demo_network import NAME, DemoNetwork, together
from gossamer.cli.demo_plan import FULL, Part, draw_plan
from gossamer.cli.demo_story import GRACE_S
from gossamer.core.topics import Hierarchy
from gossamer.live.clients.client import Client
from gossamer.live.keys.network import Network
from gossamer.pipeline.results import read_table
from gossamer.protocols.camcast import theory
from gossamer.protocols.camcast.params import Params

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from gossamer.pipeline.audit_verdict import Verdict

PLAN = draw_plan(FULL, publishers=1, events=1000, seconds=0.0, seed=1)
BOTTOM, MIDDLE, TOP = (level.topic for level in FULL)
PUBLISHING = 4
"Nodes of a community that are published through, each by a client of its own."
PATIENCE_S = 120.0


def reads(part: Part, topic: str) -> bool:
    return Hierarchy().includes(part.topic, topic)


def publishing(topic: str) -> list[Part]:
    return [part for part in PLAN.nodes if part.topic == topic][:PUBLISHING]


class Lossless:
    """One run: all come, publish, fall silent and go."""

    def __init__(self, network: DemoNetwork, params: Params) -> None:
        self.network, self.params = network, params
        self.published: dict[str, str] = {}
        "The topic of each event, by its id as the audit writes it."
        self._changed_s = 0.0

    async def run(self, counts: Mapping[str, int]) -> None:
        async with self.network:
            self.make_keys()
            await self.network.start_all(PLAN.nodes, PLAN.seeds, lambda: None)
            self._changed_s = now_s()
            await until(self.settled)
            await together(
                self.publish(part, topic, count // PUBLISHING)
                for topic, count in counts.items()
                for part in publishing(topic)
            )
            self._changed_s = now_s()
            await until(self.at_rest)
            assert await self.network.total("gossamer_copies_dropped_total") == 0
            assert await self.network.leave(lambda gone: None) == []

    def make_keys(self) -> None:
        """Everybody may publish where it reads."""
        keys = Network.init(self.network.folder / "keys", name=NAME)
        for part in PLAN.nodes:
            keys.grant(part.name, [part.topic], [part.topic])
            keys.grant(f"client-of-{part.name}", [part.topic])

    async def settled(self) -> bool:
        """Whether each has counted its whole community, has as many ways up as it wants (or as there are), and is
        subscribed for so long that the audit holds it to everything."""
        health = await self.network.health()
        return now_s() > self._changed_s + GRACE_S and all(
            self.has_its_place(part, health[part.name]) for part in PLAN.nodes
        )

    def has_its_place(self, part: Part, health: dict[str, Any]) -> bool:
        ways = min(self.params.links, PLAN.on(part.topic.rpartition(".")[0]))
        return health.get("status") == "ok" and (health["counted"], health["above"]) == (PLAN.on(part.topic), ways)

    async def publish(self, part: Part, topic: str, count: int) -> None:
        keys = self.network.keys_of(f"client-of-{part.name}")
        address = self.network.running[part.name].address
        async with Client(address, keys=keys, network=NAME, patience_s=PATIENCE_S) as client:
            for number in range(count):
                event = await client.publish(topic, f"{part.name} {number}")
                self.published["-".join(map(str, astuple(event)))] = topic

    async def at_rest(self) -> bool:
        """Whether all publications are handed over and no copy is on its way, for as long as the audit would doubt.

        The receipts are counted before the sends, so that nothing can slip through between the two."""
        waiting = await self.network.total("gossamer_spool_pending")
        received = await self.network.total("gossamer_copies_received_total")
        sent = await self.network.total("gossamer_copies_sent_total")
        if waiting or received != sent:
            self._changed_s = now_s()
        return now_s() > self._changed_s + GRACE_S


def now_s() -> float:
    return asyncio.get_running_loop().time()


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await condition():
            await asyncio.sleep(0.2)


class Judged(Struct, frozen=True):
    """What was published, and what the audit says of it."""

    published: dict[str, str]
    verdict: "Verdict"
    tables: Path

    def table(self, name: str) -> list[dict[str, Any]]:
        return read_table(self.tables, name)

    def reached_nobody_in(self, community: str) -> set[str]:
        """Events that no member of a community got."""
        return {row["event"] for row in self.table("missing") if row["community"] == community and row["had"] == 0}


def perform(spark: "SparkSession", folder: Path, params: Params, counts: Mapping[str, int]) -> Judged:
    """The run, and what holds with any preset when nothing is lost: the audit knows every event and who should have
    it, nobody has one twice, and nobody received what it does not read."""
    from gossamer.pipeline.audit import audit_folder

    run = Lossless(DemoNetwork(folder), params)
    asyncio.run(run.run(counts))
    judged = Judged(run.published, audit_folder(spark, folder / "traces", folder / "audit"), folder / "audit")
    verdict = judged.verdict
    assert (verdict.nodes, verdict.lives, verdict.silenced) == (len(PLAN.nodes), len(PLAN.nodes), 0)
    assert (verdict.torn, verdict.skipped, verdict.lost_rows, verdict.gaps_told) == (0, 0, 0, 0)
    assert Counter(run.published.values()) == counts
    assert {row["event"]: row["topic"] for row in judged.table("events")} == run.published
    for row in judged.table("events"):
        assert row["expected"] == sum(reads(part, row["topic"]) for part in PLAN.nodes)
    owed = {part.name: sum(counts[topic] for topic in counts if reads(part, topic)) for part in PLAN.nodes}
    assert {row["name"]: row["expected"] for row in judged.table("per_node")} == owed
    assert (verdict.in_doubt, verdict.duplicates) == (0, 0)
    assert (verdict.parasites, verdict.strays, verdict.relays) == (0, 0, 0)
    return judged


@pytest.fixture(autouse=True)
def _nothing_said_around_us(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GOSSAMER_")]:
        monkeypatch.delenv(name)


@pytest.mark.slow
@pytest.mark.spark
def test_with_the_live_preset_every_process_gets_every_event_of_its_topics_and_nobody_else_a_byte(
    spark: "SparkSession", tmp_path: Path
) -> None:
    judged = perform(spark, tmp_path, Params.live(), {BOTTOM: PLAN.events, MIDDLE: 200})
    verdict = judged.verdict
    print(f"{verdict.events} events, {verdict.delivered} of {verdict.expected} deliveries, {verdict.messages} messages")
    assert verdict.holds
    assert (verdict.delivered, verdict.missing) == (verdict.expected, 0)
    assert all(row["delivered"] == row["expected"] for row in judged.table("per_node"))


def likely(of: int, chance: float) -> tuple[int, int]:
    """The counts that a binomial leaves as seldom as a normal variable leaves five deviations."""
    tail = norm.sf(5)
    return int(binom.ppf(tail, of, chance)), int(binom.isf(tail, of, chance))


@pytest.mark.slow
@pytest.mark.spark
def test_with_the_papers_preset_events_stay_below_as_often_as_the_binomial_says(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_CAMCAST__PRESET", "camcast")
    monkeypatch.setenv("GOSSAMER_RECOVERY__METHOD", "none")  # it would find those that stayed below
    monkeypatch.setenv(
        "GOSSAMER_TIMEOUTS__ACK_S", str(PATIENCE_S)
    )  # an event that is spread again has another chance to climb
    params, counts = Params.camcast(), {BOTTOM: PLAN.events, MIDDLE: 2000}
    judged = perform(spark, tmp_path, params, counts)
    below_middle, below_top = judged.reached_nobody_in(MIDDLE), judged.reached_nobody_in(TOP)
    assert below_middle <= below_top  # nothing climbs past a community
    assert {judged.published[event] for event in below_middle} == {BOTTOM}
    reached_middle = len(judged.published) - len(below_middle)
    for topic, found, of in (
        (BOTTOM, len(below_middle), counts[BOTTOM]),
        (MIDDLE, len(below_top - below_middle), reached_middle),
    ):
        size = PLAN.on(topic)
        chance = 1 - theory.climb_sent(size, params.electors, params.links, params.targets)
        least, most = likely(of, chance)
        print(f"stayed in {size}: {found} of {of}, {found / of:.2%} (theory {chance:.2%}: {least} to {most})")
        assert least > 0
        assert least <= found <= most
    assert not judged.verdict.holds
