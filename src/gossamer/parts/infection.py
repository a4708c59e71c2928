"""What every infect-and-die kernel shares: one byte per process, and the ways to touch it.

Plain Python over arrays; `fast/` compiles it together with draws, a protocol's rules and its kernel.
A process's byte says FRESH, DEAD, or in which round the event reached it (round + 1), so a round needs no queue:
it scans for its own mark. All writes of one round write the same byte, which is why two threads may share the array.

A protocol's kernel adds `tables(setting, publication, count_arrivals)`, a named tuple of arrays with at least the
fields of `Ground`, and `round_of_block`, what the processes of a block do in one round. It may take a block in
batches: muster those whose turn it is, then aim, sift, lose, infect. Each is a plain loop over the whole batch, and
nothing waits for the byte of a target before the bytes of the others are asked for: memory, not arithmetic, is slow.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gossamer.core.draws import STILLBORN, chance, draw, fold, lower_pick, upper_pick
from gossamer.core.setting import Community
from gossamer.core.tally import COLUMNS, LIVE, REACHED, ROUNDS_LAST
from gossamer.parts.sampling import crashed

FRESH = 0
DEAD = 255
LAST_MARK = 253
BLOCK = 1 << 16
"Processes scanned at a time."
HANDS = 16
"Sets of working room the blocks are dealt out to: as many threads can be used, and no more memory is taken."
BATCH = 128
"Processes that act together."
STAMPS = 8192
"Slots of the filter that says whether a pick may be a repeat; a power of two."

prange = range
"`fast/` puts Numba's own here."

REASONS = 32
"More than there are reasons to draw."

ZERO = np.uint64(0)
ONE = np.uint64(1)


SLOT = np.uint64(STAMPS - 1)

# Loops count from zero, over a slice if need be, and computed indices are unsigned: where Numba cannot see that an
# index is not negative, it asks each time, and does not take many at once.


def first_picks(key: Any, n: Any, k: Any, picked: Any, stamps: Any, serial: Any) -> Any:
    """The first k picks of a key's stream, repeats and all; says whether there may be repeats.

    Equal picks meet in a slot of `stamps`, others rarely. As picks come in pairs, `picked` needs room for one more."""
    maybe = False
    span = np.uint64(n)
    stamp = np.uint16(serial)
    for pair in range((k + 1) // 2):
        z = draw(key, np.uint64(pair))
        first = upper_pick(z, span)
        maybe |= stamps[first & SLOT] == stamp
        stamps[first & SLOT] = stamp
        picked[2 * pair] = first
        second = lower_pick(z, span)
        maybe |= stamps[second & SLOT] == stamp
        stamps[second & SLOT] = stamp
        picked[2 * pair + 1] = second
    return maybe


def among(pick: Any, count: Any, picked: Any) -> Any:
    """Whether `pick` is one of the first `count`."""
    found = False
    for j in range(count):
        found |= picked[j] == pick
    return found


def repeated(k: Any, picked: Any) -> Any:
    """Whether any of the first k picks was made before."""
    found = False
    for j in range(k):
        found |= among(picked[j], j, picked)
    return found


def walk_into(key: Any, n: Any, k: Any, picked: Any) -> None:
    """`draws.distinct` to the letter, for k < n."""
    count = np.int64(0)
    index = ZERO
    span = np.uint64(n)
    while count < k:
        z = draw(key, index)
        index += ONE
        first = upper_pick(z, span)
        if not among(first, count, picked):
            picked[count] = first
            count += 1
        second = lower_pick(z, span)
        if count < k and not among(second, count, picked):
            picked[count] = second
            count += 1


def distinct_into(key: Any, n: Any, k: Any, picked: Any, stamps: Any, serial: Any) -> Any:
    """`draws.distinct`, into an array; says how many. `serial` should differ from call to call on the same stamps.

    Repeats are rare among many, so all picks are made without a look at each other, and again if there is one."""
    if k >= n:
        for j in range(n):
            picked[j] = j
    elif first_picks(key, n, k, picked, stamps, serial) and repeated(k, picked):
        walk_into(key, n, k, picked)
    return min(k, n)


def marked(mark: Any, batch: Any) -> Any:
    """Whether any byte of a batch is the mark: in most rounds most batches have none."""
    found = False
    for i in range(len(batch)):
        found |= batch[i] == mark
    return found


def muster(mark: Any, low: Any, batch: Any, acting: Any) -> Any:
    """Lists the positions that have the mark, the batch's first being `low`; says how many."""
    count = ZERO
    for i in range(len(batch)):
        acting[count] = low + i
        count += np.uint64(batch[i] == mark)
    return np.int64(count)


