"""Worlds for judges: all the summaries a paper needs, in which nothing makes a difference but what a test changes."""

import re
from typing import Any, NamedTuple

import msgspec

from gossamer.lab.book import Book, Line, last_word
from gossamer.lab.claims import Claim
from gossamer.lab.grid import Point, points
from gossamer.lab.papers import Paper, paper
from gossamer.lab.spec import read

PLACEHOLDER = re.compile(r"\b(FILL|TODO|TBD|XXX|FIXME)\b|[{}]")
Change = tuple[str, str, float, dict[str, Any]]
"An experiment of the paper, a metric, its mean, and where: at which swept values, by their last words."


def line(mean: float, metric: str = "delivery", ci95: float = 0.001, **point: Any) -> Line:
    said = {"p50": mean, "p99": mean, "max": mean, "runs": 8}
    return Line(point=point, group="all", metric=metric, mean=mean, ci95=ci95, **said)


def assert_finished(claim: Claim) -> None:
    """Everything is said, in sentences, and nothing is left for later."""
    assert claim.where
    for text in (claim.paper_says, claim.ours, claim.why):
        assert text
        assert not PLACEHOLDER.search(text), text
    assert claim.why.endswith("."), claim.why


class World(NamedTuple):
    paper: Paper
    points: dict[str, list[Point]]

    @classmethod
    def of(cls, name: str) -> "World":
        found = paper(name)
        return cls(found, {each: points(*read(each)) for each in found.experiments})

    def flat(self, value: float) -> dict[str, list[Line]]:
        """Every number of every experiment the same."""
        return {
            name: [line(value, metric, **point.swept) for point in made for metric in point.spec.metrics]
            for name, made in self.points.items()
        }

    def book(self, value: float, *changes: Change) -> Book:
        """The flat world, but for some lines."""
        lines = self.flat(value)
        for file, metric, mean, where in changes:
            of_file, hit = lines[f"{self.paper.name}/{file}"], 0
            for at, each in enumerate(of_file):
                if each.metric == metric and where.items() <= last_word(each.point).items():
                    of_file[at] = msgspec.structs.replace(each, mean=mean, p50=mean, p99=mean, max=mean)
                    hit += 1
            assert hit
        return Book(lines)

    def claims(self, value: float) -> dict[str, Claim]:
        """The verdicts on the flat world, each of which says by which rule."""
        claims = self.paper.claims(self.book(value))
        for claim in claims:
            assert_finished(claim)
        by_id = {claim.id: claim for claim in claims}
        assert len(by_id) == len(claims)
        return by_id

    def reproduced(self, value: float) -> set[str]:
        return {name for name, claim in self.claims(value).items() if claim.verdict == "reproduced"}

    def drawn(self, value: float) -> list[str]:
        """The names of the figures of all sections. Each becomes a file, beside those of the experiments."""
        parts = self.paper.analysis(self.book(value))
        assert all(len(row) == len(part.columns) for part in parts for row in part.rows)
        drawn = [figure.name for part in parts for figure in part.figures]
        swept = [figure.name for made in self.points.values() for figure in made[0].spec.figures]
        assert len({*drawn, *swept}) == len(drawn) + len(swept)
        return drawn
