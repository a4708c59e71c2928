"""Keys change and are revoked while events flow: whoever is out is out everywhere at once, and nothing is lost."""

import asyncio
from pathlib import Path

import pytest

from gossamer.core.ids import peer_of
from gossamer.live.keys.network import Network
from gossamer.live.links.link import Link
from gossamer.live.node import Node
from gossamer.live.running.reloading import reload_keys
from live.hostile.arena import TOPIC, Arena, soon, until
from live.hostile.attacker import GONE, Attacker, event, signed
from live.hostile.traffic import Traffic

HONEST = ("victim", "friend", "third")


@pytest.fixture
def network(tmp_path: Path) -> Network:
    """One of its own for each test: nodes write the list of revoked keys into their folders."""
    made = Network.init(tmp_path / "net")
    for name in (*HONEST, "fourth"):
        made.grant(name, [TOPIC], [TOPIC])
    return made


def revoked(network: Network) -> bytes:
    return (network.folder / "revoked").read_bytes()


def is_out(arena: Arena, node: Node, name: str) -> bool:
    members = node.station.machine.spread.members  # type: ignore[attr-defined]
    peer = peer_of(name)
    return arena.links_of(name, node) == 0 and peer not in members.about(TOPIC) and peer not in node.station.book


def test_a_revoked_node_is_out_everywhere_though_one_node_was_told(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena:
            for name in ("third", "fourth"):
                await arena.node(name)
            bad, others = arena.nodes["fourth"], [arena.nodes[name] for name in HONEST]
            async with Traffic(arena, *HONEST) as traffic:
                network.revoke("fourth")
                arena.victim.station.revoking.take(revoked(network))
                await until(lambda: all(is_out(arena, node, "fourth") for node in others))
                assert all(node.trust.revocations()[0] == 1 for node in others)
                assert all(node.metrics.refusals["revoked"] >= 1 for node in others)
                await soon(taken(bad, b"too late"))
                await until(lambda: sum(node.metrics.refusals["bad handshake"] for node in others) > 0)
                await traffic.nothing_is_lost()
            assert all(b"too late" not in got for got in traffic.got.values())
            assert all(is_out(arena, node, "fourth") for node in others)
            assert all(node.metrics.refusals["too many refusals"] == 0 for node in others)

    asyncio.run(scenario())


async def taken(node: Node, payload: bytes) -> None:
    await node.publish(f"{TOPIC}.italy", payload)


def test_a_relay_that_has_not_heard_of_a_revocation_is_not_blamed(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena:
            keys, relay = arena.keys("fourth"), arena.keys("third")
            async with Attacker(arena.victim.address, keys) as out, Attacker(arena.victim.address, relay) as late:
                await out.greet()
                await late.greet()
                record = keys.record((), 1)
                network.revoke("fourth")
                arena.victim.station.revoking.take(revoked(network))
                await out.is_turned_away()
                for number in range(40):
                    late.spread(*signed(keys, event(keys, number)))
                    late.say(records=[record])
                assert await late.still_up()
                assert arena.refused("outdated record") == 40
                assert arena.refused("unknown publisher") == 40
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_an_event_signed_with_a_revoked_key_is_refused_after_the_node_got_another(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena:
            old = arena.keys("fourth")
            async with Attacker(arena.victim.address, old) as before:
                await before.greet()
                network.revoke("fourth")
                network.grant("fourth", new_key=True)
                new = arena.keys("fourth")
                async with Attacker(arena.victim.address, new) as after:
                    await after.greet()
                    arena.victim.station.revoking.take(revoked(network))
                    await before.is_turned_away()
                    after.spread(*signed(old, event(old, 1, b"old")), *signed(new, event(new, 2, b"new")))
                    assert (await soon(anext(arena.inboxes["victim"]))).payload == b"new"
                    assert (await soon(anext(arena.inboxes["friend"]))).payload == b"new"
                    assert arena.refused("outdated publisher") == 1
                    assert await after.still_up()
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_a_node_that_changes_its_key_loses_nothing(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena:
            await arena.node("third")
            async with Traffic(arena, *HONEST) as traffic:
                old = arena.friend.trust.grant.key  # type: ignore[attr-defined]
                network.grant("friend", new_key=True)
                reload_keys(arena.friend)
                assert arena.friend.trust.grant.key != old  # type: ignore[attr-defined]
                await traffic.goes_on()
                await traffic.nothing_is_lost()
            assert not any(sum(node.metrics.refusals.values()) for node in arena.nodes.values())
            async with Attacker(arena.friend.address, arena.keys("fourth")) as caller:
                shown = caller.writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
                assert arena.victim.trust.caller(shown).key != old

    asyncio.run(scenario())


def test_an_old_key_is_revoked_while_its_node_goes_on_under_the_new_one(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena:
            await arena.node("third")
            async with Traffic(arena, *HONEST) as traffic:
                await traffic.pause("friend")  # what is on its way under a revoked key counts no more
                network.revoke("friend")
                network.grant("friend", new_key=True)
                reload_keys(arena.friend)  # its folder has the list too
                await until(lambda: all(node.trust.revocations()[0] == 1 for node in arena.nodes.values()))
                traffic.resume("friend")
                await traffic.goes_on()
                await traffic.nothing_is_lost()
            for node in arena.nodes.values():
                assert node.metrics.refusals["too many refusals"] == 0

    asyncio.run(scenario())


async def reloaded(arena: Arena, traffic: Traffic) -> None:
    """One node after the other takes its new keys, and calls everybody again: old and new meet."""
    for node in arena.nodes.values():
        reload_keys(node)
        await traffic.goes_on(5)
        before = call_anew(node)
        await until(lambda before=before: all(link.closed for link in before))  # type: ignore[misc]
        await until(lambda node=node: node.metrics.links == 2)  # type: ignore[misc]


def call_anew(node: Node) -> list[Link]:
    """Ends a node's links in good order, as idle ones are: what is on its way arrives. Which they were."""
    connections = node.station.connections
    linked = [line for line in connections.lines.values() if line.link is not None]
    before = [line.link for line in linked]
    for line in linked:
        connections._retire(line.link)
        line.link = None
    return before


def test_one_authority_takes_over_from_another_and_nothing_is_lost(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena:
            await arena.node("third")
            async with Traffic(arena, *HONEST) as traffic:
                network.rotate_authority()
                await reloaded(arena, traffic)  # from now on both are trusted
                network.refresh()
                await reloaded(arena, traffic)  # now each has a grant of the new one
                network.retire_authority()
                await reloaded(arena, traffic)
                await traffic.nothing_is_lost()
            assert all(node.metrics.refusals["too many refusals"] == 0 for node in arena.nodes.values())
            assert all(node.metrics.refusals["bad handshake"] == 0 for node in arena.nodes.values())

    asyncio.run(scenario())


def test_after_the_old_authority_is_retired_its_certificates_open_no_door(network: Network, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena:
            old = arena.keys("fourth")
            network.rotate_authority()
            for node in arena.nodes.values():
                reload_keys(node)
            async with Attacker(arena.victim.address, old) as caller:
                await caller.greet()  # both are trusted
            network.refresh()
            for node in arena.nodes.values():
                reload_keys(node)
            network.retire_authority()
            for node in arena.nodes.values():
                reload_keys(node)
            before = arena.refused("bad handshake")
            try:
                async with Attacker(arena.victim.address, old) as caller:
                    await caller.is_turned_away()
            except GONE:
                pass
            await arena.refuses("bad handshake", before + 1)
            await arena.is_unharmed()

    asyncio.run(scenario())
