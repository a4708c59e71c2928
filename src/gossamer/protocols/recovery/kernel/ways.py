"""The kernel's tree: who is whose neighbour, which links lead to a pattern's subscribers, which vanished.

Links are bits: a dispatcher's ways towards a pattern are one word.
"""

from typing import Any

import numpy as np


def link_of(tree: Any, who: Any, other: Any) -> Any:
    """Which of a dispatcher's links leads to the other; -1: none."""
    for link in range(tree.degree[who]):
        if tree.links[who, link] == other:
            return link
    return -1


def ways_of(book: Any, tree: Any, who: Any, event: Any) -> Any:
    """The links that lead to somebody who wants an event."""
    ways = np.int64(0)
    for k in range(book.tags.shape[1]):
        if book.tags[event, k] >= 0:
            ways |= tree.towards[who, book.tags[event, k]]
    return ways


def show_the_way(tree: Any) -> None:
    """Fills the tables: from each subscriber outwards, everybody learns which of its links leads back."""
    tree.towards[:] = 0
    walked, came = tree.scratch[0], tree.scratch[1]
    for pattern in tree.known:
        for r in range(tree.readers_first[pattern], tree.readers_first[pattern + 1]):
            walked[0], came[0], count, at = tree.readers[r], -1, 1, 0
            while at < count:
                here = walked[at]
                for link in range(tree.degree[here]):
                    other = tree.links[here, link]
                    if other != came[at]:
                        tree.towards[other, pattern] |= 1 << link_of(tree, other, here)
                        walked[count], came[count] = other, here
                        count += 1
                at += 1


def unlink(tree: Any, who: Any, other: Any) -> None:
    gone = link_of(tree, who, other)
    low = (1 << gone) - 1
    tree.down[who] = (tree.down[who] & low) | (tree.down[who] >> 1 & ~low)
    tree.degree[who] -= 1
    for link in range(gone, tree.degree[who]):
        tree.links[who, link] = tree.links[who, link + 1]


def link_up(tree: Any, who: Any, other: Any) -> None:
    at = tree.degree[who]
    while at > 0 and tree.links[who, at - 1] > other:
        tree.links[who, at] = tree.links[who, at - 1]
        at -= 1
    tree.links[who, at] = other
    low = (1 << at) - 1
    tree.down[who] = (tree.down[who] & low) | (tree.down[who] & ~low) << 1
    tree.degree[who] += 1


def reconfigure(tree: Any, change: Any) -> None:
    """A link vanishes; or another one takes its place, and all tables are right again."""
    _, vanishes, one, other, new_one, new_other = change
    if not vanishes:
        unlink(tree, one, other)
        unlink(tree, other, one)
        link_up(tree, new_one, new_other)
        link_up(tree, new_other, new_one)
        show_the_way(tree)
    else:
        tree.down[one] |= 1 << link_of(tree, one, other)
        tree.down[other] |= 1 << link_of(tree, other, one)
