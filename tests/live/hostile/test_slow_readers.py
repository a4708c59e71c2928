"""A member that takes part and does not read: it holds up nobody but itself."""

import asyncio

import pytest

from gossamer.core.ids import EventId, peer_of
from gossamer.live.config.tables import Limits
from gossamer.live.keys.network import Network
from gossamer.live.links import connections, outgoing
from gossamer.live.links.transports import HIGH_WATER
from gossamer.protocols.scamp.messages import Join, Kept
from live.hostile.arena import TOPIC, Arena, soon, until
from live.hostile.attacker import Attacker

MALLORY = peer_of("mallory")


def test_publishing_goes_on_past_a_member_that_does_not_read(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SWEEP_S", 0.03)

    async def scenario() -> None:
        async with (
            Arena(network, limits=Limits(link_queue_bytes=256 << 10)) as arena,
            Attacker(arena.victim.address, arena.keys("mallory")) as deaf,
        ):
            await deaf.greet()
            deaf.say(Join(TOPIC, MALLORY, 1, 0, 60_000_000), Kept(TOPIC), Join(f"{TOPIC}.italy", MALLORY, 1, 0, 1))
            members = arena.victim.station.machine.spread.members  # type: ignore[attr-defined]
            await until(lambda: MALLORY in members.about(TOPIC))
            deaf.writer.transport.pause_reading()  # type: ignore[attr-defined]
            payload = bytes(50_000)
            for number in range(200):  # far more than sockets and queues take
                await soon(published(arena, payload + b"%d" % number))
                assert (await soon(anext(arena.inboxes["friend"]))).payload == payload + b"%d" % number
            connections = arena.victim.station.connections
            frame = connections.outgoing.frame_bytes + 2 * len(payload)  # closed by the event it had no more room for
            assert connections.lines[MALLORY].size < connections.outgoing.queue_bytes + frame
            assert arena.victim.metrics.copies_dropped > 0
            assert not connections.outgoing.clogged()

    asyncio.run(scenario())


def test_acknowledgements_for_a_member_that_does_not_read_are_bounded(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outgoing, "ACKS_MAX", 100)

    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as deaf:
            await deaf.greet()
            links = arena.victim.station.connections.outgoing
            await until(lambda: MALLORY in links.lines and links.lines[MALLORY].link is not None)
            line = links.lines[MALLORY]
            assert line.link is not None
            line.link.channel.pending = lambda: HIGH_WATER + 1  # type: ignore[method-assign]
            for number in range(1_000):
                links.acknowledge("memory", [EventId(MALLORY, 1, number)])
            assert sum(map(len, line.acks.values())) == 101
            assert arena.victim.metrics.messages_dropped == 899

    asyncio.run(scenario())


async def published(arena: Arena, payload: bytes) -> None:
    await arena.victim.publish(f"{TOPIC}.italy", payload)
