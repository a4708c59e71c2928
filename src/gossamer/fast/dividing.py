"""How many, drawn as one: coins, picks and processes are divided without a draw for each. Exact in distribution.

What comes out depends on the key alone. Chances are worked out to about 13 digits, as sums of logarithms.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

Counts: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Chances: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Dice: TypeAlias = np.random.Generator

WINDOW = 12.0
"Standard deviations to both sides of the mean; beyond them lies less than 10^-30."

KEPT_UP_TO = 64


def dice(key: int) -> Dice:
    """Draws that depend on nothing but a key of `core.draws`."""
    return np.random.Generator(np.random.PCG64(key))


def survivors(senders: int, told: int, reach: float, throw: Dice) -> Counts:
    """Each sender tells `told`, each message arrives with the chance `reach`: how many senders have h that do."""
    left = np.zeros(told + 1, np.int64)
    if reach >= 1.0 or told == 0:
        left[told] = senders
        return left
    left[:] = _throw(throw, np.array([senders]), binomial_chances(told, reach)[None, :])[0]
    return left


def divided(having: Counts, first: int, others: Sequence[int], throw: Dice) -> list[Counts]:
    """`having[r]` senders have r different targets each among `first` + sum(others) alike: for each of these parts, how
    many senders have h of them in it. `first` stands apart so that most of the chances are the same for all."""
    parts: list[Counts] = []
    left, rest, most = having, first + sum(others), len(having) - 1
    for size in (first, *others):
        if size == rest:  # the last: what is left
            there = left
        else:
            drawn = _throw(throw, left, split_chances(size, rest - size, most))
            there = drawn.sum(axis=0)
            left = _remaining(drawn)
        parts.append(there)
        rest -= size
        if rest == 0:
            left = np.zeros_like(left)
    return parts


def _remaining(drawn: Counts) -> Counts:
    """Senders by targets left, from how many had r and have h of them in this part."""
    had, here = np.nonzero(drawn)
    left = np.zeros(len(drawn), np.int64)
    np.add.at(left, had - here, drawn[had, here])
    return left


def _throw(throw: Dice, many: Counts, chances: Chances) -> Counts:
    """A multinomial per row. What rounding leaves over goes to what is likeliest, never to what cannot be."""
    drawn = throw.multinomial(many, chances)
    rows = np.arange(len(drawn))
    astray = np.where(chances[:, -1] > 0.0, 0, drawn[:, -1])
    drawn[:, -1] -= astray
    drawn[rows, chances.argmax(axis=1)] += astray
    return drawn


def binomial_chances(n: int, p: float) -> Chances:
    """Of 0 to n heads."""
    if p in (0.0, 1.0):
        return _normal(np.where(np.arange(n + 1) == n * p, 0.0, -np.inf))
    heads = np.arange(n + 1)
    logs = np.array([math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n + 1)])
    return _normal(logs + heads * math.log(p) + (n - heads) * math.log1p(-p))


def split_chances(here: int, elsewhere: int, most: int) -> Chances:
    """See `_split_chances`; small tables, which are asked for again and again, are kept."""
    return (_kept_chances if most <= KEPT_UP_TO else _split_chances)(here, elsewhere, most)


def _split_chances(here: int, elsewhere: int, most: int) -> Chances:
    """Row r: of r different ones among here + elsewhere, the chance that h are here. Rows of more than there are say
    nothing: nobody has so many."""
    had, hits = np.arange(most + 1)[:, None], np.arange(most + 1)[None, :]
    away = had - hits
    ways = np.array([math.lgamma(k + 1) for k in range(most + 1)])
    with np.errstate(divide="ignore"):
        logs = _falling(here, most)[hits] + _falling(elsewhere, most)[np.maximum(away, 0)] - ways[hits]
    logs = np.where(away >= 0, logs - ways[np.maximum(away, 0)], -np.inf)
    impossible = ~np.isfinite(logs).any(axis=1)
    logs[impossible, 0] = 0.0
    chances = np.apply_along_axis(_normal, 1, logs)
    chances.setflags(write=False)
    return chances


_kept_chances = lru_cache(maxsize=4096)(_split_chances)


def _falling(n: int, most: int) -> Chances:
    """Logarithms of n (n-1) … with 0 to `most` factors; of 0 where there are not so many."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.maximum(0.0, n - np.arange(most))))])


def _normal(logs: Chances) -> Chances:
    chances: Chances = np.exp(logs - logs.max())
    chances /= chances.sum()
    return chances


def hypergeometric(drawn: int, here: int, elsewhere: int, throw: Dice) -> int:
    """How many of `drawn` different ones are here, for any numbers: NumPy's own ends at 10^9."""
    least, most = max(0, drawn - elsewhere), min(drawn, here)
    if least == most:
        return least
    whole = here + elsewhere
    mean = drawn * (here / whole)
    wide = WINDOW * math.sqrt(mean * (elsewhere / whole) * (whole - drawn) / max(1, whole - 1)) + 50
    low, high = max(least, math.floor(mean - wide)), min(most, math.ceil(mean + wide))
    k = np.arange(low, high, dtype=np.float64)
    steps = np.log((drawn - k) / (k + 1) * ((here - k) / (elsewhere - drawn + k + 1)))
    chances = _normal(np.concatenate([[0.0], np.cumsum(steps)]))
    return low + int(np.searchsorted(np.cumsum(chances), throw.random() * (1 - 2**-53)).clip(0, high - low))
