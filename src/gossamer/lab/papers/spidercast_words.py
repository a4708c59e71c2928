"""How results about SpiderCast are looked up and put into words; its claims share these."""

import math
from collections.abc import Sequence

from gossamer.lab.book import ALL, Book, Line
from gossamer.lab.claims import number

SIZES = (1000, 2000, 4000, 6000, 8000, 10000)
POPULARITIES = ("rss", "zipf(1)", "nyse", "uniform")


def at(book: Book, experiment: str, metric: str, case: str | None = None, **swept: object) -> list[Line]:
    """A series along what is swept."""
    named = {} if case is None else {"case": case}
    return book.series(experiment, ALL, metric, **named, **swept)


def one(book: Book, experiment: str, metric: str, case: str, size: int) -> Line:
    return book.find(experiment, ALL, metric, case=case, nodes=size)


def mean_degree(book: Book, experiment: str, case: str, size: int) -> Line:
    return one(book, experiment, "degree_mean", case, size)


def through(lines: Sequence[Line]) -> str:
    """First to last."""
    return f"{number(lines[0].mean)} → {number(lines[-1].mean)}"


def each(lines: Sequence[Line]) -> str:
    return ", ".join(number(line.mean) for line in lines)


def worst(lines: Sequence[Line]) -> Line:
    """The line with the largest value of any run."""
    return max(lines, key=lambda line: line.max)


def straightness(xs: Sequence[float], ys: Sequence[float], *, log: bool) -> float:
    """R² of a line through the points, over the logarithm of x if asked."""
    at_x = [math.log(x) if log else x for x in xs]
    mean_x, mean_y = sum(at_x) / len(xs), sum(ys) / len(ys)
    across = sum((x - mean_x) ** 2 for x in at_x)
    up = sum((y - mean_y) ** 2 for y in ys)
    both = sum((x - mean_x) * (y - mean_y) for x, y in zip(at_x, ys, strict=True))
    return both * both / (across * up) if across * up else 0.0
