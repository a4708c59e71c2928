"""Frames of every kind, changed at random: nothing escapes, nothing grows, and the node goes on."""

import asyncio
import logging
import random
import resource
import tracemalloc
from collections.abc import Callable

import msgspec
import pytest

from gossamer.core.ids import peer_of
from gossamer.live.keys.keyring import Keyring
from gossamer.live.keys.network import Network
from gossamer.live.link import Link
from gossamer.live.node import Node
from gossamer.wire.frame import FRAME_BYTES_MAX, HEADER, batch_frame, hello_frame, packed, part_frames
from live.hostile.arena import TOPIC, Arena
from live.hostile.attacker import Attacker, event, signed
from live.keys.making import certificate
from wire import golden

SEED = 20
MALLORY, FRIEND = peer_of("mallory"), peer_of("friend")
INTERESTING = bytes.fromhex("00 01 7f 80 90 9f c0 c1 c4 c6 cb cf d3 d9 dc dd df ff")


class Mouth:
    """The end of a channel that a test speaks with; what the node says goes nowhere."""

    where = "a test"

    def __init__(self, der: bytes) -> None:
        self.certificate = der
        self.said = 0

    def write(self, data: bytes) -> None:
        self.said += len(data)

    def pending(self) -> int:
        return 0

    def close(self) -> None: ...
    def abort(self) -> None: ...
    def pause(self, paused: bool) -> None: ...


def corpus(keys: Keyring, attacker: Attacker, node: Node) -> list[bytes]:
    """A frame of every kind, all of them genuine."""
    copies = signed(keys, *(event(keys, i, b"%d" % i, attributes={"minute": i}) for i in range(60)))
    fitting = [
        msgspec.structs.replace(message, **{name: TOPIC for name in ("topic",) if hasattr(message, name)})
        for message, _ in golden.MESSAGES
        if type(message).__struct_config__.tag != "search.ans_contact"
    ]
    named = [
        msgspec.structs.replace(message, **{name: MALLORY for name in ("who", "origin") if hasattr(message, name)})
        for message in fitting
    ]
    encoded = [msgspec.msgpack.encode(message) for message in named]
    records = [packed(attacker.record()), packed(node.station.office.own)]
    return [
        hello_frame(attacker.hello()),
        batch_frame(records, [], [], []),
        *(batch_frame([], [packed(copy)], [packed(body)], []) for copy, body in copies),
        batch_frame([], [packed(copy) for copy, _ in copies[:5]], [packed(body) for _, body in copies[:5]], []),
        *(batch_frame([], [], [], [each]) for each in encoded),
        batch_frame(records, [packed(copies[0][0])], [packed(copies[0][1])], encoded),
        *part_frames(7, copies[0][1], copies[0][0]),
        *part_frames(8, encoded[0], None),
    ]


class Mutator:
    """Changes frames: bits, bytes, numbers of items, pieces cut out, doubled or exchanged for those of another frame.

    The length in front stays right most of the time, or nearly all would end there."""

    def __init__(self, frames: list[bytes], seed: int) -> None:
        self.frames, self.dice = frames, random.Random(seed).random

    def below(self, most: int) -> int:
        return int(self.dice() * most)

    def __call__(self) -> bytes:
        data = bytearray(self.frames[self.below(len(self.frames))])
        for _ in range((1, 1, 1, 2, 4)[self.below(5)]):
            self.change(data)
        if self.dice() < 0.9:
            data[:4] = (len(data) - 4).to_bytes(4)
        return bytes(data)

    def change(self, data: bytearray) -> None:
        """One change behind the header, or now and then in it."""
        below, how = self.below, self.below(7)
        place = HEADER.size + below(len(data) - HEADER.size)
        if how == 0:
            data[place] ^= 1 << below(8)
        elif how == 1:
            data[place] = INTERESTING[below(len(INTERESTING))]
        elif how == 2:
            data[place:place] = INTERESTING[below(9) :][: 1 + below(4)]
        elif how == 3 and len(data) > 30:
            del data[place : place + 1 + below(8)]
        elif how == 4:
            data[place:place] = data[place : place + 1 + below(40)]
        elif how == 5:
            other = self.frames[below(len(self.frames))]
            start = below(len(other))
            data[place : place + below(20)] = other[start : start + 20 + below(40)]
        elif below(20) == 0:
            data[below(HEADER.size)] = below(256)


def opened(node: Node, der: bytes) -> Link:
    """A link on which mallory has said hello."""
    board = node.station.board
    link = Link(board, Mouth(der), dialed=False)
    link._deadline.cancel()
    board.links[link] = None
    link.peer, link.name, link.role, link.version = MALLORY, "mallory", "node", 1
    link.reader.limit = FRAME_BYTES_MAX
    board.metrics.links += 1
    return link


async def attack(network: Network, count: int, seed: int, in_use: Callable[[], int], spare: int) -> None:
    async with Arena(network) as arena:
        keys, node = arena.keys("mallory"), arena.victim
        attacker = Attacker(node.address, keys)
        node.station.hearing.admit(attacker.record())
        mutated, der = Mutator(corpus(keys, attacker, node), seed), certificate(keys)
        link, before = opened(node, der), 0
        for number in range(count):
            if link.closed:
                link = opened(node, der)
            link.heard(mutated())
            if number % 200 == 0:
                await asyncio.sleep(0)
            if number == 3 * count // 4:
                before = in_use()
        link.lost("closed")
        grown = in_use() - before
        assert grown < spare, f"{grown} bytes were not given back"
        arena.is_bounded()
        refusals = node.metrics.refusals
        assert sum(refusals.values()) > count // 4
        assert all(refusals[each] for each in ("bad frame", "bad message", "bad event", "bad record", "forged copy"))
        for inbox in arena.inboxes.values():
            inbox.memory.clear()
        await arena.is_unharmed()


def run(network: Network, count: int, seed: int, in_use: Callable[[], int], spare: int) -> None:
    logging.getLogger("gossamer").setLevel(logging.ERROR)  # or the log is what grows
    try:
        asyncio.run(attack(network, count, seed, in_use, spare))
    except BaseException:
        print(f"the seed was {seed}")
        raise
    finally:
        logging.getLogger("gossamer").setLevel(logging.NOTSET)


def test_20_000_mutated_frames(network: Network) -> None:
    def since_asked_first() -> int:
        tracemalloc.start()
        return tracemalloc.get_traced_memory()[0]

    try:
        run(network, 20_000, SEED, since_asked_first, 2_000_000)
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_a_million_mutated_frames(network: Network) -> None:
    def most() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    run(network, 1_000_000, random.SystemRandom().randrange(2**32), most, 20_000_000)
