"""Phase one of a round, node by node: whom to connect to, whom to part from, whom to ask.

A node's choice depends on its own state and on what the last heartbeats told, so nodes can choose side by side. Scores
are popcounts of words: bits of what a node still needs, and bits of what a candidate wants.
"""

from typing import Any

import numpy as np

from gossamer.core.draws import CANDIDATE, DISCONNECT, draw, fold, lower_pick, upper_pick
from gossamer.core.draws import VIEW as VIEWS
from gossamer.protocols.spidercast import arrays
from gossamer.protocols.spidercast.arrays import COVERAGE, NEVER, NOBODY, SELECTION, SIMILARITY, VIEW
from gossamer.protocols.spidercast.rules import (
    GREEDY,
    asks_to_part,
    has_reached,
    seek_next,
    seeks,
    settled,
    wants_fewer,
    wants_more,
    word_of,
)

ZERO, ONE = np.uint64(0), np.uint64(1)


def key_of(net: Any, why: Any, turn: Any, which: Any, who: Any) -> Any:
    return fold(fold(net.base[why], np.uint64(word_of(turn, which))), np.uint64(who))


def popcount(bits: Any) -> Any:
    """How many bits are set; compilers know this loop and make one instruction of it."""
    count = 0
    while bits != ZERO:
        bits &= bits - ONE
        count += 1
    return count


def shared(net: Any, who: Any, peer: Any) -> Any:
    """Topics that both want."""
    count = 0
    for word in range(net.how[arrays.WORDS]):
        count += popcount(net.wants[who, word] & net.wants[peer, word])
    return count


def has(net: Any, peer: Any, topic: Any) -> Any:
    return (net.wants[peer, topic >> 6] >> np.uint64(topic & 63)) & ONE != ZERO


def under_without(net: Any, task: Any, who: Any, peer: Any) -> Any:
    """How many topics would not be covered if this neighbour were gone."""
    coverage = task.coverage[who]
    if net.how[SELECTION] != COVERAGE:
        return max(0, coverage - task.degree[who] + 1)
    under = 0
    for i in range(net.starts[who], net.starts[who] + net.needs[who]):
        if task.cover[i] < coverage or (task.cover[i] == coverage and has(net, peer, net.topics[i])):
            under += 1
    return under


def slot_of(task: Any, who: Any, peer: Any) -> Any:
    """Where a neighbour stands, NOBODY if it is none."""
    for slot in range(task.first[who], task.first[who] + task.degree[who]):
        if task.peers[slot] == peer:
            return slot
    return NOBODY


def may_ask(net: Any, task: Any, who: Any, peer: Any, turn: Any) -> Any:
    """Whether a candidate is neither gone, nor a neighbour, nor in quarantine, nor the node itself."""
    if peer == who or not net.alive[peer] or slot_of(task, who, peer) != NOBODY:
        return False
    for i in range(net.how[arrays.QUARANTINE]):
        if task.quarantined[who, i] == peer and turn < task.since[who, i] + net.how[arrays.QUARANTINE]:
            return False
    return True


# Scores


def look_for(net: Any, task: Any, which: Any, who: Any, masks: Any, spots: Any) -> Any:
    """Notes which bits count: topics that are not covered, or all that a node wants. Says in how many words."""
    for word in range(net.how[arrays.WORDS]):
        masks[word] = ZERO
    covering = net.how[SELECTION] == COVERAGE
    for i in range(net.starts[who], net.starts[who] + net.needs[who]):
        if not covering or task.cover[i] < task.coverage[who]:
            masks[net.topics[i] >> 6] |= ONE << np.uint64(net.topics[i] & 63)
    used = 0
    for word in range(net.how[arrays.WORDS]):
        if masks[word] != ZERO:
            masks[used], spots[used] = masks[word], word
            used += 1
    return used


