"""Phase one of a round, node by node: whom to connect to, whom to part from, whom to ask.

A node's choice depends on its own state and on what the last heartbeats told, so nodes can choose side by side. Scores
are popcounts of words: bits of what a node still needs, and bits of what a candidate wants.
"""

from typing import Any

import numpy as np

from gossamer.core.draws import CANDIDATE, DISCONNECT, draw, fold, lower_pick, upper_pick
from gossamer.core.draws import VIEW as VIEWS
from gossamer.protocols.spidercast.kernel import columns as col
from gossamer.protocols.spidercast.kernel.columns import NEVER, NOBODY
from gossamer.protocols.spidercast.rules import (
    GREEDY,
    asks_to_part,
    can_spare,
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
    for word in range(net.how[col.WORDS]):
        count += popcount(net.wants[who, word] & net.wants[peer, word])
    return count


def has(net: Any, peer: Any, topic: Any) -> Any:
    return (net.wants[peer, topic >> 6] >> np.uint64(topic & 63)) & ONE != ZERO


def under_without(net: Any, task: Any, who: Any, peer: Any) -> Any:
    """How many topics would not be covered if this neighbour were gone."""
    coverage = task.nodes[who, col.COVER]
    if net.how[col.SELECTION] != col.COVERAGE:
        return max(0, coverage - task.nodes[who, col.DEGREE] + 1)
    under, start = 0, net.rows[who, col.START]
    for i in range(start, start + net.rows[who, col.NEEDS]):
        spare = task.topics[i, col.COVERED] - coverage
        if spare < 0 or (spare == 0 and has(net, peer, net.topics[i])):
            under += 1
    return under


def slot_of(task: Any, who: Any, peer: Any) -> Any:
    """Where a neighbour stands, NOBODY if it is none."""
    first = task.nodes[who, col.FIRST]
    for slot in range(first, first + task.nodes[who, col.DEGREE]):
        if task.links[slot, col.PEER] == peer:
            return slot
    return NOBODY


def may_ask(net: Any, task: Any, who: Any, peer: Any, turn: Any) -> Any:
    """Whether a candidate is neither gone, nor a neighbour, nor in quarantine, nor the node itself."""
    if peer == who or not net.rows[peer, col.ALIVE] or slot_of(task, who, peer) != NOBODY:
        return False
    for i in range(0, 2 * net.how[col.QUARANTINE], 2):
        if task.asked[who, i] == peer and turn < task.asked[who, i + 1] + net.how[col.QUARANTINE]:
            return False
    return True


# Scores. The first `used` of `bits` are words of topics, the first `used` of `numbers` say which words.


def look_for(net: Any, task: Any, who: Any, bits: Any, numbers: Any) -> Any:
    """Notes which topics count: those that are not covered, or all that a node wants. Says in how many words."""
    covering, start = net.how[col.SELECTION] == col.COVERAGE, net.rows[who, col.START]
    used = 0
    for i in range(start, start + net.rows[who, col.NEEDS]):
        if covering and task.topics[i, col.COVERED] >= task.nodes[who, col.COVER]:
            continue
        word = net.topics[i] >> 6
        if used == 0 or numbers[used - 1] != word:  # topics ascend
            bits[used], numbers[used] = ZERO, word
            used += 1
        bits[used - 1] |= ONE << np.uint64(net.topics[i] & 63)
    return used


def score(net: Any, bits: Any, numbers: Any, used: Any, peer: Any) -> Any:
    """How many of the noted topics a candidate wants; where none were noted, everybody is as good."""
    if used == NOBODY:
        return 1
    count = 0
    for i in range(used):
        count += popcount(bits[i] & net.wants[peer, numbers[i]])
    return count


# Candidates. Behind the topics, `numbers` holds the members of a view and `bits` marks on those.


def see(net: Any, who: Any, bits: Any, numbers: Any) -> Any:
    """Draws a node's view again: so many different others. Says how many."""
    size, others, words = net.how[col.VIEW], np.uint64(net.how[col.NODES] - 1), net.how[col.WORDS]
    key, index, known = fold(net.base[VIEWS], np.uint64(who)), ZERO, 0
    while known < size:
        z = draw(key, index)
        index += ONE
        known += note(np.int64(upper_pick(z, others)), words, bits, numbers, known)
        if known < size:
            known += note(np.int64(lower_pick(z, others)), words, bits, numbers, known)
    for i in range(words, words + known):
        bits[words + (numbers[i] >> 6)] = ZERO
        numbers[i] += numbers[i] >= who
    return known


def note(place: Any, words: Any, bits: Any, numbers: Any, known: Any) -> Any:
    """Whether a pick is a new one; then it is kept."""
    at, bit = words + (place >> 6), ONE << np.uint64(place & 63)
    if bits[at] & bit != ZERO:
        return 0
    bits[at] |= bit
    numbers[words + known] = place
    return 1


def best_introduced(net: Any, task: Any, who: Any, turn: Any, key: Any, bits: Any, numbers: Any, used: Any) -> Any:
    """Of those others named, one that would help; it is not remembered any longer."""
    best, best_draw, named = NOBODY, ZERO, task.introduced[who]
    for i in range(task.nodes[who, col.HEARD]):
        peer = np.int64(named[i])
        luck = draw(key, np.uint64(peer))
        better = best == NOBODY or luck > best_draw
        if better and score(net, bits, numbers, used, peer) and may_ask(net, task, who, peer, turn):
            best, best_draw = i, luck
    if best == NOBODY:
        return NOBODY
    chosen = np.int64(named[best])
    task.nodes[who, col.HEARD] -= 1
    for i in range(best, task.nodes[who, col.HEARD]):
        named[i] = named[i + 1]
    return chosen


def best_listed(net: Any, task: Any, who: Any, turn: Any, key: Any, bits: Any, numbers: Any, used: Any) -> Any:
    """Of the short list, the best candidate, if it is better than all that are not on it.

    What a node needs only shrinks as long as it loses no neighbour, and so do scores: lazy greedy."""
    best, best_score, best_draw = NOBODY, task.nodes[who, col.FLOOR] + 1, ZERO
    for i in range(task.nodes[who, col.LISTED]):
        peer = np.int64(task.listed[who, i])
        points, luck = score(net, bits, numbers, used, peer), draw(key, np.uint64(peer))
        better = points > best_score or (points == best_score and (best == NOBODY or luck > best_draw))
        if better and may_ask(net, task, who, peer, turn):
            best, best_score, best_draw = peer, points, luck
    return best


def best_known(
    net: Any, task: Any, who: Any, turn: Any, key: Any, ranked: Any, bits: Any, numbers: Any, used: Any
) -> Any:
    """Of the view, the candidate with the highest score if they are ranked, anybody with one if not; then by draw."""
    whole, words = net.how[col.VIEW] == 0, net.how[col.WORDS]
    known = net.how[col.NODES] if whole else see(net, who, bits, numbers)
    best, best_score, best_draw, floor = NOBODY, 1, ZERO, 0 if ranked else NEVER
    task.nodes[who, col.LISTED], task.nodes[who, col.FLOOR] = 0, floor
    # Nearly all time is spent here: the first two words stay in registers, and most networks need no more.
    bits_a, word_a = (bits[0], numbers[0]) if used > 0 else (ZERO, 0)
    bits_b, word_b = (bits[1], numbers[1]) if used > 1 else (ZERO, 0)
    for i in range(known):
        peer = i if whole else numbers[words + i]
        points = popcount(bits_a & net.wants[peer, word_a]) + popcount(bits_b & net.wants[peer, word_b])
        for j in range(2, used):
            points += popcount(bits[j] & net.wants[peer, numbers[j]])
        if used == NOBODY:
            points = 1
        if points > floor:
            floor = enlist(net, task, who, peer, points, bits, numbers, used)
        if points < best_score:
            continue
        luck = draw(key, np.uint64(peer))
        better = best == NOBODY or luck > best_draw or (ranked and points > best_score)
        if better and may_ask(net, task, who, peer, turn):
            best, best_draw = peer, luck
            if ranked:
                best_score = points
    return best


def enlist(net: Any, task: Any, who: Any, peer: Any, points: Any, bits: Any, numbers: Any, used: Any) -> Any:
    """Puts a candidate on the short list; if that is full, all who score least leave it. Says what the others score."""
    mine, listed = task.nodes[who], task.listed[who]
    if peer == who or slot_of(task, who, peer) != NOBODY:
        return np.int64(mine[col.FLOOR])
    if mine[col.LISTED] == col.LISTED_MAX:
        least = points
        for i in range(col.LISTED_MAX):
            least = min(least, score(net, bits, numbers, used, np.int64(listed[i])))
        mine[col.LISTED], mine[col.FLOOR] = 0, least
        for i in range(col.LISTED_MAX):
            if score(net, bits, numbers, used, np.int64(listed[i])) > least:
                listed[mine[col.LISTED]] = listed[i]
                mine[col.LISTED] += 1
    if points > mine[col.FLOOR]:
        listed[mine[col.LISTED]] = peer
        mine[col.LISTED] += 1
    return np.int64(mine[col.FLOOR])


# What a node does


def choose(net: Any, task: Any, which: Any, who: Any, bits: Any, numbers: Any) -> None:
    """One iteration of the maintenance task (Fig. 2)."""
    turn, mine, selection = net.clock[col.TURN], task.nodes[who], net.how[col.SELECTION]
    under, degree, limit = mine[col.UNDER], mine[col.DEGREE], mine[col.LIMIT]
    mine[col.CHOICE], mine[col.WAKE] = NOBODY, NEVER
    if under > 0:
        mine[col.TARGET] = limit
    if wants_more(under, degree, limit):
        by_topics = selection == col.COVERAGE or (selection == col.SIMILARITY and which == GREEDY)
        used = look_for(net, task, who, bits, numbers) if by_topics else NOBODY
        connect(net, task, which, who, turn, bits, numbers, used)
    elif wants_fewer(under, degree, limit):
        mine[col.TARGET] = settled(degree, limit)
        part(net, task, which, who, turn)


def write_to(task: Any, who: Any, peer: Any, parting: Any, turn: Any) -> None:
    task.nodes[who, col.CHOICE] = peer
    task.nodes[who, col.PARTING] = parting
    task.nodes[who, col.WAKE] = turn + 1


def connect(net: Any, task: Any, which: Any, who: Any, turn: Any, bits: Any, numbers: Any, used: Any) -> None:
    key = key_of(net, CANDIDATE, turn, which, who)
    peer = best_introduced(net, task, who, turn, key, bits, numbers, used)
    if peer == NOBODY and which == GREEDY and task.nodes[who, col.FLOOR] != NEVER:
        peer = best_listed(net, task, who, turn, key, bits, numbers, used)
    if peer == NOBODY:
        peer = best_known(net, task, who, turn, key, which == GREEDY, bits, numbers, used)
    if peer == NOBODY:
        wait(net, task, who, turn, bits, numbers, used)
        return
    write_to(task, who, peer, 0, turn)
    task.nodes[who, col.GAIN] = score(net, bits, numbers, used, peer)
    place = 2 * (turn % net.how[col.QUARANTINE])
    task.asked[who, place], task.asked[who, place + 1] = peer, turn


def wait(net: Any, task: Any, who: Any, turn: Any, bits: Any, numbers: Any, used: Any) -> None:
    """Nobody to connect to: until a quarantine is over, or a home has an answer."""
    mine = task.nodes[who]
    for i in range(1, 2 * net.how[col.QUARANTINE], 2):
        over = task.asked[who, i] + net.how[col.QUARANTINE]
        if over > turn:
            mine[col.WAKE] = min(mine[col.WAKE], over)
    if not net.how[col.RENDEZVOUS]:
        return
    if seeks(mine[col.ATTEMPTS], turn, mine[col.DUE]) and seek(net, task, who, bits, numbers, used):
        mine[col.ATTEMPTS] += 1
        mine[col.DUE] = seek_next(mine[col.ATTEMPTS], turn)
    if seeks(mine[col.ATTEMPTS], NEVER, mine[col.DUE]) and mine[col.DUE] > turn:
        mine[col.WAKE] = min(mine[col.WAKE], mine[col.DUE])


def seek(net: Any, task: Any, who: Any, bits: Any, numbers: Any, used: Any) -> Any:
    """Notes the topics whose home is asked: those that nobody known, neighbours apart, wants. Says how many."""
    whole, words = net.how[col.VIEW] == 0, net.how[col.WORDS]
    known = net.how[col.NODES] if whole else see(net, who, bits, numbers)
    for i in range(known):
        dismiss(net, task, who, i if whole else numbers[words + i], bits, numbers, used)
    for i in range(task.nodes[who, col.HEARD]):
        dismiss(net, task, who, np.int64(task.introduced[who, i]), bits, numbers, used)
    count, start = 0, net.rows[who, col.START]
    for i in range(start, start + net.rows[who, col.NEEDS]):
        topic = net.topics[i]
        for j in range(used):
            if numbers[j] == topic >> 6 and bits[j] >> np.uint64(topic & 63) & ONE != ZERO:
                task.topics[i, col.SOUGHT] = 1
                count += 1
    return count


def dismiss(net: Any, task: Any, who: Any, peer: Any, bits: Any, numbers: Any, used: Any) -> None:
    """Topics that a candidate wants need not be sought."""
    if score(net, bits, numbers, used, peer) and peer != who and slot_of(task, who, peer) == NOBODY:
        for i in range(used):
            bits[i] &= ~net.wants[peer, numbers[i]]


def part(net: Any, task: Any, which: Any, who: Any, turn: Any) -> None:
    """Asks the neighbour to part that would be missed least, of those that may well agree."""
    key = key_of(net, DISCONNECT, turn, which, who)
    best, fewest, best_draw = NOBODY, NEVER, ZERO
    first, degree = task.nodes[who, col.FIRST], task.nodes[who, col.DEGREE]
    for slot in range(first, first + degree):
        peer = np.int64(task.links[slot, col.PEER])
        told, refused = task.nodes[peer], task.links[slot, col.ASKED] > task.nodes[peer, col.ROSE]
        if refused or not can_spare(told[col.TOLD_DEGREE], told[col.TOLD_TARGET], net.how[col.BEYOND]):
            continue
        under, luck = under_without(net, task, who, peer), draw(key, np.uint64(peer))
        if under < fewest or (under == fewest and luck > best_draw):
            best, fewest, best_draw = slot, under, luck
    if best != NOBODY and asks_to_part(degree, task.nodes[who, col.LIMIT], fewest):
        write_to(task, who, np.int64(task.links[best, col.PEER]), 1, turn)
        task.links[best, col.ASKED] = turn
