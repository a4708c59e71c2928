"""Participants of a hierarchy that say they live elsewhere, or speak for others: with keys, over TLS."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import msgpack

from gossamer.core.errors import Misuse, PeerFault
from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId
from gossamer.core.machine import Message, Send
from gossamer.live.arriving.seals import Seals
from gossamer.live.config.config import Config, load
from gossamer.live.keys.keyring import Keyring
from gossamer.live.keys.network import Network as Keys
from gossamer.live.node import Node
from gossamer.live.reading.deliveries import Delivery
from gossamer.live.reading.inbox import Inbox
from gossamer.live.running.spread_rules import SpreadRules
from gossamer.protocols import CATALOGUE
from gossamer.protocols.hpmcast.addresses import read
from gossamer.protocols.hpmcast.messages import LaterRows, LevelGossip, Ping, PlaceRequest, Seat, SubsystemRow
from gossamer.wire.codec import Codec
from live.hostile.arena import Watch
from live.hostile.attacker import Attacker
from live.test_hpmcast import BRANCHING, HASTY, part_of, settled, until

TOPIC = ".open"
PLACES = {"a": "0.0.0", "b": "0.1.0", "c": "1.0.0", "d": "1.1.0"}


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    """Honest nodes with addresses, and two that are up to no good: one lives somewhere, the other nowhere."""
    made = Keys.init(tmp_path_factory.mktemp("keys") / "net")
    for name, address in {**PLACES, "mallory": "1.1.2"}.items():
        made.grant(name, [TOPIC], [TOPIC], address=address)
    made.grant("client", [TOPIC], [TOPIC])
    made.grant("quiet", [TOPIC], [], days=1)
    return made


def settings(keys: Keys, name: str, seeds: Iterable[Node] = (), **others: Any) -> Config:
    hpmcast = {"branching": BRANCHING, "delegates": 2, "step_us": 20_000, **others.pop("hpmcast", {})}
    given = {"keys": keys.folder_of(name), "bind": "127.0.0.1:0", "seeds": [node.address for node in seeds]}
    given |= {"community": TOPIC, "spool": {"durability": "off"}, "hpmcast": hpmcast, "subscribe": [TOPIC]}
    return load(environ={}, overrides={**HASTY, **given, **others})


@contextlib.asynccontextmanager
async def town(keys: Keys, names: Sequence[str] = "abcd", **others: Any) -> AsyncIterator[list[Node]]:
    """These nodes, each knowing of all others."""
    async with contextlib.AsyncExitStack() as closing:
        await closing.enter_async_context(Watch())
        nodes: list[Node] = []
        for name in names:
            nodes.append(await closing.enter_async_context(Node(settings(keys, name, nodes[:1], **others))))
        await until(lambda: settled(nodes))
        yield nodes


@contextlib.asynccontextmanager
async def impostor(keys: Keys, name: str, address: str, seeds: Iterable[Node]) -> AsyncIterator[Node]:
    """A node that lives where it likes: its own software does not keep it from it."""
    honest = Config.design_at
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Config, "design_at", lambda self, granted: honest(self, read(address, BRANCHING)))
        node = Node(settings(keys, name, seeds))
        await node.start()
    try:
        yield node
    finally:
        await node.close()


async def are_unharmed(nodes: Sequence[Node], events: int = 3) -> None:
    """What each publishes reaches all; a node that was started again may also be given what it had before."""
    async with contextlib.AsyncExitStack() as closing:
        inboxes = [await closing.enter_async_context(node.subscribe(TOPIC)) for node in nodes]
        sent = [f"{time.monotonic_ns()}".encode() for _ in range(events)]
        for number, payload in enumerate(sent):
            await nodes[number % len(nodes)].publish(TOPIC, payload)
        for inbox in inboxes:
            await arrived(inbox, sent)


async def arrived(inbox: Inbox, payloads: Sequence[bytes]) -> None:
    missing = dict.fromkeys(payloads)
    async with asyncio.timeout(60):
        while missing:
            item = await anext(inbox)
            assert isinstance(item, Delivery)
            missing.pop(item.payload, None)


def refused(nodes: Iterable[Node], reason: str) -> int:
    return sum(node.metrics.refusals.get(reason, 0) for node in nodes)


# Where a node lives


def test_nodes_live_where_they_were_granted_to(keys: Keys) -> None:
    async def scenario() -> None:
        async with town(keys) as nodes:
            assert [node.station.design.address for node in nodes] == [
                read(each, BRANCHING) for each in PLACES.values()
            ]
            await are_unharmed(nodes)
            assert not any(any(node.metrics.refusals.values()) for node in nodes)

    asyncio.run(scenario())


def test_a_node_told_another_address_than_it_was_granted_does_not_start(keys: Keys) -> None:
    async def start(**hpmcast: Any) -> None:
        async with Node(settings(keys, "a", hpmcast=hpmcast)):
            pass

    says = (
        "hpmcast.address is 0.0.1, but this node was granted 0.0.0: leave it out, or have it granted with "
        "gossamer keys grant --address 0.0.1"
    )
    with pytest.raises(Misuse) as told:
        asyncio.run(start(address="0.0.1"))
    assert str(told.value) == says
    with pytest.raises(Misuse, match=r"addresses like 0–3\.0–3, and this node was granted 0\.0\.0: make it"):
        asyncio.run(start(branching=[4, 4]))
    asyncio.run(start(address="0.0.0"))
    with pytest.raises(Misuse, match=r"hpmcast\.address is missing: .* with keys grant them"):
        asyncio.run(start_of(settings(keys, "client")))


async def start_of(config: Config) -> None:
    async with Node(config):
        pass


@pytest.mark.parametrize(("name", "address"), [("mallory", "0.0.0"), ("mallory", "1.0.1"), ("client", "0.0.0")])
def test_whoever_says_it_lives_elsewhere_gets_neither_a_place_nor_rows_nor_events(
    keys: Keys, name: str, address: str
) -> None:
    """In another's place, or in none; and the same without any in its grant."""

    async def scenario() -> None:
        async with town(keys) as nodes, impostor(keys, name, address, nodes[:1]) as liar:
            await until(lambda: refused(nodes, "not its address") > 1)
            await are_unharmed(nodes)
            assert all(liar.station.me not in part_of(node).members.tables.peers() for node in nodes)
            assert all(part_of(node).size(".") == len(nodes) for node in nodes)
            assert liar.metrics.copies_received == 0
            assert not part_of(liar).members.tables.peers()

    asyncio.run(scenario())


