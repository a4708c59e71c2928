"""How dispatchers of the kernel send: events along the tree, digests with P_forward, retransmissions straight."""

from typing import Any

import numpy as np

from gossamer.core.draws import FORWARD, fold
from gossamer.protocols.recovery.kernel import columns as col
from gossamer.protocols.recovery.kernel.mail import (
    HOLDERS,
    LENGTH,
    STEPS,
    copies,
    drop_slot,
    enter,
    link_key,
    open_slot,
    post,
)
from gossamer.protocols.recovery.kernel.ways import link_of, ways_of
from gossamer.protocols.recovery.rules import choice, forward_word, forwards, mandatory

CARRIERS_MAX = 32
"Nodes on the way back that are known; from the last of them requests go straight to the publisher."


def carry(mail: Any, book: Any, tree: Any, desks: Any, who: Any, event: Any, came_from: Any) -> None:
    """An event goes on to every neighbour that wants it, or leads to some who do."""
    ways = ways_of(book, tree, who, event)
    key = fold(book.loss_key[event], np.uint64(who))
    for link in range(tree.degree[who]):
        other = tree.links[who, link]
        if ways >> link & 1 and other != came_from:
            desks.counts[col.EVENT_HOPS] += 1
            if len(tree.changes):
                copies(mail, copy_word(tree, who, other, event))
            if not tree.down[who] >> link & 1:
                post(mail, key, col.CARRY, who, other, event, col.NOTHING, col.NOTHING, col.NOTHING)


def send_again(mail: Any, book: Any, tree: Any, desks: Any, who: Any, target: Any, event: Any) -> None:
    """A retransmission, straight to whoever misses the event."""
    desks.counts[col.RETRANSMISSIONS] += 1
    desks.numbers[who, col.SERVED] += 1
    if book.source[event] == who:
        desks.counts[col.SERVED_BY_PUBLISHER] += 1
        desks.asked[event] += 1
    before = copies(mail, copy_word(tree, who, target, event)) + carried_before(book, tree, desks, who, target, event)
    key = fold(book.loss_key[event], np.uint64(who))
    if before:
        key = fold(key, np.uint64(before))
    post(mail, key, col.AGAIN, who, target, event, col.NOTHING, col.NOTHING, col.NOTHING)


def copy_word(tree: Any, who: Any, target: Any, event: Any) -> Any:
    """What stands for the copies of an event on one link: a number from 1."""
    return (event * len(tree.degree) + who) * len(tree.degree) + target + 1


def carried_before(book: Any, tree: Any, desks: Any, who: Any, target: Any, event: Any) -> Any:
    """How often this event went to this target along the tree: that need not be kept, where the tree stays."""
    link = link_of(tree, who, target)
    if link < 0 or len(tree.changes) or not desks.known[event, who] & col.SPREAD or desks.via[event, who] == target:
        return 0
    return ways_of(book, tree, who, event) >> link & 1


def gossip(mail: Any, tree: Any, desks: Any, kind: Any, who: Any, other: Any, link: Any, slot: Any, pattern: Any,
           initiator: Any, turn: Any) -> None:  # fmt: skip
    """One digest to one neighbour."""
    desks.counts[col.DIGESTS if kind == col.DIGEST else col.LOST_DIGESTS] += 1
    key = link_key(mail, kind, who, other)
    if not tree.down[who] >> link & 1 and post(mail, key, kind, who, other, slot, pattern, initiator, turn):
        mail.slots[slot, HOLDERS] += 1


def pass_on(mail: Any, tree: Any, desks: Any, kind: Any, who: Any, came_from: Any, slot: Any, pattern: Any,
            initiator: Any, turn: Any, must: Any) -> None:  # fmt: skip
    """A digest goes to each neighbour towards its pattern with the chance P_forward; `must`: at least to one."""
    word = forward_word(np.uint64(initiator), np.uint64(turn))
    key = fold(fold(mail.base[FORWARD], word), np.uint64(who))
    ways = tree.towards[who, pattern]
    eligible, told = 0, 0
    for link in range(tree.degree[who]):
        other = tree.links[who, link]
        if ways >> link & 1 and other != came_from:
            eligible += 1
            if forwards(key, np.uint64(other), mail.odds[col.FORWARDED]):
                told += 1
                gossip(mail, tree, desks, kind, who, other, link, slot, pattern, initiator, turn)
    if must and eligible and not told:
        drawn = np.int64(mandatory(key, np.uint64(eligible)))
        for link in range(tree.degree[who]):
            other = tree.links[who, link]
            if ways >> link & 1 and other != came_from:
                if drawn == 0:
                    gossip(mail, tree, desks, kind, who, other, link, slot, pattern, initiator, turn)
                drawn -= 1


