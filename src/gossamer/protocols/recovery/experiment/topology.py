"""The trees of experiments: how a seed joins dispatchers, and which links vanish and appear in the course of a run."""

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple, TypeAlias

from gossamer.core.draws import RECONFIGURE, TREE, draw, fold, lower_pick, upper_pick
from gossamer.protocols.recovery.experiment.setting import SECOND_US, EpidemicSetting

Edge: TypeAlias = tuple[int, int]


class Reconfiguration(NamedTuple):
    """One link of the tree vanishes, and later another one joins the two halves."""

    down_us: int
    up_us: int
    old: Edge
    new: Edge


def edges(setting: EpidemicSetting, seed: int) -> list[Edge]:
    """The tree: n - 1 links."""
    n, degree = setting.dispatchers, setting.degree
    return list(balanced(n, degree) if setting.tree == "balanced" else grown(n, degree, fold(seed, TREE)))


def balanced(dispatchers: int, degree: int) -> Iterator[Edge]:
    """A tree filled breadth-first: everybody gets all the children it may have before the next one gets any."""
    children = count(1)
    for parent in range(dispatchers):
        for _ in range(degree if parent == 0 else degree - 1):
            child = next(children)
            if child >= dispatchers:
                return
            yield parent, child


def grown(dispatchers: int, degree: int, key: int) -> Iterator[Edge]:
    """Each new dispatcher joins any that has room for another neighbour."""
    open_ends = [0] * degree
    for joining in range(1, dispatchers):
        hosts = list(dict.fromkeys(open_ends))  # all alike, however much room they have
        joined = hosts[upper_pick(draw(key, joining), len(hosts))]
        open_ends.remove(joined)
        open_ends.extend([joining] * (degree - 1))
        yield joined, joining


def neighbours(edges: Sequence[Edge], dispatchers: int) -> list[list[int]]:
    """Each dispatcher's, in ascending order."""
    beside: list[list[int]] = [[] for _ in range(dispatchers)]
    for one, other in edges:
        beside[one].append(other)
        beside[other].append(one)
    return [sorted(each) for each in beside]


def reconfigurations(setting: EpidemicSetting, seed: int) -> list[Reconfiguration]:
    """All that begin within the experiment's time, in the order in which links vanish, and so appear.

    A link that vanished counts as one of the tree, though nothing passes it, until another takes its place."""
    every_us, repair_us = (round(s * SECOND_US) for s in (setting.reconfigure_every_s, setting.repair_s))
    changes: list[Reconfiguration] = []
    if not every_us or setting.dispatchers < 3:
        return changes
    tree, key = edges(setting, seed), fold(seed, RECONFIGURE)
    down: deque[tuple[int, int]] = deque()  # when, and which
    for turn, now_us in enumerate(range(every_us, setting.until_us, every_us)):
        while down and down[0][0] + repair_us <= now_us:
            changes.append(_repaired(tree, *down.popleft(), repair_us, setting, fold(key, len(changes))))
        gone = [index for _, index in down]
        up = [index for index in range(len(tree)) if index not in gone]
        if up:
            down.append((now_us, up[upper_pick(draw(key, turn), len(up))]))
    while down:
        changes.append(_repaired(tree, *down.popleft(), repair_us, setting, fold(key, len(changes))))
    return changes


def happenings(setting: EpidemicSetting, seed: int) -> list[tuple[int, bool, Reconfiguration]]:
    """When a link vanishes (True) or another takes its place; of two at once, the latter first, as they were drawn."""
    found = [
        (when_us, vanishes, change)
        for change in reconfigurations(setting, seed)
        for when_us, vanishes in ((change.down_us, True), (change.up_us, False))
    ]
    return sorted(found)


def _repaired(
    tree: list[Edge], down_us: int, index: int, repair_us: int, setting: EpidemicSetting, key: int
) -> Reconfiguration:
    """Joins the two halves a link left behind by another link, between any two that have room for it."""
    old = tree.pop(index)
    beside = neighbours(tree, setting.dispatchers)
    ends = [[each for each in half(beside, end) if len(beside[each]) < setting.degree] for end in old]
    z = draw(key, 0)
    tree.insert(index, (ends[0][upper_pick(z, len(ends[0]))], ends[1][lower_pick(z, len(ends[1]))]))
    return Reconfiguration(down_us, down_us + repair_us, old, tree[index])


def half(beside: Sequence[Sequence[int]], start: int) -> list[int]:
    """Everybody who can be reached from there."""
    found = [start]
    met = {start}
    for each in found:
        fresh = [other for other in beside[each] if other not in met]
        met.update(fresh)
        found += fresh
    return sorted(found)
