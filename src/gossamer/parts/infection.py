"""What every infect-and-die kernel shares: one byte per process, and the ways to touch it.

Plain Python over arrays; `fast/` compiles it together with draws, a protocol's rules and its kernel.
A process's byte says FRESH, DEAD, or in which round the event reached it (round + 1), so a round needs no queue:
it scans for its own mark. All writes of one round write the same byte, which is why two threads may share the array.
"""

from typing import Any

import numpy as np

from gossamer.core.draws import STILLBORN, chance, draw, fold, lower_pick, upper_pick

FRESH = 0
DEAD = 255
LAST_MARK = 253
BLOCK = 1 << 16
"Processes a thread scans at a time."
STAMPS = 1024
"Slots of the filter that says whether a pick may be a repeat; a power of two."

prange = range
"`fast/` puts Numba's own here."

ZERO = np.uint64(0)
ONE = np.uint64(1)


# Functions that are given arrays have one way out: Numba counts references on every early return, once a message.


def repeats(pick: Any, count: Any, picked: Any, stamps: Any, serial: Any) -> Any:
    """Whether `pick` is among the first `count` picks. The filter makes the scan rare."""
    slot = pick & (STAMPS - 1)
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
        first = np.int64(upper_pick(z, span))
        if not repeats(first, count, picked, stamps, serial):
            picked[count] = first
            count += 1
        second = np.int64(lower_pick(z, span))
        if count < k and not repeats(second, count, picked, stamps, serial):
            picked[count] = second
            count += 1
    while k >= n and count < n:
        picked[count] = count
        count += 1
    return count


def lands(there: Any, peer: Any, loss_key: Any, reach: Any, counted: Any) -> Any:
    """Whether a message to `peer`, whose byte is `there`, arrives at a live process.

    Unless arrivals are counted, one that finds no fresh process is not even drawn for."""
    if there == DEAD or (there != FRESH and not counted):
        return False
    return reach >= 1.0 or chance(loss_key, np.uint64(peer)) < reach


def crash(seed: Any, community: Any, start: Any, size: Any, crashed: Any, state: Any) -> Any:
    """Marks exactly `crashed` of a community's processes DEAD: a keyed walk that skips repeats."""
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
            if count == crashed:
                break
        second = start + np.int64(lower_pick(z, span))
        if state[second] != DEAD:
            state[second] = DEAD
            count += 1


def first_live(start: Any, size: Any, state: Any) -> Any:
    """The first process of a community that is not crashed, or -1."""
    for process in range(start, start + size):
        if state[process] != DEAD:
            return process
    return -1


def event_key(seed: Any, why: Any, publisher: Any, sequence: Any) -> Any:
    """`Stack.key` without its last fold, for an experiment's event (incarnation 0)."""
    word = fold(fold(np.uint64(publisher), ZERO), np.uint64(sequence))
    return fold(fold(seed, np.uint64(why)), word)
