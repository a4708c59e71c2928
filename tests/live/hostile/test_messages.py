"""Messages that a member gone bad, or a client, should not send: refused, counted, and of no effect on others."""

import asyncio
from collections.abc import Iterable

import msgspec
import pytest
from msgspec import Struct

from gossamer.core.ids import EventId, Peer, peer_of
from gossamer.core.machine import Received
from gossamer.live.config.tables import Limits
from gossamer.live.keys.network import Network
from gossamer.live.keys.revoked import Revocations, seal_revocations
from gossamer.live.links import conduct
from gossamer.live.links.control import (
    Acked,
    Answer,
    Await,
    Bye,
    Copies,
    Enough,
    Items,
    Offer,
    Read,
    Revoked,
    Taken,
)
from gossamer.live.node import Node
from gossamer.protocols.camcast.messages import ContactList, NewProcess, Probe
from gossamer.protocols.scamp.messages import Accept, Beat, Forward, Gone, Here, Join, Kept, Marks
from gossamer.protocols.search.messages import AnsContact, ReqContact
from live.hostile.arena import QUICK, TOPIC, Arena, soon, until
from live.hostile.attacker import Attacker, event, flipped, signed

FRIEND, OUTSIDER, MALLORY = map(peer_of, ("friend", "outsider", "mallory"))
LEASE_US = 60_000_000
NO_MORE = Limits(requests_per_s=0.001)
"Whoever used up what it may ask at once may ask no more, however long the test takes."


def join(who: Peer, number: int) -> Join:
    return Join(TOPIC, who, number, 0, LEASE_US)


def members(node: Node) -> list[Peer]:
    return [*node.station.machine.spread.members.about(TOPIC)]  # type: ignore[attr-defined]


async def flood(attacker: Attacker, messages: Iterable[Struct], records: Iterable[bytes] = ()) -> None:
    """Everything at once, as fast as the victim takes it."""
    attacker.say(*messages, records=[*records])
    await attacker.writer.drain()


# -- roles -------------------------------------------------------------------------------------------------------


