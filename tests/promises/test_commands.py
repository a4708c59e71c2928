"""What a person does at a terminal: list, show and delete subscriptions, share one, wait until an event is safe."""

import asyncio
import json
import queue
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from cli.processes import HERE, Daemon, Running, Stage, gossamer
from gossamer import Client
from promises import waiting

TOPIC = ".orders"


def daemon(stage: Stage, folder: Path, *arguments: object) -> Daemon:
    return stage.daemon("--name", folder.name, "--bind", HERE, "--spool", folder, *arguments)


def test_subscriptions_are_listed_shown_and_deleted(stage: Stage, tmp_path: Path) -> None:
    one = daemon(stage, tmp_path / "one", "--subscribe", TOPIC)
    at = ("--node", one.address)

    def read(count: int) -> list[str]:
        ran = gossamer("subscribe", TOPIC, "--name", "billing", "--count", count, "--timeout", 20, "--json", *at)
        return [json.loads(line)["payload"] for line in ran.stdout.splitlines()]

    listed = gossamer("subscriptions", "--json", *at)
    assert (listed.code, json.loads(listed.stdout)) == (0, [])
    gossamer("subscribe", TOPIC, "--name", "billing", "--timeout", 0.1, *at)
    for number in range(5):
        one.publish(TOPIC, f"{number}")
    assert read(2) == ["0", "1"]
    (shown,) = json.loads(gossamer("subscriptions", "--json", *at).stdout)
    assert (shown["owner"], shown["name"], shown["topic"]) == ("local", "billing", TOPIC)
    assert (shown["behind"], shown["readers"]) == (3, 0)
    assert {"filter", "position", "since_us"} <= shown.keys()
    assert "billing" in gossamer("subscriptions", *at).stdout
    assert json.loads(gossamer("subscriptions", "show", "billing", "--json", *at).stdout)["behind"] == 3
    assert gossamer("subscriptions", "delete", "billing", *at).code == 0
    assert json.loads(gossamer("subscriptions", "--json", *at).stdout) == []
    assert gossamer("subscriptions", "show", "billing", *at).code == 2


def test_two_terminals_with_one_name_share_the_work(stage: Stage, tmp_path: Path) -> None:
    one = daemon(stage, tmp_path / "one", "--subscribe", TOPIC)
    reading = ("subscribe", TOPIC, "--name", "billing", "--json", "--node", one.address)
    terminals = [stage.run(*reading), stage.run(*reading)]
    while "\ngossamer_clients 2\n" not in one.page("/metrics")[1]:
        pass  # the page takes its time

    async def publish() -> None:
        async with Client(one.address) as client:
            await asyncio.gather(*(client.publish(TOPIC, f"{number}") for number in range(20)))

    asyncio.run(publish())
    got = printed(terminals, 20)
    assert sorted(got, key=int) == [f"{number}" for number in range(20)]


def printed(terminals: list[Running], count: int) -> list[str]:
    """What all of them print until there are so many, and a moment longer."""
    found: list[str] = []
    deadline = time.monotonic() + waiting.PATIENCE_S
    while time.monotonic() < deadline:
        for each in terminals:
            with suppress(queue.Empty):
                found.append(json.loads(each.out.get(timeout=0.05))["payload"])
        if len(found) >= count:
            deadline = min(deadline, time.monotonic() + waiting.QUIET_S)
    return found


@pytest.mark.slow
def test_a_client_that_answers_nothing_gives_its_place_up(stage: Stage, tmp_path: Path) -> None:
    one = daemon(stage, tmp_path / "one", "--subscribe", TOPIC)
    silent = stage.run("subscribe", TOPIC, "--node", one.address)
    while "\ngossamer_clients 1\n" not in one.page("/metrics")[1]:
        pass
    silent.tell(signal.SIGSTOP)
    deadline = time.monotonic() + waiting.PATIENCE_S
    while "\ngossamer_clients 0\n" not in one.page("/metrics")[1]:
        assert time.monotonic() < deadline


def test_publish_waits_until_members_have_it_on_disk_and_says_how_many(stage: Stage, tmp_path: Path) -> None:
    one = daemon(stage, tmp_path / "one")
    waits = ("publish", TOPIC, "first", "--wait", "--timeout", 1, "--node", one.address)
    alone = gossamer(*waits)
    assert alone.code == 1, "nobody is there"
    two = daemon(stage, tmp_path / "two", "--seed", one.address, "--subscribe", TOPIC)
    ran = gossamer("publish", TOPIC, "second", "--wait", "--timeout", 30, "--node", one.address)
    assert ran.code == 0, ran.stderr
    assert "1" in ran.stdout + ran.stderr, "it says how many have it"
    two.end(signal.SIGKILL)
    again = daemon(stage, tmp_path / "two", "--seed", one.address, "--subscribe", TOPIC)
    assert sorted(again.payloads(TOPIC, 2)) == ["first", "second"], "what nobody took stayed in the outbox"
