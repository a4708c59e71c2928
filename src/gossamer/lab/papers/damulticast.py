"""Data-Aware Multicast: Baehni, Eugster, Guerraoui, EPFL IC/2003/73."""

from collections.abc import Sequence

from gossamer.lab.book import Book
from gossamer.lab.claims import Claim, verdict
from gossamer.lab.papers import Paper, Part, analysis
from gossamer.lab.papers import communities as both
from gossamer.lab.papers.communities import BOTTOM, MIDDLE, ROOT
from gossamer.protocols.camcast import comparisons


def claims(book: Book) -> list[Claim]:
    return [
        both.no_parasites(book, "I (4)"),
        both.single_topic_unchanged(book, "damulticast/single", "I"),
        both.messages_in_order(book, "damulticast/growth", "I (3); VI-B; Fig. 8"),
        both.upward_about_five(book, "damulticast/fig09", "V-B; Fig. 9"),
        both.half_crashed_still_climbs(book, "damulticast/fig09", "VII-B, Fig. 9"),
        both.lower_is_surer(
            book, "damulticast/fig10", "reliability", "fig10-order", "VII-B, Fig. 10",
            "The reliability is smaller for processes interested in the root than below.",
        ),
        both.lower_is_surer(
            book, "damulticast/fig10", "reception", "fig10-reception", "VII-B, Fig. 10",
            "The reception probability depends on the failed share, and falls from the bottom to the root.",
        ),
        both.dynamic_is_milder(
            book, "damulticast/fig10", "damulticast/fig11", "reliability", "fig11-milder", "VII-B, Fig. 11"
        ),
        both.dynamic_is_milder(
            book, "damulticast/fig10", "damulticast/fig11", "reception", "fig11-reception-milder", "VII-B, Fig. 11"
        ),
        memory_formula(book),
        both.memory_by_level(
            book, "damulticast/baselines", "VI-E.2",
            "A process's memory is always smaller than with the other algorithms (a), (b) and (c).",
            ("gossip broadcast", "gossip multicast", "hierarchical broadcast"),
        ),
        both.climbing_probability(book, "damulticast/fig09", "VI-D"),
        both.hierarchy_reliability(book, "damulticast/fig10", "VI-D, eq. 1"),
        less_reliable_than_others(book),
    ]  # fmt: skip


def memory_formula(book: Book) -> Claim:
    levels = {BOTTOM: 1000, MIDDLE: 100, ROOT: 10}
    ours = {g: book.find("damulticast/baselines", g, "memory", case="camcast", fraction=0.0).mean for g in levels}
    paper = {
        g: min(size - 1.0, comparisons.memory_damulticast(size, 3.0, 0, root=True)) + (0 if g == ROOT else 3)
        for g, size in levels.items()
    }
    return Claim(
        id="memory-formula",
        where="V-A.1; VI-C",
        paper_says="Two tables: (b + 1) ln S entries of the own group and z of the one above, whatever lies below.",
        ours=" · ".join(f"{g} {entries:.1f}" for g, entries in ours.items()) + " entries",
        verdict=verdict(all(abs(ours[g] - paper[g]) < 1e-6 for g in levels)),
        why="A table never holds more than there are others: the root's ten processes keep nine entries.",
    )


def less_reliable_than_others(book: Book) -> Claim:
    at = {
        case: book.find("damulticast/baselines", ROOT, "reliability", case=case, fraction=0.0)
        for case in analysis.CASES
    }
    mine = at["camcast"]
    others = [line for case, line in at.items() if case != "camcast"]
    return Claim(
        id="less-reliable-at-the-root",
        where="VI-E.3",
        paper_says="In general all processes receive an event less often than with the alternatives, especially "
        "at the root.",
        ours=" · ".join(f"{case} {line.mean:.2%}" for case, line in at.items()),
        ci95=mine.ci95,
        runs=mine.runs,
        verdict=verdict(all(mine.mean + mine.ci95 < line.mean - line.ci95 for line in others)),
        why="Runs in which every root process is reached, without crashes. The event must climb twice; with g = "
        "5 it sometimes does not.",
    )


def sections(book: Book) -> Sequence[Part]:
    return (
        analysis.approaches(book, "damulticast/baselines", "damulticast/middle"),
        analysis.formulas(book, "damulticast/baselines"),
        analysis.conditions(),
    )


PAPER = Paper(
    name="damulticast",
    title="daMulticast",
    lead="Figures and headline claims of the technical report on data-aware multicast, run again and judged.",
    experiments=(
        "damulticast/fig08", "damulticast/fig09", "damulticast/fig10", "damulticast/fig11",
        "damulticast/baselines", "damulticast/middle", "damulticast/growth", "damulticast/single",
    ),
    claims=claims,
    analysis=sections,
)  # fmt: skip
