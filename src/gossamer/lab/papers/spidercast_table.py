"""What the paper on SpiderCast says about degrees: its table, and the popularity of topics (Figures 12 and 7)."""

from itertools import combinations, pairwise

from gossamer.lab.book import Book
from gossamer.lab.claims import Claim, above, apart, measured, printed, share, verdict
from gossamer.lab.papers.spidercast_words import POPULARITIES, SIZES, at, mean_degree, one, through

TABLE: dict[str, tuple[float, ...]] = {
    "spidercast(3,0)": (10.81, 10.11, 9.53, 9.24, 9.08, 8.95),
    "similarity(10,0)": (10.08, 10.07, 10.08, 10.09, 10.08, 10.08),
    "similarity(9,1)": (10.22, 10.22, 10.20, 10.22, 10.21, 10.22),
    "similarity(8,2)": (10.20, 10.19, 10.19, 10.20, 10.20, 10.20),
    "similarity(7,3)": (10.21, 10.21, 10.20, 10.22, 10.21, 10.21),
    "random(10)": (10.82, 10.54, 10.34, 10.12, 10.08, 10.11),
    "similarity(20,0)": (20.04, 20.04, 20.04, 20.04, 20.03, 20.04),
}
"Figure 12 as printed, for 1,000 to 10,000 nodes."
CELLS = "Figure 12, cell by cell"
CLOSE = 0.02
"Within so much of a printed degree ours is the same."
NOT_SAID = (
    "The rules of section 2 are for coverage; the paper says that the same code ran with another choice of neighbours, "
    "not which target a node then has, nor when it stops shedding links."
)


def table(book: Book) -> list[Claim]:
    """Every number of Figure 12; so many that they would drown the others."""
    cells = [
        printed(
            f"fig12-{case}-{size}",
            "3.9.1, Fig. 12",
            f"{case}, {size:,} nodes: mean degree {said:.2f}.",
            said,
            mean_degree(book, "spidercast/fig12", case, size),
            CLOSE,
            NOT_SAID if case != "spidercast(3,0)" else "",
        )
        for case, row in TABLE.items()
        for size, said in zip(SIZES, row, strict=True)
    ]
    return apart(cells, CELLS)


def below_twelve(book: Book) -> Claim:
    lines = {case: at(book, "spidercast/fig7", "degree_mean", case) for case in POPULARITIES}
    most = max((line for each in lines.values() for line in each), key=lambda line: line.mean)
    return Claim(
        id="fig7-below-12",
        where="3.4, Fig. 7(a)",
        paper_says="Whatever the popularity of topics, the average node degree is less than 12.",
        ours="; ".join(f"{case} {through(each)}" for case, each in lines.items()),
        ci95=most.ci95,
        runs=most.runs,
        verdict=verdict(most.mean + most.ci95 < 12),
        why=f"Every mean at 1,000 to 10,000 nodes must lie below 12 with its interval; the largest is "
        f"{measured(most)}.",
    )


def falls_with_nodes(book: Book) -> Claim:
    lines = {case: at(book, "spidercast/fig7", "degree_mean", case) for case in POPULARITIES}
    rises = [case for case, each in lines.items() for more, less in pairwise(each) if not above(more, less)]
    return Claim(
        id="fig7-falls-with-nodes",
        where="abstract; 3.4, Fig. 7(a); 3.5.1",
        paper_says="The average node degree slowly decreases as the number of nodes increases.",
        ours="; ".join(f"{case} {through(each)}" for case, each in lines.items()),
        ci95=lines["rss"][-1].ci95,
        runs=lines["rss"][-1].runs,
        verdict=verdict(not rises),
        why="From each size to the next the mean must fall, intervals apart, for all four popularities."
        + (f" It does not everywhere for {', '.join(dict.fromkeys(rises))}." if rises else ""),
    )


def order_of_popularities(book: Book) -> Claim:
    by_size = [{case: mean_degree(book, "spidercast/fig7", case, size) for case in POPULARITIES} for size in SIZES]
    holds = all(
        all(above(lines["uniform"], lines[case]) for case in POPULARITIES if case != "uniform")
        and all(above(lines[case], lines["nyse"]) for case in POPULARITIES if case != "nyse")
        for lines in by_size
    )
    return Claim(
        id="fig7-order",
        where="3.4, Fig. 7(a)",
        paper_says="The lowest and the highest average degree are those of the NYSE and of the uniform distribution.",
        ours="10,000 nodes: " + " · ".join(f"{case} {measured(line)}" for case, line in by_size[-1].items()),
        ci95=by_size[-1]["nyse"].ci95,
        runs=by_size[-1]["nyse"].runs,
        verdict=verdict(holds),
        why="At every size uniform must lie above the three others and NYSE below them, intervals apart.",
    )


def load_is_fair(book: Book) -> Claim:
    lines = [line for case in POPULARITIES for line in at(book, "spidercast/fig7", "degree_ci95", case)]
    degrees = [line for case in POPULARITIES for line in at(book, "spidercast/fig7", "degree_mean", case)]
    widest = max(width.mean / degree.mean for width, degree in zip(lines, degrees, strict=True))
    return Claim(
        id="fig7-small-intervals",
        where="1; 3.4, Fig. 7(a); 3.5.1",
        paper_says="The 95 % confidence intervals around the average degree are small: the load is distributed fairly "
        "among all nodes.",
        ours=f"over the nodes of a run, at most ± {share(widest)} of the mean",
        runs=lines[0].runs,
        verdict=verdict(widest <= 0.03),
        why="Half the interval must be at most 3 % of the mean at every size and popularity. Such an interval shrinks "
        "with the number of nodes, however unlike they are: see `max-two-to-three-times` and `fig9-concentrated` for "
        "how unlike.",
    )


def tdi_explains(book: Book) -> Claim:
    wrong = 0
    for size in SIZES:
        for pair in combinations(POPULARITIES, 2):
            degrees, likeness = (
                [one(book, "spidercast/fig7", metric, case, size).mean for case in pair]
                for metric in ("degree_mean", "tdi")
            )
            wrong += (degrees[0] - degrees[1]) * (likeness[0] - likeness[1]) > 0
    lines = {case: one(book, "spidercast/fig7", "tdi", case, SIZES[-1]) for case in POPULARITIES}
    return Claim(
        id="fig7-tdi-explains-degree",
        where="3.4, Fig. 7(b)",
        paper_says="For each pair of distributions the one with the higher tdi(20) has the lower average node degree.",
        ours="tdi(20) at 10,000 nodes: " + " · ".join(f"{case} {measured(line)} %" for case, line in lines.items()),
        ci95=lines["rss"].ci95,
        runs=lines["rss"].runs,
        verdict=verdict(wrong == 0),
        why=f"Of the {6 * len(SIZES)} pairs, six at each size, none may have the higher tdi(20) and the higher degree; "
        f"{wrong} have.",
    )
