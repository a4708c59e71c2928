"""Sections of the report on SpiderCast: what no single sweep shows by itself, and what goes beyond the paper."""

import math

from gossamer.lab.book import ALL, Book, Line
from gossamer.lab.claims import measured, number
from gossamer.lab.figures import Figure, Reference, lines
from gossamer.lab.papers import Part
from gossamer.lab.papers.spidercast_connected import PARTITIONED
from gossamer.lab.papers.spidercast_table import TABLE
from gossamer.lab.papers.spidercast_words import SIZES, at, mean_degree
from gossamer.lab.studies.overlay.metrics import BY_DEGREE

NO_BREAK = "\u00a0"
SEEN = 0.001
"A share of the nodes so small that a histogram may end there."


def degrees(book: Book) -> Part:
    """Figure 12 beside the print."""
    rows = []
    for case, row in TABLE.items():
        ours = [mean_degree(book, "spidercast/fig12", case, size).mean for size in SIZES]
        rows.append((case, *(f"{mine:.2f}" for mine in ours)))
        rows.append(("– as printed", *(f"{said:.2f}" for said in row)))
    drawn = [
        {name: getattr(line, name) for name in Line.__struct_fields__}
        for line in at(book, "spidercast/fig12", "degree_mean", "spidercast(3,0)")
    ]
    figure = lines(
        drawn,
        name="degree-and-print",
        title="Mean degree of SpiderCast, (3,0), beside the paper's",
        x="workload.nodes",
        metric="degree_mean",
        x_label="Nodes",
        y_label="Mean degree",
        references=(Reference("printed", SIZES, TABLE["spidercast(3,0)"]),),
    )
    return Part(
        "The table of degrees",
        "Figure 12 of the paper: mean degrees for 1,000 to 10,000 nodes, ours above the printed ones. The rows "
        "random(10) and similarity(20,0) depend on what a baseline without coverage does with links it did not ask "
        "for, which the paper leaves open.",
        ("overlay", *(f"{size:,}" for size in SIZES)),
        tuple(rows),
        (figure,),
    )


def skewed(book: Book) -> Part:
    """Figure 6(a) beside the print."""
    cases = ("(3,0)", "(4,0)", "(3,1)", "adaptive")
    ours = tuple(
        (
            case,
            *(
                measured(line).replace(" ", NO_BREAK)
                for line in at(book, "spidercast/fig6", "topics_partitioned", case)
            ),
        )
        for case in cases
    )
    return Part(
        "Topics that fall apart under a heavy skew",
        "Partitioned topics of 100, Zipf with exponent 2; Figure 6(a) has the first row.",
        ("coverage", *(f"{size:,}" for size in SIZES)),
        (*ours, ("(3,0), printed", *map(str, PARTITIONED))),
    )


def histograms(book: Book) -> Part:
    """Figure 9."""
    figures = tuple(
        _histogram(book, name, same, spread) for name, same, spread in (("a", "20", "10-30"), ("b", "40", "10-70"))
    )
    return Part(
        "How degrees are distributed",
        "Figure 9 of the paper: the same number of subscriptions on average, equal for all nodes or spread around it.",
        figures=figures,
    )


def _histogram(book: Book, name: str, same: str, spread: str) -> Figure:
    found = {
        (case, degree): book.find("spidercast/fig9", ALL, metric, case=case)
        for case in (same, spread)
        for degree, metric in enumerate(BY_DEGREE)
    }
    last = max((degree for (_, degree), line in found.items() if line.mean >= SEEN), default=1)
    rows = [
        {"point": {"degree": degree, "subscriptions": case}, "group": ALL, "metric": "nodes",
         "mean": 100 * line.mean, "ci95": 100 * line.ci95, "runs": line.runs}
        for (case, degree), line in found.items() if degree <= last
    ]  # fmt: skip
    return lines(
        rows,
        name=f"fig9{name}-histogram",
        title=f"Figure 9({name}): degrees with {same} subscriptions on average",
        x="degree",
        by="subscriptions",
        metric="nodes",
        x_label="Degree",
        y_label="Nodes, percent",
    )


def rare(book: Book) -> Part:
    """Beyond the paper."""
    rows = []
    for line in at(book, "spidercast/rare", "topics_partitioned", "before"):
        view = line.point["params.view"]
        said: list[str] = []
        for metric in ("topics_partitioned", "degree_mean", "messages_per_change"):
            for case in ("before", "after"):
                said.append(number(book.find("spidercast/rare", ALL, metric, case=case, view=view).mean))
        rows.append((f"{view:.0%}", *said))
    return Part(
        "Rare topics, before and after a rendezvous",
        "Beyond the paper. A topic that few want is in nobody's view where views are small, and stays in pieces: its "
        "subscribers never hear of each other. After: a node with a topic that nobody it knows wants asks the topic's "
        "home, the node next to the topic's place on a ring of identifiers, who else asked. 4,000 nodes, 1,000 topics "
        "by Zipf with exponent 1, 10 subscriptions each.",
        ("view", "partitioned, before", "after", "mean degree, before", "after",
         "messages per node, before", "after"),
        tuple(rows),
    )  # fmt: skip


def cost(book: Book) -> Part:
    """Beyond the paper: what it takes to build, against the number of nodes."""
    metrics = ("build_s", "messages_per_change", "rounds", "degree_mean", "topics_partitioned")
    found = {metric: at(book, "spidercast/cost", metric) for metric in metrics}
    rows = tuple(
        (f"{line.point['workload.nodes']:,}", *(number(of_metric[i].mean) for of_metric in found.values()))
        for i, line in enumerate(found["build_s"])
    )
    first, last = found["build_s"][0], found["build_s"][-1]
    times = last.point["workload.nodes"] / first.point["workload.nodes"]
    power = math.log(max(last.mean, 1e-9) / max(first.mean, 1e-9)) / math.log(times)
    return Part(
        "What building costs",
        "Views of 200 nodes, whatever the size. Seconds are those of one core of the machine this ran on, from "
        f"the smallest to the largest size they grow as N^{power:.2f}. "
        "Messages per node, rounds and the degree are the same on every machine. An overlay of 1,000,000 nodes takes "
        "minutes and is apart: gossamer sweep spidercast/million.",
        ("nodes", "seconds", "messages per node", "rounds", "mean degree", "partitioned topics"),
        rows,
    )
