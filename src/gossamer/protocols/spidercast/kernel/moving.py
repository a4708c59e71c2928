"""Nodes that come and go, for the kernel."""

from typing import Any

import numpy as np

from gossamer.protocols.spidercast.kernel import columns as col
from gossamer.protocols.spidercast.kernel.answering import remove
from gossamer.protocols.spidercast.kernel.choosing import ONE, ZERO
from gossamer.protocols.spidercast.kernel.columns import NEVER, NOBODY
from gossamer.protocols.spidercast.rules import GREEDY, limit_of


def move(net: Any, greedy: Any, random: Any) -> None:
    """All that changes before this round."""
    changed = False
    while net.clock[col.CHANGES] < len(net.changes):
        change = net.changes[net.clock[col.CHANGES]]
        if change[col.WHEN] > net.clock[col.TURN]:
            break
        net.clock[col.CHANGES] += 1
        changed = True
        for which in range(2):
            task = greedy if which == GREEDY else random
            if len(task.nodes):
                clear(net, task, change[col.WHO])
        learn(net, change)
        for which in range(2):
            task = greedy if which == GREEDY else random
            if len(task.nodes) and change[col.TOPICS_FROM] != NOBODY:
                begin(net, task, which, change[col.WHO])
    for which in range(2):
        task = greedy if which == GREEDY else random
        if changed and len(task.nodes):
            look_again(net, task)


def clear(net: Any, task: Any, who: Any) -> None:
    """All neighbours are left, everything is forgotten. They look again in this very round."""
    mine = task.nodes[who]
    for slot in range(mine[col.FIRST], mine[col.FIRST] + mine[col.DEGREE]):
        peer = np.int64(task.links[slot, col.PEER])
        remove(net, task, peer, who)
        if task.nodes[peer, col.COVER] > 0:
            task.nodes[peer, col.WAKE] = net.clock[col.TURN]
    net.clock[col.LEAVE] += mine[col.DEGREE]
    for column in range(col.DEGREE, col.NODE_COLUMNS):
        mine[column] = 0
    mine[col.CHOICE], mine[col.WAKE], mine[col.ROSE] = NOBODY, NEVER, NOBODY
    for i in range(2 * net.how[col.QUARANTINE]):
        task.asked[who, i] = -NEVER
    for other in range(net.how[col.NODES]):
        forget(task, other, who)


def forget(task: Any, who: Any, gone: Any) -> None:
    """Whoever is gone is no candidate any more, though others named it."""
    named, kept = task.introduced[who], 0
    for i in range(task.nodes[who, col.HEARD]):
        if named[i] != gone:
            named[kept] = named[i]
            kept += 1
    task.nodes[who, col.HEARD] = kept


def learn(net: Any, change: Any) -> None:
    """Whether a node is up, and what it is interested in, as everybody knows from now on."""
    who, begin = change[col.WHO], change[col.TOPICS_FROM]
    mine = net.rows[who]
    for word in range(net.how[col.WORDS]):
        net.wants[who, word] = ZERO
    mine[col.ALIVE] = begin != NOBODY
    mine[col.NEEDS] = change[col.TOPICS_TO] - begin
    for i in range(mine[col.NEEDS]):
        topic = net.news[begin + i]
        net.topics[mine[col.START] + i] = topic
        net.wants[who, topic >> 6] |= ONE << np.uint64(topic & 63)


def begin(net: Any, task: Any, which: Any, who: Any) -> None:
    """A node without neighbours sets out."""
    mine, needs, start = task.nodes[who], net.rows[who, col.NEEDS], net.rows[who, col.START]
    covering = net.how[col.SELECTION] == col.COVERAGE
    coverage = net.how[col.GREEDY_K if which == GREEDY else col.RANDOM_K]
    limit = limit_of(coverage, needs) if covering else coverage
    mine[col.COVER], mine[col.LIMIT], mine[col.TARGET], mine[col.TOLD_TARGET] = coverage, limit, limit, limit
    mine[col.UNDER] = min(needs, limit) if covering else limit
    mine[col.WAKE] = net.clock[col.TURN] if limit > 0 else NEVER
    if covering:
        for i in range(start, start + needs):
            task.topics[i, col.COVERED] = 0


def look_again(net: Any, task: Any) -> None:
    """Who knew nobody to connect to may know somebody now; nobody's short list holds."""
    for who in range(net.how[col.NODES]):
        task.nodes[who, col.FLOOR] = NEVER
        if task.nodes[who, col.UNDER] > 0:
            task.nodes[who, col.WAKE] = min(task.nodes[who, col.WAKE], net.clock[col.TURN])
