"""Callers that never get as far as a link: they are turned away, counted, and nobody else notices."""

import asyncio
import shutil
import ssl
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.live.keys import folder as folders
from gossamer.live.keys.keyring import Keyring
from gossamer.live.keys.network import Network
from gossamer.live.links import connections, link
from gossamer.live.links.transports import tcp
from gossamer.wire.frame import BATCH, HELLO, frame, hello_frame
from live.hostile.arena import Arena, until
from live.hostile.attacker import GONE, Attacker, flipped

DAY = 86400.0
SHORT_S = 0.2
"What the victim waits for callers, once its friend is in."


def nobody() -> ssl.SSLContext:
    """TLS without a certificate, and without asking for one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def unquestioning(folder: Path) -> ssl.SSLContext:
    """TLS with somebody's certificate, good or not."""
    context = nobody()
    context.load_cert_chain(folder / folders.CERTIFICATE, folder / folders.KEY)
    return context


def expired(network: Network, name: str, days_ago: float = 10) -> Path:
    """A node whose grant ran out."""
    network.grant(name, [".soccer"], [".soccer"], days=1, now_s=time.time() - days_ago * DAY)
    return network.folder_of(name)


# -- before TLS is done ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["no certificate", "foreign authority", "expired grant"])
def test_whoever_cannot_prove_itself_is_turned_away(who: str, network: Network, elsewhere: Network) -> None:
    tls = {
        "no certificate": nobody,
        "foreign authority": lambda: unquestioning(elsewhere.folder_of("mallory")),
        "expired grant": lambda: unquestioning(expired(network, "late")),
    }[who]()

    async def scenario() -> None:
        async with Arena(network) as arena:
            for _ in range(3):
                try:
                    async with Attacker(arena.victim.address, tls=tls) as attacker:
                        attacker.send(b"anything")
                        await attacker.is_turned_away()
                except GONE:
                    pass
            await arena.refuses("bad handshake", 3)
            await arena.is_unharmed()
            arena.is_bounded()

    asyncio.run(scenario())


