"""How messages travel in the kernel: one queue, since all take equally long, a heap of timers, and digests kept once.

What is due is ordered by time, then by when it was made, as in the simulated world. Plain Python over arrays.
"""

from typing import Any

import numpy as np

from gossamer.core.draws import BURST, chance, fold
from gossamer.protocols.recovery.kernel import columns as col


def arriving(mail: Any) -> Any:
    """The chance that a message sent now arrives."""
    period = mail.how[col.PERIOD_US]
    if period == 0:
        return mail.odds[col.ARRIVES]
    return mail.odds[col.ARRIVES_IN_STORM] if mail.clock[col.NOW] % period >= mail.how[col.CALM_US] else 1.0


def turns_bad(mail: Any, sender: Any, target: Any) -> Any:
    """Takes a link that loses in bursts one message further; says whether it is bad now."""
    told = mail.weather[sender, target]  # how many messages it has seen, and whether it is bad
    bad, seen = told % 2, told // 2
    key = fold(fold(mail.base[BURST], np.uint64(sender)), np.uint64(target))
    if chance(key, np.uint64(seen)) < (mail.odds[col.IMPROVES] if bad else mail.odds[col.WORSENS]):
        bad = 1 - bad
    mail.weather[sender, target] = 2 * (seen + 1) + bad
    return bad == 1


def vanishes(mail: Any, key: Any, sender: Any, target: Any) -> Any:
    """Whether a message gets lost; the key belongs to this one transmission."""
    if mail.how[col.IN_BURSTS]:
        return turns_bad(mail, sender, target)
    return chance(key, np.uint64(target)) >= arriving(mail)


def post(mail: Any, key: Any, kind: Any, sender: Any, target: Any, what: Any, pattern: Any, initiator: Any, turn: Any
         ) -> Any:  # fmt: skip
    """Sends a message; says whether it will arrive."""
    if vanishes(mail, key, sender, target):
        return False
    clock, queue = mail.clock, mail.queue
    if clock[col.TAIL] - clock[col.HEAD] >= len(queue):
        clock[col.FAULT] = 1
        return False
    row = queue[clock[col.TAIL] & len(queue) - 1]
    clock[col.TAIL] += 1
    clock[col.ORDERS] += 1
    row[col.WHEN] = clock[col.NOW] + mail.how[col.LATENCY_US]
    row[col.ORDER] = clock[col.ORDERS]
    row[col.KIND] = kind
    row[col.SENDER] = sender
    row[col.TARGET] = target
    row[col.WHAT] = what
    row[col.PATTERN] = pattern
    row[col.INITIATOR] = initiator
    row[col.TURN] = turn
    return True


def link_key(mail: Any, kind: Any, sender: Any, target: Any) -> Any:
    """The key of what carries no event: which of its kind it is on this link."""
    before = mail.crossed[kind, sender, target]
    mail.crossed[kind, sender, target] = before + 1
    return fold(fold(mail.kinds[kind], np.uint64(before)), np.uint64(sender))


# Timers


def precedes(timers: Any, a: Any, b: Any) -> Any:
    if timers[a, col.WHEN] != timers[b, col.WHEN]:
        return timers[a, col.WHEN] < timers[b, col.WHEN]
    return timers[a, col.ORDER] < timers[b, col.ORDER]


def swap(timers: Any, a: Any, b: Any) -> None:
    for column in range(timers.shape[1]):
        timers[a, column], timers[b, column] = timers[b, column], timers[a, column]


def set_timer(mail: Any, when: Any, whose: Any, at_once: Any) -> None:
    clock, timers = mail.clock, mail.timers
    at = clock[col.TIMERS]
    if at >= len(timers):
        clock[col.FAULT] = 1
        return
    clock[col.TIMERS] += 1
    clock[col.ORDERS] += 1
    timers[at, col.WHEN] = when
    timers[at, col.ORDER] = clock[col.ORDERS]
    timers[at, col.WHOSE] = whose
    timers[at, col.AT_ONCE] = at_once
    while at > 0 and precedes(timers, at, (at - 1) // 2):
        swap(timers, at, (at - 1) // 2)
        at = (at - 1) // 2


def take_timer(mail: Any) -> None:
    """Removes the next timer, which stands first."""
    timers = mail.timers
    mail.clock[col.TIMERS] -= 1
    count = mail.clock[col.TIMERS]
    swap(timers, 0, count)
    at = 0
    while 2 * at + 1 < count:
        child = 2 * at + 1
        if child + 1 < count and precedes(timers, child + 1, child):
            child += 1
        if not precedes(timers, child, at):
            break
        swap(timers, child, at)
        at = child


# Digests: a message names the slot that holds its list, and whoever passes it on names the same one.

LENGTH, HOLDERS, STEPS = 0, 1, 2


def open_slot(mail: Any) -> Any:
    """An empty list, held by whoever asked for it; -1 if there is no room."""
    if mail.clock[col.FREE] == 0:
        mail.clock[col.FAULT] = 1
        return -1
    mail.clock[col.FREE] -= 1
    slot = mail.free[mail.clock[col.FREE]]
    mail.slots[slot, LENGTH] = 0
    mail.slots[slot, HOLDERS] = 1
    mail.slots[slot, STEPS] = 0
    return slot


def drop_slot(mail: Any, slot: Any) -> None:
    """One holder less."""
    mail.slots[slot, HOLDERS] -= 1
    if mail.slots[slot, HOLDERS] == 0:
        mail.free[mail.clock[col.FREE]] = slot
        mail.clock[col.FREE] += 1


def enter(mail: Any, slot: Any, event: Any) -> None:
    mail.pool[slot, mail.slots[slot, LENGTH]] = event
    mail.slots[slot, LENGTH] += 1


# Copies: how often one dispatcher sent an event to the same other one.


def copies(mail: Any, word: Any) -> Any:
    """How often this was asked before, for numbers from 1."""
    ledger = mail.ledger
    at = np.int64(np.uint64(word) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(20)) & len(ledger) - 1
    steps = 0
    while ledger[at, 0] != 0 and ledger[at, 0] != word:
        at = at + 1 & len(ledger) - 1
        steps += 1
        if steps > 64:
            mail.clock[col.FAULT] = 1
            return 0
    ledger[at, 0] = word
    ledger[at, 1] += 1
    return ledger[at, 1] - 1
