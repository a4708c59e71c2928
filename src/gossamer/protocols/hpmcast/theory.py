"""How many hpmcast, pmcast and rfpbcast reach: the paper's equations (1)–(3), (6)–(8) and (22)–(27); the others are in
`shape.py`. A function named `*_paper` is the printed formula, errors included; the one without the suffix is the one to
plan with."""

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from gossamer.protocols.hpmcast import rules
from gossamer.protocols.hpmcast.shape import Shape

NEGLIGIBLE = 1e-15
"States this unlikely are left out of a chain."
DEVIATIONS = 10.0
"So many standard deviations of a step are worked out, and some states more."
SMALL = 300
"Up to so many participants the whole matrix is worked out at once."


# One group: (1)–(9)


def reach(size: float, fanout: float, arriving: float = 1.0) -> float:
    """p (1): the chance that a participant hears of an event from one that has it, in a round. Filtering by the sender
    leaves it as it is, since F are picked first, out of all."""
    return min(1.0, fanout / (size - 1)) * arriving if size > 1 else 0.0


def reach_paper(audience: float, fanout: float, arriving: float = 1.0) -> float:
    """p (6), of np₁ participants and a fanout of Fp₁: larger than (1), by 1 in np₁."""
    return min(1.0, fanout / (audience - 1)) * arriving if audience > 1 else 0.0