def ask(mail: Any, desks: Any, who: Any, slot: Any, route: Any, initiator: Any, source: Any) -> None:
    """One step back on the way a publisher's events came."""
    desks.counts[col.ASKS] += 1
    mail.slots[slot, STEPS] += 1
    known = route >= 0 and mail.slots[slot, STEPS] <= CARRIERS_MAX
    back = np.int64(desks.via[route, who]) if known else np.int64(source)
    key = link_key(mail, col.ASK, who, back)
    if post(mail, key, col.ASK, who, back, slot, route, initiator, source):
        mail.slots[slot, HOLDERS] += 1


# Rounds


def push(mail: Any, book: Any, tree: Any, desks: Any, who: Any, turn: Any, key: Any) -> None:
    """Tells which events of a pattern are here."""
    first, patterns = np.int64(0), tree.known
    count = np.int64(len(tree.known))
    if mail.how[col.PUSH_LOCAL]:
        first, patterns = np.int64(tree.mine_first[who]), tree.mine
        count = tree.mine_first[who + 1] - first
    if count == 0:
        return
    pattern = patterns[first + np.int64(choice(key, np.uint64(count)))]
    slot = open_slot(mail)
    if slot < 0:
        return
    list_cached(mail, book, desks, who, pattern, slot)
    if mail.slots[slot, LENGTH]:
        pass_on(mail, tree, desks, col.DIGEST, who, col.NOBODY, slot, pattern, who, turn, col.MUST)
    drop_slot(mail, slot)


def list_cached(mail: Any, book: Any, desks: Any, who: Any, pattern: Any, slot: Any) -> None:
    """The newest cached events of a pattern, in the order they came."""
    ring, size, head = desks.cache[who], desks.cache.shape[1], desks.numbers[who, col.CACHE_HEAD]
    most, found = mail.pool.shape[1], 0
    at = desks.numbers[who, col.CACHE_COUNT]
    page = mail.pool[slot]
    while at > 0 and found < most:
        at -= 1
        place = head + at
        event = ring[place - size if place >= size else place]
        for k in range(book.tags.shape[1]):
            if book.tags[event, k] == pattern:
                page[found] = event
                found += 1
    for i in range(found // 2):
        page[i], page[found - 1 - i] = page[found - 1 - i], page[i]
    mail.slots[slot, LENGTH] = found


def pull_from_subscribers(mail: Any, tree: Any, desks: Any, who: Any, turn: Any, key: Any) -> Any:
    """Asks those who want the same for what is missing of one pattern. Says whether there was anybody to ask."""
    lost, count = desks.lost[who], desks.numbers[who, col.LOST_COUNT]
    patterns = 0
    for m in range(tree.mine_first[who], tree.mine_first[who + 1]):
        patterns += holds(lost, count, tree.mine[m])
    if patterns == 0:
        return False
    drawn, pattern = np.int64(choice(key, np.uint64(patterns))), np.int64(-1)
    for m in range(tree.mine_first[who], tree.mine_first[who + 1]):
        if holds(lost, count, tree.mine[m]):
            pattern = tree.mine[m] if drawn == 0 else pattern
            drawn -= 1
    slot = open_slot(mail)
    if slot < 0:
        return False
    for i in range(count):
        if lost[i, 1] == pattern and mail.slots[slot, LENGTH] < mail.pool.shape[1]:
            enter(mail, slot, lost[i, 0])
    pass_on(mail, tree, desks, col.LOST, who, col.NOBODY, slot, pattern, who, turn, col.MUST)
    drop_slot(mail, slot)
    return tree.towards[who, pattern] != 0


def holds(lost: Any, count: Any, pattern: Any) -> Any:
    """Whether something is missing of this pattern."""
    for i in range(count):
        if lost[i, 1] == pattern:
            return 1
    return 0


def pull_from_publisher(mail: Any, book: Any, tree: Any, desks: Any, who: Any, key: Any) -> None:
    """Asks for what is missing of one publisher, back along the way its events came."""
    lost, count, missing = desks.lost[who], desks.numbers[who, col.LOST_COUNT], tree.scratch[0]
    missing[:] = 0
    for i in range(count):
        missing[book.source[lost[i, 0]]] = 1
    sources = 0
    for source in range(len(missing)):
        sources += missing[source]
    if sources == 0:
        return
    drawn, chosen = np.int64(choice(key, np.uint64(sources))), np.int64(-1)
    for source in range(len(missing)):
        if missing[source]:
            chosen = np.int64(source) if drawn == 0 else chosen
            drawn -= 1
    slot = open_slot(mail)
    if slot < 0:
        return
    for i in range(count):
        if book.source[lost[i, 0]] == chosen and mail.slots[slot, LENGTH] < mail.pool.shape[1]:
            enter(mail, slot, lost[i, 0])
    ask(mail, desks, who, slot, desks.route[who, chosen], who, chosen)
    drop_slot(mail, slot)
