"""hpmcast over arrays, step by step: the same rules and draws as `levels.py`, for 10^3 … 10^7 participants.

An event is at every moment in one view of each participant that gossips it, so a group says which level and which view;
whoever hears of it takes group and rounds from the one it heard it from.
"""

from typing import Any

import numpy as np

from gossamer.core.draws import chance, draw, fold
from gossamer.parts.infection import distinct_into
from gossamer.protocols.hpmcast.kernel.arrays import (
    ANSWER_KEY,
    ARRIVES,
    ARRIVING,
    ATTEMPTS,
    DELEGATES,
    DOWN,
    ESTIMATED,
    FANOUT,
    FLOOR,
    FRESH,
    GOSSIP_KEY,
    HOPS,
    KNOWN,
    LOOK_KEY,
    LOSS_KEY,
    MATCHES,
    MATCHES_PICKED,
    ORDER_KEY,
    PUBLISHER,
    RELIABILITY,
    REPETITIONS,
    ROUNDS,
    STEPS,
    UNASKED,
    WORD,
)
from gossamer.protocols.hpmcast.rules import estimate, limit, padding, refined, turn

ENTRY = "run"
SOURCES = ("gossamer.core.draws", "gossamer.parts.infection", "gossamer.protocols.hpmcast.kernel.arrays")
FINISHED = 1 << 30
"Rounds of who was told at once: there is nobody left to tell on that level."


def line_of(p: Any, g: Any, ground: Any) -> Any:
    """The group right below g that a participant belongs to."""
    low, high = ground.below[g], ground.below[g] + ground.lines[g]
    while high - low > 1:
        middle = (low + high) // 2
        if ground.start[middle] <= p:
            low = middle
        else:
            high = middle
    return low


def seat(p: Any, g: Any, how: Any, ground: Any) -> Any:
    """A participant's own place in the view of its group; -1: it has none."""
    if ground.level[g] == 1:
        return p - ground.start[g]
    line = line_of(p, g, ground)
    rank = p - ground.start[line]
    return ground.stands[line] - ground.first[g] + rank if rank < how[DELEGATES] else -1


def matches(g: Any, place: Any, ground: Any) -> Any:
    """Whether whoever has this place in a view wants the event, or stands for somebody who does."""
    at = ground.first[g] + place
    return (ground.wants[at] if ground.level[g] == 1 else ground.matched[at]) != 0


def pick(key: Any, k: Any, mine: Any, size: Any, state: Any, serial: Any) -> Any:
    """k places of a view, one's own left out; says how many."""
    count = distinct_into(key, size - (mine >= 0), k, state.picked, state.stamps, serial)
    for j in range(count):
        state.picked[j] += mine >= 0 and state.picked[j] >= mine
    return count


def measure(g: Any, how: Any, ground: Any, counts: Any) -> None:
    """GETPROB by matching every line; what it finds stands in `ground`."""
    if not how[UNASKED]:
        counts[MATCHES] += ground.lines[g]


def reckon(p: Any, g: Any, serial: Any, how: Any, keys: Any, ground: Any, state: Any, counts: Any) -> None:
    """GETPROB from the level above, and by a look at a few."""
    mine, size, hits = seat(p, g, how, ground), ground.size[g], 0
    key = fold(fold(keys[LOOK_KEY], fold(keys[WORD], np.uint64(ground.level[g]))), np.uint64(p))
    looks = pick(key, how[FANOUT], mine, size, state, serial)
    for j in range(looks):
        hits += matches(g, state.picked[j], ground)
    counts[MATCHES] += looks
    prob = refined(estimate(state.prob[p], ground.lines[g]), hits, looks)
    state.padding[p] = padding(prob * size, how[FLOOR], size)
    state.prob[p] = max(prob, state.padding[p] / size)


def limit_of(p: Any, g: Any, how: Any, odds: Any, ground: Any, state: Any) -> Any:
    """ROUNDS of the view the event is in."""
    if how[ESTIMATED]:
        return limit(ground.size[g], state.prob[p], how[FANOUT], odds[ARRIVING], 0, odds[RELIABILITY])
    return ground.limit[g]


def may_gossip(p: Any, g: Any, how: Any, odds: Any, ground: Any, state: Any) -> Any:
    if how[REPETITIONS] and state.own[p] >= how[REPETITIONS]:
        return False
    return state.rounds[p] < limit_of(p, g, how, odds, ground, state)


def settle(p: Any, serial: Any, how: Any, odds: Any, keys: Any, ground: Any, state: Any, counts: Any) -> Any:
    """Moves the event down until there is something to do in a view; says whether there is."""
    g = state.at[p]
    while not may_gossip(p, g, how, odds, ground, state):
        if ground.level[g] == 1:
            state.at[p] = -1
            return False
        g = line_of(p, g, ground)
        state.at[p] = g
        state.rounds[p] = 0
        if how[REPETITIONS]:
            state.own[p] = 0
        if how[ESTIMATED]:
            reckon(p, g, serial, how, keys, ground, state, counts)
        else:
            measure(g, how, ground, counts)
    return True


