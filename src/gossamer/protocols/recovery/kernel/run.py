"""Dispatching and recovery over arrays: the same rules and draws as the layers, message by message.

All messages take equally long, so those under way make one queue. What happens next is the head of that queue, a timer,
a publication or a change of the tree, whichever is due first; of two at once, the one that was made first.
"""

from typing import Any

import numpy as np

from gossamer.core.draws import ROUND, fold
from gossamer.protocols.recovery import rules
from gossamer.protocols.recovery.kernel import columns as col
from gossamer.protocols.recovery.kernel.gossiping import (
    ask,
    carry,
    pass_on,
    pull_from_publisher,
    pull_from_subscribers,
    push,
    send_again,
)
from gossamer.protocols.recovery.kernel.mail import (
    HOLDERS,
    LENGTH,
    drop_slot,
    enter,
    link_key,
    open_slot,
    post,
    take_timer,
)
from gossamer.protocols.recovery.kernel.news import expire, hear, wait
from gossamer.protocols.recovery.kernel.ways import reconfigure, show_the_way
from gossamer.protocols.recovery.rules import asks_publisher, next_interval, round_at

ENTRY = "run"
SOURCES = (
    "gossamer.core.draws",
    *(f"gossamer.protocols.recovery.kernel.{each}" for each in ("columns", "mail", "ways", "news", "gossiping")),
)
"Compiled together with the rules and this file. Where two have the same name, the later one's is taken."

# The rules' own, in 64 bits without a sign: their functions are compiled with these.
CHOICE = np.uint64(rules.CHOICE)
WHICH_PULL = np.uint64(rules.WHICH_PULL)
MANDATORY_INDEX = np.uint64(rules.MANDATORY_INDEX)

MESSAGE, TIMER, PUBLICATION, CHANGE = range(1, 5)
LATER_THAN_ALL = 1 << 62


# A round


def start_round(mail: Any, book: Any, tree: Any, desks: Any, who: Any, turn: Any) -> None:
    """What a dispatcher gossips about in its round of this number."""
    key = fold(fold(mail.base[ROUND], np.uint64(turn)), np.uint64(who))
    method = mail.how[col.METHOD]
    if method == col.PUSH:
        push(mail, book, tree, desks, who, turn, key)
        return
    asked = False
    drawn = method == col.COMBINED and not asks_publisher(key, mail.odds[col.PUBLISHER_SHARE])
    if method == col.SUBSCRIBER_PULL or drawn:
        asked = pull_from_subscribers(mail, tree, desks, who, turn, key)
    if method == col.PUBLISHER_PULL or (method == col.COMBINED and not asked):
        pull_from_publisher(mail, book, tree, desks, who, key)


def on_timer(mail: Any, book: Any, tree: Any, desks: Any, who: Any, at_once: Any) -> None:
    numbers, now, least_us = desks.numbers[who], mail.clock[col.NOW], mail.how[col.INTERVAL_US]
    if at_once:
        expire(mail, desks, who, col.ANY)
        numbers[col.HURRIES] = 0
        numbers[col.HURRIED] += 1
        start_round(mail, book, tree, desks, who, rules.HURRIED + numbers[col.HURRIED])
    elif numbers[col.DUE_US] == now:  # else it was set anew meanwhile
        expire(mail, desks, who, col.ANY)
        busy = numbers[col.BUSY] != 0
        numbers[col.BUSY] = 0
        start_round(mail, book, tree, desks, who, round_at(now, desks.origin_us[who], least_us))
        if mail.how[col.ADAPTIVE]:
            numbers[col.INTERVAL] = next_interval(numbers[col.INTERVAL], least_us, busy)
        numbers[col.DUE_US] = -1
        if mail.how[col.METHOD] == col.PUSH or numbers[col.LOST_COUNT]:
            wait(mail, desks, who)


# Messages


def on_carry(mail: Any, book: Any, tree: Any, desks: Any, who: Any, event: Any, peer: Any) -> None:
    if not desks.known[event, who] & col.SEEN:
        desks.known[event, who] |= col.SPREAD
        desks.via[event, who] = peer
        desks.route[who, book.source[event]] = event
        hear(mail, book, tree, desks, who, event, col.NEWS)
        carry(mail, book, tree, desks, who, event, peer)


