"""Well-formed lies about logs, told over a real socket by a member gone bad: each costs little, and nothing is lost."""

import asyncio
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer import Delivery, Gap
from gossamer.core.events import Event
from gossamer.core.ids import ORDINAL_MAX, EventId, peer_of
from gossamer.core.machine import Run
from gossamer.live.config.config import Config
from gossamer.live.config.tables import SpoolConfig
from gossamer.live.keys.keyring import Keyring
from gossamer.live.keys.network import Network
from gossamer.live.node import Node
from gossamer.protocols.catchup.layer import CatchUp
from gossamer.protocols.catchup.messages import PAGE_MAX, RUNS_MAX, Answered, Compare, Holds, Lacks, Stream, StreamHeld
from gossamer.protocols.catchup.params import Params
from live.hostile.arena import TOPIC, Arena, soon, until
from live.hostile.attacker import Attacker, signed

TOP = 2**63 - 1
LIFE = 2**60
"A life that began after everybody subscribed."
BELOW = f"{TOPIC}.italy"
MALLORY = peer_of("mallory")


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second of catching up in a twentieth."""
    settings = {"beat_us": 50_000, "rest_us": 100_000, "patience_us": 50_000, "wait_us": 250_000, "give_up_us": 300_000}
    monkeypatch.setattr(
        Config, "catching_up", property(lambda self: Params(log=self.spool.durability != "off", **settings))
    )


def on(disk: Path) -> SpoolConfig:
    return SpoolConfig(folder=disk)


def catching(node: Node) -> CatchUp:
    (found,) = [each for each in node.station.machine.layers if isinstance(each, CatchUp)]
    return found


def counted(keys: Keyring, ordinal: int, life: int = LIFE, number: int = 1, payload: bytes = b"counted") -> Event:
    event_id, now_us = EventId(peer_of(keys.name), life, number), time.time_ns() // 1000
    return Event(event_id, BELOW, payload, ordinal=ordinal, published_us=now_us)


async def is_well(arena: Arena) -> None:
    """Its disk takes what it is given, and nobody was kept from anything."""
    spool = arena.victim.station.spool
    assert spool is not None
    assert spool.trouble is None
    assert arena.victim.metrics.failures == 0
    assert arena.victim.health().status != "failing"
    for what, size, most in catching(arena.victim).bounds():
        assert size <= most, what
    await arena.is_unharmed(alone=False)


def test_a_publisher_that_counts_to_absurd_numbers_keeps_nobody_from_writing(network: Network, tmp_path: Path) -> None:
    """What lies between two of its events counts as lost, and the sum of that must not be more than the disk takes."""

    async def scenario() -> None:
        async with (
            Arena(network, spool=on(tmp_path)) as arena,
            Attacker(arena.victim.address, arena.keys("mallory")) as liar,
            arena.victim.subscribe(TOPIC, name="billing") as inbox,
        ):
            await liar.greet()
            for number, ordinal in enumerate((ORDINAL_MAX + 1, TOP), 1):
                liar.spread(*signed(liar.keys, counted(liar.keys, ordinal, number=number)))
                await arena.refuses("bad event", number)
            gone = 0
            for life in range(LIFE, LIFE + 4):
                ends = [counted(liar.keys, ordinal, life, number) for number, ordinal in ((1, 1), (2, ORDINAL_MAX))]
                liar.spread(*signed(liar.keys, *ends))
            while gone < 4 * (ORDINAL_MAX - 2):
                item = await soon(anext(inbox))
                gone += item.lost if isinstance(item, Gap) and not item.topic else 0
                if isinstance(item, Delivery):
                    await inbox.ack(item)
            assert gone == 4 * (ORDINAL_MAX - 2)
            await is_well(arena)
            async with arena.victim.subscribe(TOPIC, name="another"):
                pass  # it is on disk

    asyncio.run(scenario())


def test_claims_of_everything_and_answers_to_nothing_keep_nobody_from_catching_up(
    network: Network, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with (
            Arena(network, spool=on(tmp_path / "victim")) as arena,
            Attacker(arena.victim.address, arena.keys("mallory")) as liar,
        ):
            for _ in range(10):
                await arena.is_unharmed()
            await liar.greet()
            mine = Stream(BELOW, arena.victim.station.me, arena.victim.station.incarnation)
            for turn in range(50):
                made_up = [StreamHeld(Stream(BELOW, 100 * turn + n, LIFE), (1, TOP)) for n in range(PAGE_MAX - 1)]
                liar.say(
                    Holds(TOPIC, turn, (StreamHeld(mine, (1, TOP)), *made_up), None, True),
                    Holds(TOPIC, turn, (), None, False, False),
                    Answered(turn, (Run(BELOW, MALLORY, LIFE, 1, TOP),), (Run(BELOW, mine.publisher, 1, 1, TOP),)),
                    Compare(TOPIC, turn, TOP, Stream(BELOW, TOP, TOP)),
                )
            assert await liar.still_up()
            assert {each.publisher for each in catching(arena.victim).shelves.shelves} <= {
                arena.victim.station.me,
                arena.friend.station.me,
            }
            third = await arena.node("third", spool=on(tmp_path / "third"))
            await is_well(arena)
            await until(lambda: not catching(third).visits.under_way)

    asyncio.run(scenario())


def test_who_asks_for_everything_again_and_again_is_brought_only_so_much(network: Network, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            Arena(network, spool=on(tmp_path)) as arena,
            Attacker(arena.victim.address, arena.keys("mallory")) as liar,
        ):
            await asyncio.gather(*(soon(arrived(arena, bytes([n]) * 1000)) for n in range(50)))
            await liar.greet()
            held = Run(BELOW, arena.victim.station.me, arena.victim.station.incarnation, 1, TOP)
            before = arena.victim.metrics.bytes_sent
            for number in range(1, 500):
                liar.say(Lacks(TOPIC, number, (held,) * RUNS_MAX))
            assert await liar.still_up()
            answers = 2 * Params().answers_per_s + 10  # at once, and while that took its time
            assert arena.victim.metrics.bytes_sent - before < answers * 50 * 1500
            assert arena.victim.metrics.refusals["bad message"] == 0
            await is_well(arena)

    async def arrived(arena: Arena, payload: bytes) -> None:
        await arena.victim.publish(BELOW, payload)

    asyncio.run(scenario())


def test_the_bytes_of_one_event_brought_under_the_id_of_another_are_refused(network: Network, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            Arena(network, spool=on(tmp_path)) as arena,
            Attacker(arena.victim.address, arena.keys("mallory")) as liar,
        ):
            await liar.greet()
            (one, body), (two, other) = signed(liar.keys, counted(liar.keys, 1), counted(liar.keys, 2, number=2))
            wanted = replace(one, id=EventId(arena.friend.station.me, LIFE, 1))
            for copy, its in ((one, other), (replace(one, leaf=two.leaf), body), (wanted, body)):
                liar.spread((replace(copy, tag="catchup.brings"), its))
            refused = arena.victim.metrics.refusals
            await until(lambda: refused["forged copy"] + refused["bad event"] >= 3)
            assert not arena.victim.station.machine.knows(one.id)
            await is_well(arena)

    asyncio.run(scenario())


def test_whoever_may_not_read_a_topic_is_neither_told_nor_brought_what_is_in_its_log(
    network: Network, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with (
            Arena(network, spool=on(tmp_path)) as arena,
            Attacker(arena.victim.address, arena.keys("outsider")) as nosy,
        ):
            await arena.is_unharmed()
            await nosy.greet()
            before = arena.victim.metrics.messages_sent
            held = Run(BELOW, arena.victim.station.me, arena.victim.station.incarnation, 1, 10)
            nosy.say(Compare(TOPIC, 5), Lacks(TOPIC, 1, (held,)), Holds(TOPIC, 5, ()), Lacks(".cricket", 2, (held,)))
            await arena.refuses("not granted", 3)
            said = await nosy.hears("catchup.answered")
            assert (said["number"], said["left"]) == (2, [])  # it takes no part there: it has nothing to say
            assert arena.victim.metrics.messages_sent - before < 20
            await is_well(arena)

    asyncio.run(scenario())
