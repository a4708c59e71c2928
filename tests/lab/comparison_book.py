"""Summaries of a comparison in which nothing makes a difference, and ways to change them."""

from gossamer.lab.book import Book, Line
from gossamer.lab.grid import points
from gossamer.lab.papers import paper
from gossamer.lab.spec import read
from gossamer.lab.studies.comparison.metrics import METRICS

CASES = {name: [point.swept["case"] for point in points(*read(name))] for name in paper("comparison").experiments}


def line(case: str, metric: str, mean: float) -> Line:
    return Line(
        point={"case": case}, group="all", metric=metric, mean=mean, ci95=0.01, p50=mean, p99=mean, max=mean, runs=5
    )


def book(*changes: tuple[str, str, str, float]) -> Book:
    """A world in which nothing makes a difference, but for some lines."""
    lines = {name: [line(case, metric, 1.0) for case in cases for metric in METRICS] for name, cases in CASES.items()}
    for experiment, case, metric, mean in changes:
        (at,) = (i for i, each in enumerate(lines[experiment]) if (each.point["case"], each.metric) == (case, metric))
        lines[experiment][at] = line(case, metric, mean)
    return Book(lines)
