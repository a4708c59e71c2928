"""Clients with keys that ask for what is not theirs, or for more than they read: told so, counted, and no harm done."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from gossamer.core.ids import EventId
from gossamer.live.config.tables import SpoolConfig
from gossamer.live.keys.network import Network
from gossamer.live.links import connections
from gossamer.live.links.control import AWAITED_MAX, Await, Delete, Handled, ListThem, Mark, Read
from live.hostile.arena import TOPIC, Arena, soon
from live.hostile.attacker import Attacker
from live.hostile.test_clients import BRIEF

TOP = 2**63 - 1
FILTER = " or ".join(f'team == "{number:050}"' for number in range(60))


async def reply(client: Attacker, request: Struct) -> dict[str, Any]:
    """The answer to this request."""
    client.say(request)
    while True:
        said = await client.hears("client.reply")
        if said["number"] == request.number:  # type: ignore[attr-defined]
            return said


def test_a_client_neither_sees_nor_moves_nor_deletes_what_is_anothers(network: Network, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            Arena(network, spool=SpoolConfig(folder=tmp_path)) as arena,
            Attacker(arena.victim.address, arena.keys("oscar")) as owner,
            Attacker(arena.victim.address, arena.keys("mallory")) as thief,
        ):
            for client in (owner, thief):
                await client.greet(role="client")
            assert not (await reply(owner, Read(1, TOPIC, "billing")))["problem"]
            async with arena.victim.subscribe(TOPIC, name="own"):
                await arena.victim.publish(f"{TOPIC}.italy", b"one")
                (item,) = (await owner.hears("client.items"))["items"]
                for request in (
                    Handled(2, 1, (item[0],)),  # there is no reader of that number here
                    Mark(3, 1),
                    Delete(4, "billing", "oscar"),
                    Delete(5, "billing"),
                    Delete(6, "own", "victim"),
                    Delete(7, "own"),
                ):
                    assert (await reply(thief, request))["problem"]
                assert (await reply(thief, ListThem(8)))["subscriptions"] == []
                await reply(thief, Read(9, TOPIC, "billing"))  # its own, which has nothing yet
                for number, places in ((10, (item[0],)), (11, (TOP,)), (12, tuple(range(1000))), (13, (0, TOP))):
                    await reply(thief, Handled(number, 9, places))
                await reply(owner, Handled(20, 1, (item[0],)))
                found = {(each.owner, each.name): each for each in await arena.victim.subscriptions()}
                assert {*found} == {("oscar", "billing"), ("victim", "own"), ("mallory", "billing")}
                await arena.victim.publish(f"{TOPIC}.italy", b"two")
                for client in (owner, thief):  # whatever it said, what comes next comes
                    assert (await client.hears("client.items"))["items"]
            await arena.is_unharmed(alone=False)

    asyncio.run(scenario())


def test_waiting_for_what_never_was_costs_a_client_its_own_turns_alone(network: Network, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            Arena(network, spool=SpoolConfig(folder=tmp_path)) as arena,
            Attacker(arena.victim.address, arena.keys("mallory")) as client,
        ):
            await client.greet(role="client")
            me, life = arena.victim.station.me, arena.victim.station.incarnation
            made_up = tuple(EventId(me, life, TOP - n) for n in range(AWAITED_MAX))
            for number in range(40):
                client.say(Await(number, made_up, 86_400.0))
            for _ in range(40):
                await client.hears("client.copies")
            (session,) = arena.victim.clients.sessions.values()
            assert session.identity.awaits == 0
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_answers_much_longer_than_the_questions_do_not_pile_up(
    network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "SWEEP_S", 0.05)

    async def scenario() -> None:
        async with (
            Arena(network, timeouts=BRIEF, spool=SpoolConfig(folder=tmp_path)) as arena,
            Attacker(arena.victim.address, arena.keys("mallory")) as deaf,
        ):
            await deaf.greet(role="client")
            for number in range(12):  # as many characters as are read for one client at once
                assert not (await reply(deaf, Read(number, TOPIC, f"name {number}", where=FILTER)))["problem"]
            deaf.writer.transport.pause_reading()  # type: ignore[attr-defined]
            (link,) = arena.victim.clients.sessions
            most = 0
            while not link.closed:
                deaf.say(*map(ListThem, range(100, 200)))  # each answer is as long as a thousand questions
                await asyncio.sleep(0.01)
                most = max(most, link.channel.pending())
            assert most < 8 << 20
            assert arena.refused("replies unread") == 1
            await arena.is_unharmed()

    asyncio.run(soon(scenario()))
