"""What every infect-and-die kernel shares: one byte per process, and the ways to touch it.

Plain Python over arrays; `fast/` compiles it together with draws, a protocol's rules and its kernel.
A process's byte says FRESH, DEAD, or in which round the event reached it (round + 1), so a round needs no queue:
it scans for its own mark. All writes of one round write the same byte, which is why two threads may share the array.

A protocol's kernel adds `tables(setting, publication, count_arrivals)`, a named tuple of arrays with at least the
fields of `CommunityArrays`, and `round_of_block`, what the processes of a block do in one round. Where speed matters it
lets them act in batches: muster those whose turn it is, then aim, lose, infect. Targets stand in a column per process,
so that each step is a plain loop over a row, which the processor takes several at a time, and no byte of memory is
waited for before the others are asked for.
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
WINDOW = 128
"Processes looked at together, to see whose turn it is."
BATCH = 256
"The most processes that act together: two windows or more. Their targets should fit the first-level cache."
STAMPS = 1024
"Slots of the filter that says whether a pick may be a repeat; a power of two."

prange = range
"`fast/` puts Numba's own here."

REASONS = 32
"More than there are reasons to draw."

ZERO = np.uint64(0)
ONE = np.uint64(1)
SLOT = np.uint64(STAMPS - 1)

# Loops count from zero, over a slice if need be, and computed indices are unsigned: where Numba cannot see that an
# index is not negative, it asks each time, and does not take several at a time.


def repeats(pick: Any, count: Any, picked: Any, stamps: Any, serial: Any) -> Any:
    """Whether `pick` is among the first `count` picks. The filter makes the scan rare."""
    slot = pick & SLOT
    found = False
    if stamps[slot] == serial:
        for j in range(count):
            found |= picked[j] == pick
    stamps[slot] = serial
    return found


def distinct_into(key: Any, n: Any, k: Any, picked: Any, stamps: Any, serial: Any) -> Any:
    """`draws.distinct`, into an array; says how many. `serial` must differ from call to call on the same stamps."""
    count = 0
    index = ZERO
    span = np.uint64(n)
    while k < n and count < k:
        z = draw(key, index)
        index += ONE
        first = upper_pick(z, span)
        if not repeats(first, count, picked, stamps, serial):
            picked[count] = first
            count += 1
        second = lower_pick(z, span)
        if count < k and not repeats(second, count, picked, stamps, serial):
            picked[count] = second
            count += 1
    while k >= n and count < n:
        picked[count] = count
        count += 1
    return count


def muster(mark: Any, low: Any, window: Any, acting: Any, actors: Any) -> Any:
    """Adds the positions that have the mark to those who act, the window's first being `low`; says how many act."""
    found = False
    for i in range(len(window)):
        found |= window[i] == mark
    count = np.uint64(actors)
    if found:  # in most rounds most windows have none
        for i in range(len(window)):
            acting[count] = low + i
            count += np.uint64(window[i] == mark)
    return np.int64(count)


def open_streams(key: Any, start: Any, actors: Any, acting: Any, streams: Any) -> None:
    """Each actor's own key."""
    for i in range(actors):
        streams[i] = fold(key, np.uint64(start + acting[i]))


