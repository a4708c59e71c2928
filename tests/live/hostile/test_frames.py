"""A member gone bad sends frames that are none: its link ends, and nothing else happens."""

import asyncio
import random
from collections.abc import Callable

import pytest

from gossamer.core.ids import EventId
from gossamer.live.keys.network import Network
from gossamer.live.links import connections
from gossamer.wire.frame import (
    BATCH,
    EVENT_PARTS_MAX,
    FRAME_BYTES_MAX,
    HEADER,
    PART,
    PART_BYTES,
    Copy,
    Part,
    batch_frame,
    frame,
    hello_frame,
    packed,
    part_frames,
)
from live.hostile.arena import Arena, until
from live.hostile.attacker import Attacker, event, signed

EMPTY = frame(BATCH, b"\x94\x90\x90\x90\x90")

COPY = Copy(EventId(1, 2, 3), 4, 5, "camcast.carry")


def part(transfer: int, start: int, total: int, piece: bytes) -> bytes:
    return frame(PART, packed(Part(transfer, start, total, memoryview(piece))))


BAD_FRAMES: dict[str, Callable[[Attacker], bytes]] = {
    "a second hello": lambda own: hello_frame(own.hello()),
    "a frame of unknown kind": lambda own: frame(9, b""),
    "a frame of another version": lambda own: frame(BATCH, b"\x94\x90\x90\x90\x90", version=2),
    "a batch that is none": lambda own: frame(BATCH, b"\xc1"),
    "a batch of copies without bodies": lambda own: batch_frame([], [packed(COPY)], [], []),
    "an oversized frame": lambda own: HEADER.pack(FRAME_BYTES_MAX + 1, 1, BATCH),
    "a frame of one byte": lambda own: HEADER.pack(1, 1, BATCH),
    "a part that is none": lambda own: frame(PART, b"\x90"),
    "a part that begins in the middle": lambda own: part(1, 5, 10, b"x"),
    "a part that overlaps": lambda own: part(1, 0, 10, b"12345") + part(1, 4, 10, b"x"),
    "a part with too much in it": lambda own: part(1, 0, 3, b"12345"),
    "a part with nothing in it": lambda own: part(1, 0, 3, b""),
    "a part that changes its mind": lambda own: part(1, 0, 10, b"12345") + part(1, 5, 11, b"x"),
    "an event larger than any": lambda own: part(1, 0, EVENT_PARTS_MAX + 1, b"x"),
    "too many events in parts": lambda own: b"".join(part(i, 0, 10, b"x") for i in range(5)),
    "too much in parts": lambda own: b"".join(part(i, 0, EVENT_PARTS_MAX, b"x") for i in range(3)),
}  # fmt: skip


def test_a_frame_that_is_none_ends_the_link(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena:
            for count, (case, bad) in enumerate(BAD_FRAMES.items(), start=1):
                async with Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
                    await attacker.greet()
                    attacker.send(bad(attacker))
                    await attacker.is_turned_away()
                assert arena.refused("bad frame") == count, case
            await arena.is_unharmed()
            arena.is_bounded()

    asyncio.run(scenario())


def test_a_frame_cut_short_by_hanging_up_costs_nothing(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena:
            keys = arena.keys("mallory")
            copy, body = signed(keys, event(keys))[0]
            whole = batch_frame([], [packed(copy)], [packed(body)], [])
            for length in (1, 3, 5, 6, 20, len(whole) - 1):
                async with Attacker(arena.victim.address, keys) as attacker:
                    await attacker.greet()
                    attacker.send(whole[:length])
                    await attacker.writer.drain()
            await until(lambda: arena.links_of("mallory") == 0)
            await arena.is_unharmed()  # and the event, of which all but the end came, was not delivered

    asyncio.run(scenario())


def test_flipped_bits_end_the_link_or_are_refused(network: Network) -> None:
    """TLS lets none through by accident: whoever sends them means to."""

    async def scenario() -> None:
        async with Arena(network) as arena:
            keys, dice = arena.keys("mallory"), random.Random(5)
            for number in range(60):
                copy, body = signed(keys, event(keys, number))[0]
                data = bytearray(batch_frame([packed(keys.record((), 1))], [packed(copy)], [packed(body)], []))
                place = dice.randrange(4, len(data))
                data[place] ^= 1 << dice.randrange(8)
                async with Attacker(arena.victim.address, keys) as attacker:
                    await attacker.greet()
                    attacker.send(bytes(data), EMPTY)
                    await attacker.writer.drain()
            await until(lambda: arena.links_of("mallory") == 0)
            assert sum(arena.victim.metrics.refusals.values()) >= 40
            arena.is_bounded()

    asyncio.run(scenario())


def test_a_frame_that_drips_in_ends_the_link(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SWEEP_S", 0.02)

    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            attacker.send(HEADER.pack(1000, 1, BATCH))
            dripping = asyncio.create_task(drip(attacker))
            await arena.refuses("slow frame")
            dripping.cancel()
            await attacker.is_turned_away()
            await arena.is_unharmed()

    asyncio.run(scenario())


async def drip(attacker: Attacker) -> None:
    while True:
        attacker.send(b"x")
        await asyncio.sleep(0.01)


def test_a_link_on_which_whole_frames_come_slowly_is_left_alone(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "SWEEP_S", 0.005)

    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            for _ in range(10):
                attacker.send(EMPTY[:5])
                await asyncio.sleep(0.01)
                attacker.send(EMPTY[5:])
            assert await attacker.still_up()
            assert arena.refused("slow frame") == 0

    asyncio.run(scenario())


def test_a_node_has_no_long_messages_to_send(network: Network) -> None:
    async def scenario() -> None:
        async with Arena(network) as arena, Attacker(arena.victim.address, arena.keys("mallory")) as attacker:
            await attacker.greet()
            for number in range(25):
                attacker.send(*part_frames(number, bytes(PART_BYTES + 1), None))
            await attacker.is_turned_away()
            assert arena.refused("bad message") == 21
            assert arena.refused("too many refusals") == 1
            await arena.is_unharmed()

    asyncio.run(scenario())