def on_again(mail: Any, book: Any, tree: Any, desks: Any, who: Any, event: Any) -> None:
    if desks.known[event, who] & col.SEEN:
        desks.counts[col.USELESS] += 1
    else:
        hear(mail, book, tree, desks, who, event, col.FOUND_AGAIN)


def on_digest(mail: Any, tree: Any, desks: Any, who: Any, row: Any) -> None:
    """Asks for what is wanted and unknown, and passes the digest on."""
    slot, pattern, initiator = row[col.WHAT], row[col.PATTERN], row[col.INITIATOR]
    if initiator == who:
        return
    if tree.row[who, pattern] >= 0:
        wanted = open_slot(mail)
        if wanted < 0:
            return
        for i in range(mail.slots[slot, LENGTH]):
            if not desks.known[mail.pool[slot, i], who] & col.SEEN:
                enter(mail, wanted, mail.pool[slot, i])
        if mail.slots[wanted, LENGTH]:
            desks.counts[col.REQUESTS] += 1
            key = link_key(mail, col.WANT, who, initiator)
            if post(mail, key, col.WANT, who, initiator, wanted, pattern, col.NOTHING, col.NOTHING):
                mail.slots[wanted, HOLDERS] += 1
        drop_slot(mail, wanted)
    pass_on(mail, tree, desks, col.DIGEST, who, row[col.SENDER], slot, pattern, initiator, row[col.TURN], col.MAY)


def on_want(mail: Any, book: Any, tree: Any, desks: Any, who: Any, row: Any) -> None:
    desks.numbers[who, col.BUSY] = 1
    slot = row[col.WHAT]
    for i in range(mail.slots[slot, LENGTH]):
        if desks.known[mail.pool[slot, i], who] & col.CACHED:
            send_again(mail, book, tree, desks, who, row[col.SENDER], mail.pool[slot, i])


def on_lost(mail: Any, book: Any, tree: Any, desks: Any, who: Any, row: Any) -> None:
    """Answers, under whatever pattern the event is here, and passes the digest on as it is."""
    slot, pattern, initiator = row[col.WHAT], row[col.PATTERN], row[col.INITIATOR]
    if initiator == who:
        return
    for i in range(mail.slots[slot, LENGTH]):
        if desks.known[mail.pool[slot, i], who] & col.CACHED:
            send_again(mail, book, tree, desks, who, initiator, mail.pool[slot, i])
    must = col.MUST if tree.row[who, pattern] < 0 else col.MAY
    pass_on(mail, tree, desks, col.LOST, who, row[col.SENDER], slot, pattern, initiator, row[col.TURN], must)


def on_ask(mail: Any, book: Any, tree: Any, desks: Any, who: Any, row: Any) -> None:
    """Answers, each event once; what is left goes on towards the publisher."""
    slot, initiator, source = row[col.WHAT], row[col.INITIATOR], row[col.TURN]
    if initiator == who:
        return
    page, left = mail.pool[slot], 0
    for i in range(mail.slots[slot, LENGTH]):
        if desks.known[page[i], who] & col.CACHED and not among(page, i, page[i]):
            send_again(mail, book, tree, desks, who, initiator, page[i])
    for i in range(mail.slots[slot, LENGTH]):
        if not desks.known[page[i], who] & col.CACHED:
            page[left] = page[i]
            left += 1
    mail.slots[slot, LENGTH] = left
    if left and source != who:
        ask(mail, desks, who, slot, row[col.PATTERN], initiator, source)


def among(page: Any, count: Any, event: Any) -> Any:
    """Whether an event is one of the first: it may be missing under two patterns."""
    found = False
    for i in range(count):
        found |= page[i] == event
    return found


def on_message(mail: Any, book: Any, tree: Any, desks: Any, row: Any) -> None:
    kind, who = row[col.KIND], row[col.TARGET]
    if kind == col.CARRY:
        on_carry(mail, book, tree, desks, who, row[col.WHAT], row[col.SENDER])
    elif kind == col.AGAIN:
        on_again(mail, book, tree, desks, who, row[col.WHAT])
    else:
        if kind == col.DIGEST:
            on_digest(mail, tree, desks, who, row)
        elif kind == col.WANT:
            on_want(mail, book, tree, desks, who, row)
        elif kind == col.LOST:
            on_lost(mail, book, tree, desks, who, row)
        else:
            on_ask(mail, book, tree, desks, who, row)
        drop_slot(mail, row[col.WHAT])


