"""The other reading of Fig. 3, line 9: what comes of it where the paper prints degrees and messages.

The figure asks neighbours to part whose degree exceeds their target. The prose of section 2.3.1 knows a node for
covered by target <= degree, and that is the rule all other claims are judged by.
"""

from typing import NamedTuple

from msgspec.structs import replace

from gossamer.lab.book import ALL, Book, Line
from gossamer.lab.claims import Claim, apart, measured, number, printed
from gossamer.lab.papers import Part
from gossamer.lab.papers.spidercast_connected import ABOUT, ZIPF2_DEGREES
from gossamer.lab.papers.spidercast_moving import CHANGES, DEGREE_CLOSE, MESSAGES_CLOSE, middle
from gossamer.lab.papers.spidercast_table import CLOSE, TABLE
from gossamer.lab.papers.spidercast_words import SIZES, mean_degree

AS_PRINTED = "Fig. 3, line 9, as printed"
OURS = "spidercast(3,0)"


class Number(NamedTuple):
    """A printed number, and ours by either reading. `id` is that of the claim by the prose."""

    id: str
    where: str
    what: str
    printed: float
    tolerance: float
    prose: Line
    figure: Line

    @property
    def between(self) -> bool:
        """Whether the print lies between our two."""
        return min(self.prose.mean, self.figure.mean) < self.printed < max(self.prose.mean, self.figure.mean)


def numbers(book: Book) -> list[Number]:
    found = []
    for name, case, said in ZIPF2_DEGREES:
        lines = (
            mean_degree(book, *where, SIZES[-1])
            for where in (("spidercast/fig6", case), ("spidercast/readings", f"zipf(2) {case}"))
        )
        found.append(
            Number(f"fig6-degree-{name}", "3.3, Fig. 6(b)", f"mean degree, Zipf(2), {case}", said, ABOUT, *lines)
        )
    for nodes, up, degree, messages in CHANGES:
        for name, what, metric, said, close in (
            ("degree", "mean degree", "degree_mean", degree, DEGREE_CLOSE),
            ("messages", "messages for a join or leave", "messages_per_change", messages, MESSAGES_CLOSE),
        ):
            figure = book.find("spidercast/readings-churn", ALL, metric, nodes=nodes)
            prose = middle(book, metric, nodes)
            found.append(Number(f"churn-{name}-{up}", "3.8.1", f"{what}, {up:,} nodes up", said, close, prose, figure))
    for size, said in zip(SIZES, TABLE[OURS], strict=True):
        if size in (SIZES[0], SIZES[-1]):
            prose = mean_degree(book, "spidercast/fig12", OURS, size)
            figure = mean_degree(book, "spidercast/readings", "rss (3,0)", size)
            what = f"mean degree, RSS, (3,0), {size:,} nodes"
            found.append(Number(f"fig12-{OURS}-{size}", "3.9.1, Fig. 12", what, said, CLOSE, prose, figure))
    return found


def by_the_figure(book: Book) -> list[Claim]:
    """Each number judged once more, by the rule it is judged by already."""
    return apart([_judged(each) for each in numbers(book)], AS_PRINTED)


def _judged(it: Number) -> Claim:
    claim = printed(
        f"by-figure-{it.id}", it.where, f"{it.what}: {it.printed:g}.", it.printed, it.figure, it.tolerance, ""
    )
    place = "lies" if it.between else "does not lie"
    why = f"{claim.why} By the prose ours is {number(it.prose.mean)}: the print {place} between the two."
    return replace(claim, why=why)


def two_readings(book: Book) -> Part:
    found = numbers(book)
    rows = [(it.what, f"{it.printed:g}", measured(it.prose), measured(it.figure)) for it in found]
    between = sum(it.between for it in found)
    return Part(
        "Two readings of one line",
        "Fig. 3, line 9, asks neighbours to part that have more links than their target; by the prose of section 2.3.1 "
        "whoever has reached its target is covered. The claims above are judged by the prose. Of these "
        f"{len(found)} printed numbers {between} lie between what the two readings give.",
        ("number", "printed", "by the prose", "by the figure"),
        tuple(rows),
    )
