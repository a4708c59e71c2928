"""Phases two to six of a round: messages are dealt out to their receivers, heard in the order of their draws."""

from typing import Any

import numpy as np

from gossamer.core.draws import ORDER, REDIRECT, draw
from gossamer.protocols.spidercast import arrays
from gossamer.protocols.spidercast.arrays import COVERAGE, NOBODY, SELECTION, SIMILARITY
from gossamer.protocols.spidercast.choosing import ZERO, has, key_of, quarantine, shared, slot_of, under_without
from gossamer.protocols.spidercast.rules import (
    BOARD_MAX,
    GREEDY,
    INTRODUCED_MAX,
    has_room,
    parts,
    raised,
    wants_fewer,
)

# Neighbours


def awake(net: Any, task: Any, who: Any) -> None:
    if task.coverage[who] > 0:
        task.wake[who] = min(task.wake[who], net.clock[arrays.TURN] + 1)


def count_cover(net: Any, task: Any, who: Any, peer: Any, change: Any) -> None:
    """Topics are covered by one neighbour more, or one less."""
    if net.how[SELECTION] != COVERAGE:
        task.under[who] = max(0, task.coverage[who] - task.degree[who])
        return
    for i in range(net.starts[who], net.starts[who] + net.needs[who]):
        if has(net, peer, net.topics[i]):
            before = task.cover[i] < task.coverage[who]
            task.cover[i] += change
            task.under[who] += (task.cover[i] < task.coverage[who]) - before


def add(net: Any, task: Any, who: Any, peer: Any) -> None:
    """A neighbour more; there is room for it. The target follows (Fig. 4, lines 4–5)."""
    slot = task.first[who] + task.degree[who]
    task.peers[slot] = peer
    task.asked[slot] = -1
    task.degree[who] += 1
    count_cover(net, task, who, peer, 1)
    task.target[who] = raised(task.target[who], task.degree[who], task.limit[who], net.how[arrays.MARGIN])
    awake(net, task, who)


def remove(net: Any, task: Any, who: Any, peer: Any) -> Any:
    """A neighbour less, if it was one; says whether it was."""
    slot = slot_of(task, who, peer)
    if slot == NOBODY:
        return False
    task.degree[who] -= 1
    last = task.first[who] + task.degree[who]
    task.peers[slot], task.asked[slot] = task.peers[last], task.asked[last]
    count_cover(net, task, who, peer, -1)
    awake(net, task, who)
    return True


def introduce(net: Any, task: Any, who: Any, peer: Any) -> None:
    """Remembers a candidate; of too many, not the one named longest ago."""
    count = task.heard[who]
    for i in range(count):
        if task.introduced[who, i] == peer:
            return
    if peer == who:
        return
    if count == INTRODUCED_MAX:
        count -= 1
        for i in range(count):
            task.introduced[who, i] = task.introduced[who, i + 1]
    task.introduced[who, count] = peer
    task.heard[who] = count + 1
    awake(net, task, who)


# Inboxes


def deal(scratch: Any, count: Any, receivers: Any) -> None:
    """Sorts letters by receiver: those for r come to stand at inbox[inbox_first[r] : inbox_first[r + 1]]."""
    first, letters = scratch.inbox_first, scratch.letters
    for r in range(receivers + 1):
        first[r] = 0
    for i in range(count):
        first[letters[i, 0] + 1] += 1
    for r in range(receivers):
        first[r + 1] += first[r]
    for i in range(count):
        receiver = letters[i, 0]
        scratch.inbox[first[receiver]] = letters[i, 1]
        first[receiver] += 1
    for r in range(receivers, 0, -1):
        first[r] = first[r - 1]
    first[0] = 0


