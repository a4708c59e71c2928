"""An address in a record is somebody's word for it: until it answered a handshake it gets one probe, nothing else."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from gossamer.core.ids import peer_of
from gossamer.live.keys.network import Network
from gossamer.live.links import calls, seeds
from gossamer.protocols.camcast.messages import ContactList
from gossamer.protocols.scamp.messages import Forward, Join
from gossamer.wire.frame import hello_frame
from live.hostile.arena import TOPIC, Arena, until
from live.hostile.attacker import Attacker

OSCAR, MALLORY = peer_of("oscar"), peer_of("mallory")
LEASE_US = 60_000_000
SHORT_S = 0.2
"What the victim waits for somebody it calls, once all that are to know each other do."


class Bystander:
    """Somebody's server that has nothing to do with any of this: it takes calls, and says nothing."""

    def __init__(self) -> None:
        self.calls: list[bytearray] = []
        self.open: list[asyncio.StreamWriter] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard = bytearray()
        self.calls.append(heard)
        self.open.append(writer)
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                heard += data


@contextlib.asynccontextmanager
async def bystander() -> AsyncIterator[tuple[Bystander, str]]:
    somebody = Bystander()
    server = await asyncio.start_server(somebody, "127.0.0.1", 0)
    try:
        yield somebody, f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for each in somebody.open:
            each.transport.abort()
            with contextlib.suppress(ConnectionError):
                await each.wait_closed()


def test_a_named_peer_that_never_answered_gets_one_probe(network: Network) -> None:
    """However often it is named: further messages for it are not even kept."""

    async def scenario() -> None:
        async with (
            Arena(network) as arena,
            bystander() as (somebody, address),
            Attacker(arena.victim.address, arena.keys("mallory")) as attacker,
        ):
            await attacker.greet()
            arena.victim.station.connections.dial_s = SHORT_S
            record = arena.keys("oscar").record((address,), 1)
            attacker.say(Forward(TOPIC, OSCAR, 1, 1, LEASE_US), records=[record])
            await until(lambda: somebody.calls)
            for number in range(2, 200):
                attacker.say(Forward(TOPIC, OSCAR, number, 1, LEASE_US), Join(TOPIC, OSCAR, number, 0, LEASE_US))
                attacker.say(ContactList(f"{TOPIC}.italy", TOPIC, (OSCAR,)))
            await arena.is_unharmed()
            await until(lambda: OSCAR not in arena.victim.station.connections.lines or given_up(arena))
            assert len(somebody.calls) <= 2  # one by the victim, one by the friend, who heard of it too
            for heard in somebody.calls:
                assert heard[:1] == b"\x16"  # TLS asks for a handshake
                assert len(heard) < 1000
            await arena.is_unharmed()

    asyncio.run(scenario())


def given_up(arena: Arena) -> bool:
    line = arena.victim.station.connections.lines[OSCAR]
    return line.failures > 0 and not line.size and not line.dialing


def test_every_address_of_a_record_is_probed_once(network: Network) -> None:
    async def scenario() -> None:
        async with (
            Arena(network) as arena,
            bystander() as (somebody, address),
            Attacker(arena.victim.address, arena.keys("mallory")) as attacker,
        ):
            await attacker.greet(record=attacker.record((address,) * 2))
            arena.victim.station.connections.dial_s = SHORT_S
            attacker.say(Join(TOPIC, MALLORY, 1, 0, LEASE_US))
            await attacker.hears("scamp.accept")
            attacker.writer.transport.abort()  # is it gone, or only the connection? The victim will want to know
            await until(lambda: MALLORY in arena.victim.station.connections.lines and not dialing(arena))
            assert len(somebody.calls) <= 4  # two by the victim, two by the friend
            assert all(len(heard) < 1000 for heard in somebody.calls)
            await arena.is_unharmed()

    asyncio.run(scenario())


def dialing(arena: Arena) -> bool:
    line = arena.victim.station.connections.lines[MALLORY]
    return line.dialing or line.failures == 0


def test_a_node_that_answered_before_is_called_again_a_few_times(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "BACKOFF_S", 0.01)
    monkeypatch.setattr(seeds, "LOST_AT_ONCE", 0)  # whoever was lost is called later too, which is not meant here

    async def scenario() -> None:
        async with Arena(network) as arena:
            victim = arena.victim
            before = victim.metrics.dials
            await arena.friend.station.transport.close()
            for link in tuple(arena.friend.station.connections.links):
                link.channel.abort()
            arena.friend.station.connections.closing = True  # it calls nobody any more
            line = victim.station.connections.lines[peer_of("friend")]
            await until(lambda: line.failures > 0)
            assert victim.metrics.dials - before in (1, calls.ATTEMPTS)  # 1: the friend had called, not the victim
            arena.friend.station.connections.closing = False

    asyncio.run(scenario())


BAD = (
    "nonsense",
    f"{'x' * 80}.example:7400",
    "127.0.0.1:²",
    "127.0.0.1:99999",
    "a..b:1",
    "\x1b[2J:80",
    "[::1]]:7",
    "[x]:7",
)


def test_a_record_with_what_is_no_address_is_refused_and_nobody_is_called(network: Network) -> None:
    async def scenario() -> None:
        async with (
            Arena(network) as arena,
            Attacker(arena.victim.address, arena.keys("mallory")) as attacker,
        ):
            await attacker.greet()
            dials, keys = arena.victim.metrics.dials, arena.keys("oscar")
            for number, address in enumerate(BAD, 1):
                record = keys.record(("127.0.0.1:9", address), number)
                attacker.say(Forward(TOPIC, OSCAR, number, 1, LEASE_US), records=[record])
                await arena.refuses("bad record", number)
            await arena.refuses("unknown peer", len(BAD))
            assert arena.victim.metrics.dials == dials
            assert OSCAR not in arena.victim.station.book
            async with Attacker(arena.victim.address, keys) as caller:
                caller.send(hello_frame(caller.hello(record=keys.record(("nonsense",), 99))))
                await caller.is_turned_away()
            await arena.is_unharmed()

    asyncio.run(scenario())