def matrix(total: int, chance: float, outside: int = 0) -> Any:
    """(2), (7): row j, column k: from j to k of `total` participants that have the event, for 0 to all of them. Some
    `outside` spread it too and are not counted. Binomials in logarithms; every row sums to 1."""
    having = np.arange(total + 1)
    left, ahead = total - having[:, None], having[None, :] - having[:, None]
    spreading = (having + outside)[:, None]
    missed = np.full(spreading.shape, -np.inf) if chance == 1.0 else spreading * math.log1p(-chance)
    missed = np.where(spreading > 0, missed, 0.0)
    ways = _log_factorials(total)
    within = ahead >= 0
    more = np.where(within, ahead, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = ways[left] - ways[more] - ways[left - more]
        logs = logs + np.where(more > 0, more * np.log(-np.expm1(missed)), 0.0)
        logs = logs + np.where(left > more, (left - more) * missed, 0.0)
    return np.where(within, np.exp(logs), 0.0)


def step(states: Any, chance: float, outside: int = 0) -> Any:
    """One round of (3), (8): the sum runs over all states. What lies too far from the mean of a row to matter is left
    out, so that 10^4 states take a second."""
    total = len(states) - 1
    quiet = math.log1p(-chance)
    ways = _log_factorials(total)
    after = np.zeros(total + 1)
    for j in np.flatnonzero(states > NEGLIGIBLE).tolist():
        left, missed = total - j, (j + outside) * quiet
        told = -math.expm1(missed)
        if told == 0.0 or left == 0:
            after[j] += states[j]
            continue
        mean, wide = left * told, DEVIATIONS * math.sqrt(left * told * (1 - told)) + 2 * DEVIATIONS
        low, high = max(0, int(mean - wide)), min(left, int(mean + wide) + 1)
        logs = np.arange(low, high + 1) * (math.log(told) - missed)
        logs -= ways[low : high + 1]
        logs -= ways[left - high : left - low + 1][::-1]
        logs += ways[left] + left * missed + math.log(states[j])
        after[j + low : j + high + 1] += np.exp(logs)
    return after / after.sum()


def spread(total: int, chance: float, rounds: int, started: int = 1, outside: int = 0) -> Any:
    """(3), (8): how likely each number from 0 to `total` of participants has the event after so many rounds."""
    state = np.zeros(total + 1)
    state[min(started, total)] = 1.0
    moves: Any = matrix(total, chance, outside) if total <= SMALL or chance == 1.0 else None
    for _ in range(rounds):
        if state[total] > 1 - NEGLIGIBLE:
            break
        state = step(state, chance, outside) if moves is None else state @ moves
    return state


def spread_paper(total: int, chance: float, fanout: float, rounds: int) -> Any:
    """(3), (8) as printed: the sum begins at k / (1 + F), which loses what lies before. For small systems."""
    j, k = np.arange(total + 1)[:, None], np.arange(total + 1)[None, :]
    moves = np.where(j >= k / (1 + fanout), matrix(total, chance), 0.0)
    state = np.zeros(total + 1)
    state[1] = 1.0
    for _ in range(rounds):
        state = state @ moves
    return state


def matrix_distinct(total: int, size: int, fanout: int, arriving: float = 1.0, outside: int = 0) -> Any:
    """The same as `matrix`, for what is done: each picks F different participants of `size`. (2) takes their picks for
    independent ones, so that some would tell nobody, and small groups are reached a little worse. One after the other,
    everybody that has the event tells some of those who still lack it."""
    told = [_picked(lacking, size, fanout, arriving) for lacking in range(total + 1)]
    steps = np.array([np.pad(each, (0, fanout + 1 - len(each))) for each in told])
    after = np.eye(total + 1)  # from so many who lack it to so many, after so many have told others
    moves = np.zeros((total + 1, total + 1))
    for tellers in range(total + outside + 1):
        having = tellers - outside
        if having >= 0:
            moves[having] = after[total - having, ::-1]
        before, after = after, steps[:, :1] * after
        for fewer in range(1, min(fanout, total) + 1):
            after[fewer:] += steps[fewer:, fewer : fewer + 1] * before[:-fewer]
    return moves


@lru_cache(maxsize=1 << 12)
def _picked(lacking: int, size: int, fanout: int, arriving: float) -> Any:
    """How likely one participant tells 0, 1, 2, … of those who lack an event: F of all others are picked. Where all of
    a view lack it, whoever tells them is not in it."""
    others = max(size - 1, lacking)
    ways, picks = _log_factorials(others), min(fanout, others)
    found = np.zeros(min(fanout, lacking) + 1)
    for hits in range(max(0, picks - (others - lacking)), min(picks, lacking) + 1):
        missed, elsewhere = picks - hits, others - lacking
        likely = ways[lacking] - ways[hits] - ways[lacking - hits] + ways[elsewhere] - ways[missed]
        likely += ways[picks] + ways[others - picks] - ways[elsewhere - missed] - ways[others]
        found[: hits + 1] += math.exp(likely) * _binomial(hits, arriving)
    return found


def expected(states: Any) -> float:
    """The mean of a distribution over 0, 1, 2, …"""
    return float(np.dot(np.arange(len(states)), states))


def pmcast_infected(size: int, fanout: int, wanted: int, arriving: float = 1.0, outside: int = 0) -> float:
    """How many of `wanted` interested participants out of `size` have the event when the rounds are over; one of them
    published it, or one of `outside` who do not want it."""
    limit = rules.rounds_whole(size, wanted / size, fanout, arriving)
    return expected(spread_distinct(wanted, size, fanout, arriving, limit, 0 if outside else 1, outside))


def pmcast_delivery(size: int, fanout: int, others: int, p1: float, arriving: float = 1.0) -> float:
    """The share of `others`, the interested but for the publisher, that are told. It wants the event as likely as
    any."""
    apart = pmcast_infected(size, fanout, others, arriving, outside=1) / others if p1 < 1 else 0.0
    among = (pmcast_infected(size, fanout, others + 1, arriving) - 1) / others
    return p1 * among + (1 - p1) * apart


def spread_distinct(
    total: int, size: int, fanout: int, arriving: float, rounds: int, started: int = 1, outside: int = 0
) -> Any:
    """`spread` by `matrix_distinct` while few want the event; with more of them, (8) is the same to half a point."""
    if total > SMALL:
        return spread(total, reach(size, fanout, arriving), rounds, started, outside)
    state = np.zeros(total + 1)
    state[min(started, total)] = 1.0
    return state @ np.linalg.matrix_power(matrix_distinct(total, size, fanout, arriving, outside), rounds)


@lru_cache(maxsize=64)
def _log_factorials(most: int) -> Any:
    return np.append(0.0, np.cumsum(np.log(np.arange(1, most + 1, dtype=float))))


# How many are reached: (22)–(27)


def entity_reached_paper(shape: Shape, level: int, p1: float) -> float:
    """r_i (23) with (22): one participant starts, and the audience is the expected one, as a whole number."""
    p = shape.interest(level, p1)
    audience = max(1, round(shape.view(level) * p))
    limit = math.ceil(shape.rounds(level, p1))
    chance = reach_paper(shape.view(level) * p, shape.fanout * p, shape.arriving)
    share = expected(spread(audience, chance, limit)) / audience
    return float(1 - (1 - share) ** (shape.view(level) // shape.branching))


def delivery_from_means(shape: Shape, p1: float) -> float:
    """The product of all r_i: what (26) and (27) come to once a parent's interest counts once. Worth something where
    every audience is large; where less than one is expected, the one that starts counts as all there is."""
    return math.prod(entity_reached_paper(shape, level, p1) for level in range(1, shape.levels + 1))


def infected_paper(shape: Shape, p1: float) -> float:
    """(27) with (26) as printed: a product of r_i a p_i."""
    levels = range(1, shape.levels + 1)
    return math.prod(entity_reached_paper(shape, i, p1) * shape.branching * shape.interest(i, p1) for i in levels)


def entities_infected(shape: Shape, level: int, p1: float) -> Any:
    """(25) with (24) less the factor it repeats: how likely each number of entities of a level is infected, in all.
    Interested entities of a level are a^(l-i+1) p_i, to the next whole number."""
    state = np.array([0.0, 1.0])
    within = 1.0
    for i in range(shape.levels, level - 1, -1):
        there = shape.branching ** (shape.levels - i + 1) * shape.interest(i, p1)
        each, reached = there / within, entity_reached_paper(shape, i, p1)
        after = np.zeros(max(1, round(there)) + 1)
        for j in np.flatnonzero(state > NEGLIGIBLE):
            trials = min(len(after) - 1, round(j * each))
            after[: trials + 1] += state[j] * _binomial(trials, reached)
        state, within = after, there
    return state


def delivery(shape: Shape, p1: float) -> float:
    """The share of the interested that is reached, worked out from the audiences a group can have instead of the
    expected one, and from all its delegates that have the event instead of one. Close to what is measured."""
    if shape.levels == 1:
        others = max(1, round((shape.size - 1) * p1))
        return pmcast_delivery(shape.size, shape.fanout, others, p1, shape.arriving)
    started = {1: 1.0}  # how many of a group's delegates have it, where any has: at the top it is the publisher
    reached = 1.0
    for level in range(shape.levels, 1, -1):
        top = level == shape.levels
        share, chance = _lines_reached(shape, level, p1, started, top)
        fresh = _conditioned(shape.delegates, share)
        first = 0.0 if top else 1 / shape.branching  # the line the delegates stand in themselves
        started = {
            x: (1 - first) * fresh.get(x, 0.0) + first * started.get(x, 0.0) for x in range(1, shape.delegates + 1)
        }
        reached *= first + (1 - first) * chance
    return reached * _members_reached(shape, p1, started)


def _lines_reached(shape: Shape, level: int, p1: float, started: dict[int, float], top: bool) -> tuple[float, float]:
    """Of a line that wants the event: the share of its delegates reached, and the chance that any is."""
    a, r, p = shape.branching, shape.delegates, shape.interest(level, p1)
    share, chance = 0.0, 0.0
    for has, weight in started.items():
        own = (1.0,) if top else (1 - p, p)  # whether the line the delegates stand in themselves wants it
        for others, likely in _audiences(a - len(own), p):
            for first, matters in enumerate(own):
                limit = rules.rounds_whole(a * r, (1 + others + first) / a, shape.fanout, shape.arriving)
                fresh = r * (1 + others) + (r - has) * first
                part = _told(fresh, has, a * r, shape.fanout, shape.arriving, limit)
                share += weight * likely * matters * part
                chance += weight * likely * matters * (1 - (1 - part) ** r)
    return share, chance


def _members_reached(shape: Shape, p1: float, started: dict[int, float]) -> float:
    """Of the interested in a lowest group: those who had it as delegates, and those told by others."""
    a = shape.branching
    found = 0.0
    for has, weight in started.items():
        told = 0.0
        for others, likely in _audiences(a - has - 1, p1):
            for own, matters in _audiences(has, p1):
                limit = rules.rounds_whole(a, (1 + others + own) / a, shape.fanout, shape.arriving)
                told += likely * matters * _told(1 + others, has, a, shape.fanout, shape.arriving, limit)
        found += weight * (has / a + (1 - has / a) * told)
    return found


def _audiences(most: int, p: float) -> Iterator[tuple[int, float]]:
    """How many of `most` are interested, and how likely: what can be left out is."""
    for count, likely in enumerate(_binomial(max(0, most), p).tolist()):
        if likely > 1e-9:
            yield count, likely


def _binomial(trials: int, p: float) -> Any:
    counts = np.arange(trials + 1)
    ways = _log_factorials(trials)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = ways[trials] - ways[counts] - ways[trials - counts]
        logs = logs + np.where(counts > 0, counts * np.log(p), 0.0)
        logs = logs + np.where(counts < trials, (trials - counts) * np.log1p(-p), 0.0)
    return np.exp(logs)


def _conditioned(delegates: int, share: float) -> dict[int, float]:
    """How many of R delegates are reached, given that any is."""
    likely = _binomial(delegates, min(1.0, max(1e-12, share)))[1:]
    return {count: float(each) for count, each in enumerate(likely / likely.sum(), start=1)}


@lru_cache(maxsize=1 << 16)
def _told(fresh: int, has: int, size: int, fanout: int, arriving: float, limit: int) -> float:
    """The share of `fresh` participants that hear of it from `has` others in so many rounds."""
    return expected(spread_distinct(fresh, size, fanout, arriving, limit, 0, has)) / fresh if fresh else 0.0
