"""Nothing fails silently: `/healthz`, metrics and log know."""

import asyncio
import json
import logging
import os
import queue
import resource
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import gossamer
from cli.processes import HERE, Daemon, Stage
from cli.processes import gossamer as command
from gossamer.live.links.transports import Channel, Listener
from gossamer.live.links.transports.memory import Memory, MemoryNetwork
from gossamer.testing import Network
from promises import names, waiting
from promises.nodes import disk, full_disk

TOPIC = ".orders"


@contextmanager
def full_disk_of(daemon: Daemon) -> Iterator[None]:
    """No file of that process grows."""
    before, most = resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (0, most))
    try:
        yield
    finally:
        resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (before, most))


def test_healthz_says_no_while_the_disk_is_full_and_yes_again_afterwards(stage: Stage, tmp_path: Path) -> None:
    one = stage.daemon("--name", "one", "--bind", HERE, "--subscribe", TOPIC, "--spool", tmp_path)
    one.publish(TOPIC, "0")
    while one.page("/healthz")[0] != 200:
        pass  # it looks for others first
    with full_disk_of(one):
        assert command("publish", TOPIC, "refused", "--node", one.address).code == 1
        assert one.page("/healthz")[0] == 503
    one.publish(TOPIC, "1")
    assert one.page("/healthz")[0] == 200


def test_a_full_disk_is_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", subscribe=[TOPIC], timeouts={"leave_s": 0.5})
            bert = await network.node("bert", subscribe=[TOPIC], **disk(tmp_path / "bert"))
            assert await bert.joined(TOPIC)
            with full_disk():
                for number in range(5):
                    await anna.publish(TOPIC, f"{number}")
                await asyncio.sleep(0.3)

    with caplog.at_level(logging.WARNING, "gossamer"):
        asyncio.run(scenario())
    assert any("spool" in each.getMessage() for each in caplog.records)


class Broken(Memory):
    """A transport that fails in a way nobody expects."""

    async def dial(self, address: str, answer: Callable[[Channel], Listener]) -> Channel:
        raise ZeroDivisionError("nobody expects this")


def test_an_error_that_nobody_expects_is_logged_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        memory = MemoryNetwork()
        given = {"name": "anna", "bind": "memory:0", "seeds": ["memory:elsewhere"]}
        async with gossamer.Node(
            **given, transport=lambda trust, handshake_s: Broken(memory), **disk(tmp_path)
        ) as node:
            await node.publish(TOPIC, "0")  # it goes on
            page = node.page().decode()
            assert [line for line in page.splitlines() if line.startswith(names.ERRORS) and not line.endswith(" 0")]
            assert "nobody expects this" in node.health().about["why"]

    with caplog.at_level(logging.WARNING, "gossamer"):
        asyncio.run(scenario())
    assert "nobody expects this" in caplog.text


def test_a_terminal_is_never_sent_what_would_steer_it(stage: Stage, tmp_path: Path) -> None:
    daemon = stage.daemon("--name", "one", "--bind", HERE, "--subscribe", ".", "--spool", tmp_path)
    topic = ".a\u202eb"

    async def publish() -> None:
        async with gossamer.Client(daemon.address) as client:
            await client.publish(".a", "plain")
            try:
                await client.publish(topic, "x")
            except gossamer.errors.Misuse:
                await client.publish(".a", "refused, which is as good")

    asyncio.run(publish())
    ran = command("subscribe", ".", "--from-start", "--count", 2, "--timeout", 20, "--node", daemon.address)
    assert ran.code == 0, ran.stderr
    assert [each for each in ran.stdout if unicodedata.category(each) in ("Cc", "Cf") and each != "\n"] == []
    ran = command("subscribe", ".", "--from-start", "--count", 2, "--timeout", 20, "--node", daemon.address, "--json")
    assert [json.loads(line)["topic"].isprintable() for line in ran.stdout.splitlines()] == [True, True]


@pytest.mark.slow
def test_a_lack_of_file_descriptors_is_in_the_log(stage: Stage, tmp_path: Path) -> None:
    one = stage.daemon("--name", "one", "--bind", HERE, "--subscribe", TOPIC, "--spool", tmp_path / "one")
    pid = one.process.pid
    _, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (len(os.listdir(f"/proc/{pid}/fd")), most))
    stage.daemon("--name", "two", "--bind", HERE, "--seed", one.address, "--spool", tmp_path / "two")
    said: list[str] = []
    with suppress(queue.Empty):
        while not any("descriptor" in line or "open files" in line for line in said):
            said.append(one.err.get(timeout=waiting.SHOWN_S))
    assert any("descriptor" in line or "open files" in line for line in said), said
