"""Frames of every kind, changed at random: nothing escapes, nothing grows, and the node goes on."""

import asyncio
import logging
import random
import resource
import tracemalloc
from collections.abc import Callable
from typing import TypeAlias

import msgspec
import pytest
from msgspec import Struct

from gossamer.core.errors import PeerFault
from gossamer.core.ids import peer_of
from gossamer.live.keys.keyring import Keyring
from gossamer.live.keys.network import Network
from gossamer.live.links.link import Link
from gossamer.live.node import Node
from gossamer.wire.frame import FRAME_BYTES_MAX, PackCopy, batch_frame, hello_frame, packed, part_frames
from gossamer.wire.pack import unpack
from live.hostile.arena import TOPIC, Arena
from live.hostile.attacker import Attacker, event, pack_of, signed
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


Wrap: TypeAlias = Callable[[bytes], bytes]


def corpus(keys: Keyring, attacker: Attacker, node: Node) -> list[tuple[bytes, Wrap]]:
    """A frame of every kind, all of them genuine; and what stands in frames, with what makes a frame of it again."""
    copies = signed(keys, *(event(keys, i, b"%d" % i, attributes={"minute": i}) for i in range(60)))
    packs = [pack_of(keys, *(event(keys, 100 + 9 * i + j, b"%d" % j) for j in range(i + 1))) for i in range(9)]
    messages = [msgspec.msgpack.encode(likely(message)) for message, _ in golden.MESSAGES]
    records = [attacker.record(), node.station.connections.own]
    named, bodies = [packed(copy) for copy, _ in copies], [packed(body) for _, body in copies]
    frames = [
        hello_frame(attacker.hello()),
        batch_frame(map(packed, records), [], [], []),
        batch_frame([], named[:5], bodies[:5], []),
        batch_frame(map(packed, records), named[:1], bodies[:1], messages, packs=map(packed, packs[:1])),
        batch_frame([], [], [], [], packs=map(packed, packs)),
        *part_frames(7, copies[0][1], copies[0][0]),
        *part_frames(8, messages[0], None),
    ]
    return [
        *((each, in_its_length) for each in frames),
        *((each, lambda data: batch_frame([packed(data)], [], [], [])) for each in records),
        *((each, lambda data: batch_frame([], [], [], [data])) for each in messages),
        *((each, lambda data: batch_frame([], [data], bodies[:1], [])) for each in named[:3]),
        *(
            (body, lambda data, copy=copy: batch_frame([], [packed(copy)], [packed(data)], []))  # type: ignore[misc]
            for copy, body in copies
        ),
        *((packed(each), lambda data: batch_frame([], [], [], [], packs=[data])) for each in packs),
        *(
            (bytes(each.content), lambda data, each=each: batch_frame([], [], [], [], packs=[packed_anew(each, data)]))  # type: ignore[misc]
            for each in packs
            for _ in range(5)
        ),
    ]


def packed_anew(copy: PackCopy, content: bytes) -> bytes:
    """With other content, under the mark it has now if it has one: it gets further."""
    try:
        mark = unpack(content)[0].mark
    except PeerFault:
        mark = copy.mark
    return packed(PackCopy(mark, copy.hops, copy.tag, memoryview(content)))


def likely(message: Struct) -> Struct:
    """The same about a topic and a peer that are known to the victim: it gets further."""
    known = {"topic": TOPIC, "who": MALLORY, "origin": MALLORY}
    fitting = {name: value for name, value in known.items() if hasattr(message, name)}
    return msgspec.structs.replace(message, **fitting)


def in_its_length(frame: bytes) -> bytes:
    return (len(frame) - 4).to_bytes(4) + frame[4:]


class Mutator:
    """Changes bits, bytes and numbers of items, cuts pieces out, doubles them or takes others instead."""

    def __init__(self, parts: list[tuple[bytes, Wrap]], seed: int) -> None:
        self.parts, self.dice = parts, random.Random(seed).random

    def below(self, most: int) -> int:
        return int(self.dice() * most)

    def __call__(self) -> bytes:
        """A frame. Most have the right length, or nearly all would end there."""
        part, wrap = self.parts[self.below(len(self.parts))]
        data = bytearray(part)
        for _ in range((1, 1, 1, 2, 4)[self.below(5)]):
            self.change(data)
        return wrap(bytes(data)) if self.below(20) else bytes(data)

    def change(self, data: bytearray) -> None:
        below, how, place = self.below, self.below(6), self.below(len(data))
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
        else:
            other = self.parts[below(len(self.parts))][0]
            start = below(len(other))
            data[place : place + below(20)] = other[start : start + 20 + below(40)]


def opened(node: Node, der: bytes) -> Link:
    """A link on which mallory has said hello."""
    connections = node.station.connections
    link = connections.link(Mouth(der), dialed=False)
    link._deadline.cancel()
    link.peer, link.name, link.role, link.version = MALLORY, "mallory", "node", 1
    link.reader.limit = FRAME_BYTES_MAX
    connections.metrics.links += 1
    return link


async def attack(network: Network, count: int, seed: int, in_use: Callable[[], int], spare: int) -> None:
    async with Arena(network) as arena:
        keys, node = arena.keys("mallory"), arena.victim
        attacker = Attacker(node.address, keys)
        node.station.records.admit(attacker.record())
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
        assert all(
            refusals[each]
            for each in ("bad frame", "bad message", "bad event", "bad record", "forged copy", "bad proof")
        )
        await arena.is_unharmed(alone=False)  # some events were not changed where it matters


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

    run(network, 1_000_000, SEED + 1, most, 20_000_000)