def put_in_order(scratch: Any, begin: Any, end: Any, key: Any) -> None:
    """Sorts one inbox by falling draws (Shell's way: no further room, and thousands of letters do no harm)."""
    inbox, draws = scratch.inbox, scratch.inbox_draws
    for i in range(begin, end):
        draws[i] = draw(key, np.uint64(inbox[i]))
    gap = (end - begin) // 2
    while gap > 0:
        for i in range(begin + gap, end):
            sender, luck, at = inbox[i], draws[i], i
            while at - gap >= begin and draws[at - gap] < luck:
                inbox[at], draws[at] = inbox[at - gap], draws[at - gap]
                at -= gap
            inbox[at], draws[at] = sender, luck
        gap = 1 if gap == 2 else int(gap / 2.2)


def collect(net: Any, task: Any, scratch: Any, active: Any, parting: Any) -> Any:
    """Notes what was sent: every CONNECT, or every DISCONNECT. Says how many."""
    count = 0
    for i in range(active):
        who = scratch.active[i]
        if task.choice[who] != NOBODY and task.parting[who] == parting:
            scratch.letters[count, 0], scratch.letters[count, 1] = task.choice[who], who
            count += 1
    return count


# Connecting


def hear_connects(net: Any, task: Any, which: Any, scratch: Any, count: Any) -> None:
    deal(scratch, count, net.how[arrays.NODES])
    for who in range(net.how[arrays.NODES]):
        begin, end = scratch.inbox_first[who], scratch.inbox_first[who + 1]
        if begin == end:
            continue
        put_in_order(scratch, begin, end, key_of(net, ORDER, net.clock[arrays.TURN], which, who))
        before = task.degree[who]
        for i in range(begin, end):
            hear_connect(net, task, which, who, scratch.inbox[i], before)


def hear_connect(net: Any, task: Any, which: Any, who: Any, peer: Any, before: Any) -> None:
    """The answer is the asker itself if it is accepted, else whom it is sent on to, or nobody."""
    task.answer[peer] = NOBODY
    if task.coverage[who] == 0 or not net.alive[who]:
        return
    kindred = net.how[SELECTION] == COVERAGE or (net.how[SELECTION] == SIMILARITY and which == GREEDY)
    if kindred and shared(net, who, peer) == 0:
        return
    if slot_of(task, who, peer) != NOBODY:
        task.answer[peer] = peer
    elif has_room(task.degree[who], task.limit[who], net.how[arrays.MARGIN]):
        add(net, task, who, peer)
        task.answer[peer] = peer
    else:
        task.answer[peer] = sent_on(net, task, which, who, peer, before)


def sent_on(net: Any, task: Any, which: Any, who: Any, asker: Any, before: Any) -> Any:
    """Of the neighbours with room, as far as is known, the one that shares most with the asker. Those that came in
    this round, after the first `before`, said themselves that they look for more."""
    key = key_of(net, REDIRECT, net.clock[arrays.TURN], which, asker)
    best, most, best_draw = NOBODY, -1, ZERO
    for i in range(task.degree[who]):
        peer = task.peers[task.first[who] + i]
        target = task.told_target[peer] if i < before else task.limit[peer]
        if peer == asker or not has_room(task.told_degree[peer], target, net.how[arrays.MARGIN]):
            continue
        points, luck = shared(net, asker, peer), draw(key, np.uint64(peer))
        if points > most or (points == most and luck > best_draw):
            best, most, best_draw = peer, points, luck
    return best


def hear_answers(net: Any, task: Any, scratch: Any, count: Any) -> Any:
    """CONNECT-OKs and REDIRECTs; then the LEAVEs of those that have no room any more. Says how many leave."""
    leaving = 0
    for i in range(count):
        peer, who = scratch.letters[i, 0], scratch.letters[i, 1]
        answer = task.answer[who]
        net.sent[arrays.CONNECT_OK if answer == who else arrays.REDIRECTED] += 1
        if answer == who:
            if slot_of(task, who, peer) != NOBODY:
                continue
            if has_room(task.degree[who], task.limit[who], net.how[arrays.MARGIN]):
                add(net, task, who, peer)
                continue
            scratch.letters[leaving, 0], scratch.letters[leaving, 1] = peer, who
            leaving += 1
        else:
            quarantine(net, task, who, peer, net.clock[arrays.TURN])
            if answer != NOBODY:
                introduce(net, task, who, answer)
    for i in range(leaving):
        remove(net, task, scratch.letters[i, 0], scratch.letters[i, 1])
    net.sent[arrays.LEAVE] += leaving
    return leaving