def aim(actors: Any, acting: Any, start: Any, key: Any, others: Any, tells: Any,
        rows: Any, stamps: Any, serial: Any) -> Any:  # fmt: skip
    """Each actor picks whom it tells among the others, a row each; returns the last serial number used."""
    for i in range(actors):
        serial += 1
        distinct_into(fold(key, np.uint64(start + acting[i])), others, tells, rows[i], stamps, serial)
    return serial


def sift(actors: Any, acting: Any, told: Any, counted: Any, members: Any, rows: Any, kept: Any) -> None:
    """Makes positions of picks among the others, and keeps those where a message matters.

    That is where somebody fresh is or, if arrivals are counted, somebody live."""
    below = np.uint8(DEAD if counted else FRESH + 1)
    for i in range(actors):
        me, count = acting[i], ZERO
        for j in range(told):
            peer = np.uint64(rows[i, j]) + np.uint64(rows[i, j] >= me)
            rows[i, count] = peer
            count += np.uint64(members[peer] < below)
        kept[i] = count


def lose(actors: Any, acting: Any, start: Any, key: Any, reach: Any, rows: Any, kept: Any) -> None:
    """Keeps the targets that messages get to."""
    for i in range(actors):
        loss_key = fold(key, np.uint64(start + acting[i]))
        count = ZERO
        for j in range(kept[i]):
            peer = rows[i, j]
            rows[i, count] = peer
            count += np.uint64(chance(loss_key, np.uint64(start + peer)) < reach)
        kept[i] = count


def infect(actors: Any, rows: Any, kept: Any, mark: Any, members: Any) -> Any:
    """Fresh targets will act in the next round; says how many messages arrived."""
    arrived = 0
    for i in range(actors):
        arrived += kept[i]
        for j in range(kept[i]):
            there = members[rows[i, j]]
            members[rows[i, j]] = mark + 1 if there == FRESH else there
    return arrived


def lands(there: Any, peer: Any, loss_key: Any, reach: Any, counted: Any) -> Any:
    """Whether a message to `peer`, whose byte is `there`, arrives at a live process.

    Unless arrivals are counted, one that finds no fresh process is not even drawn for."""
    if there == DEAD or (there != FRESH and not counted):
        return False
    return reach >= 1.0 or chance(loss_key, np.uint64(peer)) < reach


def crash(seed: Any, community: Any, start: Any, size: Any, crashed: Any, state: Any) -> None:
    """Marks exactly `crashed` of a community's processes DEAD: the walk of `draws.distinct`."""
    key = fold(fold(seed, np.uint64(STILLBORN)), np.uint64(community))
    index = ZERO
    span = np.uint64(size)
    count = 0
    while count < crashed:
        z = draw(key, index)
        index += ONE
        first = start + np.int64(upper_pick(z, span))
        if state[first] != DEAD:
            state[first] = DEAD
            count += 1
        second = start + np.int64(lower_pick(z, span))
        if count < crashed and state[second] != DEAD:
            state[second] = DEAD
            count += 1


def first_live(start: Any, size: Any, state: Any) -> Any:
    """The first process of a community that is not crashed, or -1."""
    for process in range(start, start + size):
        if state[process] != DEAD:
            return process
    return -1


def round_of_block(b: Any, mark: Any, base: Any, keys: Any, table: Any, state: Any,
                   picked: Any, stamps: Any, serial: Any, counts: Any) -> Any:  # fmt: skip
    """Every process of block `b` that the event reached in the last round acts, once and for all.

    The kernel's own function takes this one's place when it is compiled. It writes `mark + 1` to whom it infects,
    adds to `counts` (a row per community) and returns the last serial number it used on `stamps`."""
    raise NotImplementedError


