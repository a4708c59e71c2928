"""Filters and events as they come: stocks, a few of them popular, each subscriber with a range of prices.

`symbol ==` one of 10^4 by Zipf(1), and a price range; a tenth of the filters asks for two stocks with `or`. Events have
symbols by the same law, and prices around what the symbol costs. Everything is a pure function of seed and number.
"""

from bisect import bisect_right
from functools import cache
from itertools import accumulate
from typing import Any

from gossamer.core.draws import chance, fold
from gossamer.core.filters import Filter, parse

SYMBOLS = 10_000
EITHER = 0.1
"The share of filters that ask for one of two stocks."
FILTERS, EVENTS, PRICES = 1, 2, 3
"What a draw is for."


@cache
def _popularity() -> list[float]:
    """How often the first symbols come up, added up: the k-th with weight 1/k."""
    return list(accumulate(1 / rank for rank in range(1, SYMBOLS + 1)))


def symbol(share: float) -> int:
    """The symbol at a share of all events: the lower its number, the more popular."""
    weights = _popularity()
    return min(bisect_right(weights, share * weights[-1]), SYMBOLS - 1)


def price(key: int, number: int) -> float:
    """What a symbol costs, in cents of a currency: between 5 and 500."""
    return float(round(5 * 100 ** chance(fold(key, PRICES), number), 2))


def one_stock(key: int, at: int) -> str:
    """A stock and a range of prices: around what it costs, between a fiftieth and half as wide."""
    number = symbol(chance(key, 3 * at))
    middle = price(0, number) * (0.7 + 0.6 * chance(key, 3 * at + 1))
    half = middle * (0.02 + 0.48 * chance(key, 3 * at + 2)) / 2
    return f'symbol == "S{number:04}" and {middle - half:.2f} <= price < {middle + half:.2f}'


def text(seed: int, number: int) -> str:
    key = fold(fold(seed, FILTERS), number)
    if chance(key, 100) < EITHER:
        return f"{one_stock(key, 0)} or {one_stock(key, 1)}"
    return one_stock(key, 0)


def filters(seed: int, count: int) -> list[Filter]:
    return [parse.__wrapped__(text(seed, number)) for number in range(count)]


def events(seed: int, count: int) -> list[dict[str, Any]]:
    """What was traded, at prices within a third of the usual."""
    made = []
    for number in range(count):
        key = fold(fold(seed, EVENTS), number)
        which = symbol(chance(key, 0))
        paid = price(0, which) * (0.7 + 0.6 * chance(key, 1))
        made.append({"symbol": f"S{which:04}", "price": round(paid, 2), "volume": 1 + int(1000 * chance(key, 2))})
    return made
