"""What a dispatcher of the kernel does with an event that is news: keep it, and see by its tags what is missing."""

from typing import Any

import numpy as np

from gossamer.core.draws import EVICT, fold
from gossamer.protocols.recovery.kernel import columns as col
from gossamer.protocols.recovery.kernel.mail import set_timer
from gossamer.protocols.recovery.rules import evicted, first_lost, next_round_us


def hear(mail: Any, book: Any, tree: Any, desks: Any, who: Any, event: Any, again: Any) -> None:
    """An event passes the door; `again`: it was missing, and was sent again."""
    source, tags = book.source[event], book.tags[event]
    missed = desks.known[event, who] & col.MISSED
    wanted = False
    for k in range(len(tags)):
        if tags[k] >= 0 and tree.row[who, tags[k]] >= 0:
            wanted = True
            if mail.how[col.METHOD] != col.NONE:
                reckon(mail, book, tree, desks, who, event, k)
    ours = wanted or source == who
    desks.known[event, who] |= col.SEEN | col.OURS if ours else col.SEEN
    if again:
        desks.counts[col.RECOVERED] += 1
        desks.numbers[who, col.BUSY] |= wanted
    if missed:
        fill_gap(mail, desks, who, event, again)
    if (ours or mail.how[col.CACHE_RELAYED]) and mail.how[col.METHOD] != col.NONE and tags[0] >= 0:
        keep(mail, book, desks, who, event)


def reckon(mail: Any, book: Any, tree: Any, desks: Any, who: Any, event: Any, k: Any) -> None:
    """Counts an event in one of the streams we subscribed to; what was left out before it is missing."""
    source, pattern, place = book.source[event], book.tags[event, k], book.places[event, k]
    row = tree.row[who, pattern]
    highest = desks.highest[row, source]
    if highest == 0 and not book.whole[event, k]:  # the first one heard of tells nothing of those before
        highest = place - 1
    if place <= desks.highest[row, source]:
        return
    desks.highest[row, source] = place
    if place == highest + 1:
        return
    expire(mail, desks, who, pattern)
    stream = book.stream_first[source, pattern]
    desks.counts[col.MISSED_COUNT] += place - 1 - highest
    for missing in range(first_lost(highest, place), place):
        miss(mail, desks, who, book.stream_events[stream + missing - 1], pattern)
    make_haste(mail, desks, who)


# Rounds are due


def wait(mail: Any, desks: Any, who: Any) -> None:
    """Sets the timer of the next round."""
    least_us, numbers = mail.how[col.INTERVAL_US], desks.numbers[who]
    due_us = next_round_us(mail.clock[col.NOW], desks.origin_us[who], least_us) + numbers[col.INTERVAL] - least_us
    numbers[col.DUE_US] = due_us
    set_timer(mail, due_us, who, col.NOTHING)


def make_haste(mail: Any, desks: Any, who: Any) -> None:
    """A loss: the next round is about it."""
    numbers, least_us = desks.numbers[who], mail.how[col.INTERVAL_US]
    if mail.how[col.METHOD] != col.PUSH:
        numbers[col.BUSY] = 1
        if numbers[col.DUE_US] < 0 or numbers[col.INTERVAL] > least_us:
            numbers[col.INTERVAL] = least_us
            wait(mail, desks, who)
    if mail.how[col.IMMEDIATE] and not numbers[col.HURRIES]:
        numbers[col.HURRIES] = 1
        set_timer(mail, mail.clock[col.NOW] + 1, who, col.MUST)


# What is missing


def miss(mail: Any, desks: Any, who: Any, event: Any, pattern: Any) -> None:
    """Enters a loss; when there are too many, the one noticed first is given up."""
    numbers, lost = desks.numbers[who], desks.lost[who]
    if numbers[col.LOST_COUNT] == len(lost):
        if len(lost) < mail.how[col.LOST_MAX]:
            mail.clock[col.FAULT] = 1
        drop_first(desks, who)
    at = numbers[col.LOST_COUNT]
    lost[at, 0], lost[at, 1], lost[at, 2] = event, pattern, mail.clock[col.NOW]
    numbers[col.LOST_COUNT] += 1
    desks.known[event, who] |= col.MISSED


