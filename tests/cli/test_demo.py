"""The demo: its plan, its processes, and that none of them outlives it."""

import asyncio
import csv
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from cli.processes import Running, Stage, gossamer, staged
from gossamer.cli import demo_network, demo_story
from gossamer.cli.demo import stopped_like_interrupted
from gossamer.cli.demo_network import DemoNetwork
from gossamer.cli.demo_plan import FULL, QUICK, TOPIC, Part, draw_plan
from gossamer.core.errors import TransportDown

if TYPE_CHECKING:
    from asyncio.subprocess import Process

    from pyspark.sql import SparkSession

PATIENCE_S = 60.0


# The plan


@pytest.mark.parametrize("seed", range(20))
def test_a_fifth_is_killed_but_no_level_and_no_seed_among_them_a_publisher_that_returns(seed: int) -> None:
    plan = draw_plan(FULL, 4, 400, 24.0, seed)
    assert [plan.on(level.topic) for level in FULL] == [20, 7, 3]
    assert len(set(plan.killed)) == 6
    assert not set(plan.killed) & set(plan.seeds)
    assert plan.returning in set(plan.killed) & set(plan.publishers)
    assert len(set(plan.killed) & set(plan.publishers)) == 2  # one returns, one does not
    assert {part.topic for part in plan.publishers} == {TOPIC}
    for level in FULL:
        assert any(part not in plan.killed for part in plan.nodes if part.topic == level.topic)
    assert len({part.name for part in plan.everybody}) == 32


def test_the_same_seed_is_the_same_plan() -> None:
    drawn = [draw_plan(QUICK, 2, 40, 10.0, seed) for seed in (3, 3, 4, 5, 6)]
    assert drawn[0] == drawn[1]
    assert len({plan.killed for plan in drawn}) > 1


# The leash


def test_a_process_on_a_leash_ends_when_whoever_holds_it_lets_go() -> None:
    forever = (
        "import signal; from gossamer.cli.leashed import end_with_input\n"
        "end_with_input(); print(flush=True)\n"
        "while True: signal.pause()"
    )
    with subprocess.Popen([sys.executable, "-c", forever], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"\n"
        process.stdin.write(b"what is said makes no difference")
        process.stdin.flush()
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(PATIENCE_S) == -signal.SIGKILL


# Its processes


def test_a_node_that_does_not_start_is_told_with_its_own_words(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with DemoNetwork(tmp_path) as network:
            await network.start(Part("keyless", TOPIC))

    with pytest.raises(TransportDown, match=r"keyless did not start: gossamer: .*keys.*"):
        asyncio.run(scenario())


def test_a_node_that_ends_by_itself_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        part = Part("one", TOPIC)
        async with DemoNetwork(tmp_path) as network:
            network.make_keys([part], [])
            await network.start(part)
            assert (await network.health())["one"]["topics"] == 1
            assert await network.delivered() == 0
            network.running["one"].process.kill()
            await network.running["one"].process.wait()
            with pytest.raises(TransportDown, match=r"one ended by itself: .*one is up at "):
                await network.health()

    asyncio.run(scenario())


def test_who_does_not_leave_is_forced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_network, "LEAVE_S", 0.1)

    async def scenario() -> None:
        part = Part("one", TOPIC)
        async with DemoNetwork(tmp_path) as network:
            network.make_keys([part], [])
            await network.start(part)
            process = network.running["one"].process
            process.send_signal(signal.SIGSTOP)
            assert await network.leave(lambda gone: None) == ["one"]
            assert process.returncode == -signal.SIGKILL

    asyncio.run(scenario())


# Its course


SMALL = draw_plan(QUICK, 2, 30, 10.0, 1)
NOBODY = cast("Process", None)


class Scripted(DemoNetwork):
    """Answers as it was told to, one look after the other, and then as at the last."""

    def __init__(self, folder: Path, delivered: list[int], members: list[int]) -> None:
        super().__init__(folder)
        self.answers, self.members, self.looks = delivered, members, 0
        self.running = {part.name: demo_network.Running(part, NOBODY, "", "") for part in SMALL.nodes}

    async def deliveries(self) -> dict[str, int]:
        self.looks += 1
        slow = self.answers[min(self.looks, len(self.answers)) - 1]
        return {part.name: slow if part.name == "soccer-4" else 30 for part in SMALL.nodes}

    async def health(self) -> dict[str, dict[str, object]]:
        late = self.members[min(self.looks, len(self.members)) - 1]
        some = {"status": "ok", "members": 3, "above": 3}
        return {part.name: some | {"members": late} if part.name == "soccer-5" else some for part in SMALL.nodes}


@pytest.mark.parametrize(
    ("delivered", "members", "looks"),
    [([30], [3], 4), ([29] * 8 + [30], [3], 12), ([28, 30], [0] * 9 + [1], 12), ([30, 30, 30, 31], [3], 7)],
    ids=["calm", "behind", "apart", "late"],
)
def test_nobody_leaves_while_somebody_waits_for_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delivered: list[int], members: list[int], looks: int
) -> None:
    monkeypatch.setattr(demo_story, "LOOK_S", 0.0)
    network = Scripted(tmp_path, delivered, members)
    story = demo_story.Story(SMALL, network, Blind())
    story.accepted, story.not_owed = 30, dict.fromkeys(network.running, 0)
    asyncio.run(story.settle())
    assert network.looks == looks