@pytest.mark.parametrize("data", [b"", b"GET / HTTP/1.1\r\n\r\n", bytes(1000), b"\x16\x03\x01\xff\xff" + bytes(100)])
def test_whoever_does_not_even_speak_tls_is_turned_away(data: bytes, network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena:
            arena.victim.station.transport.handshake_s = SHORT_S
            async with Attacker(arena.victim.address) as attacker:
                attacker.send(data)
                await attacker.is_turned_away()
            await until(lambda: arena.refused("bad handshake") + arena.refused("slow handshake") == 1)
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_a_caller_that_hangs_up_at_once_is_only_counted(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena:
            for _ in range(5):
                async with Attacker(arena.victim.address):
                    pass
            await until(lambda: arena.refused("bad handshake") == 5)
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_callers_that_say_nothing_do_not_keep_others_out(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is room for so many that have yet to prove themselves; the slowest gives way."""
    monkeypatch.setattr(tcp, "UNPROVED_MAX", 10)

    async def scenario() -> None:
        async with Arena(network) as arena:
            silent = [Attacker(arena.victim.address) for _ in range(40)]
            for each in silent:
                await each.__aenter__()
            await arena.refuses("too many callers", 30)
            await arena.node("third")
            await arena.is_unharmed()
            for each in silent:
                await each.__aexit__(None, None, None)

    asyncio.run(scenario())


# -- the hello ---------------------------------------------------------------------------------------------------


def test_a_hello_that_never_comes_ends_the_connection(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena:
            arena.victim.station.connections.handshake_s = SHORT_S
            async with Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
                await attacker.is_turned_away()
            assert arena.refused("slow handshake") == 1
            await arena.is_unharmed()

    asyncio.run(scenario())


NO_HELLOS: dict[str, Callable[[Attacker], bytes]] = {
    "a batch before the hello": lambda own: frame(BATCH, b"\x94\x90\x90\x90\x90"),
    "an empty hello": lambda own: frame(HELLO, b"\x90"),
    "a frame of no kind": lambda own: frame(77, b""),
    "a hello of 20 kB": lambda own: frame(HELLO, bytes(20_000)),
    "a frame of 4 GiB, announced in pieces": lambda own: b"\xff\xff\xff\xff\x01",
    "another network": lambda own: hello_frame(own.hello(network="other")),
    "a role nobody knows": lambda own: hello_frame(own.hello(role="king")),
    "only newer versions": lambda own: hello_frame(own.hello(oldest=2, newest=9)),
    "no record": lambda own: hello_frame(own.hello(record=b"")),
    "a long record": lambda own: hello_frame(own.hello(record=bytes(9000))),
    "a record badly signed": lambda own: hello_frame(own.hello(record=flipped(own.record()))),
}


def test_a_hello_that_is_none_ends_the_connection(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena:
            for count, (case, first) in enumerate(NO_HELLOS.items(), start=1):
                async with Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
                    attacker.send(first(attacker))
                    await attacker.is_turned_away()
                assert arena.refused("bad handshake") == count, case
            await arena.is_unharmed()
            arena.is_bounded()

    asyncio.run(scenario())


def test_nobody_passes_for_another_with_that_ones_record(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena:
            stolen = arena.friend.station.connections.own
            async with Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
                attacker.send(hello_frame(attacker.hello(record=stolen)))
                await attacker.is_turned_away()
            assert arena.refused("bad handshake") == 1
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_a_grant_that_ran_out_is_refused_behind_a_certificate_that_did_not(network: Network, tmp_path: Path) -> None:
    """The key is the same: the certificate was renewed, the grant in the record is the old one."""
    old = tmp_path / "old"
    shutil.copytree(expired(network, "renewed"), old)
    record = Keyring.load(old, time.time() - 10 * DAY).record((), 1)
    network.grant("renewed")

    async def scenario() -> None:
        async with Arena(network) as arena:
            async with Attacker(arena.victim.address, arena.keys("renewed")) as attacker:
                attacker.send(hello_frame(attacker.hello(record=record)))
                await attacker.is_turned_away()
            assert arena.refused("bad handshake") == 1
            await arena.is_unharmed()

    asyncio.run(scenario())


# -- versions ----------------------------------------------------------------------------------------------------


def test_a_peer_that_also_speaks_a_newer_version_is_spoken_to_in_ours(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as newer:
            await newer.greet(newest=2)
            assert await newer.still_up()
            newer.version = 2
            newer.say()
            await newer.is_turned_away()
            assert arena.refused("bad frame") == 1

    asyncio.run(scenario())


def test_a_node_of_the_next_version_speaks_with_one_of_this(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (link, connections):
        monkeypatch.setattr(module, "VERSION", 2)

    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as elder:
            await arena.is_unharmed()  # among themselves the two speak version 2
            assert {each.version for each in arena.victim.station.connections.links if each.peer} == {2}
            await elder.greet(newest=1)
            assert await elder.still_up()
            assert 1 in {each.version for each in arena.victim.station.connections.links}

    asyncio.run(scenario())


# -- many --------------------------------------------------------------------------------------------------------


def test_one_peer_has_so_many_links_and_no_more(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena:
            keys = arena.keys("mallory")
            calls = [Attacker(arena.victim.address, keys) for _ in range(20)]
            for each in calls:
                await (await each.__aenter__()).greet()
            await arena.refuses("too many links", 12)
            assert arena.links_of("mallory") <= 8
            await arena.is_unharmed()
            for each in calls:
                await each.__aexit__(None, None, None)
            await until(lambda: arena.links_of("mallory") == 0)

    asyncio.run(scenario())


def test_strangers_are_turned_away_when_too_many_wait_to_say_hello(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena:
            arena.victim.station.connections.strangers_max = 5
            keys = arena.keys("mallory")
            calls = [Attacker(arena.victim.address, keys) for _ in range(12)]
            for each in calls:
                await each.__aenter__()
            await arena.refuses("too many callers", 1)
            for each in calls:
                await each.__aexit__(None, None, None)
            await until(lambda: all(link.peer is not None for link in arena.victim.station.connections.links))
            await arena.is_unharmed()

    asyncio.run(scenario())