def test_a_node_without_a_granted_address_among_others_with_one_says_why_it_may_be_refused(
    keys: Keys, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with town(keys, "a") as nodes, Node(settings(keys, "client", nodes, hpmcast={"address": "0.0.1"})):
            await until(lambda: refused(nodes, "not its address") > 0)

    with caplog.at_level("WARNING", "gossamer"):
        asyncio.run(scenario())
    assert caplog.text.count("--node client --address 0.0.1 makes a grant that says it") == 1


def test_where_nobody_was_granted_an_address_it_is_each_node_s_own_word(keys: Keys, tmp_path: Path) -> None:
    """And who was granted one lives there nevertheless."""
    other = Keys.init(tmp_path / "net")
    for name in ("a", "b"):
        other.grant(name, [TOPIC], [TOPIC])
    other.grant("mallory", [TOPIC], [TOPIC], address="1.1.2")

    async def scenario() -> None:
        async with contextlib.AsyncExitStack() as closing:
            first = await closing.enter_async_context(Node(settings(other, "a", hpmcast={"address": "0.0.0"})))
            second = Node(settings(other, "b", [first], hpmcast={"address": "1.1.1"}))
            nodes = [first, await closing.enter_async_context(second)]
            await until(lambda: settled(nodes))
            await closing.enter_async_context(impostor(other, "mallory", "1.1.0", nodes[:1]))
            await until(lambda: refused(nodes, "not its address") > 0)
            await are_unharmed(nodes)

    asyncio.run(scenario())


def test_a_row_that_puts_a_delegate_elsewhere_is_refused(keys: Keys) -> None:
    """Signed by one who lives there, in the name of others."""

    async def scenario() -> None:
        async with town(keys) as nodes:
            liar, victim = nodes[2], nodes[0]
            seats = (Seat((1, 0, 0), liar.station.me), Seat((1, 0, 1), nodes[3].station.me))
            row = SubsystemRow((1,), liar.station.me, liar.station.clock.now_us(), seats, (), 2)
            part_of(victim).members.comparing.expect(liar.station.me)
            liar.station.driver._send(Send((victim.station.me,), LaterRows((row,))))
            await until(lambda: refused([victim], "not its address") > 0)
            assert part_of(victim).members.tables.others[(1,)].row.delegates != seats
            await are_unharmed(nodes)

    asyncio.run(scenario())


def test_nobody_from_outside_says_that_all_is_done_below(keys: Keys) -> None:
    """An event told on level 1 by somebody who lives elsewhere would go no further."""

    async def scenario() -> None:
        async with town(keys, timeouts={"ack_s": 0.2}) as nodes:
            liar, said = nodes[0], nodes[0].station.codec.said

            def lying(message: Message) -> bytes:
                return msgpack.encode([1, 0.0, 2**31, 2**30]) if isinstance(message, LevelGossip) else said(message)

            liar.station.codec.said = lying  # type: ignore[method-assign]
            await liar.publish(TOPIC, b"1")
            await until(lambda: refused(nodes, "no such level or probability") > 0)
            liar.station.codec.said = said  # type: ignore[method-assign]
            await until(lambda: all(node.metrics.events_delivered == 1 for node in nodes))

    asyncio.run(scenario())


# Somebody who lives where it says, and says what it likes


def test_floods_of_requests_rows_of_too_many_delegates_and_old_rows_change_nothing(keys: Keys) -> None:
    async def scenario() -> None:
        ring = Keyring.load(keys.folder_of("mallory"))
        async with town(keys) as nodes, Attacker(nodes[0].address, ring) as mallory:
            victim, tables = nodes[0], part_of(nodes[0]).members.tables
            await mallory.greet(spread=victim.station.design.title)
            sealed, now_us = Seals(ring.peer, ring, SpreadRules()).sealed, victim.station.clock.now_us()
            seat = Seat((1, 1, 2), ring.peer)
            own = sealed(PlaceRequest(SubsystemRow(seat.address, ring.peer, now_us, (seat,), (), 1), 0))
            requests = part_of(victim).members.comparing.requests
            often, requests.per_s = requests.per_s, 0.0  # however long the victim takes to read them
            mallory.say(*[own] * 700)
            await until(lambda: refused([victim], "too many requests") > 50)
            requests.per_s = often
            requests.kept.clear()  # a while later

            part_of(victim).members.comparing.expect(ring.peer)
            crowd = (Seat((1, 0, 0), nodes[2].station.me), Seat((1, 1, 0), nodes[3].station.me), seat)
            mallory.say(sealed(LaterRows((SubsystemRow((1,), ring.peer, now_us, crowd, (), 3),))))
            await until(lambda: refused([victim], "bad row") == 1)
            elsewhere = SubsystemRow((0, 1), ring.peer, now_us, (seat,), (), 1)
            mallory.say(sealed(LaterRows((elsewhere,))))
            await until(lambda: refused([victim], "bad row") == 2)

            old = tables.others[(0, 1)].row
            part_of(nodes[1]).members.say_again()
            await until(lambda: tables.others[(0, 1)].row.stamp > old.stamp)
            later = tables.others[(0, 1)].row
            mallory.say(LaterRows((old,)), Ping())
            await mallory.hears("hpmcast.pong")
            assert tables.others[(0, 1)].row.stamp >= later.stamp
            await are_unharmed(nodes)

    asyncio.run(scenario())


def test_what_is_said_beside_an_event_is_a_gossip_or_nothing() -> None:
    """Whatever the bytes: those of a genuine gossip, changed here and there, and others."""
    codec, chance = Codec(CATALOGUE["hpmcast"].spoken), random.Random(6)
    carried = Carried(Event(EventId(1, 2, 3), TOPIC))
    true = codec.said(LevelGossip(carried, 2, 0.25, 3, 4))
    taken = refused = 0
    for _ in range(3000):
        said = bytearray(true)
        for _ in range(chance.randrange(4)):
            said[chance.randrange(len(said))] = chance.randrange(256)
        told = bytes(said) if chance.random() < 0.7 else chance.randbytes(chance.randrange(40))
        try:
            gossip = codec.carrier(LevelGossip, carried, told)
        except PeerFault:
            refused += 1
            continue
        taken += 1
        assert isinstance(gossip, LevelGossip)
        assert 1 <= gossip.level <= 60
        assert 0 <= gossip.rounds <= 2**31
        assert 0 <= gossip.padding <= 2**30
        assert isinstance(gossip.prob, float)
    assert min(taken, refused) > 500
