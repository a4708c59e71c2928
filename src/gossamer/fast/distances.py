"""Components and diameters of many graphs, which lie side by side as groups of vertices of one.

Distances are found for 64 sources at a time: each vertex keeps a word with a bit for every source that has reached it.
"""

from typing import Any

import numpy as np

ENTRY = "explore"
SOURCES = ()

SOURCES_AT_ONCE = 64
ONE = np.uint64(1)
NOTHING = np.uint64(0)


def explore(firsts: Any, offsets: Any, ends: Any, exact_up_to: Any, queue: Any, stamps: Any, words: Any, fronts: Any,
            components: Any, largest: Any, diameters: Any, bounds: Any) -> None:  # fmt: skip
    """For each group its components, the size of the largest, and the longest of the shortest ways inside one.

    A component of more than `exact_up_to` vertices gets a lower bound, and its group a mark in `bounds`; if that is
    negative, distances are left out. `stamps` comes in as zeros; `words` has three rows and
    `fronts` two, as long as the largest group.
    """
    stamp = 0
    for group in range(len(firsts) - 1):
        base = firsts[group]
        for vertex in range(base, firsts[group + 1]):
            if stamps[vertex]:
                continue
            stamp += 1
            size = search(vertex, stamp, offsets, ends, queue, stamps)
            components[group] += 1
            largest[group] = max(largest[group], size)
            if size == 1 or exact_up_to < 0:
                continue
            if size <= exact_up_to:
                longest = longest_of_all(size, base, offsets, ends, queue, words, fronts)
            else:
                longest, stamp = longest_of_sweeps(size, base, stamp, offsets, ends, queue, stamps, words, fronts)
                bounds[group] = True
            diameters[group] = max(diameters[group], longest)


def search(start: Any, stamp: Any, offsets: Any, ends: Any, queue: Any, stamps: Any) -> Any:
    """Stamps all that can be reached from `start`; leaves them in the queue, the farthest last. How many they are."""
    queue[0] = start
    stamps[start] = stamp
    head, size = 0, 1
    while head < size:
        vertex = queue[head]
        head += 1
        for at in range(offsets[vertex], offsets[vertex + 1]):
            if stamps[ends[at]] != stamp:
                stamps[ends[at]] = stamp
                queue[size] = ends[at]
                size += 1
    return size


def longest_of_all(size: Any, base: Any, offsets: Any, ends: Any, queue: Any, words: Any, fronts: Any) -> Any:
    """The diameter of what is in the queue: every vertex is a source in its turn."""
    longest = 0
    for first in range(0, size, SOURCES_AT_ONCE):
        count = min(SOURCES_AT_ONCE, size - first)
        farthest, _ = reach(first, count, size, base, offsets, ends, queue, words, fronts)
        longest = max(longest, farthest)
    return longest


def longest_of_sweeps(size: Any, base: Any, stamp: Any, offsets: Any, ends: Any, queue: Any, stamps: Any,
                      words: Any, fronts: Any) -> Any:  # fmt: skip
    """A lower bound: from the vertices that a search found last, as far as they reach; and again from there, as long as
    that gets farther. And the last stamp that was used."""
    longest, farther = 0, True
    while farther:
        count = min(SOURCES_AT_ONCE, size)
        farthest, tip = reach(size - count, count, size, base, offsets, ends, queue, words, fronts)
        farther = farthest > longest
        if farther:
            longest = farthest
            stamp += 1
            search(tip, stamp, offsets, ends, queue, stamps)
    return longest, stamp


def reach(first: Any, count: Any, size: Any, base: Any, offsets: Any, ends: Any, queue: Any, words: Any,
          fronts: Any) -> Any:  # fmt: skip
    """How far it is from `count` sources, the queue's from `first` on, to the vertex farthest from any; and which."""
    seen, fresh, coming = 0, 1, 2
    here, ahead = 0, 1
    for i in range(size):
        words[seen, queue[i] - base] = words[coming, queue[i] - base] = NOTHING
    for i in range(count):
        fronts[here, i] = queue[first + i]
        at = queue[first + i] - base
        words[seen, at] = words[fresh, at] = ONE << np.uint64(i)
    steps, tip, active = -1, queue[first], count
    while active:
        steps += 1
        touched = 0
        for i in range(active):
            vertex = fronts[here, i]
            for at in range(offsets[vertex], offsets[vertex + 1]):
                if words[coming, ends[at] - base] == NOTHING:
                    fronts[ahead, touched] = ends[at]
                    touched += 1
                words[coming, ends[at] - base] |= words[fresh, vertex - base]
        active = 0
        for i in range(touched):
            at = fronts[ahead, i] - base
            word = words[coming, at] & ~words[seen, at]
            words[coming, at] = NOTHING
            if word != NOTHING:
                words[seen, at] |= word
                words[fresh, at] = word
                tip = fronts[here, active] = fronts[ahead, i]
                active += 1
    return steps, tip