def score(net: Any, masks: Any, spots: Any, used: Any, peer: Any) -> Any:
    """How many of the noted topics a candidate wants."""
    if used == NOBODY:
        return 1
    count = 0
    for i in range(used):
        count += popcount(masks[i] & net.wants[peer, spots[i]])
    return count


# Candidates


def see(net: Any, who: Any, marks: Any, members: Any) -> Any:
    """Draws a node's view again: so many different others, noted in `members`. Says how many."""
    size, others = net.how[VIEW], np.uint64(net.how[arrays.NODES] - 1)
    key, index, known = fold(net.base[VIEWS], np.uint64(who)), ZERO, 0
    while known < size:
        z = draw(key, index)
        index += ONE
        known = note(who, np.int64(upper_pick(z, others)), marks, members, known)
        if known < size:
            known = note(who, np.int64(lower_pick(z, others)), marks, members, known)
    for i in range(known):
        place = members[i] - (members[i] > who)
        marks[place >> 6] = ZERO
    return known


def note(who: Any, place: Any, marks: Any, members: Any, known: Any) -> Any:
    bit = ONE << np.uint64(place & 63)
    if marks[place >> 6] & bit != ZERO:
        return known
    marks[place >> 6] |= bit
    members[known] = place + (place >= who)
    return known + 1


def best_introduced(net: Any, task: Any, who: Any, turn: Any, key: Any, masks: Any, spots: Any, used: Any) -> Any:
    """Of those others named, one that would help; it is not remembered any longer."""
    best, best_draw = NOBODY, ZERO
    for i in range(task.heard[who]):
        peer = task.introduced[who, i]
        luck = draw(key, np.uint64(peer))
        better = best == NOBODY or luck > best_draw
        if better and score(net, masks, spots, used, peer) and may_ask(net, task, who, peer, turn):
            best, best_draw = i, luck
    if best == NOBODY:
        return NOBODY
    chosen = task.introduced[who, best]
    task.heard[who] -= 1
    for i in range(best, task.heard[who]):
        task.introduced[who, i] = task.introduced[who, i + 1]
    return chosen


def best_known(
    net: Any, task: Any, who: Any, turn: Any, key: Any, ranked: Any, masks: Any, spots: Any, used: Any, marks: Any, members: Any
) -> Any:  # fmt: skip
    """Of the view, the candidate with the highest score if they are ranked, anybody with one if not; then by draw."""
    whole = net.how[VIEW] == 0
    known = net.how[arrays.NODES] if whole else see(net, who, marks, members)
    best, best_score, best_draw = NOBODY, 1, ZERO
    for i in range(known):
        peer = i if whole else np.int64(members[i])
        points = score(net, masks, spots, used, peer)
        if points < best_score:
            continue
        luck = draw(key, np.uint64(peer))
        better = best == NOBODY or luck > best_draw or (ranked and points > best_score)
        if better and may_ask(net, task, who, peer, turn):
            best, best_draw = peer, luck
            if ranked:
                best_score = points
    return best


# What a node does


def choose(net: Any, task: Any, which: Any, who: Any, masks: Any, spots: Any, marks: Any, members: Any) -> None:
    """One iteration of the maintenance task (Fig. 2)."""
    turn, degree, limit, under = net.clock[arrays.TURN], task.degree[who], task.limit[who], task.under[who]
    task.choice[who] = NOBODY
    task.wake[who] = NEVER
    if under > 0:
        task.target[who] = limit
    if wants_more(under, degree, limit):
        used = NOBODY
        if net.how[SELECTION] == COVERAGE or (net.how[SELECTION] == SIMILARITY and which == GREEDY):
            used = look_for(net, task, which, who, masks, spots)
        connect(net, task, which, who, turn, masks, spots, used, marks, members)
    elif wants_fewer(under, degree, limit):
        task.target[who] = settled(degree, limit)
        part(net, task, which, who, turn)


