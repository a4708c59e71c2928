"""What was measured of CAMCAST's three membership services (section 6.2), and how claims about them are written.

An event that does not come to a community has no efficiency and no rounds there: both are means over the runs in which
it came. The paper counts 0 instead; where that decides a claim, it says so."""

from collections.abc import Callable, Iterator

from gossamer.lab.book import Book, Line
from gossamer.lab.claims import Claim, above, measured_share, verdict
from gossamer.lab.papers.communities import BOTTOM, MIDDLE, ROOT

SERVICES, UNIFORM = "camcast/services", "camcast/uniform"
V1, V2, V3 = NAMES = ("unstructured", "semi-structured", "structured")
SIZES = {
    V1: {BOTTOM: 84, MIDDLE: 27, ROOT: 7},
    V2: {BOTTOM: 79, MIDDLE: 28, ROOT: 7},
    V3: {BOTTOM: 79, MIDDLE: 28, ROOT: 7},
}
CLIMBS = (0.01, 0.03, 0.07, 0.1, 0.2, 0.5, 1.0)
LOW = 0.1
"What the paper calls a low chance of carrying events upwards."
TARGETS = 2
ABOVE = (MIDDLE, ROOT)
HIGH = 0.9
"From here on we call a share very good, or very high; the paper gives no number."
ALL = 1.0
"What a share must reach to be 100 %."
EXPERIMENTS_OF_V2 = 5


class Curves:
    """What was measured of each service, by community and chance of carrying events upwards."""

    def __init__(self, book: Book) -> None:
        self.book = book

    def at(self, name: str, group: str, metric: str, climb: float) -> Line:
        return self.book.find(SERVICES, group, metric, case=name, climb=climb)

    def curve(self, name: str, group: str, metric: str) -> list[Line]:
        return self.book.series(SERVICES, group, metric, case=name)

    def uniform(self, group: str, metric: str, climb: float) -> Line:
        return self.book.find(UNIFORM, group, metric, climb=climb)

    def each(self, metric: str, climb: float) -> Iterator[Line]:
        """Of all services, in d and in the root."""
        return (self.at(name, group, metric, climb) for group in ABOVE for name in NAMES)

    def order(self, better: str, worse: str, metric: str) -> tuple[list[str], list[str]]:
        """Where the first service is above the second, intervals apart, and where it is below."""
        pairs = [
            (self.at(better, group, metric, climb), self.at(worse, group, metric, climb), f"{group} at {climb:g}")
            for group in ABOVE
            for climb in CLIMBS
            if self.has(better, group, metric, climb) and self.has(worse, group, metric, climb)
        ]
        return [at for a, b, at in pairs if above(a, b)], [at for a, b, at in pairs if above(b, a)]

    def has(self, name: str, group: str, metric: str, climb: float) -> bool:
        return bool(self.book.series(SERVICES, group, metric, case=name, climb=climb))


def claim(id: str, where: str, says: str, ours: str, line: Line, holds: bool, why: str) -> Claim:
    return Claim(
        id=id, where=where, paper_says=says, ours=ours, ci95=line.ci95, runs=line.runs,
        verdict=verdict(holds), why=why,
    )  # fmt: skip


def named(lines: Callable[[str], Line], shown: Callable[[Line], str] = measured_share) -> str:
    """One line of each service, side by side."""
    return " · ".join(f"{name} {shown(lines(name))}" for name in NAMES)


def somewhere(places: list[str]) -> str:
    return f"{len(places)} of {len(ABOVE) * len(CLIMBS)} points" + (f" ({', '.join(places)})" if places else "")