class Blind:
    """Looks on and tells nobody."""

    def begin(self, says: str, total: int) -> None: ...

    def count(self, done: int, beside: str = "") -> None: ...

    def tell(self, says: str) -> None: ...


# The end of it, early or not


@pytest.fixture
def stage() -> Iterator[Stage]:
    with staged() as stage:
        yield stage


def pids_of(folder: Path) -> list[int]:
    """The processes that have a folder in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if any(word.startswith(bytes(folder)) for word in words):
            found.append(int(path.parent.name))
    return found


def wait_for_end(process: int) -> bool:
    watched = select.poll()
    watched.register(process, select.POLLIN)
    return bool(watched.poll(PATIENCE_S * 1000))


def read_until(demo: Running, words: str) -> None:
    while words not in (line := demo.out.get(timeout=PATIENCE_S)):
        assert line, "".join(demo.err.queue)


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are looked for in /proc")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_no_process_is_left_behind_however_the_demo_ends(stage: Stage, tmp_path: Path, number: int, code: int) -> None:
    pytest.importorskip("pyspark")
    demo = stage.run("demo", "--quick", "--out", tmp_path / "out")
    read_until(demo, "9 processes started")
    nodes = [os.pidfd_open(pid) for pid in pids_of(tmp_path.resolve() / "out" / "network")]
    assert len(nodes) == 9
    assert demo.end(number) == code
    for node in nodes:
        assert wait_for_end(node)
        os.close(node)
    assert not pids_of(tmp_path.resolve())
    complaints = "".join(demo.err.queue)
    assert complaints == ("gossamer: stopped\n" if code == 130 else "")


@pytest.mark.spark
def test_the_demo_kills_some_of_a_real_network_and_proves_that_nobody_else_missed_anything(
    spark: "SparkSession", tmp_path: Path
) -> None:
    ran = gossamer("demo", "--quick", "--events", 30, "--out", tmp_path)
    assert (ran.code, ran.stderr) == (0, ""), f"{ran.stdout}\n{(tmp_path / 'missing.csv').read_text()}"
    told = json.loads((tmp_path / "network" / "demo.json").read_bytes())
    plan, happened = told["plan"], [each["what"] for each in told["happened"]]
    assert happened[3] == "every link loses 10 % of what it carries, and has from the start"
    assert happened[4].startswith("2 killed with SIGKILL: ")
    assert happened[-1] == "10 left in good order"
    verdict = json.loads((tmp_path / "verdict.json").read_bytes())
    assert (verdict["events"], verdict["nodes"], verdict["lives"], verdict["silenced"]) == (30, 11, 12, 2)
    assert verdict["holds"]
    assert verdict["missing"] == verdict["parasites"] == verdict["duplicates"] == 0
    assert verdict["expected"] == verdict["delivered"] > 100
    with (tmp_path / "lives.csv").open(newline="") as file:
        lives = list(csv.DictReader(file))
    silent = sorted(life["name"] for life in lives if life["ended"] == "silent")
    assert silent == sorted(part["name"] for part in plan["killed"])
    assert [life["name"] for life in lives if life["returned"] == "true"] == [plan["returning"]["name"]]
    assert "✓ all " in ran.stdout
    assert "✓ no parasites" in ran.stdout
    assert (tmp_path / "report.html").read_text().lower().startswith("<!doctype html>")


def test_where_ctrl_c_is_ignored_sigterm_is_not() -> None:
    """As in the background of a shell's script."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt), stopped_like_interrupted():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_folder_that_is_not_a_demos_is_left_alone(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    (tmp_path / "network").mkdir()
    (tmp_path / "network" / "mine").touch()
    refused = gossamer("demo", "--out", tmp_path)
    assert (refused.code, refused.stdout) == (2, "")
    assert "network is not of a demo's making: give another --out" in refused.stderr
    assert (tmp_path / "network" / "mine").exists()
