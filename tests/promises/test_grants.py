"""The newest grant of a key alone counts; a grant keeps what is not mentioned."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import gossamer
from cli.processes import gossamer as command
from gossamer.core.errors import GossamerError
from gossamer.live.keys.network import Network as Authority
from promises.nodes import disk
from promises.waiting import nothing_more, numbers, read
from wall import Wall

TOPIC = ".orders"


def node(keys: Path, folder: Path, **settings: Any) -> gossamer.Node:
    given = {"keys": str(keys), "network": "cup", "bind": "127.0.0.1:0", "scamp": {"patience_us": 100_000}}
    return gossamer.Node(**given, **settings, **disk(folder))


def test_an_old_grant_that_is_shown_again_does_not_count(tmp_path: Path) -> None:
    authority = Authority.init(tmp_path / "net", name="cup")
    authority.grant("anna", [TOPIC], [TOPIC])
    authority.grant("bert", [TOPIC], [TOPIC])
    folders = tmp_path / "net" / "nodes"
    shutil.copytree(folders / "bert", tmp_path / "before")
    authority.grant("bert", [".chat"], [".chat"], no_publish=[TOPIC], no_subscribe=[TOPIC])

    async def scenario() -> None:
        async with node(folders / "anna", tmp_path / "a", subscribe=[TOPIC]) as anna, anna.subscribe(TOPIC) as inbox:
            async with node(tmp_path / "before", tmp_path / "b1", seeds=[anna.address]) as bert:
                await bert.publish(TOPIC, "0")
                assert numbers(await read(inbox, 1)) == [0]
            async with node(folders / "bert", tmp_path / "b2", seeds=[anna.address]):
                await anna.publish(TOPIC, "1")
                assert numbers(await read(inbox, 1)) == [1]
            async with node(tmp_path / "before", tmp_path / "b3", seeds=[anna.address]) as bert:
                await bert.publish(TOPIC, "2")
                await bert.handed_over(1.0)
                await nothing_more(inbox)
            assert 'gossamer_refusals_total{reason="not granted"}' in anna.page().decode()

    asyncio.run(scenario())


def test_a_grant_keeps_what_is_not_mentioned(tmp_path: Path) -> None:
    net = tmp_path / "net"

    def keys(*arguments: object) -> str:
        ran = command("keys", *arguments)
        assert ran.code == 0, ran.stderr
        return ran.stdout

    keys("init", net, "--name", "cup")
    keys("grant", net, "--node", "n", "--publish", TOPIC, "--subscribe", TOPIC, "--owner", "rome", "--address", "1.2")
    before = json.loads(keys("show", net / "nodes" / "n", "--json"))
    keys("grant", net, "--node", "n", "--days", 30)
    after = json.loads(keys("show", net / "nodes" / "n", "--json"))
    told = [key for key in before if key in ("publish", "subscribe", "owner", "address")]
    assert len(told) == 4, before
    assert {key: after[key] for key in told} == {key: before[key] for key in told}
    keys("grant", net, "--node", "n", "--publish", ".chat", "--no-publish", TOPIC)
    narrowed = json.loads(keys("show", net / "nodes" / "n", "--json"))
    assert (narrowed["publish"], narrowed["subscribe"]) == ([".chat"], [TOPIC])


@pytest.mark.slow
def test_a_grant_that_ran_out_ends_a_reader(tmp_path: Path, wall: Wall) -> None:
    authority = Authority.init(tmp_path / "net", name="cup")
    authority.grant("anna", [TOPIC], [TOPIC])
    authority.grant("guest", [], [TOPIC], days=1)
    folders = tmp_path / "net" / "nodes"

    async def scenario() -> None:
        async with (
            node(folders / "anna", tmp_path / "a", subscribe=[TOPIC]) as anna,
            gossamer.Client(anna.address, keys=folders / "guest", network="cup") as guest,
            guest.subscribe(TOPIC) as inbox,
        ):
            await anna.publish(TOPIC, "0")
            assert numbers(await read(inbox, 1)) == [0]
            wall.ahead_s = 2 * 86400.0
            async with asyncio.timeout(40):
                with pytest.raises(GossamerError):
                    await anext(inbox)

    asyncio.run(scenario())