def first_picks(n: Any, k: Any, actors: Any, streams: Any, targets: Any) -> None:
    """The first k picks of each stream, repeats and all. Picks come in pairs: there is room for one more."""
    span = np.uint64(np.uint32(n))
    for pair in range((k + 1) // 2):
        for i in range(actors):
            z = draw(streams[i], np.uint64(pair))
            targets[2 * pair, i] = upper_pick(z, span)
            targets[2 * pair + 1, i] = lower_pick(z, span)


def find_repeats(k: Any, actors: Any, targets: Any, again: Any) -> None:
    """Who has picked somebody twice. For a whole row at a time, to compare each with each is faster than any set."""
    for i in range(actors):
        again[i] = 0
    for b in range(k):
        fours = b // 4 * 4
        for a in range(0, fours, 4):  # four at a time: to note the answer takes as long as to find it
            for i in range(actors):
                pick = targets[b, i]
                again[i] |= np.uint32((targets[a, i] == pick) | (targets[a + 1, i] == pick)
                                      | (targets[a + 2, i] == pick) | (targets[a + 3, i] == pick))  # fmt: skip
        for a in range(fours, b):
            for i in range(actors):
                again[i] |= np.uint32(targets[a, i] == targets[b, i])


def aim(key: Any, start: Any, others: Any, tells: Any, actors: Any, acting: Any, streams: Any, targets: Any, again: Any,
        spare: Any, stamps: Any, serial: Any) -> Any:  # fmt: skip
    """Whom each actor tells: `draws.distinct` among the others. Returns the last serial number used."""
    open_streams(key, start, actors, acting, streams)
    serial = choose(others, tells, actors, streams, targets, again, spare, stamps, serial)
    for j in range(min(tells, others)):
        for i in range(actors):
            targets[j, i] += np.uint32(targets[j, i] >= acting[i])
    return serial


def choose(n: Any, k: Any, actors: Any, streams: Any, targets: Any, again: Any,
           spare: Any, stamps: Any, serial: Any) -> Any:  # fmt: skip
    """`draws.distinct` of each stream, k of n, in a column each. Returns the last serial number used."""
    if k < n:
        first_picks(n, k, actors, streams, targets)
        find_repeats(k, actors, targets, again)
    for i in range(actors):
        if k >= n or again[i]:
            serial += 1
            told = distinct_into(streams[i], n, k, spare, stamps, serial)
            for j in range(told):
                targets[j, i] = spare[j]
    return serial


def lose(key: Any, start: Any, reach: Any, told: Any, actors: Any, acting: Any, streams: Any, targets: Any) -> None:
    """A message that gets lost comes back to its sender, whom it tells nothing new."""
    open_streams(key, start, actors, acting, streams)
    for j in range(told):
        for i in range(actors):
            peer = targets[j, i]
            targets[j, i] = peer if chance(streams[i], np.uint64(start + peer)) < reach else acting[i]


def arrivals(told: Any, actors: Any, acting: Any, targets: Any, members: Any) -> Any:
    """How many messages find a live process."""
    count = 0
    for j in range(told):
        for i in range(actors):
            count += (members[targets[j, i]] != DEAD) & (targets[j, i] != acting[i])
    return count


def infect(mark: Any, told: Any, actors: Any, targets: Any, members: Any) -> None:
    """Fresh targets will act in the next round."""
    fresh = targets.reshape(-1)  # they are listed where the targets stood: the list never overtakes
    count = ZERO
    for j in range(told):
        for i in range(actors):
            peer = targets[j, i]
            fresh[count] = peer
            count += np.uint64(members[peer] == FRESH)  # an `if` would be guessed wrong too often
    for m in range(count):
        members[fresh[m]] = mark + 1


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


def cut_keys(seed: Any, publisher: Any, sequence: Any, base: Any, keys: Any) -> None:
    """For every reason to draw: the run's key, and that of the event."""
    word = fold(fold(np.uint64(publisher), ZERO), np.uint64(sequence))  # EventId.word() with incarnation 0
    for why in range(REASONS):
        base[why] = fold(seed, np.uint64(why))
        keys[why] = fold(base[why], word)


def spread(seed: Any, home: Any, sequence: Any, table: Any, state: Any,
           picked: Any, stamps: Any, counts: Any, tally: Any) -> None:  # fmt: skip
    """One event, from its publisher until nobody new is reached; `tally` gets a row per community."""
    state[:] = FRESH
    stamps[:] = 0
    counts[:] = 0
    for c in range(len(table.size)):
        crash(seed, c, table.start[c], table.size[c], table.crashed[c], state)
        tally[c, LIVE] = table.size[c] - table.crashed[c]
    publisher = first_live(table.start[home], table.size[home], state)
    if publisher < 0:
        return
    state[publisher] = 1
    base = np.zeros(REASONS, np.uint64)
    keys = np.zeros(REASONS, np.uint64)
    cut_keys(seed, publisher, sequence, base, keys)
    blocks, hands = len(table.block_low), counts.shape[0]
    serials = np.zeros(hands, np.int64)
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
    for run in range(len(seeds)):
        spread(seeds[run], home, sequence, table, state, picked, stamps, counts, tallies[run])


class CommunityArrays(NamedTuple):
    """What every kernel's tables have: the communities, cut into blocks."""

    start: Any
    size: Any
    crashed: Any
    block_low: Any
    block_high: Any
    block_community: Any


def community_arrays(communities: Sequence[Community], stillborn: float) -> CommunityArrays:
    blocks = [
        (low, min(low + BLOCK, group.start + group.size), index)
        for index, group in enumerate(communities)
        for low in range(group.start, group.start + group.size, BLOCK)
    ]
    columns = np.array(blocks, np.int64).reshape(-1, 3).T.copy()
    return CommunityArrays(
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
        np.zeros((hands, BATCH * (2 + picks + 1)), np.int64),  # see `desk`
        np.zeros((hands, STAMPS), np.int32),
        np.zeros((hands, communities, len(COLUMNS)), np.int64),
    )


def desk(picked: Any) -> Any:
    """A hand's picks, laid out for a batch: streams, who acts, who picked twice, targets, and room for one's picks."""
    width = len(picked) // BATCH - 2
    streams, halves = picked[:BATCH].view(np.uint64), picked[BATCH : 2 * BATCH].view(np.uint32)
    rest = picked[2 * BATCH :]  # the targets take half of it, so there is room at its end
    targets = rest.view(np.uint32)[: width * BATCH].reshape(width, BATCH)
    return streams, halves[:BATCH], halves[BATCH:], targets, rest[-width:]