# Seeking


def hear_seeks(net: Any, task: Any, which: Any, scratch: Any, active: Any) -> None:
    """Homes answer who else looked for a topic, and remember who asks."""
    count = 0
    for i in range(active):
        who = scratch.active[i]
        for j in range(net.starts[who], net.starts[who] + net.needs[who]):
            if task.sought[j]:
                task.sought[j] = 0
                scratch.letters[count, 0], scratch.letters[count, 1] = net.topics[j], who
                count += 1
    if count == 0:
        return
    net.sent[arrays.SEEK] += count
    net.sent[arrays.FOUND] += count
    deal(scratch, count, len(net.homes))
    for topic in range(len(net.homes)):
        begin, end = scratch.inbox_first[topic], scratch.inbox_first[topic + 1]
        home = net.homes[topic]
        if begin < end:
            put_in_order(scratch, begin, end, key_of(net, ORDER, net.clock[arrays.TURN], which, home))
        for i in range(begin, end):
            hear_seek(net, task, topic, home, scratch.inbox[i])


def hear_seek(net: Any, task: Any, topic: Any, home: Any, asker: Any) -> None:
    board = task.board[topic]
    place = BOARD_MAX - 1
    for i in range(BOARD_MAX):
        if board[i] == asker:
            place = min(place, i)
        elif board[i] != NOBODY:
            introduce(net, task, asker, board[i])
    if home != asker and has(net, home, topic):
        introduce(net, task, asker, home)
    for i in range(place, 0, -1):
        board[i] = board[i - 1]
    board[0] = asker


# Parting


def hear_partings(net: Any, task: Any, which: Any, scratch: Any, count: Any) -> None:
    """DISCONNECTs, then the DISCONNECT-OKs."""
    deal(scratch, count, net.how[arrays.NODES])
    for who in range(net.how[arrays.NODES]):
        begin, end = scratch.inbox_first[who], scratch.inbox_first[who + 1]
        if begin == end:
            continue
        put_in_order(scratch, begin, end, key_of(net, ORDER, net.clock[arrays.TURN], which, who))
        for i in range(begin, end):
            task.answer[scratch.inbox[i]] = agrees(net, task, who, scratch.inbox[i])
    for i in range(count):
        peer, who = scratch.letters[i, 0], scratch.letters[i, 1]
        if task.answer[who]:
            remove(net, task, who, peer)
            net.sent[arrays.PART_OK] += 1


def agrees(net: Any, task: Any, who: Any, peer: Any) -> Any:
    """Whether a node lets a neighbour go that asks it to."""
    if slot_of(task, who, peer) == NOBODY:
        return True
    under = under_without(net, task, who, peer)
    if not parts(task.degree[who], task.target[who], under):
        return False
    remove(net, task, who, peer)
    if under == 0:
        task.target[who] = task.degree[who]
    return True


# Heartbeats


def beat(net: Any, task: Any) -> None:
    """Everybody tells its neighbours its degree and target; who could part from a neighbour looks again."""
    turn = net.clock[arrays.TURN]
    for who in range(net.how[arrays.NODES]):
        if task.degree[who] == task.told_degree[who] and task.target[who] == task.told_target[who]:
            continue
        task.told_degree[who], task.told_target[who] = task.degree[who], task.target[who]
        task.changed[who] = turn
        for slot in range(task.first[who], task.first[who] + task.degree[who]):
            peer = task.peers[slot]
            if wants_fewer(task.under[peer], task.degree[peer], task.limit[peer]):
                awake(net, task, peer)
