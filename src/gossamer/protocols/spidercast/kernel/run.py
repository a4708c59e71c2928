"""The overlay under construction, over arrays: the same rules and draws as the machine, round by round.

A round has six phases: all nodes choose; CONNECTs and SEEKs are heard; then the answers; DISCONNECTs; then the answers;
heartbeats. A node for which nothing changed is not looked at (`columns.WAKE`).
"""

from typing import Any

import numpy as np

from gossamer.protocols.spidercast.kernel import columns as col
from gossamer.protocols.spidercast.kernel.answering import (
    beat,
    collect,
    hear_answers,
    hear_connects,
    hear_partings,
    hear_seeks,
)
from gossamer.protocols.spidercast.kernel.choosing import choose, slot_of
from gossamer.protocols.spidercast.kernel.columns import NOBODY
from gossamer.protocols.spidercast.kernel.moving import move
from gossamer.protocols.spidercast.rules import GREEDY, limit_of, random_coverage

ENTRY = "run"
SOURCES = (
    "gossamer.core.draws",
    "gossamer.protocols.spidercast.rules",
    *(f"gossamer.protocols.spidercast.kernel.{each}" for each in ("choosing", "answering", "moving")),
)
"Compiled together with this file."
CONNECTS, PARTINGS = np.int64(0), np.int64(1)
prange = range
"Blocks of nodes may be dealt out to threads."


def run(net: Any, greedy: Any, random: Any, scratch: Any, until: Any) -> Any:
    """Rounds up to this one, or until there was no message for long enough; says whether that is so."""
    while net.clock[col.TURN] < until and net.clock[col.QUIET] < net.how[col.REST]:
        move(net, greedy, random)
        if net.how[col.ADAPTIVE]:
            adapt(net, greedy, random)
        messages = 0
        for which in range(2):
            task = greedy if which == GREEDY else random
            if len(task.nodes):
                messages += play(net, task, which, scratch)
        net.clock[col.QUIET] = 0 if messages else net.clock[col.QUIET] + 1
        if messages:
            net.clock[col.LAST] = net.clock[col.TURN]
        net.clock[col.TURN] += 1
    return net.clock[col.QUIET] >= net.how[col.REST]


def play(net: Any, task: Any, which: Any, scratch: Any) -> Any:
    """One round of one task; says how many messages there were, apart from what homes were asked."""
    active = rouse(net, task, scratch)
    if active:
        all_choose(net, task, which, scratch, active)
    if net.how[col.RENDEZVOUS]:
        hear_seeks(net, task, which, scratch, active)
    connects = collect(task, scratch, active, CONNECTS)
    if connects:
        hear_connects(net, task, which, scratch, connects)
        net.clock[col.CONNECT] += connects
        hear_answers(net, task, scratch, connects)
    partings = collect(task, scratch, active, PARTINGS)
    if partings:
        net.clock[col.PART] += partings
        hear_partings(net, task, which, scratch, partings)
    if connects or partings or active:
        beat(net, task)
    return connects + partings


def rouse(net: Any, task: Any, scratch: Any) -> Any:
    """Notes who has to look again; says how many."""
    count = 0
    for who in range(net.how[col.NODES]):
        if task.nodes[who, col.WAKE] <= net.clock[col.TURN]:
            scratch.letters[count, col.AWAKE] = who
            count += 1
    return count


def all_choose(net: Any, task: Any, which: Any, scratch: Any, active: Any) -> None:
    """Phase one, a block of nodes for each hand."""
    hands = len(scratch.bits)
    for hand in prange(hands):
        bits, numbers = scratch.bits[hand], scratch.numbers[hand]
        for i in range(active * hand // hands, active * (hand + 1) // hands):
            choose(net, task, which, np.int64(scratch.letters[i, col.AWAKE]), bits, numbers)


def adapt(net: Any, greedy: Any, random: Any) -> None:
    """Each node's K_r (3.3.1)."""
    for who in range(net.how[col.NODES]):
        first, needs, mine = greedy.nodes[who], net.rows[who, col.NEEDS], random.nodes[who]
        links = first[col.DEGREE]
        for slot in range(mine[col.FIRST], mine[col.FIRST] + mine[col.DEGREE]):
            if slot_of(greedy, who, np.int64(random.links[slot, col.PEER])) == NOBODY:
                links += 1
        coverage = random_coverage(
            mine[col.COVER], net.how[col.GREEDY_K], first[col.UNDER], first[col.DEGREE], mine[col.UNDER], links, needs
        )
        if coverage != mine[col.COVER]:
            mine[col.COVER], mine[col.LIMIT] = coverage, limit_of(coverage, needs)
            mine[col.UNDER], mine[col.WAKE] = 0, net.clock[col.TURN]
            start = net.rows[who, col.START]
            for i in range(start, start + needs):
                mine[col.UNDER] += random.topics[i, col.COVERED] < coverage
