"""Builds overlays with the kernel."""

from typing import Any

import numpy as np

from gossamer.core.errors import Misuse
from gossamer.fast.compile import compiled, threads_limited
from gossamer.protocols.spidercast.experiment.setting import Overlay, OverlaySetting
from gossamer.protocols.spidercast.kernel import columns as col
from gossamer.protocols.spidercast.kernel.arrays import RunArrays, TaskArrays, prepare

KERNEL = "gossamer.protocols.spidercast.kernel.run"
BLOCKS_PER_THREAD = 8
"Some nodes have more to think than others."


def build(setting: OverlaySetting, seed: int, threads: int = 1) -> Overlay:
    """The overlay of a setting, when it has come to rest."""
    if setting.params.insist or setting.params.patient:
        raise Misuse("the kernel builds by the paper's rules: leave insist and patient out, or build with machines")
    if setting.params.selection == "ring":
        return ring(setting)
    room = prepare(setting, seed, hands=1 if threads == 1 else threads * BLOCKS_PER_THREAD)
    kernel = compiled(KERNEL, parallel=threads > 1)
    with threads_limited(threads):
        at_rest = kernel(*room, setting.rounds_max)
    return overlay(room, bool(at_rest))


def overlay(room: RunArrays, at_rest: bool) -> Overlay:
    """What stands in the arrays."""
    net, n = room.net, len(room.net.rows)
    tasks = (room.greedy, room.random)
    ends = [_ends(task, n) for task in tasks]
    pairs, where = np.unique(np.concatenate([low for low, _ in ends]), return_inverse=True)
    kinds = np.bincount(where, np.repeat([1, 2], [len(low) for low, _ in ends]), len(pairs)).astype(np.uint8)
    return Overlay(
        links=np.column_stack([pairs // max(n, 1), pairs % max(n, 1)]).astype(np.int32),
        kinds=kinds,
        degree_greedy=_degree(room.greedy, n),
        degree_random=_degree(room.random, n),
        rounds=int(net.clock[col.LAST]) + 1,
        at_rest=at_rest,
        messages=dict(zip(col.MESSAGES, net.clock[col.CONNECT :].tolist())),
        covered=int(net.clock[col.GAINED]),
        one_sided=sum(len(np.setxor1d(low, high)) for low, high in ends),
        over_limit=sum(_over(task, int(net.how[col.MARGIN])) for task in tasks),
    )


def _ends(task: TaskArrays, n: int) -> tuple[Any, Any]:
    """Links as one number each: as the lower node has them, and as the higher one does."""
    first, degree = task.nodes[:, col.FIRST].astype(np.int64), task.nodes[:, col.DEGREE]
    owner = np.repeat(np.arange(len(degree), dtype=np.int64), degree)
    skipped = np.repeat(first - np.cumsum(degree, dtype=np.int64) + degree, degree)
    peer = task.links[np.arange(len(owner)) + skipped, col.PEER].astype(np.int64)
    up = owner < peer
    return np.sort(owner[up] * n + peer[up]), np.sort(peer[~up] * n + owner[~up])


def _degree(task: TaskArrays, n: int) -> Any:
    return task.nodes[:, col.DEGREE].copy() if len(task.nodes) else np.zeros(n, np.int32)


def _over(task: TaskArrays, margin: int) -> int:
    return int((task.nodes[:, col.DEGREE] > task.nodes[:, col.LIMIT] + margin).sum())


def ring(setting: OverlaySetting) -> Overlay:
    """Every topic's nodes in a ring, in the order of their numbers; links of several rings are one."""
    interests = setting.interests
    n = interests.nodes
    node = np.repeat(np.arange(n, dtype=np.int64), np.diff(interests.starts))
    order = np.argsort(interests.topics, kind="stable")
    topic, node = interests.topics[order], node[order]
    last = np.append(topic[1:] != topic[:-1], True)[: len(topic)]
    first = np.flatnonzero(np.append(True, last[:-1])[: len(topic)])
    following = np.append(node[1:], 0)[: len(node)]
    following[last] = node[first]
    low, high = np.minimum(node, following), np.maximum(node, following)
    pairs = np.unique((low * n + high)[low < high])
    links = np.column_stack([pairs // max(n, 1), pairs % max(n, 1)]).astype(np.int32)
    degree = np.bincount(links.ravel(), minlength=n).astype(np.int32)
    return Overlay(
        links=links,
        kinds=np.ones(len(links), np.uint8),
        degree_greedy=degree,
        degree_random=np.zeros(n, np.int32),
        rounds=0,
        at_rest=True,
        messages=dict.fromkeys(col.MESSAGES, 0),
    )