def connect(
    net: Any, task: Any, which: Any, who: Any, turn: Any, masks: Any, spots: Any, used: Any, marks: Any, members: Any
) -> None:
    key = key_of(net, CANDIDATE, turn, which, who)
    peer = best_introduced(net, task, who, turn, key, masks, spots, used)
    if peer == NOBODY:
        peer = best_known(net, task, who, turn, key, which == GREEDY, masks, spots, used, marks, members)
    if peer == NOBODY:
        wait(net, task, who, turn, masks, spots, used, marks, members)
        return
    task.choice[who] = peer
    task.parting[who] = 0
    task.wake[who] = turn + 1
    quarantine(net, task, who, peer, turn)


def quarantine(net: Any, task: Any, who: Any, peer: Any, turn: Any) -> None:
    place = turn % net.how[arrays.QUARANTINE]
    task.quarantined[who, place] = peer
    task.since[who, place] = turn


def wait(net: Any, task: Any, who: Any, turn: Any, masks: Any, spots: Any, used: Any, marks: Any, members: Any) -> None:
    """Nobody to connect to: until a quarantine is over, or a home has an answer."""
    for i in range(net.how[arrays.QUARANTINE]):
        over = task.since[who, i] + net.how[arrays.QUARANTINE]
        if over > turn:
            task.wake[who] = min(task.wake[who], over)
    if not net.how[arrays.RENDEZVOUS]:
        return
    if seeks(task.attempts[who], turn, task.due[who]) and seek(net, task, who, masks, spots, used, marks, members):
        task.attempts[who] += 1
        task.due[who] = seek_next(task.attempts[who], turn)
    if seeks(task.attempts[who], NEVER, task.due[who]) and task.due[who] > turn:
        task.wake[who] = min(task.wake[who], task.due[who])


def seek(net: Any, task: Any, who: Any, masks: Any, spots: Any, used: Any, marks: Any, members: Any) -> Any:
    """Notes the topics whose home is asked: those that nobody known, neighbours apart, wants. Says how many."""
    whole = net.how[VIEW] == 0
    known = net.how[arrays.NODES] if whole else see(net, who, marks, members)
    for i in range(known):
        dismiss(net, task, who, i if whole else np.int64(members[i]), masks, spots, used)
    for i in range(task.heard[who]):
        dismiss(net, task, who, np.int64(task.introduced[who, i]), masks, spots, used)
    count = 0
    for i in range(net.starts[who], net.starts[who] + net.needs[who]):
        topic = net.topics[i]
        for j in range(used):
            if spots[j] == topic >> 6 and masks[j] >> np.uint64(topic & 63) & ONE != ZERO:
                task.sought[i] = 1
                count += 1
    return count


def dismiss(net: Any, task: Any, who: Any, peer: Any, masks: Any, spots: Any, used: Any) -> None:
    """Topics that a candidate wants need not be sought."""
    if score(net, masks, spots, used, peer) and peer != who and slot_of(task, who, peer) == NOBODY:
        for i in range(used):
            masks[i] &= ~net.wants[peer, spots[i]]


def part(net: Any, task: Any, which: Any, who: Any, turn: Any) -> None:
    """Asks the neighbour to part that would be missed least, of those that may well agree."""
    key = key_of(net, DISCONNECT, turn, which, who)
    best, fewest, best_draw = NOBODY, NEVER, ZERO
    for slot in range(task.first[who], task.first[who] + task.degree[who]):
        peer = task.peers[slot]
        if task.asked[slot] > task.changed[peer] or not has_reached(task.told_degree[peer], task.told_target[peer]):
            continue
        under = under_without(net, task, who, peer)
        luck = draw(key, np.uint64(peer))
        if under < fewest or (under == fewest and luck > best_draw):
            best, fewest, best_draw = slot, under, luck
    if best != NOBODY and asks_to_part(task.degree[who], task.limit[who], fewest):
        task.choice[who] = task.peers[best]
        task.parting[who] = 1
        task.asked[best] = turn
        task.wake[who] = turn + 1
