"""A community cut into blocks, each a bit per process: for more processes than one machine, or one task, holds.

Members of a community are alike: a sender tells any others of it with the same chance. So no sender need say whom it
tells. Its block draws how many senders have how many of their targets in each block (`fast/dividing.py`), and the block
that is told draws who they are. That is the same in distribution: a uniform choice of different members is, seen from a
block, a uniform choice of so many different ones of it, whatever happens in the others.

Dead processes stand at the end of each block: positions mean nothing else, and so the dead need no bits.
Plain Python over arrays, as in `infection`; `fast/` compiles it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gossamer.core.draws import draw, fold, lower_pick, upper_pick
from gossamer.parts.infection import BATCH, ONE, choose, desk

THREE = np.uint64(3)
SEVEN = np.uint64(7)
BYTE = 8


class Cut(NamedTuple):
    """Which blocks there are. Those of a community stand together; all are of one width but for the last."""

    first: Any  # by community: its first block
    width: Any  # by community: processes of a block
    community: Any  # by block
    start: Any  # by block: the first process
    size: Any  # by block


def cut(sizes: Sequence[int], most: int) -> Cut:
    """Communities of these sizes in blocks of at most so many processes, as even as can be."""
    width = [-(-size // -(-size // most)) for size in sizes]
    counts = [-(-size // each) for size, each in zip(sizes, width, strict=True)]
    blocks = [
        (c, at * width[c], min(width[c], size - at * width[c]))
        for c, size in enumerate(sizes)
        for at in range(counts[c])
    ]
    community, offset, size = np.array(blocks, np.int64).reshape(-1, 3).T.copy()
    starts = np.cumsum([0, *sizes[:-1]])
    return Cut(np.cumsum([0, *counts[:-1]]), np.array(width), community, offset + starts[community], size)


def mark(pick: Any, skip: Any, live: Any, bits: Any) -> Any:
    """A message comes to the `pick`-th of a block, not counting the one to skip; says whether it is alive."""
    position = pick + np.uint64(pick >= skip)
    alive = np.uint64(position < live)  # an `if` would be guessed wrong too often
    bits[position >> THREE] |= np.uint8(alive << (position & SEVEN))
    return np.int64(alive)


def hear_single(key: Any, senders: Any, span: Any, skip: Any, live: Any, bits: Any) -> Any:
    """So many messages of different senders; says how many arrive at live processes."""
    arrived, width = 0, np.uint64(span)
    for pair in range(senders // 2):
        z = draw(key, np.uint64(pair))
        arrived += mark(upper_pick(z, width), skip, live, bits)
        arrived += mark(lower_pick(z, width), skip, live, bits)
    if senders % 2:
        arrived += mark(upper_pick(draw(key, np.uint64(senders // 2)), width), skip, live, bits)
    return arrived


def hear_several(key: Any, senders: Any, told: Any, span: Any, skip: Any, live: Any, bits: Any,
                 picked: Any, stamps: Any, serial: Any) -> Any:  # fmt: skip
    """So many senders tell `told` different processes each; says (arrived, the last serial number used)."""
    streams, _, again, targets, spare = desk(picked)
    arrived = 0
    for low in range(0, senders, BATCH):
        acting = min(BATCH, senders - low)
        for i in range(acting):
            streams[i] = fold(key, np.uint64(low + i))
        serial = choose(span, told, acting, streams, targets, again, spare, stamps, serial)
        for j in range(told):
            for i in range(acting):
                arrived += mark(np.uint64(targets[j, i]), skip, live, bits)
    return arrived, serial


def hear(key: Any, told: Any, span: Any, skip: Any, live: Any, bits: Any, picked: Any, stamps: Any, serial: Any) -> Any:
    """A block is told: `told[h]` senders have h different targets each among its `span`; says (arrived, serial)."""
    arrived, but, alive = 0, np.uint64(skip), np.uint64(live)
    for h in range(1, len(told)):
        own = fold(key, np.uint64(h))
        if told[h] and h == 1:
            arrived += hear_single(own, told[h], span, but, alive, bits)
        elif told[h]:
            came, serial = hear_several(own, told[h], h, span, but, alive, bits, picked, stamps, serial)
            arrived += came
    return arrived, serial


def hear_by_name(positions: Any, bits: Any) -> None:
    """Messages to these processes, all of them alive."""
    for i in range(len(positions)):
        position = np.uint64(positions[i])
        bits[position >> THREE] |= np.uint8(ONE << (position & SEVEN))


def first_of(bits: Any) -> Any:
    """The first position that is set, or as many as there are."""
    for i in range(len(bits)):
        if bits[i]:
            for bit in range(BYTE):
                if bits[i] >> bit & 1:
                    return i * BYTE + bit
    return len(bits) * BYTE


def newly(bits: Any, before: Any) -> Any:
    """Leaves in `before` what was not set there and is now; says how many."""
    count = 0
    for i in range(len(bits)):
        fresh = np.int64(bits[i] & ~before[i])
        before[i] = np.uint8(fresh)
        while fresh:
            fresh &= fresh - 1
            count += 1
    return count
