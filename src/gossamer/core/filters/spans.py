"""Sets of ordered values, numbers or texts, as the places where one steps in or out of them.

A cut stands just before a value, (value, 0), or just after it, (value, 1). So open and closed ends, single points and
rays are all the same thing, and and, or, not are one walk along the cuts. Equal sets have equal cuts.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle
from operator import itemgetter
from typing import TypeAlias

from msgspec import Struct

Ordered: TypeAlias = str | int | float
"A value with an order; within one set either all texts or all numbers."
Cut: TypeAlias = tuple[Ordered, int]

BEFORE, AFTER = 0, 1
LEAST: Cut = ("", BEFORE)
"No text comes before the empty one: a cut there divides nothing."


class Spans(Struct, frozen=True):
    """A set of values of one kind."""

    inside: bool
    "Whether the smallest values, before the first cut, belong to it."
    cuts: tuple[Cut, ...] = ()

    def holds(self, value: Ordered) -> bool:
        return self.inside ^ (bisect_right(self.cuts, (value, BEFORE)) & 1 == 1)

    def inverse(self) -> "Spans":
        return Spans(not self.inside, self.cuts)

    def within(self, other: "Spans") -> bool:
        """Whether every value of this set is one of the other's."""
        if self in (other, NONE) or other == ALL:
            return True
        return combined(self, other, lambda mine, its: mine and not its) == NONE

    def intervals(self) -> Iterator[tuple[Cut | None, Cut | None]]:
        """The pieces in order, each from a cut to a cut; None is where there is no end."""
        edges = [*([None] if self.inside else []), *self.cuts]
        if len(edges) % 2:
            edges.append(None)
        yield from zip(edges[::2], edges[1::2])

    def points(self) -> list[Ordered] | None:
        """The values one by one, if they can be counted."""
        if (len(self.cuts) + self.inside) % 2:
            return None  # there is no end to them
        listed: list[Ordered] = []
        for low, high in self.intervals():
            if high is None or not is_point(low or ("", BEFORE), high):
                return None
            listed.append(high[0])
        return listed

    def weight(self) -> int:
        """How many pieces it takes to say it."""
        return (len(self.cuts) + 1) // 2


NONE = Spans(False)
ALL = Spans(True)


def is_point(low: Cut, high: Cut) -> bool:
    return low[1] == BEFORE and high[1] == AFTER and low[0] == high[0]


def point(value: Ordered) -> Spans:
    return points((value,))


def points(values: Iterable[Ordered]) -> Spans:
    """These values and no others."""
    cuts = [cut for value in sorted({*values}) for cut in ((value, BEFORE), (value, AFTER))]
    return Spans(True, tuple(cuts[1:])) if cuts and cuts[0] == LEAST else Spans(False, tuple(cuts))


def above(value: Ordered, side: int) -> Spans:
    """From the cut upwards."""
    return ALL if (value, side) == LEAST else Spans(False, ((value, side),))


def both(one: Spans, other: Spans) -> Spans:
    if one == ALL or other == NONE:
        return other
    if other == ALL or one == NONE:
        return one
    return combined(one, other, lambda mine, its: mine and its)


def either(one: Spans, other: Spans) -> Spans:
    return both(one.inverse(), other.inverse()).inverse()


def united(sets: Iterable[Spans]) -> Spans:
    """All in one: along the cuts of all, counting how many sets one is in."""
    given = list(sets)
    if len(given) < 2:
        return given[0] if given else NONE
    steps: list[tuple[Cut, int]] = []
    for each in given:
        steps += zip(each.cuts, cycle((-1, 1) if each.inside else (1, -1)))
    steps.sort(key=itemgetter(0))
    within = sum(each.inside for each in given)
    first, kept = within > 0, list[Cut]()
    for cut, step in steps:
        before, within = within, within + step
        if not before or not within:
            if kept and kept[-1] == cut:
                kept.pop()  # out of one and into another at the same place
            else:
                kept.append(cut)
    return Spans(first, tuple(kept))


def combined(one: Spans, other: Spans, keeps: Callable[[bool, bool], bool]) -> Spans:
    """One walk along the cuts of both; a cut remains where the answer changes."""
    in_one, in_other = one.inside, other.inside
    first = now = keeps(in_one, in_other)
    kept: list[Cut] = []
    mine, its = one.cuts, other.cuts
    at_mine = at_its = 0
    while at_mine < len(mine) or at_its < len(its):
        step_mine = at_its == len(its) or (at_mine < len(mine) and mine[at_mine] <= its[at_its])
        step_its = at_mine == len(mine) or (at_its < len(its) and its[at_its] <= mine[at_mine])
        here = mine[at_mine] if step_mine else its[at_its]
        in_one, at_mine = in_one ^ step_mine, at_mine + step_mine
        in_other, at_its = in_other ^ step_its, at_its + step_its
        if keeps(in_one, in_other) != now:
            now = not now
            kept.append(here)
    return Spans(first, tuple(kept))


def starting(prefix: str) -> Spans:
    """The texts that start with this one: they stand side by side in the order."""
    after = following(prefix)
    start = above(prefix, BEFORE)
    return start if after is None else both(start, above(after, BEFORE).inverse())


def following(prefix: str) -> str | None:
    """The smallest text greater than all that start with the prefix; None if there is none."""
    short = prefix.rstrip(chr(0x10FFFF))
    return short[:-1] + chr(ord(short[-1]) + 1) if short else None