def test_a_client_may_not_speak_as_a_node(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as client:
            await client.greet(role="client")
            client.say(join(MALLORY, 1), Beat(TOPIC), Kept(TOPIC), Acked(((1, 1, 5),)), ReqContact(MALLORY, 1, (), 4))
            client.say(records=[client.record()])
            client.spread(*signed(client.keys, event(client.keys)))
            client.say(Read(1, ".cricket"))
            assert "does not let it subscribe" in (await client.hears("client.items"))["problem"]
            assert arena.refused("not for clients") == 7
            assert MALLORY not in members(arena.victim)
            assert MALLORY not in arena.victim.station.book
            assert MALLORY not in arena.victim.station.connections.lines
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_a_node_may_not_speak_as_a_client(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as node:
            await node.greet()
            node.say(
                *(Offer(1, TOPIC, b"x"), Read(1, TOPIC), Taken(1, 1), Enough(1), Answer(1, None), Items(1, ())),
                *(Await(1, (), 1.0), Copies(1)),
            )
            assert await node.still_up()
            assert arena.refused("not for nodes") == 8
            assert len(arena.victim.station.readers.inboxes) == 1
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_a_client_is_held_to_its_own_grant_and_to_what_clients_say(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("outsider")) as client:
            await client.greet(role="client")
            client.say(Offer(1, TOPIC, b"x"))
            assert "does not let it publish" in (await client.hears("client.answer"))["problem"]
            client.say(Answer(1, EventId(1, 2, 3)), Items(1, ()), Taken(9, 2**31 - 1), Enough(9))
            client.say(Read(2, TOPIC))
            assert "does not let it subscribe" in (await client.hears("client.items"))["problem"]
            assert arena.refused("not for nodes") == 2
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_a_client_that_says_it_has_read_more_than_it_got_gets_no_more_room(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as client:
            await client.greet(role="client")
            client.say(Read(1, TOPIC), Taken(1, 2**31 - 1))
            (session,) = arena.victim.clients.sessions.values()  # type: ignore[attr-defined]
            await until(lambda: session.readers.inboxes)
            client.say(*[Taken(1, 2**31 - 1)] * 100)
            await arena.is_unharmed()
            await client.hears("client.items")
            assert session.readers.room[1]._value + len(session.readers.on_the_way[1]) <= 1000

    asyncio.run(scenario())


# -- floods ------------------------------------------------------------------------------------------------------


def test_joins_of_made_up_peers_go_nowhere(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            sending = asyncio.create_task(flood(attacker, [join(1000 + i, i) for i in range(10_000)]))
            await arena.is_unharmed()
            await sending
            await arena.refuses("unknown peer", 10_000)
            assert members(arena.victim) == [FRIEND]
            assert await attacker.still_up()
            arena.is_bounded()
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_joins_of_one_peer_are_taken_at_its_rate(network: Network) -> None:
    async def scenario() -> None:
        async with (
            Arena(network, limits=NO_MORE) as arena,
            Attacker(arena.victim.address, arena.keys("mallory")) as attacker,
        ):
            await attacker.greet()
            told = arena.friend.metrics.messages_received
            sending = asyncio.create_task(flood(attacker, [join(MALLORY, i) for i in range(10_000)]))
            await arena.is_unharmed()
            await sending
            await arena.refuses("too many requests", 9_900)
            assert await attacker.still_up()
            assert arena.friend.metrics.messages_received - told < 500  # nothing grew on its way
            arena.is_bounded()

    asyncio.run(scenario())


def test_searches_are_answered_at_the_askers_rate(network: Network) -> None:
    async def scenario() -> None:
        async with (
            Arena(network, limits=NO_MORE) as arena,
            Attacker(arena.victim.address, arena.keys("mallory")) as attacker,
        ):
            await attacker.greet()
            told = arena.friend.metrics.messages_received
            wanted = ("#nobody",) * 128
            asked = [ReqContact(MALLORY, i, wanted if i % 10 == 0 else (), 255) for i in range(10_000)]
            for start in range(0, len(asked), 1000):
                await flood(attacker, asked[start : start + 1000])
            await arena.is_unharmed()
            await arena.refuses("too many requests", 9_900)
            assert arena.friend.metrics.messages_received - told < 500
            arena.is_bounded()

    asyncio.run(scenario())


def test_searches_in_the_name_of_another_do_not_use_up_what_that_one_may_ask(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            await flood(attacker, [ReqContact(FRIEND, i, (), 4) for i in range(10_000)])
            await arena.refuses("too many requests", 9_000)
            requests, before = arena.victim.station.requests, arena.refused("too many requests")
            assert requests.allows(ReqContact(FRIEND, 99_999, (), 4), FRIEND)
            arena.victim.station.driver.feed(Received(FRIEND, ReqContact(FRIEND, 99_999, (), 4)))
            assert arena.refused("too many requests") == before
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_joins_in_the_name_of_another_do_not_use_up_what_that_one_may_ask(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            await flood(attacker, [join(FRIEND, i) for i in range(10_000)])
            await arena.refuses("too many requests", 9_000)
            before = arena.refused("too many requests")
            arena.victim.station.driver.feed(Received(FRIEND, join(FRIEND, 99_999)))
            assert arena.refused("too many requests") == before
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_genuine_records_without_end_are_not_all_checked(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conduct, "CHECKS_PER_S", 0.001)  # however long the test takes

    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            now = 1_900_000_000_000_000
            records = [attacker.record(version=now + i) for i in range(2000)]
            sending = asyncio.create_task(flood(attacker, (), records))
            await arena.is_unharmed()
            await sending
            assert await attacker.still_up()
            assert arena.refused("too many records") >= 500
            assert arena.refused("bad record") == 0
            arena.is_bounded()
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_forged_records_cost_the_link(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            true = arena.friend.station.connections.own
            await flood(attacker, (), [true[:-1] + bytes([i]) for i in range(256) if i != true[-1]])
            await attacker.is_turned_away()
            assert arena.refused("bad record") == 21
            await arena.is_unharmed()
            arena.is_bounded()

    asyncio.run(scenario())


# -- acknowledgements --------------------------------------------------------------------------------------------


def test_nobody_acknowledges_what_it_was_never_sent(network: Network) -> None:
    """Or a publisher would forget what no member has."""

    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            await arena.is_unharmed()
            station = arena.victim.station
            for link in arena.friend.station.connections.links:
                link.channel.pause(True)
            event_id = await arena.victim.publish(f"{TOPIC}.italy", b"goal")
            await until(lambda: station.handover.unacked[event_id].told)
            attacker.say(*[Acked(((event_id.incarnation, 0, 2**63 - 1),) * 100)] * 100)
            assert await attacker.still_up()
            assert event_id in station.handover.unacked
            for link in arena.friend.station.connections.links:
                link.channel.pause(False)
            await until(lambda: event_id not in station.handover.unacked)
            assert (await soon(anext(arena.inboxes["friend"]))).payload == b"goal"

    asyncio.run(scenario())


# -- lists of revoked keys ---------------------------------------------------------------------------------------


def test_a_list_of_revoked_keys_is_the_authoritys(network: Network, elsewhere: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            assert attacker.keys is not None
            false = Revocations(network.id, 99, 0, ())
            by_mallory = seal_revocations(false, attacker.keys._signer)
            by_others = seal_revocations(false, elsewhere.authority.signer)
            genuine = (network.folder / "revoked").read_bytes()
            attacker.say(*map(Revoked, (b"", b"\xc1", flipped(genuine), genuine + b"x", bytes(200_000))))
            attacker.say(Revoked(by_mallory), Revoked(by_others), Revoked(genuine))
            assert await attacker.still_up()
            assert arena.refused("bad revocations") == 5
            assert arena.refused("unknown authority") == 2
            assert arena.victim.trust.revocations()[0] == 0
            await arena.is_unharmed()

    asyncio.run(scenario())


# -- in the name of others ---------------------------------------------------------------------------------------


def test_nobody_takes_another_out_of_a_view(network: Network) -> None:
    """Whoever is held there says so itself: not by a lease of a moment in its name, nor by hearsay."""

    async def scenario() -> None:
        quick = type(QUICK)(patience_us=50_000, tries=1, beat_every_us=20_000, isolated_us=10_000_000)
        async with Arena(network, scamp=quick) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as liar:
            await liar.greet()
            liar.say(join(MALLORY, 1))
            await until(lambda: MALLORY in members(arena.victim))
            view = arena.victim.station.machine.spread.members.views[TOPIC]  # type: ignore[attr-defined]
            await until(lambda: FRIEND in view.held)
            for number in range(20):
                liar.say(Forward(TOPIC, FRIEND, number, 1, 1), Join(TOPIC, FRIEND, number, 0, 1))
                liar.say(ContactList(TOPIC, ".", (), (FRIEND,)), Gone(TOPIC), Bye() if number == 19 else Beat(TOPIC))
                await asyncio.sleep(0.02)
                assert FRIEND in view.known()
            await liar.is_turned_away()
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_whoever_may_not_read_a_topic_does_not_become_a_member(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("outsider")) as outsider:
            await outsider.greet()
            outsider.say(join(OUTSIDER, 1), Forward(TOPIC, OUTSIDER, 1, 5, LEASE_US), Kept(TOPIC), Beat(TOPIC))
            outsider.say(Here(TOPIC), Accept(TOPIC, 1), Marks(TOPIC, 1, b"\0\0\0\1", None, True))
            assert await outsider.still_up()
            assert arena.refused("not granted") == 7
            assert members(arena.victim) == [FRIEND]
            await arena.is_unharmed()
            assert arena.victim.metrics.parasites == 0

    asyncio.run(scenario())


def test_nobody_makes_another_a_member_that_may_not_read_the_topic(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            assert attacker.keys is not None
            outsider = arena.keys("outsider").record(("127.0.0.1:1",), 1)
            lies: list[Struct] = [
                join(OUTSIDER, 1),
                Forward(TOPIC, OUTSIDER, 1, 1, LEASE_US),
                Gone(TOPIC, OUTSIDER),
                ContactList(f"{TOPIC}.italy", TOPIC, (FRIEND, OUTSIDER)),
                AnsContact(attacker.keys.spell(TOPIC), (OUTSIDER,)),
            ]
            attacker.say(*lies * 10, records=[outsider])
            assert await attacker.still_up()
            assert arena.refused("not granted") == 50
            assert OUTSIDER in arena.victim.station.book
            assert OUTSIDER not in members(arena.victim)
            await arena.is_unharmed()
            assert OUTSIDER not in arena.victim.station.connections.lines

    asyncio.run(scenario())


def extreme(message: Struct, which: str) -> dict[str, object]:
    """The same with every number as large (or small) as the wire lets it be, or beyond."""
    said = msgspec.to_builtins(message, builtin_types=(bytes,))
    for field in msgspec.inspect.type_info(type(message)).fields:  # type: ignore[union-attr]
        kinds = getattr(field.type, "types", (field.type,))
        bounds = [each for each in kinds if isinstance(each, msgspec.inspect.IntType)]
        if bounds and field.name not in ("who", "origin"):
            limits = {"most": bounds[0].le, "least": bounds[0].ge, "more": 2**64 - 1, "less": -(2**63)}
            said[field.name] = limits[which] or 0
    return {"type": message.__struct_config__.tag, **said}


def test_the_greatest_numbers_there_are_harm_nobody(network: Network) -> None:
    """What a machine takes in it may have to send on: nothing may come out that others refuse."""

    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            messages = [
                join(MALLORY, 1),
                Forward(TOPIC, MALLORY, 1, 1, 1),
                Accept(TOPIC, 1),
                Marks(TOPIC, 1, b"\xff" * 512, 1, True),
                NewProcess(TOPIC, ".x", 1),
                Probe(1, TOPIC),
                ReqContact(MALLORY, 1, (), 4),
            ]
            for which in ("most", "least"):
                attacker.say(*(msgspec.msgpack.encode(extreme(each, which)) for each in messages))
                assert await attacker.still_up()
            assert arena.refused("bad message") == 0
            for which in ("more", "less"):
                attacker.say(*(msgspec.msgpack.encode(extreme(each, which)) for each in messages))
            assert await attacker.still_up()
            assert arena.refused("bad message") == 14
            await arena.is_unharmed()
            assert arena.refused("bad message", arena.friend) == 0

    asyncio.run(scenario())
