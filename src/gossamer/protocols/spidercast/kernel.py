"""The overlay under construction, over arrays: the same rules and draws as the machine, round by round.

A round has six phases: all nodes choose; CONNECTs and SEEKs are heard; then the answers; DISCONNECTs; then the answers;
heartbeats. A node for which nothing changed is not looked at (`Task.wake`).
"""

from typing import Any

from gossamer.protocols.spidercast import arrays
from gossamer.protocols.spidercast.arrays import NOBODY, QUIET, TURN
from gossamer.protocols.spidercast.choosing import choose, slot_of
from gossamer.protocols.spidercast.hearing import (
    beat,
    collect,
    hear_answers,
    hear_connects,
    hear_partings,
    hear_seeks,
)
from gossamer.protocols.spidercast.rules import GREEDY, RANDOM, limit_of, random_coverage

ENTRY = "run"
PACKAGE = "gossamer.protocols.spidercast"
SOURCES = ("gossamer.core.draws", f"{PACKAGE}.rules", f"{PACKAGE}.choosing", f"{PACKAGE}.hearing")
"Compiled together with this file."
prange = range
"Blocks of nodes may be dealt out to threads."


def run(net: Any, greedy: Any, random: Any, scratch: Any, until: Any) -> Any:
    """Rounds up to this one, or until there was no message for long enough; says whether that is so."""
    while net.clock[TURN] < until and net.clock[QUIET] < net.how[arrays.REST]:
        if net.how[arrays.ADAPTIVE]:
            adapt(net, greedy, random)
        messages = 0
        if len(greedy.degree):
            messages += play(net, greedy, GREEDY, scratch)
        if len(random.degree):
            messages += play(net, random, RANDOM, scratch)
        net.clock[QUIET] = 0 if messages else net.clock[QUIET] + 1
        if messages:
            net.clock[arrays.LAST] = net.clock[TURN]
        net.clock[TURN] += 1
    return net.clock[QUIET] >= net.how[arrays.REST]


def play(net: Any, task: Any, which: Any, scratch: Any) -> Any:
    """One round of one task; says how many messages there were, apart from what homes were asked."""
    active = 0
    for who in range(net.how[arrays.NODES]):
        if task.wake[who] <= net.clock[TURN]:
            scratch.active[active] = who
            active += 1
    hands = len(scratch.masks)
    if active:
        all_choose(net, task, which, scratch, active, min(hands, active))
    if net.how[arrays.RENDEZVOUS]:
        hear_seeks(net, task, which, scratch, active)
    connects = collect(net, task, scratch, active, 0)
    if connects:
        hear_connects(net, task, which, scratch, connects)
        net.sent[arrays.CONNECT] += connects
        hear_answers(net, task, scratch, connects)
    partings = collect(net, task, scratch, active, 1)
    if partings:
        net.sent[arrays.PART] += partings
        hear_partings(net, task, which, scratch, partings)
    if connects or partings or active:
        beat(net, task)
    return connects + partings


def all_choose(net: Any, task: Any, which: Any, scratch: Any, active: Any, hands: Any) -> None:
    """Phase one, a block of nodes for each hand."""
    for hand in prange(hands):
        masks, spots = scratch.masks[hand], scratch.spots[hand]
        marks, members = scratch.marks[hand], scratch.members[hand]
        for i in range(active * hand // hands, active * (hand + 1) // hands):
            choose(net, task, which, scratch.active[i], masks, spots, marks, members)


def adapt(net: Any, greedy: Any, random: Any) -> None:
    """Each node's K_r (3.3.1)."""
    for who in range(net.how[arrays.NODES]):
        links = greedy.degree[who]
        for slot in range(random.first[who], random.first[who] + random.degree[who]):
            if slot_of(greedy, who, random.peers[slot]) == NOBODY:
                links += 1
        before = random.coverage[who]
        coverage = random_coverage(
            before, net.how[arrays.GREEDY_K], greedy.under[who], greedy.degree[who], random.under[who], links,
            net.needs[who],
        )  # fmt: skip
        if coverage != before:
            random.coverage[who] = coverage
            random.limit[who] = limit_of(coverage, net.needs[who])
            random.under[who] = 0
            for i in range(net.starts[who], net.starts[who] + net.needs[who]):
                random.under[who] += random.cover[i] < coverage
            random.wake[who] = net.clock[TURN]
