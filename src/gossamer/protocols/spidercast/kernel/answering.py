"""Phases two to six of a round: messages are dealt out to their receivers, heard in the order of their draws."""

from typing import Any

import numpy as np

from gossamer.core.draws import ORDER, REDIRECT, draw
from gossamer.protocols.spidercast.kernel import columns as col
from gossamer.protocols.spidercast.kernel.choosing import ZERO, has, key_of, shared, slot_of, under_without
from gossamer.protocols.spidercast.kernel.columns import NEVER, NOBODY
from gossamer.protocols.spidercast.rules import (
    BOARD_MAX,
    GREEDY,
    INTRODUCED_MAX,
    has_room,
    may_ask_again,
    parts,
    raised,
    wants_fewer,
)

# Neighbours


def awake(net: Any, task: Any, who: Any) -> None:
    if task.nodes[who, col.COVER] > 0:
        task.nodes[who, col.WAKE] = min(task.nodes[who, col.WAKE], net.clock[col.TURN] + 1)


def count_cover(net: Any, task: Any, who: Any, peer: Any, change: Any) -> None:
    """Topics are covered by one neighbour more, or one less."""
    mine, coverage, start = task.nodes[who], task.nodes[who, col.COVER], net.rows[who, col.START]
    if net.how[col.SELECTION] != col.COVERAGE:
        mine[col.UNDER] = max(0, coverage - mine[col.DEGREE])
        return
    for i in range(start, start + net.rows[who, col.NEEDS]):
        if has(net, peer, net.topics[i]):
            before = task.topics[i, col.COVERED] < coverage
            task.topics[i, col.COVERED] += change
            mine[col.UNDER] += (task.topics[i, col.COVERED] < coverage) - before


def add(net: Any, task: Any, who: Any, peer: Any) -> None:
    """A neighbour more; there is room for it. The target follows (Fig. 4, lines 4–5)."""
    mine = task.nodes[who]
    slot = mine[col.FIRST] + mine[col.DEGREE]
    task.links[slot, col.PEER], task.links[slot, col.ASKED] = peer, NOBODY
    mine[col.DEGREE] += 1
    count_cover(net, task, who, peer, 1)
    mine[col.TARGET] = raised(mine[col.TARGET], mine[col.DEGREE], mine[col.LIMIT], net.how[col.MARGIN])
    awake(net, task, who)


def remove(net: Any, task: Any, who: Any, peer: Any) -> None:
    """A neighbour less, if it was one."""
    slot, mine = slot_of(task, who, peer), task.nodes[who]
    if slot == NOBODY:
        return
    mine[col.DEGREE] -= 1
    mine[col.FLOOR] = NEVER
    last = mine[col.FIRST] + mine[col.DEGREE]
    task.links[slot, col.PEER], task.links[slot, col.ASKED] = task.links[last, col.PEER], task.links[last, col.ASKED]
    count_cover(net, task, who, peer, -1)
    awake(net, task, who)


def introduce(net: Any, task: Any, who: Any, peer: Any) -> None:
    """Remembers a candidate; of too many, not the one named longest ago."""
    named, count = task.introduced[who], task.nodes[who, col.HEARD]
    if peer == who:
        return
    for i in range(count):
        if named[i] == peer:
            return
    if count == INTRODUCED_MAX:
        count -= 1
        for i in range(count):
            named[i] = named[i + 1]
    named[count] = peer
    task.nodes[who, col.HEARD] = count + 1
    awake(net, task, who)


# Inboxes


def deal(scratch: Any, count: Any, receivers: Any) -> None:
    """Sorts letters by receiver: the senders of those for r come to stand from first[r] to first[r + 1]."""
    first, letters = scratch.first, scratch.letters
    for r in range(receivers + 1):
        first[r] = 0
    for i in range(count):
        first[letters[i, col.RECEIVER]] += 1
    for r in range(receivers):
        first[r + 1] += first[r]
    for i in range(count):
        receiver = letters[i, col.RECEIVER]
        first[receiver] -= 1
        letters[first[receiver], col.SORTED] = letters[i, col.SENDER]


def put_in_order(scratch: Any, begin: Any, end: Any, key: Any) -> None:
    """Sorts one inbox by falling draws (Shell's way: no further room, and thousands of letters do no harm)."""
    letters, draws = scratch.letters, scratch.draws
    for i in range(begin, end):
        draws[i] = draw(key, np.uint64(letters[i, col.SORTED]))
    gap = (end - begin) // 2
    while gap > 0:
        for i in range(begin + gap, end):
            sender, luck, at = letters[i, col.SORTED], draws[i], i
            while at - gap >= begin and draws[at - gap] < luck:
                letters[at, col.SORTED], draws[at] = letters[at - gap, col.SORTED], draws[at - gap]
                at -= gap
            letters[at, col.SORTED], draws[at] = sender, luck
        gap = 1 if gap == 2 else int(gap / 2.2)


