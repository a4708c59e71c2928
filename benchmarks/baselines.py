"""The kernel's task done otherwise: in plain Python as one would first write it, and in NumPy as well as NumPy allows.

One event in one community of n processes: process 0 publishes, whoever hears it for the first time tells
floor(ln n + 5) different others and nothing more. Both make the draws the kernel makes, so that the same processes
are reached in the same rounds by the same number of messages.
"""

from collections import deque
from typing import Any, NamedTuple

import numpy as np

from gossamer.core.draws import GOLD, LOSS, MIX_A, MIX_B, PICK, SALT, chance, distinct, fold
from gossamer.core.setting import event_id
from gossamer.parts.sampling import fanout

FANOUT_EXTRA = 5.0
BATCH = 8192
"Processes NumPy handles at a time. Their draws stay in the cache, which makes it twice as fast as all at once."

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Words = np.ndarray[Any, np.dtype[np.uint64]]
Picks = np.ndarray[Any, np.dtype[np.uint32]]


class Spread(NamedTuple):
    """What became of the event."""

    reached: dict[int, int]
    "In which round the event reached each process it did reach; its publisher in round 0."
    sent: int


def keys_of(seed: int) -> tuple[int, int]:
    """What picks and losses of process 0's first event are drawn from; folding in a process makes a key its own."""
    event = event_id(publisher=0, sequence=0).word()
    return fold(fold(seed, PICK), event), fold(fold(seed, LOSS), event)


# Plain Python: a dictionary, a queue, and one process at a time


def naive(n: int, seed: int, success: float = 1.0) -> Spread:
    pick_key, loss_key = keys_of(seed)
    tells = fanout(n, FANOUT_EXTRA)
    reached = {0: 0}
    queue = deque([0])
    sent = 0
    while queue:
        me = queue.popleft()
        sent += tells
        for pick in distinct(fold(pick_key, me), n - 1, tells):
            peer = pick + (pick >= me)  # everybody but me
            if peer not in reached and (success >= 1.0 or chance(fold(loss_key, me), peer) < success):
                reached[peer] = reached[me] + 1
                queue.append(peer)
    return Spread(reached, sent)


# NumPy: everybody who heard it in the last round at once, or as many as the cache can hold


def vectorised(n: int, seed: int, success: float = 1.0) -> Spread:
    state, sent = vectorised_bytes(n, seed, success)
    return Spread(rounds_of(state), sent)


def rounds_of(state: Bytes) -> dict[int, int]:
    return {int(process): int(state[process]) - 1 for process in np.flatnonzero(state)}


def vectorised_bytes(n: int, seed: int, success: float = 1.0) -> tuple[Bytes, int]:
    """A byte per process as in the kernel: 0, or the round that reached it + 1; and messages sent."""
    pick_key, loss_key = keys_of(seed)
    tells = fanout(n, FANOUT_EXTRA)
    state = np.zeros(n, np.uint8)
    state[0] = mark = 1
    sent = 0
    while len(acting := np.flatnonzero(state == mark)):
        sent += tells * len(acting)
        for low in range(0, len(acting), BATCH):
            me = acting[low : low + BATCH].astype(np.uint64)
            peers = distinct_rows(folded(pick_key, me), n - 1, tells)
            peers += peers >= me.astype(np.uint32)
            fresh = state[peers] == 0
            told = peers[fresh]
            if success < 1.0:
                sender = np.broadcast_to(me, peers.shape)[fresh]
                told = told[chance(folded(loss_key, sender), told.astype(np.uint64)) < success]
            state[told] = mark + 1
        mark += 1
    return state, sent


def mixed(z: Words) -> Words:
    """`draws.mix`, in place: an array that is not made is the fastest."""
    shifted = z >> 30
    z ^= shifted
    z *= MIX_A
    np.right_shift(z, 27, out=shifted)
    z ^= shifted
    z *= MIX_B
    np.right_shift(z, 31, out=shifted)
    z ^= shifted
    return z


def folded(key: int, words: Words) -> Words:
    """`draws.fold` of one key and many words."""
    z = words * np.uint64(GOLD)
    z ^= np.uint64(key)
    z += np.uint64(SALT)
    return mixed(z)


def raw_picks(keys: Words, n: int, k: int) -> Picks:
    """The first k picks below n of each key's stream, repeats and all; a column per key."""
    pairs = (k + 1) // 2
    z = np.arange(pairs, dtype=np.uint64)[:, None] * np.uint64(GOLD) + keys
    mixed(z)
    picks = np.empty((pairs, 2, len(keys)), np.uint32)
    halves = z >> 32
    halves *= n
    np.right_shift(halves, 32, out=picks[:, 0], casting="unsafe")
    z &= 0xFFFFFFFF
    z *= n
    np.right_shift(z, 32, out=picks[:, 1], casting="unsafe")
    return picks.reshape(2 * pairs, len(keys))[:k]


def repeats(picks: Picks) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which picks were made before in the same column. Comparing all pairs beats sorting so few."""
    return np.array([(picks[:j] == pick).any(axis=0) for j, pick in enumerate(picks)])


def distinct_rows(keys: Words, n: int, k: int) -> Picks:
    """`draws.distinct` of each key, a column per key."""
    if k >= n:
        return np.repeat(np.arange(n, dtype=np.uint32)[:, None], len(keys), axis=1)
    picks = raw_picks(keys, n, k)
    again = np.flatnonzero(repeats(picks).any(axis=0))
    if len(again):
        picks[:, again] = walked(keys[again], n, k, 2 * k)
    return picks


def walked(keys: Words, n: int, k: int, drawn: int) -> Picks:
    """The first k different picks of each key, from as many as it takes."""
    picks = raw_picks(keys, n, drawn)
    repeated = repeats(picks)
    if (drawn - repeated.sum(axis=0) < k).any():
        return walked(keys, n, k, 2 * drawn)
    first = np.argsort(repeated, axis=0, kind="stable")[:k]
    return np.take_along_axis(picks, first, axis=0)