def transmit(p: Any, q: Any, key: Any, answer_key: Any, attempts: Any, odds: Any, state: Any) -> Any:
    """Sends until it is answered, or often enough: says (how often, how often it arrived)."""
    there = state.known[q] != DOWN
    if odds[ARRIVES] >= 1.0:
        return (1, 1) if there else (attempts, 0)
    arrived = 0
    for attempt in range(attempts):
        word, target = np.uint64(attempt), np.uint64(q)
        one = fold(key, word) if attempt else key
        if there and chance(one, target) < odds[ARRIVES]:
            arrived += 1
            answer = fold(answer_key, word) if attempt else answer_key
            if attempts == 1 or chance(answer, target) < odds[ARRIVES]:
                return attempt + 1, arrived
    return attempts, arrived


def hear(p: Any, q: Any, heard: Any, count: Any, keys: Any, state: Any) -> Any:
    """Of several in one step, the one with the largest draw is heard; says how many have heard so far."""
    before = state.inbox[q]
    if before < 0:
        state.inbox[q] = p
        heard[count] = q
        return count + 1
    key = fold(keys[ORDER_KEY], np.uint64(q))
    if draw(key, np.uint64(p)) > draw(key, np.uint64(before)):
        state.inbox[q] = p
    return count


def gossip(p: Any, serial: Any, heard: Any, count: Any, how: Any, odds: Any, keys: Any, ground: Any, state: Any,
           counts: Any, sent: Any, load: Any) -> Any:  # fmt: skip
    """One participant's step; says how many have heard so far."""
    g = state.at[p]
    level, size, mine = np.int64(ground.level[g]), ground.size[g], seat(p, g, how, ground)
    state.rounds[p] += 1
    if how[REPETITIONS]:
        state.own[p] += 1
    now, who = np.uint64(turn(level, np.int64(state.rounds[p]))), np.uint64(p)
    at_once = ground.at_once[g] != 0
    padded = state.padding[p] if how[ESTIMATED] else ground.padding[g]
    told = size
    if not at_once:
        told = pick(fold(fold(keys[GOSSIP_KEY], fold(keys[WORD], now)), who), how[FANOUT], mine, size, state, serial)
    attempts = how[ATTEMPTS] if g == len(ground.level) - 1 else 1
    key = fold(fold(keys[LOSS_KEY], who), now) if odds[ARRIVES] < 1.0 else who
    answer_key = fold(fold(keys[ANSWER_KEY], who), now) if attempts > 1 else who
    for j in range(told):
        place = j if at_once else state.picked[j]
        counts[MATCHES_PICKED] += 0 if at_once or place < padded else 1
        if place == mine or not (place < padded or matches(g, place, ground)):
            continue
        at = ground.first[g] + place
        q = at if level == 1 else ground.delegates[at]
        tries, arrived = transmit(p, q, key, answer_key, attempts, odds, state)
        sent[level] += tries
        load[ground.top[q]] += arrived
        if arrived and state.known[q] == FRESH:
            count = hear(p, q, heard, count, keys, state)
    return count


def take_in(q: Any, how: Any, ground: Any, state: Any) -> Any:
    """Whoever heard of the event takes over what the other knew; says whether it will gossip."""
    p = state.inbox[q]
    g = state.at[p]
    state.known[q] = KNOWN
    state.rounds[q] = FINISHED if ground.at_once[g] else state.rounds[p]
    if how[ESTIMATED]:
        state.prob[q], state.padding[q] = state.prob[p], state.padding[p]
    if how[HOPS]:
        state.hops[q] = state.hops[p] + 1
        if state.hops[q] >= how[HOPS]:
            return False
    state.at[q] = g
    return True


def run(how: Any, odds: Any, keys: Any, ground: Any, state: Any, counts: Any, sent: Any, load: Any) -> None:
    """One dissemination, from its publication until nobody gossips any more."""
    active, publisher, top = state.active, how[PUBLISHER], len(ground.level) - 1
    active[0], state.known[publisher], state.at[publisher] = publisher, KNOWN, top
    measure(top, how, ground, counts)
    if how[ESTIMATED]:
        state.prob[publisher], state.padding[publisher] = ground.prob[top], ground.padding[top]
    actors, step, serial = 1, 0, 0
    while actors:
        step += 1
        kept, heard, waiting = 0, active[actors:], 0
        for i in range(actors):
            p = active[i]
            serial += 2
            if settle(p, serial, how, odds, keys, ground, state, counts):
                counts[STEPS] = step
                waiting = gossip(p, serial + 1, heard, waiting, how, odds, keys, ground, state, counts, sent, load)
                active[kept] = p
                kept += 1
        for i in range(waiting):
            q = heard[i]
            counts[ROUNDS] = step
            if take_in(q, how, ground, state):
                active[kept] = q
                kept += 1
        actors = kept
