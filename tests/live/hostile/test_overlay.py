"""Members gone bad in the overlay: nobody registers others, nor itself for what it may not read, and lies about places
cost a question."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from gossamer.core.ids import Peer, peer_of
from gossamer.live.arriving.seals import Seals
from gossamer.live.keys.keyring import Keyring
from gossamer.live.keys.network import Network
from gossamer.live.node import Node
from gossamer.live.running.spread_rules import SpreadRules
from gossamer.protocols.pgrid.layer import PGrid
from gossamer.protocols.pgrid.messages import Answer, Give, Hello, LeafSeat, Meet, Registration, Reply
from gossamer.protocols.pgrid.places import members_of, place_of
from live.hostile.arena import TOPIC, Arena
from live.hostile.attacker import Attacker

FRIEND, OUTSIDER, MALLORY, THIRD = map(peer_of, ("friend", "outsider", "mallory", "third"))


class GridArena(Arena):
    """Its nodes find each other in an overlay."""

    async def node(self, name: str, folder: Path | None = None, **settings: Any) -> Node:
        return await super().node(name, folder, membership="structured", **settings)


def grid(node: Node) -> PGrid:
    found = node.station.machine.contacts
    assert isinstance(found, PGrid)
    return found


def registered(node: Node, member: Peer) -> bool:
    return any(held.said.member == member for held in grid(node).store.held.values())


def registration(keys: Keyring, member: Peer, topic: str = TOPIC, seal: bytes = b"") -> Registration:
    return Registration(
        keys.spell(topic), place_of(member, members_of(topic, keys.spell)), member, time.time_ns() // 1000, seal=seal
    )


def sealed(keys: Keyring, *said: Registration) -> Give:
    """As its own node would send it."""
    give = Seals(keys.peer, keys, SpreadRules()).sealed(Give(said, (0,) * len(said), True))
    assert isinstance(give, Give)
    return give


async def greeted(attacker: Attacker) -> Attacker:
    return await attacker.greet(spread="structured camcast")


@pytest.mark.parametrize("seal", ["none", "nonsense", "mine"])
@pytest.mark.parametrize("kind", ["give", "answer"])
def test_nobody_registers_another(network: Network, kind: str, seal: str) -> None:
    async def scenario() -> None:
        async with GridArena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await greeted(attacker)
            keys = arena.keys("mallory")
            own = sealed(keys, registration(keys, MALLORY)).registrations[0].seal
            lie = registration(keys, THIRD, seal={"none": b"", "nonsense": b"nonsense", "mine": own}[seal])
            told = Give((lie,), (0,)) if kind == "give" else Answer((Reply(1, "", (), True, 1, 1, 1, (lie,)),))
            attacker.say(told, records=[arena.keys("third").record(("127.0.0.1:1",), 1)])
            await arena.refuses("unknown publisher" if seal == "mine" else "bad proof")
            assert not registered(arena.victim, THIRD)
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_what_was_signed_for_one_topic_counts_for_no_other(network: Network) -> None:
    async def scenario() -> None:
        async with GridArena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await greeted(attacker)
            keys = arena.keys("mallory")
            seal = sealed(keys, registration(keys, MALLORY, ".soccer.italy")).registrations[0].seal
            attacker.say(Give((registration(keys, MALLORY, seal=seal),), (0,)))
            await arena.refuses("bad proof")
            assert not registered(arena.victim, MALLORY)

    asyncio.run(scenario())


def test_nobody_is_registered_for_a_topic_it_may_not_read_where_its_name_is_known(network: Network) -> None:
    async def scenario() -> None:
        async with GridArena(network) as arena, Attacker(arena.victim.address, arena.keys("outsider")) as attacker:
            await greeted(attacker)
            keys = arena.keys("outsider")
            attacker.say(sealed(keys, registration(keys, OUTSIDER)))
            attacker.say(Hello(TOPIC))
            await arena.refuses("not granted", 2)
            assert not registered(arena.victim, OUTSIDER)
            assert OUTSIDER not in arena.victim.station.machine.members.about(TOPIC)  # type: ignore[union-attr]
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_whoever_is_registered_and_may_read_the_topic_is_a_member(network: Network) -> None:
    """The same as above, by one who may: or the tests before would show nothing."""

    async def scenario() -> None:
        async with GridArena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await greeted(attacker)
            keys = arena.keys("mallory")
            attacker.say(sealed(keys, registration(keys, MALLORY)))
            await attacker.hears("pgrid.took")
            assert registered(arena.victim, MALLORY)

    asyncio.run(scenario())


@pytest.mark.parametrize("path", ["", "0", "1", "1" * 500])
def test_who_says_that_it_holds_everything_harms_nobody(network: Network, path: str) -> None:
    async def scenario() -> None:
        async with GridArena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await greeted(attacker)
            lie = Meet(path, 2**31 - 1, 2**31 - 1, 1, len(path), 2**31 - 1, (LeafSeat(FRIEND, path),), True)
            attacker.say(lie, records=[arena.keys("friend").record((arena.friend.address,), 1)])
            await attacker.hears("pgrid.meet")
            await arena.is_unharmed()
            arena.is_bounded()
            late = await arena.node("third")  # who comes now finds its place
            assert registered(late, THIRD) or registered(arena.victim, THIRD)
            await arena.is_unharmed()

    asyncio.run(scenario())
