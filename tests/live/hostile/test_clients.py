"""Well-formed clients that want too much: each costs its node so much and no more, and nobody else waits for it."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from gossamer import Client
from gossamer.core.errors import TransportDown
from gossamer.live.clients import client as clients
from gossamer.live.config.tables import Limits, Timeouts
from gossamer.live.keys.network import Network
from gossamer.live.links import connections
from gossamer.live.links.control import Await, Offer, Pong, Read
from gossamer.live.links.transports import HIGH_WATER
from live.hostile.arena import TIMES, TOPIC, Arena, soon, until
from live.hostile.attacker import Attacker

SWIFT = Limits(client_requests_per_s=1e9)
BRIEF = Timeouts(handshake_s=60.0, dial_s=60.0, leave_s=0.5, ack_s=0.3, silent_s=8)


def attached(arena: Arena, name: str) -> Attacker:
    return Attacker(arena.victim.address, arena.keys(name))


def client(arena: Arena, name: str) -> Client:
    return Client(arena.victim.address, keys=arena.network.folder_of(name), patience_s=TIMES.handshake_s)


def sessions(arena: Arena) -> list[Any]:
    return [*arena.victim.clients.sessions.values()]


# -- silence -----------------------------------------------------------------------------------------------------


def test_whoever_does_not_read_its_answers_is_not_heard_and_gives_its_place_up(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "SWEEP_S", 0.05)

    async def scenario() -> None:
        async with Arena(network, timeouts=BRIEF, limits=SWIFT) as arena, attached(arena, "outsider") as deaf:
            await deaf.greet(role="client")
            deaf.writer.transport.pause_reading()  # type: ignore[attr-defined]
            sending = asyncio.create_task(shout(deaf, Offer(1, TOPIC, b"x")))
            await until(lambda: sessions(arena) and sessions(arena)[0].link.channel.pending() > HIGH_WATER)
            (session,) = sessions(arena)
            most = 0
            while sessions(arena):
                most = max(most, session.link.channel.pending())
                await asyncio.sleep(0.01)
            assert most < 2 * HIGH_WATER
            assert arena.refused("replies unread") == 1
            sending.cancel()
            await arena.is_unharmed()

    asyncio.run(scenario())


async def shout(attacker: Attacker, *messages: Any) -> None:
    while True:
        attacker.say(*messages * 100)
        await attacker.writer.drain()


def test_a_client_that_answers_nothing_gives_its_place_up_and_one_that_does_keeps_it(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "SWEEP_S", 0.05)

    async def scenario() -> None:
        async with Arena(network, timeouts=BRIEF) as arena, client(arena, "third") as quiet:
            async with attached(arena, "mallory") as silent:
                await silent.greet(role="client")
                await arena.refuses("silent client")
                assert "said nothing" in (await silent.hears("live.bye"))["why"]
            await until(lambda: sessions(arena)[0]._sweeps > 3 * BRIEF.silent_s)
            assert quiet.is_attached, "it says nothing but that it is there"
            assert arena.refused("silent client") == 1

    asyncio.run(scenario())


def test_a_client_that_is_not_read_from_is_not_taken_for_silent(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "SWEEP_S", 0.02)

    async def scenario() -> None:
        async with Arena(network, timeouts=BRIEF) as arena, attached(arena, "mallory") as busy:
            await busy.greet(role="client")
            await until(lambda: sessions(arena))
            (session,) = sessions(arena)
            session.link.hold(True)
            await until(lambda: session._sweeps > 3 * BRIEF.silent_s)
            assert not session.link.closed

    asyncio.run(scenario())


def test_a_client_whose_node_says_nothing_any_more_knows_it(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "LOOK_S", 0.05)

    async def scenario() -> None:
        async with Arena(network) as arena, client(arena, "third") as lonely, lonely.subscribe(TOPIC) as reader:
            with pytest.raises(TransportDown, match="it said nothing for"):
                await soon(anext(reader))

    asyncio.run(scenario())


# -- what one identity may have ----------------------------------------------------------------------------------


def test_an_identity_has_so_many_readers_over_all_its_connections(network: Network) -> None:
    async def scenario() -> None:
        async with (
            Arena(network, limits=Limits(client_readers=3)) as arena,
            attached(arena, "mallory") as one,
            attached(arena, "mallory") as two,
            attached(arena, "oscar") as other,
        ):
            for each in (one, two, other):
                await each.greet(role="client")
            one.say(Read(1, TOPIC), Read(2, TOPIC))
            await until(lambda: sum(len(each.readers.inboxes) for each in sessions(arena)) == 2)
            two.say(Read(1, TOPIC), Read(2, TOPIC))
            assert "has 3 readers" in (await two.hears("client.items"))["problem"]
            other.say(Read(1, TOPIC))
            await until(lambda: sum(len(each.readers.inboxes) for each in sessions(arena)) == 4)
            assert arena.refused("too many readers") == 1

    asyncio.run(scenario())


def test_reconnecting_gives_no_new_topics(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network, limits=Limits(client_topics=2)) as arena:
            for number in range(2):
                async with attached(arena, "mallory") as attacker:
                    await attacker.greet(role="client")
                    attacker.say(Offer(1, f"{TOPIC}.t{number}", b"x"))
                    assert (await attacker.hears("client.answer"))["id"] is not None
            async with attached(arena, "mallory") as attacker:
                await attacker.greet(role="client")
                attacker.say(Offer(1, f"{TOPIC}.t2", b"x"), Offer(2, f"{TOPIC}.t0", b"x"))
                assert "may on no more" in (await attacker.hears("client.answer"))["problem"]
                assert (await attacker.hears("client.answer"))["id"] is not None, "what it has, it has"
            assert arena.refused("too many topics of a client") == 1

    asyncio.run(scenario())


def test_an_identity_waits_for_so_many_publications_over_all_its_connections(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.live.clients.session.AWAITED_MAX", 5)

    async def scenario() -> None:
        async with Arena(network) as arena, attached(arena, "mallory") as one, attached(arena, "mallory") as two:
            backlog = arena.victim.station.handover.backlog
            monkeypatch.setattr(type(backlog), "__bool__", lambda _: True, raising=False)  # nothing is ever over
            mine = tuple((arena.victim.station.me, 2, number) for number in range(3))
            for each in (one, two):
                await each.greet(role="client")
            one.say(Await(1, mine, 60.0))  # type: ignore[arg-type]
            await until(lambda: [each for each in sessions(arena) if each.identity.awaited == 3])
            two.say(Await(1, mine, 60.0))  # type: ignore[arg-type]
            assert "waits for too many" in (await two.hears("client.copies"))["problem"]
            assert arena.refused("too many requests of a client") == 1

    asyncio.run(scenario())


def test_who_is_turned_away_is_told_why(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network, limits=Limits(clients_max=8)) as arena, AsyncExitStack() as held:
            for _ in range(2):
                await held.enter_async_context(client(arena, "mallory"))
            async with attached(arena, "mallory") as third:
                await third.greet(role="client")
                assert "mallory has 2 connections" in (await third.hears("live.bye"))["why"]
            async with client(arena, "oscar") as other:
                await soon(publish(other))
            assert arena.refused("too many clients") == 1
            assert arena.victim.metrics.clients == len(sessions(arena))

    asyncio.run(scenario())


async def publish(by: Client) -> None:
    await by.publish(TOPIC, b"x")


# -- turns -------------------------------------------------------------------------------------------------------


def test_a_flood_of_one_client_is_no_queue_for_another(network: Network) -> None:
    async def scenario() -> None:
        async with (
            Arena(network, limits=SWIFT) as arena,
            attached(arena, "outsider") as loud,
            client(arena, "third") as honest,
        ):
            await loud.greet(role="client")
            await until(lambda: len(sessions(arena)) == 2)
            (flooded,) = [each for each in sessions(arena) if each.link.name == "outsider"]
            await soon(publish(honest))
            loud.say(*[Offer(number, TOPIC, b"x") for number in range(10_000)])
            await until(lambda: flooded.backlog)
            await soon(publish(honest))
            assert flooded.backlog, "it is served while the flood waits"
            assert flooded.link.held, "and nothing more is read of that"
            await until(lambda: arena.refused("refused to a client") == 10_000)

    asyncio.run(scenario())


def test_whoever_asks_more_than_it_may_is_read_from_more_slowly_and_refused_nothing(network: Network) -> None:
    async def scenario() -> None:
        async with (
            Arena(network, limits=Limits(client_requests_per_s=1000.0)) as arena,
            client(arena, "third") as eager,
        ):
            loop = asyncio.get_running_loop()
            before_s = loop.time()
            await soon(asyncio.wait_for(gathered(eager, 3500), 60))
            assert loop.time() - before_s > 0.5, "two thousand at once, and what is served beyond that is owed"
            assert not arena.refused("refused to a client")

    asyncio.run(scenario())


async def gathered(by: Client, count: int) -> None:
    await asyncio.gather(*[by.publish(TOPIC, b"") for _ in range(count)])


def test_a_pong_that_nobody_asked_for_is_nothing(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, attached(arena, "mallory") as polite:
            await polite.greet(role="client")
            polite.say(*[Pong()] * 100, Offer(1, TOPIC, b"x"))
            assert (await polite.hears("client.answer"))["id"] is not None
            assert not any(arena.victim.metrics.refusals.values())

    asyncio.run(scenario())


def test_whoever_is_refused_much_is_heard_less(network: Network) -> None:
    async def scenario() -> None:
        limits = Limits(client_requests_per_s=1000.0)
        async with Arena(network, limits=limits) as arena, attached(arena, "outsider") as loud:
            await loud.greet(role="client")
            loud.say(*[Offer(number, TOPIC, b"x") for number in range(5_000)])
            await until(lambda: sessions(arena) and sessions(arena)[0].identity.rests)
            assert sessions(arena)[0].backlog
            assert arena.refused("refused to a client") < 2_000

    asyncio.run(scenario())