def drop_first(desks: Any, who: Any) -> None:
    lost = desks.lost[who]
    desks.numbers[who, col.LOST_COUNT] -= 1
    for i in range(desks.numbers[who, col.LOST_COUNT]):
        for column in range(3):
            lost[i, column] = lost[i + 1, column]


def weed(desks: Any, who: Any, event: Any, pattern: Any, until_us: Any) -> Any:
    """Takes losses out: those of an event, and those of a pattern (ANY: of any) that were noticed by then. Says when
    the first of them was noticed."""
    lost, numbers = desks.lost[who], desks.numbers[who]
    left, since = 0, np.int64(-1)
    for i in range(numbers[col.LOST_COUNT]):
        old = lost[i, 2] <= until_us and (pattern == col.ANY or lost[i, 1] == pattern)
        if lost[i, 0] == event or old:
            since = lost[i, 2] if since < 0 else since
        else:
            for column in range(3):
                lost[left, column] = lost[i, column]
            left += 1
    numbers[col.LOST_COUNT] = left
    return since


def expire(mail: Any, desks: Any, who: Any, pattern: Any) -> None:
    """Gives up what of a pattern (ANY: of any) has been asked for long enough."""
    until_us, before = mail.clock[col.NOW] - mail.how[col.EXPIRY_US], desks.numbers[who, col.LOST_COUNT]
    if before and desks.lost[who, 0, 2] <= until_us:  # the first is the oldest
        weed(desks, who, col.NO_EVENT, pattern, until_us)
        desks.counts[col.EXPIRED] += before - desks.numbers[who, col.LOST_COUNT]


def fill_gap(mail: Any, desks: Any, who: Any, event: Any, again: Any) -> None:
    """An event that was missing is here: under whatever patterns, it is missing no more."""
    since = weed(desks, who, event, col.ANY, col.NEVER)
    if again and since >= 0:
        if mail.clock[col.MEASURED] < len(desks.latencies):
            desks.latencies[mail.clock[col.MEASURED]] = mail.clock[col.NOW] - since
            mail.clock[col.MEASURED] += 1
        else:
            mail.clock[col.FAULT] = 1


# What is kept


def keep(mail: Any, book: Any, desks: Any, who: Any, event: Any) -> None:
    """Takes an event into the cache; the full cache gives another one up."""
    numbers, ring, size = desks.numbers[who], desks.cache[who], desks.cache.shape[1]
    full = numbers[col.CACHE_COUNT] == size
    if full and mail.how[col.EVICTION] != col.FIFO:
        if not replace(mail, book, desks, who, event):
            return
    else:
        at = (numbers[col.CACHE_HEAD] + numbers[col.CACHE_COUNT]) % size
        if full:
            desks.known[ring[at], who] &= ~col.CACHED
            numbers[col.CACHE_HEAD] = (numbers[col.CACHE_HEAD] + 1) % size
        else:
            desks.slots[who, at % desks.slots.shape[1]] = event
            numbers[col.CACHE_COUNT] += 1
        ring[at] = event
    desks.known[event, who] |= col.CACHED


def replace(mail: Any, book: Any, desks: Any, who: Any, event: Any) -> Any:
    """In a full cache that does not simply let the oldest go; events stand in the order they came. Says whether the new
    one was taken in."""
    ring, size = desks.cache[who], desks.cache.shape[1]
    at = 0
    if mail.how[col.EVICTION] == col.RANDOM:
        key = fold(fold(mail.base[EVICT], book.word[event]), np.uint64(who))
        slot = np.int64(evicted(key, np.uint64(size)))
        gone = desks.slots[who, slot]
        desks.slots[who, slot] = event
        while ring[at] != gone:
            at += 1
    else:
        while at < size and desks.known[ring[at], who] & col.OURS:
            at += 1
        if at == size:
            if not desks.known[event, who] & col.OURS:
                return False
            at = 0
    desks.known[ring[at], who] &= ~col.CACHED
    for i in range(at, size - 1):
        ring[i] = ring[i + 1]
    ring[size - 1] = event
    return True