# The run


def publish(mail: Any, book: Any, tree: Any, desks: Any, event: Any) -> None:
    who = np.int64(book.source[event])
    desks.known[event, who] |= col.SPREAD
    desks.via[event, who] = who
    hear(mail, book, tree, desks, who, event, col.NEWS)
    carry(mail, book, tree, desks, who, event, who)


def sooner(when: Any, order: Any, than_when: Any, than_order: Any) -> Any:
    """Whether something is due before something else."""
    return when < than_when or (when == than_when and order < than_order)


def run(mail: Any, book: Any, tree: Any, desks: Any) -> None:
    """Everything that happens until the end, or until there is no more room."""
    show_the_way(tree)
    n, events, changes = len(tree.degree), len(book.at_us), len(tree.changes)
    clock, queue, timers = mail.clock, mail.queue, mail.timers
    if mail.how[col.METHOD] == col.PUSH and len(tree.known):
        for who in range(n):
            wait(mail, desks, who)
    changes_from = clock[col.ORDERS] + 1  # the order in which things were made: timers, changes, publications
    events_from = changes_from + changes
    clock[col.ORDERS] += changes + events
    event, change = np.int64(0), np.int64(0)
    row = np.zeros(queue.shape[1], np.int64)
    while clock[col.FAULT] == 0:
        what, when, order = col.NOTHING, np.int64(LATER_THAN_ALL), np.int64(0)
        if clock[col.HEAD] < clock[col.TAIL]:
            head = queue[clock[col.HEAD] & len(queue) - 1]
            what, when, order = MESSAGE, head[col.WHEN], head[col.ORDER]
        if clock[col.TIMERS] and sooner(timers[0, col.WHEN], timers[0, col.ORDER], when, order):
            what, when, order = TIMER, timers[0, col.WHEN], timers[0, col.ORDER]
        if event < events and sooner(book.at_us[event], events_from + event, when, order):
            what, when, order = PUBLICATION, book.at_us[event], events_from + event
        if change < changes and sooner(tree.changes[change, 0], changes_from + change, when, order):
            what, when, order = CHANGE, tree.changes[change, 0], changes_from + change
        if what == col.NOTHING or when > mail.how[col.UNTIL_US]:
            break
        clock[col.NOW] = when
        if what == MESSAGE:
            row[:] = queue[clock[col.HEAD] & len(queue) - 1]
            clock[col.HEAD] += 1
            on_message(mail, book, tree, desks, row)
        elif what == TIMER:
            who, at_once = timers[0, col.WHOSE], timers[0, col.AT_ONCE]
            take_timer(mail)
            on_timer(mail, book, tree, desks, who, at_once)
        elif what == PUBLICATION:
            publish(mail, book, tree, desks, event)
            event += 1
        else:
            reconfigure(tree, tree.changes[change])
            change += 1
    judge(mail, book, tree, desks)


def judge(mail: Any, book: Any, tree: Any, desks: Any) -> None:
    """Who should have the events published within the window, and who has them."""
    counts, met = desks.counts, tree.scratch[0]
    met[:] = -1
    for event in range(len(book.at_us)):
        if mail.how[col.FROM_US] <= book.at_us[event] < mail.how[col.TO_US]:
            for k in range(book.tags.shape[1]):
                tag = book.tags[event, k]
                if tag >= 0:
                    for r in range(tree.readers_first[tag], tree.readers_first[tag + 1]):
                        who = tree.readers[r]
                        if met[who] != event:
                            met[who] = event
                            counts[col.EXPECTED] += 1
                            counts[col.DELIVERED] += desks.known[event, who] & col.SEEN
    for who in range(len(tree.degree)):
        counts[col.SERVED_MAX] = max(counts[col.SERVED_MAX], desks.numbers[who, col.SERVED])
    for event in range(len(book.at_us)):
        counts[col.ASKED_MAX] = max(counts[col.ASKED_MAX], desks.asked[event])
