"""What the paper on SpiderCast says about nodes that come and go (section 3.8, Figure 11)."""

from gossamer.lab.book import ALL, Book, Line
from gossamer.lab.claims import Claim, measured, not_below, number, printed, verdict
from gossamer.lab.papers.spidercast_words import each, worst

MIDDLE_S = 300.0
"The λ at which single numbers are compared; the paper names none."
CHANGES = ((1250, 1000, 13.0, 38.0), (2500, 2000, 12.0, 34.0))
"Section 3.8.1: nodes, how many of them are up, their mean degree, and messages for a join or leave."
DEGREE_CLOSE, MESSAGES_CLOSE = 0.05, 0.15


def churned(book: Book, metric: str, nodes: int) -> list[Line]:
    return book.series("spidercast/fig11", ALL, metric, nodes=nodes)


def middle(book: Book, metric: str, nodes: int) -> Line:
    """At the λ in the middle."""
    return book.find("spidercast/fig11", ALL, metric, nodes=nodes, up_s=MIDDLE_S)


def stays_connected(book: Book) -> Claim:
    lines = [line for nodes in (1250, 2500) for line in churned(book, "topics_partitioned", nodes)]
    return Claim(
        id="fig11-connected",
        where="abstract; 1; 3.8",
        paper_says="In all the simulations and all the snapshots all the topics were connected, regardless of the "
        "churn rate.",
        ours=f"at most {number(worst(lines).max)} partitioned topics in any snapshot of "
        f"{sum(line.runs for line in lines)} runs",
        ci95=max(line.ci95 for line in lines),
        runs=lines[0].runs,
        verdict=verdict(worst(lines).max == 0),
        why="No topic may be partitioned in any snapshot of any run, nodes younger than 2 s left out."
        + "".join(
            f" One is with {_place(line)}, at worst {number(line.max)} at once." for line in lines if line.max > 0
        ),
    )


def degree_is_flat(book: Book) -> Claim:
    lines = {nodes: churned(book, "degree_mean", nodes) for nodes in (1250, 2500)}
    spread = {n: max(x.mean for x in of_n) / min(x.mean for x in of_n) - 1 for n, of_n in lines.items()}
    return Claim(
        id="fig11-degree-flat",
        where="3.8, Fig. 11",
        paper_says="The average node degree is not affected by the churn rate.",
        ours="; ".join(f"{nodes:,} nodes: {each(of_nodes)}" for nodes, of_nodes in lines.items()),
        ci95=lines[2500][-1].ci95,
        runs=lines[2500][-1].runs,
        verdict=verdict(max(spread.values()) <= 0.1),
        why="From λ = 100 s to 500 s the means must stay within 10 % of each other; they stay within "
        f"{max(spread.values()):.1%}.",
    )


def messages_per_change(book: Book) -> list[Claim]:
    """Every number of section 3.8.1."""
    made = []
    for nodes, up, degree, messages in CHANGES:
        links, sent = (middle(book, metric, nodes) for metric in ("degree_mean", "messages_per_change"))
        made.append(
            printed(f"churn-degree-{up}", "3.8.1", f"With {up:,} nodes up the average node degree is {degree:g}.",
                    degree, links, DEGREE_CLOSE, "In a static overlay of so many nodes the paper prints "
                    f"{10.81 if up == 1000 else 10.11}: its churn costs more links than ours. How long a round is, and "
                    "how soon a vanished neighbour is noticed, it does not say.")
        )  # fmt: skip
        made.append(
            printed(f"churn-messages-{up}", "3.8.1", f"With {up:,} nodes up a join or leave takes {messages:g} control "
                    "messages on average.", messages, sent, MESSAGES_CLOSE,
                    _parting(book, nodes))
        )  # fmt: skip
    return made


def per_link_and_topic(book: Book) -> Claim:
    ratios, per_topic = [], []
    for nodes in (1250, 2500):
        links, sent = (middle(book, metric, nodes) for metric in ("degree_mean", "messages_per_change"))
        ratios.append(sent.mean / links.mean)
        per_topic.append(sent.mean / 10)
    return Claim(
        id="churn-messages-per-link",
        where="3.8.1",
        paper_says="A link takes approximately 3 control messages, and covering a topic less than 4.",
        ours=f"{number(ratios[0])} and {number(ratios[1])} per link, {number(per_topic[0])} and "
        f"{number(per_topic[1])} per topic",
        runs=churned(book, "degree_mean", 1250)[0].runs,
        verdict=verdict(all(2.5 <= ratio <= 3.5 for ratio in ratios) and max(per_topic) < 4),
        why="Messages per join or leave by the mean degree must round to 3, and by the 10 subscriptions be below 4.",
    )


def cheaper_with_more_nodes(book: Book) -> Claim:
    few, many = (middle(book, "messages_per_change", nodes) for nodes in (1250, 2500))
    return Claim(
        id="churn-fewer-messages-with-more-nodes",
        where="3.8.1",
        paper_says="With twice the nodes a join or leave takes fewer messages: 34, not 38.",
        ours=f"{measured(few)} with 1,250 nodes, {measured(many)} with 2,500",
        ci95=many.ci95,
        runs=many.runs,
        verdict=verdict(not_below(few, many) and few.mean > many.mean),
        why="The mean with 2,500 nodes must be lower, at λ = 300 s.",
    )


def _place(line: Line) -> str:
    return f"{line.point['workload.nodes']:,} nodes and λ = {line.point['churn.up_s']:g} s"


def _parting(book: Book, nodes: int) -> str:
    asked = middle(book, "disconnects_per_change", nodes)
    return (
        f"{number(asked.mean)} of ours are requests to part, most of them refused: whenever a neighbour's degree has "
        "risen it is asked once more. The paper does not say which messages it counts, nor how often it asks; "
        "heartbeats are not among ours."
    )