def collect(task: Any, scratch: Any, active: Any, parting: Any) -> Any:
    """Notes what was sent: every CONNECT, or every DISCONNECT. Says how many."""
    count, letters = 0, scratch.letters
    for i in range(active):
        who = letters[i, col.AWAKE]
        if task.nodes[who, col.CHOICE] != NOBODY and task.nodes[who, col.PARTING] == parting:
            letters[count, col.RECEIVER], letters[count, col.SENDER] = task.nodes[who, col.CHOICE], who
            count += 1
    return count


def collect_seeks(net: Any, task: Any, scratch: Any, active: Any) -> Any:
    """Notes what homes are asked: for each question its topic, and who asks. Says how many."""
    count, letters = 0, scratch.letters
    for i in range(active):
        who = np.int64(letters[i, col.AWAKE])
        start = net.rows[who, col.START]
        for j in range(start, start + net.rows[who, col.NEEDS]):
            if task.topics[j, col.SOUGHT]:
                task.topics[j, col.SOUGHT] = 0
                letters[count, col.RECEIVER], letters[count, col.SENDER] = net.topics[j], who
                count += 1
    return count


# Connecting


def hear_connects(net: Any, task: Any, which: Any, scratch: Any, count: Any) -> None:
    deal(scratch, count, net.how[col.NODES])
    for who in range(net.how[col.NODES]):
        begin, end = scratch.first[who], scratch.first[who + 1]
        if begin == end:
            continue
        put_in_order(scratch, begin, end, key_of(net, ORDER, net.clock[col.TURN], which, who))
        before = task.nodes[who, col.DEGREE]
        for i in range(begin, end):
            peer = np.int64(scratch.letters[i, col.SORTED])
            task.nodes[peer, col.ANSWER] = answer_to(net, task, which, who, peer, before)


def answer_to(net: Any, task: Any, which: Any, who: Any, peer: Any, before: Any) -> Any:
    """The asker itself if it is accepted, else whom it is sent on to, or nobody."""
    mine, selection = task.nodes[who], net.how[col.SELECTION]
    by_topics = selection == col.COVERAGE or (selection == col.SIMILARITY and which == GREEDY)
    if not net.rows[who, col.ALIVE] or (by_topics and shared(net, who, peer) == 0):
        return NOBODY
    if slot_of(task, who, peer) != NOBODY:
        return peer
    if has_room(mine[col.DEGREE], mine[col.LIMIT], net.how[col.MARGIN]):
        add(net, task, who, peer)
        return peer
    return sent_on(net, task, which, who, peer, before)


def sent_on(net: Any, task: Any, which: Any, who: Any, asker: Any, before: Any) -> Any:
    """Of the neighbours with room, as far as is known, the one that shares most with the asker. Those that came in
    this round, after the first `before`, said themselves that they look for more."""
    key = key_of(net, REDIRECT, net.clock[col.TURN], which, asker)
    best, most, best_draw = NOBODY, NOBODY, ZERO
    for i in range(task.nodes[who, col.DEGREE]):
        peer = np.int64(task.links[task.nodes[who, col.FIRST] + i, col.PEER])
        told = task.nodes[peer]
        target = told[col.TOLD_TARGET] if i < before else told[col.LIMIT]
        if peer == asker or not has_room(told[col.TOLD_DEGREE], target, net.how[col.MARGIN]):
            continue
        points, luck = shared(net, asker, peer), draw(key, np.uint64(peer))
        if points > most or (points == most and luck > best_draw):
            best, most, best_draw = peer, points, luck
    return best


