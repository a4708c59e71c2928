"""Live networks, journaled: every step of every node is replayed by a fresh machine, and comes to the same."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.core.errors import Misuse
from gossamer.core.events import Event
from gossamer.core.machine import Given, Publish
from gossamer.core.publications import Publications
from gossamer.core.stack import Stack
from gossamer.live.config.config import Config
from gossamer.live.config.tables import HierarchyConfig, SpoolConfig, Timeouts, TraceConfig
from gossamer.live.keys.network import Network as Keys
from gossamer.live.node import Node
from gossamer.live.reading.inbox import Inbox
from gossamer.live.running.reloading import take_over
from gossamer.protocols.camcast.params import Params
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.sim.replay import Replayed, find_lives, replay
from gossamer.testing import Network
from live.watching import PATIENCE_S

DRAWN = Params(
    electors=100.0,
    targets=4.0,
    links=4,
    links_low=3,
    keep_every_us=100_000,
    probe_patience_us=50_000,
    search_every_us=50_000,
)
"Everybody is told, but by draws; much is looked after in little time."
LIVELY = ScampParams(
    patience_us=50_000,
    first_lease_us=200_000,
    lease_us=500_000,
    beat_every_us=50_000,
    isolated_us=400_000,
    size_every_us=20_000,
    epoch_us=100_000,
)
SHARED = {
    "camcast": DRAWN,
    "topics": {".soccer": replace(DRAWN, electors=99.0)},
    "scamp": LIVELY,
    "timeouts": Timeouts(leave_s=0.5),
    "hierarchy": HierarchyConfig(parents={".soccer.italy": [".italy"]}),  # type: ignore[list-item]
}
TOPICS = {"a": ".soccer.italy", "b": ".soccer.italy", "c": ".soccer", "d": ".italy", "e": "."}


def journaled(folder: Path) -> TraceConfig:
    return TraceConfig(folder=folder, level="journal")


def all_replayed(folder: Path) -> list[Replayed]:
    lives, skipped = find_lives([folder])
    assert skipped == []
    told = [replay(life) for life in lives]
    assert [each.skipped for each in told if each.skipped] == []
    return told


class Stage:
    """Nodes and their readers."""

    def __init__(self, make: Callable[[str], Awaitable[Node]]) -> None:
        self.make = make
        self.nodes: dict[str, Node] = {}
        self.inboxes: dict[str, Inbox] = {}
        self.draw = random.Random(5)
        self.published = 0

    async def start(self, name: str) -> None:
        self.nodes[name] = await self.make(name)
        if topic := TOPICS.get(name):
            self.inboxes[name] = await self.nodes[name].subscribe(topic).__aenter__()
            assert await self.nodes[name].joined(topic, PATIENCE_S)

    async def publish(self, name: str, topic: str, count: int) -> None:
        """Publishes, and lets members take it; who gets it when is not what is tried here."""
        for _event in range(count):
            self.published += 1
            payload = self.draw.randbytes(self.draw.randrange(200))
            attributes = {"n": self.published, "share": 0.5, "last": True, "word": "über"}
            await self.nodes[name].publish(topic, payload, attributes=attributes)
        await self.nodes[name].handed_over(0.3)

    async def unsubscribe(self, name: str) -> None:
        await self.inboxes.pop(name).__aexit__(None, None, None)

    async def lone_readers_leave(self) -> None:
        for name in tuple(self.inboxes):
            await self.unsubscribe(name)


def test_a_network_replays_without_a_divergence_whatever_happens_to_it(tmp_path: Path) -> None:
    """Joins, publications, a crash, a return, an unsubscription, other parameters in between, a partition."""
    traces = tmp_path / "traces"

    async def scenario() -> None:
        async with Network() as network:

            async def make(name: str) -> Node:
                spool = SpoolConfig(folder=tmp_path / name)
                return await network.node(name, trace=journaled(traces), spool=spool, **SHARED)

            stage = Stage(make)
            for name in TOPICS:
                await stage.start(name)
            await stage.publish("a", ".soccer.italy", 40)
            await stage.publish("b", ".soccer.italy", 40)
            del stage.inboxes["b"]
            await network.crash("b")
            await stage.publish("a", ".soccer.italy", 20)
            await stage.start("b")
            await stage.publish("b", ".soccer.italy", 20)
            await stage.unsubscribe("d")
            reload(stage.nodes["c"])
            await stage.publish("a", ".soccer.italy", 40)
            network.split(["a", "b"], ["c", "d", "e"])
            await stage.nodes["a"].publish(".soccer.italy", b"into the void")
            network.heal()
            await stage.publish("b", ".soccer.italy", 20)
            await stage.lone_readers_leave()

    asyncio.run(scenario())
    told = all_replayed(traces)
    assert [each.name for each in told] == ["a", "b", "b", "c", "d", "e"]
    assert [(each.name, each.first) for each in told if each.divergences or each.raised] == []
    assert sum(each.steps for each in told) > 1500


def reload(node: Node) -> None:
    """Other parameters and another subscription, one of them before the other is heard of."""
    camcast = replace(DRAWN, small=32, keep_every_us=70_000)
    scamp = replace(LIVELY, beat_every_us=40_000)
    take_over(node, replace(node.config, camcast=camcast, scamp=scamp, subscribe=(".tennis",)))


def test_a_network_with_keys_over_tcp_replays_and_its_journals_hold_no_secret(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    keys = Keys.init(tmp_path / "net")
    for name in (*TOPICS, "outside"):
        keys.grant(name, publish=["."], subscribe=[] if name == "outside" else ["."])
    nodes: list[Node] = []

    async def make(name: str) -> Node:
        seeds = tuple(node.address for node in nodes[:1])
        mine = keys.folder_of(name)
        node = Node(Config(bind="127.0.0.1:0", seeds=seeds, keys=mine, trace=journaled(traces), **SHARED))  # type: ignore[arg-type]
        await node.start()
        nodes.append(node)
        return node

    async def scenario() -> None:
        stage = Stage(make)
        try:
            for name in (*TOPICS, "outside"):
                await stage.start(name)
            await stage.publish("a", ".soccer.italy", 30)
            await stage.publish("outside", ".soccer.italy", 30)
            await stage.lone_readers_leave()
        finally:
            await asyncio.gather(*(node.close() for node in nodes))

    asyncio.run(scenario())
    secret = nodes[0].trust._papers.secret  # type: ignore[attr-defined]
    told = all_replayed(traces)
    assert len(secret) >= 16
    assert all(secret not in path.read_bytes() for path in traces.iterdir())
    assert sorted(each.name for each in told) == [*TOPICS, "outside"]
    assert [(each.name, each.first) for each in told if each.divergences or each.raised] == []
    assert sum(each.steps for each in told) > 500


def test_a_machine_that_asks_for_chance_outside_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Publications.publish

    def impure(self: Publications, events: Sequence[Event], join: bool) -> None:
        real(self, events, join)
        self.out.note("reject", detail=str(random.random()))

    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", trace=journaled(tmp_path), timeouts=SHARED["timeouts"])
            await node.publish(".a", b"x")

    monkeypatch.setattr(Publications, "publish", impure)
    asyncio.run(scenario())
    (told,) = all_replayed(tmp_path)
    assert told.divergences == 1
    assert told.first is not None
    assert isinstance(told.first.given, Publish)


def test_a_step_that_raises_leaves_its_cause_on_disk_before_anything_else_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Stack.step

    def fails(self: Stack, given: Given, now_us: int) -> object:
        if isinstance(given, Publish):
            raise ZeroDivisionError("once")
        return real(self, given, now_us)

    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", trace=journaled(tmp_path), timeouts=SHARED["timeouts"])
            event = Publish(None)  # type: ignore[arg-type]
            with pytest.raises(ZeroDivisionError):
                node.station.driver.feed(event)
            (path,) = tmp_path.glob("*.journaling")
            assert path.read_bytes().endswith(b"ZeroDivisionError: once")

    monkeypatch.setattr(Stack, "step", fails)
    asyncio.run(scenario())


# -- levels -----------------------------------------------------------------------------------------------------------


def test_a_journal_does_not_begin_in_the_middle_of_a_life_but_may_end_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with Network() as network:
            late = await network.node("late", trace=TraceConfig(folder=tmp_path, level="full"))
            early = await network.node("early", trace=journaled(tmp_path))
            with caplog.at_level(logging.WARNING, "gossamer.node"):
                take_over(late, replace(late.config, trace=journaled(tmp_path)))
            take_over(early, replace(early.config, trace=TraceConfig(folder=tmp_path, level="deliveries")))
            early.station.scribe.settled()
            assert [path.name.partition("-")[0] for path in tmp_path.glob("*.journal")] == ["early"]
            await early.publish(".a", b"x")

    asyncio.run(scenario())
    assert "late: a journal begins with a node's life: restart it to get one" in caplog.messages
    (told,) = all_replayed(tmp_path)
    assert (told.name, told.divergences) == ("early", 0)
    assert told.steps > 0


def test_a_folder_that_cannot_be_made_is_named_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    async def scenario() -> None:
        async with Network() as network:
            with pytest.raises(Misuse, match="cannot make the folder for traces"):
                await network.node("a", trace=journaled(tmp_path / "file" / "traces"))

    asyncio.run(scenario())