def spread(seed: Any, home: Any, sequence: Any, table: Any, state: Any,
           picked: Any, stamps: Any, serials: Any, counts: Any, tally: Any) -> None:  # fmt: skip
    """One event, from its publisher until nobody new is reached; `tally` gets a row per community."""
    state[:] = FRESH
    counts[:] = 0
    for c in range(len(table.size)):
        crash(seed, c, table.start[c], table.size[c], table.crashed[c], state)
        tally[c, LIVE] = table.size[c] - table.crashed[c]
    publisher = first_live(table.start[home], table.size[home], state)
    if publisher < 0:
        return
    state[publisher] = 1
    word = fold(fold(np.uint64(publisher), ZERO), np.uint64(sequence))  # EventId.word() with incarnation 0
    base = np.zeros(REASONS, np.uint64)
    keys = np.zeros(REASONS, np.uint64)
    for why in range(REASONS):
        base[why] = fold(seed, np.uint64(why))
        keys[why] = fold(base[why], word)
    blocks, hands = len(table.block_low), counts.shape[0]
    reached, before = 0, -1
    mark = np.int64(1)  # of a literal, Numba would compile the kernel for 1 and once more for any number
    while reached > before and mark <= LAST_MARK:
        for h in prange(hands):
            for b in range(h, blocks, hands):
                serials[h] = round_of_block(b, mark, base, keys, table, state,
                                            picked[h], stamps[h], serials[h], counts[h])  # fmt: skip
        before, reached = reached, reached_by(counts)
        mark += 1
    if reached > before:
        raise OverflowError('the event still spreads after 253 rounds, all a kernel can count: use engine = "machine"')
    gather(counts, tally)


def reached_by(counts: Any) -> Any:
    """Processes that have acted so far."""
    reached = 0
    for h in range(counts.shape[0]):
        for c in range(counts.shape[1]):
            reached += counts[h, c, REACHED]
    return reached


def gather(counts: Any, tally: Any) -> None:
    """Adds up what the hands counted; the last round is the latest of theirs."""
    for h in range(counts.shape[0]):
        for c in range(counts.shape[1]):
            for column in range(counts.shape[2]):
                if column == ROUNDS_LAST:
                    tally[c, column] = max(tally[c, column], counts[h, c, column])
                elif column != LIVE:
                    tally[c, column] += counts[h, c, column]


def spread_many(seeds: Any, home: Any, sequence: Any, table: Any, state: Any,
                picked: Any, stamps: Any, counts: Any, tallies: Any) -> None:  # fmt: skip
    serials = np.zeros(len(stamps), np.int64)  # these go on from run to run, so that stamps need not be wiped
    for run in range(len(seeds)):
        spread(seeds[run], home, sequence, table, state, picked, stamps, serials, counts, tallies[run])


class Ground(NamedTuple):
    """What every kernel's tables have: the communities, cut into blocks."""

    start: Any
    size: Any
    crashed: Any
    block_low: Any
    block_high: Any
    block_community: Any


def ground(communities: Sequence[Community], stillborn: float) -> Ground:
    blocks = [
        (low, min(low + BLOCK, group.start + group.size), index)
        for index, group in enumerate(communities)
        for low in range(group.start, group.start + group.size, BLOCK)
    ]
    columns = np.array(blocks, np.int64).reshape(-1, 3).T.copy()
    return Ground(
        start=np.array([group.start for group in communities], np.int64),
        size=np.array([group.size for group in communities], np.int64),
        crashed=np.array([crashed(group.size, stillborn) for group in communities], np.int64),
        block_low=columns[0],
        block_high=columns[1],
        block_community=columns[2],
    )


def scratch(blocks: int, communities: int, picks: int) -> tuple[Any, Any, Any]:
    """Working room per hand: picks, stamps, and counts per community."""
    hands = min(blocks, HANDS)
    return (
        np.zeros((hands, BATCH * (2 + picks + 1)), np.uint32),  # see `desk`
        np.zeros((hands, STAMPS), np.uint16),
        np.zeros((hands, communities, len(COLUMNS)), np.int64),
    )


def desk(picked: Any) -> Any:
    """A hand's picks, laid out for a batch: who acts, how many targets each has, and a row of targets for each."""
    return picked[:BATCH], picked[BATCH : 2 * BATCH], picked[2 * BATCH :].reshape(BATCH, -1)
