"""Events that are not what they say: none is delivered, the true one still gets through, and blame falls on whoever
is at fault."""

import asyncio
import sys

from gossamer.core.events import Event
from gossamer.live.keys.network import Network
from gossamer.wire.frame import Copy, PackCopy
from gossamer.wire.proof import leaf
from gossamer.wire.sealed import head_of, seal
from live.hostile.arena import TOPIC, Arena, soon, until
from live.hostile.attacker import Attacker, copy_of, event, pack, signed
from live.keys.making import prove


async def delivered(arena: Arena, payload: bytes) -> None:
    """The next event both honest nodes read is this one."""
    for inbox in arena.inboxes.values():
        assert (await soon(anext(inbox))).payload == payload


def test_a_member_may_of_course_publish_what_it_was_granted(network: Network) -> None:
    """Were this not so, every other test here would prove nothing."""

    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as member:
            await member.greet()
            member.spread(*signed(member.keys, *(event(member.keys, i, b"%d" % i) for i in range(3))))
            for number in range(3):
                await delivered(arena, b"%d" % number)
            said = await member.hears("live.acked")
            assert said["ranges"] == [[1, 0, 2]]

    asyncio.run(scenario())


def test_an_event_on_a_topic_that_was_not_granted_is_refused(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena:
            for name, topic in (("mallory", ".cricket"), ("outsider", ".soccer.italy"), ("mallory", ".")):
                keys = arena.keys(name)
                async with Attacker(arena.victim.address, keys) as attacker:
                    await attacker.greet()
                    attacker.spread(*signed(keys, event(keys, topic=topic)))
                    assert await attacker.still_up()
            assert arena.refused("publisher not granted") == 3
            await arena.is_unharmed()
            arena.is_bounded()

    asyncio.run(scenario())


def test_nobody_publishes_in_the_name_of_another(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena:
            keys, honest = arena.keys("mallory"), arena.keys("friend")
            true = event(honest, 7, b"true")
            head, its_leaf = head_of(true), leaf(head_of(true), true.payload)
            (proof,) = prove(keys, [its_leaf])
            (theirs,) = prove(honest, [leaf(b"something else", b"")])
            async with Attacker(arena.victim.address, keys) as attacker:
                await attacker.greet()
                attacker.spread(*signed(keys, event(keys, 8, publisher="friend")))  # under its own key
                attacker.spread(copy_of(true, head, its_leaf, None))  # without a proof
                attacker.spread(copy_of(true, head, its_leaf, theirs))  # with a proof of something else
                forged = proof.__class__(theirs.key, proof.signature, 1, 0, b"")
                attacker.spread(copy_of(true, head, its_leaf, forged))  # under a key it has not got
                assert await attacker.still_up()
            assert arena.refused("unknown publisher") == 1
            assert arena.refused("bad proof") == 3
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_a_forged_first_copy_does_not_keep_the_true_event_out(network: Network) -> None:
    """An id counts as met only after its proof held."""

    async def scenario() -> None:
        async with Arena(network) as arena:
            keys, honest = arena.keys("mallory"), arena.keys("oscar")
            true, false = event(honest, 7, b"true"), event(honest, 7, b"false")
            ((copy, body),) = signed(honest, true)
            async with Attacker(arena.victim.address, honest) as oscar:
                await oscar.greet()
                async with Attacker(arena.victim.address, keys) as attacker:
                    await attacker.greet()
                    attacker.spread(*signed(keys, false))
                    attacker.spread(copy_of(false, head_of(false), leaf(head_of(false), false.payload), None))
                    attacker.spread((copy, seal(head_of(true), b"false", None)))  # the true name, a false body
                    attacker.spread(
                        (Copy(copy.id, b"another leaf ...", 1, copy.tag), body)
                    )  # the true body, a false digest
                    assert await attacker.still_up()
                    await arena.refuses("forged copy", 2)
                    attacker.spread((copy, body))  # the true one, even by the same peer
                    await delivered(arena, b"true")
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_two_bodies_under_one_id_are_refused_and_cost_only_their_publisher(network: Network) -> None:
    """Both are genuine: whoever passes the second on may have met it first."""

    async def scenario() -> None:
        async with Arena(network) as arena:
            keys = arena.keys("oscar")
            first = signed(keys, *(event(keys, i, b"first %d" % i) for i in range(25)))
            second = signed(keys, *(event(keys, i, b"second %d" % i) for i in range(25)))
            async with Attacker(arena.victim.address, keys) as oscar:
                await oscar.greet()
                oscar.spread(*first)
                for i in range(25):
                    await delivered(arena, b"first %d" % i)
                async with Attacker(arena.victim.address, arena.keys("mallory")) as relay:
                    await relay.greet()
                    relay.spread(*second)
                    assert await relay.still_up()
                assert arena.refused("equivocation") == 25
                oscar.spread(*second)
                await oscar.is_turned_away()
            assert arena.refused("equivocation") == 46
            assert arena.refused("too many refusals") == 1
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_a_made_up_second_body_is_its_senders_fault(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena:
            await arena.is_unharmed()
            friend = arena.friend.station
            true = next(each for each in friend.bodies.leaves if each.publisher == friend.me)
            keys = arena.keys("mallory")
            false = Event(true, f"{TOPIC}.italy", b"false", published_us=1, ordinal=1)
            async with Attacker(arena.victim.address, keys) as attacker:
                await attacker.greet()
                for _ in range(30):
                    attacker.spread(*signed(keys, false))
                    attacker.spread(copy_of(false, head_of(false), leaf(head_of(false), b"false"), None))
                await attacker.is_turned_away()
            assert arena.refused("equivocation") == 0
            assert arena.refused("bad proof") == 21
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_the_same_frame_again_is_harmless(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena:
            keys = arena.keys("mallory")
            copies = signed(keys, *(event(keys, i, b"%d" % i) for i in range(5)))
            for _ in range(2):  # on another link too
                async with Attacker(arena.victim.address, keys) as attacker:
                    await attacker.greet()
                    for _ in range(20):
                        attacker.spread(*copies)
                    assert await attacker.still_up()
            for i in range(5):
                await delivered(arena, b"%d" % i)
            await until(lambda: arena.victim.metrics.copies_known >= 195)
            assert sum(arena.victim.metrics.refusals.values()) == 0
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_the_greatest_number_of_hops_does_not_turn_honest_copies_into_bad_frames(network: Network) -> None:
    """One more hop than the wire allows, and whoever passes the event on would lose its links."""

    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            attacker.spread(*signed(attacker.keys, event(attacker.keys), hops=2**32))
            await delivered(arena, b"payload")
            assert arena.refused("bad frame", arena.friend) == 0
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_what_is_no_event_is_refused(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            copy, body = signed(attacker.keys, event(attacker.keys))[0]
            for bad in (b"", b"\xc1", body[:-1], body + b"x", pack([b"\x90", b"", None])):
                attacker.spread((copy, bad))
            attacker.say(pack({"type": "camcast.carry", "carried": {"event": {"id": [1, 2, 3], "topic": ".a"}}}))
            assert await attacker.still_up()
            assert arena.refused("bad event") == 5
            assert arena.refused("bad message") == 1
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_a_way_of_carrying_events_that_nobody_knows_is_skipped_and_counted(network: Network) -> None:
    """It may be of a newer version."""

    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as newer:
            await newer.greet()
            copy, body = signed(newer.keys, event(newer.keys))[0]
            newer.spread((Copy(copy.id, copy.leaf, 1, "camcast.tomorrow"), body))
            newer.say(pack({"type": "camcast.tomorrow", "what": 1}), pack({"type": "scamp.beat", "topic": TOPIC}))
            assert (await newer.hears("scamp.here"))["topic"] == TOPIC  # what came with it was heard
            assert arena.victim.metrics.unknown_tags == 2
            assert sum(arena.victim.metrics.refusals.values()) == 0

    asyncio.run(scenario())


def test_an_event_of_somebody_nobody_vouched_for_is_refused_without_blame(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as relay:
            await relay.greet()
            stranger = arena.keys("oscar")
            for number in range(30):
                relay.spread(*signed(stranger, event(stranger, number)))
            assert await relay.still_up()
            assert arena.refused("unknown publisher") == 30
            await arena.is_unharmed()

    asyncio.run(scenario())


def test_whoever_passes_on_what_goes_too_deep_is_not_blamed_and_nothing_breaks(network: Network) -> None:
    """How deep is too deep depends on how high the stack is, so it may have been fine where it comes from."""
    deep = b"\x91" * (3 * sys.getrecursionlimit()) + b"\xc0"  # others in this process may have raised it

    def deepened(array: bytes) -> bytes:
        """With something of tomorrow in it."""
        return bytes([array[0] + 1]) + array[1:] + deep

    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            for number in range(30):
                each = event(attacker.keys, number)
                head = deepened(head_of(each))
                its_leaf = leaf(head, each.payload)
                attacker.spread(copy_of(each, head, its_leaf, prove(attacker.keys, [its_leaf])[0]))
                together = b"\x92\x91" + head + b"\x91" + pack(each.payload)
                attacker.spread_packs(PackCopy(bytes(16), 1, "camcast.carry", memoryview(pack([None, together]))))
            assert await attacker.still_up()
            assert arena.refused("bad event") == 60
            attacker.say(records=[deepened(attacker.record())])
            await arena.refuses("bad record")
            await arena.is_unharmed()

    asyncio.run(scenario())
