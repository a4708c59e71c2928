"""Packs that are not what they say: no event of them is delivered that would not have been by itself."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gossamer.core.events import Event
from gossamer.live.arriving import arrivals
from gossamer.live.config.tables import SpoolConfig
from gossamer.live.keys.keyring import Keyring
from gossamer.live.keys.network import Network
from gossamer.live.links.conduct import STRIKES_MAX
from gossamer.wire import pack as packs
from gossamer.wire.frame import FRAME_BYTES_MAX, PackCopy
from gossamer.wire.pack import OPENED
from gossamer.wire.pack import pack as make_pack
from gossamer.wire.proof import BATCH_MAX, leaf, levels
from gossamer.wire.sealed import head_of
from live.hostile.arena import TOPIC, Arena, soon, until
from live.hostile.attacker import Attacker, event, flipped, pack, pack_of, signed
from live.hostile.test_events import delivered

replace = msgspec.structs.replace


def holding(copy: PackCopy, content: bytes) -> PackCopy:
    return replace(copy, content=memoryview(content))


def test_a_pack_of_a_member_is_delivered_acknowledged_and_passed_on(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as member:
            await member.greet()
            copy = pack_of(member.keys, *(event(member.keys, i, b"%d" % i) for i in range(BATCH_MAX)))
            member.spread_packs(copy)
            for number in range(BATCH_MAX):
                await delivered(arena, b"%d" % number)
            assert (await member.hears("live.acked"))["ranges"] == [[1, 0, BATCH_MAX - 1]]
            assert copy.mark in arena.friend.station.bodies.packs  # it went on as a pack
            member.spread_packs(copy, copy)
            assert (await member.hears("live.acked"))["ranges"] == [[1, 0, BATCH_MAX - 1]]
            metrics = arena.victim.metrics
            assert (metrics.copies_received, metrics.copies_known) == (3 * BATCH_MAX, 2 * BATCH_MAX)
            await arena.is_unharmed()
            arena.is_bounded()

    asyncio.run(scenario())


def test_what_is_known_is_not_decoded(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []

    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as member:
            await member.greet()
            alone = signed(member.keys, event(member.keys, 0, b"0"))
            together = pack_of(member.keys, event(member.keys, 1, b"1"), event(member.keys, 2, b"2"))
            for name in ("unseal", "unpack"):
                monkeypatch.setattr(arrivals, name, counted(name, getattr(arrivals, name), decoded))
            for _ in range(4):
                member.spread(*alone)
                member.spread_packs(together)
            for number in range(3):
                await delivered(arena, b"%d" % number)
            assert await member.still_up()
            assert arena.victim.metrics.copies_known == 3 * 3
            assert decoded.count("unseal") == decoded.count("unpack") == len(arena.nodes)

    asyncio.run(scenario())


def counted(name: str, real: Callable[..., Any], calls: list[str]) -> Callable[..., Any]:
    def counting(*given: Any) -> Any:
        calls.append(name)
        return real(*given)

    return counting


def test_a_pack_that_is_none_is_refused(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            keys = attacker.keys
            one, two = event(keys, 1, b"one"), event(keys, 2, b"two")
            copy = pack_of(keys, one, two)
            bad = [
                *(holding(copy, each) for each in (b"", b"\xc1", pack([None, b""]), bytes(copy.content)[:-1])),
                holding(copy, pack([None, pack([[], []])])),
                pack_of(keys, one, one),
                pack_of(keys, one, event(keys, 1, b"another body")),
                pack_of(keys, one, event(keys, 2, publisher="friend")),
            ]
            for each in bad:
                attacker.spread_packs(each)
            assert await attacker.still_up()
            assert arena.refused("bad event") == len(bad)
            await arena.is_unharmed()
            arena.is_bounded()

    asyncio.run(scenario())


def test_a_forged_pack_does_not_keep_the_true_one_out(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena:
            honest, keys = arena.keys("oscar"), arena.keys("mallory")
            true = [event(honest, i, b"true %d" % i) for i in range(3)]
            copy = pack_of(honest, *true)
            proof, inside = msgspec.msgpack.decode(copy.content)
            heads, payloads = msgspec.msgpack.decode(inside)
            stolen = pack_of(keys, *(event(honest, i, b"false") for i in range(3)))
            async with Attacker(arena.victim.address, honest) as oscar:
                await oscar.greet()
                async with Attacker(arena.victim.address, keys) as attacker:
                    await attacker.greet()
                    attacker.spread_packs(
                        holding(copy, flipped(bytes(copy.content))),  # a wrong leaf
                        replace(copy, mark=flipped(copy.mark)),
                        holding(copy, pack([proof, pack([heads[::-1], payloads[::-1]])])),  # another order
                        holding(copy, bytes(stolen.content)),  # the true mark, other events
                    )
                    assert await attacker.still_up()
                    assert arena.refused("forged copy") == 4
                    attacker.spread_packs(
                        stolen,
                        holding(copy, pack([[proof[0], flipped(proof[1]), *proof[2:]], inside])),
                        holding(copy, pack([[*proof[:4], flipped(proof[4])], inside])),
                        holding(copy, pack([None, inside])),
                    )
                    assert await attacker.still_up()
                    assert arena.refused("bad proof") + arena.refused("unknown publisher") == 4
                    assert arena.refused("bad proof") >= 3
                    attacker.spread_packs(copy)  # the true one, even by the same peer
                    for i in range(3):
                        await delivered(arena, b"true %d" % i)
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_what_a_publisher_may_not_publish_is_left_out_of_its_pack(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            keys = attacker.keys
            cricket = event(keys, 1, b"cricket", ".cricket")
            attacker.spread_packs(pack_of(keys, cricket, event(keys, 2, b"more", ".")))
            assert await attacker.still_up()
            assert arena.refused("publisher not granted") == 1
            mixed = pack_of(keys, event(keys, 3, b"first"), cricket, event(keys, 4, b"last"))
            for count in (2, 3):
                attacker.spread_packs(mixed)
                assert await attacker.still_up()
                assert arena.refused("publisher not granted") == count  # it is looked at again
            await delivered(arena, b"first")
            await delivered(arena, b"last")
            await arena.is_unharmed()

    asyncio.run(scenario())


@pytest.mark.parametrize("alone_first", [True, False])
def test_two_bodies_under_one_id_are_refused_in_packs_too(network: Network, alone_first: bool) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            keys = attacker.keys
            first = [event(keys, i, b"first %d" % i) for i in range(2)]
            second: list[Event] = [event(keys, 0, b"second 0"), first[1], event(keys, 2, b"new")]
            if alone_first:
                attacker.spread(*signed(keys, *first))
            else:
                attacker.spread_packs(pack_of(keys, *first))
            for i in range(2):
                await delivered(arena, b"first %d" % i)
            attacker.spread_packs(pack_of(keys, *second))
            await delivered(arena, b"new")
            await arena.refuses("equivocation")
            attacker.spread(*signed(keys, second[0]))
            await arena.refuses("equivocation", 2)
            await until(lambda: arena.victim.metrics.copies_known == 1)
            await arena.is_unharmed()

    asyncio.run(scenario())


def beside_another_tree(keys: Keyring, *events: Event) -> PackCopy:
    """A pack, signed together with a tree over other events: none of these can be proved alone."""
    others = [replace(each, payload=b"other") for each in events]
    tree = levels([leaf(head_of(each), each.payload) for each in others])
    made = make_pack([*map(head_of, events)], events, tree, keys.stamp)
    return PackCopy(made.mark, 1, "camcast.carry", memoryview(made.content))


def test_a_pack_beside_another_tree_makes_nobody_pass_on_what_cannot_be_proved(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            events = [event(attacker.keys, i, b"%d" % i) for i in range(3)]
            attacker.spread_packs(beside_another_tree(attacker.keys, *events))
            for i in range(3):
                await delivered(arena, b"%d" % i)  # as a whole it is as good as any
            assert arena.victim.station.bodies.sealed(events[1].id) == b""
            attacker.spread(*signed(attacker.keys, events[1]))
            await until(lambda: arena.victim.metrics.copies_known == 1)
            attacker.spread(*signed(attacker.keys, replace(events[1], payload=b"another body")))
            await arena.refuses("equivocation")
            await arena.is_unharmed()

    asyncio.run(scenario())


@pytest.mark.parametrize("numbers", [(1, 2, 3), (1, 3, 5)])
def test_a_pack_beside_another_tree_reaches_those_who_read_the_spool(
    network: Network, tmp_path: Path, numbers: tuple[int, ...]
) -> None:
    """It is kept as a whole where its events follow each other, and with a row for each where they do not."""

    async def scenario() -> None:
        async with (
            Arena(network, spool=SpoolConfig(folder=tmp_path)) as arena,
            Attacker(arena.victim.address, arena.keys("mallory")) as attacker,
        ):
            await attacker.greet()
            events = [event(attacker.keys, i, b"%d" % i) for i in numbers]
            attacker.spread_packs(beside_another_tree(attacker.keys, *events))
            for each in events:
                await delivered(arena, each.payload)
            async with arena.victim.subscribe(TOPIC, from_start=True) as late:
                assert [(await soon(anext(late))).payload for _ in events] == [each.payload for each in events]
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_copies_of_what_came_in_packs_do_not_make_a_node_hash_them_again_and_again(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[str] = []

    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as member:
            await member.greet()
            keys = member.keys
            batches = [[event(keys, 2 * i + j, b"%d" % (2 * i + j)) for j in range(2)] for i in range(OPENED + 8)]
            for batch in batches:
                member.spread_packs(pack_of(keys, *batch))
            for number in range(2 * len(batches)):
                await delivered(arena, b"%d" % number)
            monkeypatch.setattr(packs, "inside", counted("inside", packs.inside, hashed))
            for _ in range(4):
                for which in range(2):  # one of every pack in turn, and no bytes, since nobody will look at them
                    member.spread(*((signed(keys, batch[which])[0][0], b"") for batch in batches))
            await until(lambda: arena.victim.metrics.copies_known == 8 * len(batches))
            assert len(hashed) == len(batches)
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_a_pack_too_large_to_be_passed_on_is_refused(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            large = [pack_of(attacker.keys, event(attacker.keys, i, bytes(FRAME_BYTES_MAX - 400))) for i in range(3)]
            for each in large:
                attacker.spread_packs(each)
            assert await attacker.still_up()
            assert arena.refused("bad frame", arena.friend) == 0  # nobody blames the victim
            assert arena.refused("bad event") == len(large)
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_a_pack_beside_another_tree_is_refused_where_some_of_it_is_known(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            events = [event(attacker.keys, i, b"%d" % i) for i in range(3)]
            attacker.spread(*signed(attacker.keys, events[1]))
            await delivered(arena, b"1")
            attacker.spread_packs(beside_another_tree(attacker.keys, *events))
            await arena.refuses("equivocation")
            attacker.spread(*signed(attacker.keys, events[0]))
            await delivered(arena, b"0")
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_events_known_alone_are_not_delivered_again_from_a_pack(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as member:
            await member.greet()
            events = [event(member.keys, i, b"%d" % i) for i in range(3)]
            member.spread(*signed(member.keys, events[1]))
            await delivered(arena, b"1")
            copy = pack_of(member.keys, *events)
            member.spread_packs(copy)
            await delivered(arena, b"0")
            await delivered(arena, b"2")
            assert copy.mark in arena.victim.station.bodies.packs
            member.spread_packs(copy)
            await until(lambda: arena.victim.metrics.copies_known == 1 + 3)
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_packs_of_unknown_publishers_and_of_unknown_kinds_are_refused_without_blame(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as relay:
            await relay.greet()
            stranger = arena.keys("oscar")
            for number in range(30):
                relay.spread_packs(pack_of(stranger, event(stranger, number), event(stranger, 100 + number)))
            relay.spread_packs(replace(pack_of(relay.keys, event(relay.keys)), tag="camcast.tomorrow"))
            assert await relay.still_up()
            assert arena.refused("unknown publisher") == 30
            assert arena.victim.metrics.unknown_tags == 1
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_a_client_sends_no_packs(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as client:
            await client.greet(role="client")
            client.spread_packs(pack_of(client.keys, event(client.keys, topic=TOPIC)))
            await arena.refuses("not for clients")
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_marks_of_known_packs_without_their_bytes_cost_the_link(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            copy = pack_of(attacker.keys, *(event(attacker.keys, number) for number in range(1, 41)))  # type: ignore[arg-type]
            attacker.spread_packs(copy)
            await until(lambda: copy.mark in arena.victim.station.bodies.packs)
            before = arena.victim.metrics.copies_known
            attacker.spread_packs(*[PackCopy(copy.mark, 1, copy.tag, memoryview(b""))] * 20_000)
            await attacker.is_turned_away()
            assert arena.refused("forged copy") == STRIKES_MAX + 1
            assert arena.victim.metrics.copies_known == before
            await arena.is_unharmed(alone=False)

    asyncio.run(scenario())


def test_calling_again_does_not_make_faults_forgotten(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.live.links.conduct.STRIKES_PER_S", 0.0001)

    async def scenario() -> None:
        async with Arena(network) as arena:
            for expected in (STRIKES_MAX + 1, STRIKES_MAX + 2):
                async with Attacker(arena.victim.address, arena.keys("oscar")) as attacker:
                    await attacker.greet()
                    attacker.say(*[{"type": "live.acked", "ranges": 5}] * 100)  # type: ignore[list-item]
                    await attacker.is_turned_away()
                    assert arena.refused("bad message") == expected
            async with Attacker(arena.victim.address, arena.keys("mallory")) as other:
                await other.greet()
                assert await other.still_up(), "each answers for itself"

    asyncio.run(scenario())
