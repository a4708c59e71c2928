"""Which of many ranges hold a number.

A range is laid over cells of about an eighth to a quarter of its length: a grid per power of two, so that it takes few
cells however long it is. To look a number up is one step per grid in use. In all but the outermost cells the number is
surely within; there the ends are looked at. Ranges without an end stand in order of the end they have.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from math import floor, frexp
from typing import TypeAlias

from gossamer.core.filters.compiling import Attributes, Check
from gossamer.core.filters.spans import BEFORE, Cut

FINE = 3
"Cells are 2^-FINE to 2^(1-FINE) of a range's length."
LEVEL_MIN, LEVEL_MAX = -20, 1000
FAR = 2.0**1000

Number: TypeAlias = int | float
Held: TypeAlias = tuple[Cut, Cut, Check | None, int]


class Ranges:
    """Ranges of one attribute, each with what else must hold and the number of the filter it stands for."""

    def __init__(self) -> None:
        self._grids: dict[int, tuple[dict[int, dict[int, int]], dict[int, dict[int, Held]]]] = {}
        self._above: list[tuple[Cut, int]] = []
        self._below: list[tuple[Cut, int]] = []
        self._rays: dict[int, tuple[Check | None, int]] = {}

    def add(self, slot: int, low: Cut | None, high: Cut | None, rest: Check | None, filter_number: int) -> None:
        if low is None or high is None:
            self._rays[slot] = (rest, filter_number)
            insort(*self._ray(slot, low, high))
            return
        level = _level(low, high)
        sure, unsure = self._grids.setdefault(level, ({}, {}))
        for cell, inner in _cells(level, low, high):
            if inner and rest is None:
                sure.setdefault(cell, {})[slot] = filter_number
            else:
                unsure.setdefault(cell, {})[slot] = (low, high, rest, filter_number)

    def remove(self, slot: int, low: Cut | None, high: Cut | None) -> None:
        if low is None or high is None:
            del self._rays[slot]
            order, ray = self._ray(slot, low, high)
            del order[bisect_left(order, ray)]
            return
        level = _level(low, high)
        grids = self._grids[level]
        for cell, _ in _cells(level, low, high):
            for grid in grids:
                held = grid.get(cell, {})
                held.pop(slot, None)
                if cell in grid and not held:
                    del grid[cell]
        if not any(grids):
            del self._grids[level]

    def find(self, value: Number, attributes: Attributes, found: list[int], one: bool = False) -> None:
        """Adds the filters whose range holds the number, if the rest holds too. `one`: some of them are enough."""
        here = (value, BEFORE)
        place = _clipped(value)
        for level, (sure, unsure) in self._grids.items():
            cell = floor(place * 2.0**-level)
            if cell in sure:
                found += sure[cell].values()
            if cell in unsure:
                for low, high, rest, filter_number in unsure[cell].values():
                    if low <= here < high and (rest is None or rest(attributes)):
                        found.append(filter_number)
            if one and found:
                return
        if self._rays:
            self._find_rays(here, attributes, found, one)

    def _ray(self, slot: int, low: Cut | None, high: Cut | None) -> tuple[list[tuple[Cut, int]], tuple[Cut, int]]:
        """The order a range with one end belongs to, and its place there."""
        if low is not None:
            return self._above, (low, slot)
        assert high is not None, "a range has at least one end"
        return self._below, (high, slot)

    def _find_rays(self, here: Cut, attributes: Attributes, found: list[int], one: bool) -> None:
        above = bisect_right(self._above, here, key=_cut)
        below = bisect_right(self._below, here, key=_cut)
        for order, places in ((self._above, range(above)), (self._below, range(below, len(self._below)))):
            for place in places:
                rest, filter_number = self._rays[order[place][1]]
                if rest is None or rest(attributes):
                    found.append(filter_number)
                    if one:
                        return


def _cut(ray: tuple[Cut, int]) -> Cut:
    return ray[0]


def _clipped(value: Number) -> float:
    """Keeps the order, as far as floats can; the cells need no more."""
    return FAR if value > FAR else -FAR if value < -FAR else float(value)


def _level(low: Cut, high: Cut) -> int:
    length = _clipped(high[0]) - _clipped(low[0])  # type: ignore[arg-type]
    return min(max(frexp(length)[1] - FINE, LEVEL_MIN), LEVEL_MAX)


def _cells(level: int, low: Cut, high: Cut) -> Iterator[tuple[int, bool]]:
    """The cells of a range, and whether all of the cell is within."""
    first = floor(_clipped(low[0]) * 2.0**-level)  # type: ignore[arg-type]
    last = floor(_clipped(high[0]) * 2.0**-level)  # type: ignore[arg-type]
    yield from ((cell, first < cell < last) for cell in range(first, last + 1))