def hear_answers(net: Any, task: Any, scratch: Any, count: Any) -> None:
    """CONNECT-OKs and REDIRECTs; then the LEAVEs of those that have no room any more."""
    leaving, letters = 0, scratch.letters
    for i in range(count):
        peer, who = np.int64(letters[i, col.RECEIVER]), np.int64(letters[i, col.SENDER])
        mine = task.nodes[who]
        accepted = mine[col.ANSWER] == who
        net.clock[col.CONNECT_OK if accepted else col.REDIRECTED] += 1
        net.clock[col.GAINED] += mine[col.GAIN] if accepted else 0
        if not accepted:
            if mine[col.ANSWER] != NOBODY:
                introduce(net, task, who, np.int64(mine[col.ANSWER]))
        elif slot_of(task, who, peer) == NOBODY:
            if has_room(mine[col.DEGREE], mine[col.LIMIT], net.how[col.MARGIN]):
                add(net, task, who, peer)
            else:
                letters[leaving, col.RECEIVER], letters[leaving, col.SENDER] = peer, who
                leaving += 1
    for i in range(leaving):
        remove(net, task, np.int64(letters[i, col.RECEIVER]), np.int64(letters[i, col.SENDER]))
    net.clock[col.LEAVE] += leaving


# Seeking


def hear_seeks(net: Any, task: Any, which: Any, scratch: Any, active: Any) -> None:
    """Homes answer who else looked for a topic, and remember who asks."""
    count = collect_seeks(net, task, scratch, active)
    if count == 0:
        return
    net.clock[col.SEEK] += count
    net.clock[col.FOUND] += count
    deal(scratch, count, len(net.homes))
    for topic in range(len(net.homes)):
        begin, end = scratch.first[topic], scratch.first[topic + 1]
        home = np.int64(net.homes[topic])
        if begin < end:
            put_in_order(scratch, begin, end, key_of(net, ORDER, net.clock[col.TURN], which, home))
        for i in range(begin, end):
            hear_seek(net, task, topic, home, np.int64(scratch.letters[i, col.SORTED]))


def hear_seek(net: Any, task: Any, topic: Any, home: Any, asker: Any) -> None:
    board = task.board[topic]
    place = BOARD_MAX - 1
    for i in range(BOARD_MAX):
        if board[i] == asker:
            place = min(place, i)
        elif board[i] != NOBODY:
            introduce(net, task, asker, np.int64(board[i]))
    if home != asker and has(net, home, topic):
        introduce(net, task, asker, home)
    for i in range(place, 0, -1):
        board[i] = board[i - 1]
    board[0] = asker


# Parting


def hear_partings(net: Any, task: Any, which: Any, scratch: Any, count: Any) -> None:
    """DISCONNECTs, then the DISCONNECT-OKs."""
    deal(scratch, count, net.how[col.NODES])
    for who in range(net.how[col.NODES]):
        begin, end = scratch.first[who], scratch.first[who + 1]
        if begin == end:
            continue
        put_in_order(scratch, begin, end, key_of(net, ORDER, net.clock[col.TURN], which, who))
        for i in range(begin, end):
            peer = np.int64(scratch.letters[i, col.SORTED])
            task.nodes[peer, col.ANSWER] = agrees(net, task, who, peer)
    for i in range(count):
        asked, asker = np.int64(scratch.letters[i, col.RECEIVER]), np.int64(scratch.letters[i, col.SENDER])
        if task.nodes[asker, col.ANSWER]:
            remove(net, task, asker, asked)
            net.clock[col.PART_OK] += 1


def agrees(net: Any, task: Any, who: Any, peer: Any) -> Any:
    """Whether a node lets a neighbour go that asks it to."""
    if slot_of(task, who, peer) == NOBODY:
        return True
    under = under_without(net, task, who, peer)
    if not parts(task.nodes[who, col.DEGREE], task.nodes[who, col.TARGET], under):
        return False
    remove(net, task, who, peer)
    if under == 0:
        task.nodes[who, col.TARGET] = task.nodes[who, col.DEGREE]
    return True


# Heartbeats


def beat(net: Any, task: Any) -> None:
    """Everybody tells its neighbours its degree and target; who could part from a neighbour looks again."""
    for who in range(net.how[col.NODES]):
        mine = task.nodes[who]
        if mine[col.DEGREE] == mine[col.TOLD_DEGREE] and mine[col.TARGET] == mine[col.TOLD_TARGET]:
            continue
        if may_ask_again(mine[col.DEGREE], mine[col.TOLD_DEGREE]):
            mine[col.ROSE] = net.clock[col.TURN]
        mine[col.TOLD_DEGREE], mine[col.TOLD_TARGET] = mine[col.DEGREE], mine[col.TARGET]
        for slot in range(mine[col.FIRST], mine[col.FIRST] + mine[col.DEGREE]):
            theirs = task.nodes[task.links[slot, col.PEER]]
            if wants_fewer(theirs[col.UNDER], theirs[col.DEGREE], theirs[col.LIMIT]):
                awake(net, task, np.int64(task.links[slot, col.PEER]))
