"""The report of an overlay, from its files: whether every topic is connected, what it costs, how far it is."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gossamer import __version__
from gossamer.lab import figures
from gossamer.lab.figures import Figure
from gossamer.pipeline.overlay_summary import Summary
from gossamer.pipeline.results import read_table
from gossamer.web import report
from gossamer.web.report import Section, Table

SHOWN_MAX = 100
"Rows of a table on the page; the files have all."
PARTITIONED_MAX = 20
BARS_MAX = 40
"Bars of the histogram: where there are more degrees, several share one."


def sentence(summary: Summary) -> str:
    """What came of it, in words."""
    topics = counted(summary.topics_populated, "topic")
    share = f"{counted(summary.links, 'link')} for {counted(summary.subscriptions, 'subscription')}"
    if summary.connected:
        each = "The topic is" if summary.topics_populated == 1 else f"All {topics} are"
        return f"{each} connected, with {share}: {summary.degree_mean:,.2f} neighbours a node."
    return (
        f"{summary.topics_partitioned:,} of {topics} {'is' if summary.topics_partitioned == 1 else 'are'} partitioned."
    )


def counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def at_least(diameter: int, exact: bool) -> str:
    return f"{diameter:,}" if exact else f"at least {diameter:,}"


def write_report(out: Path, summary: Summary, command: str) -> Path:
    """report.html and its figures, beside the tables that are there."""
    drawn = draw_figures(out)
    for figure in drawn:
        figures.save(figure, out / "figures")
    sections = [*troubles(out, summary), *overview(out, summary, drawn)]
    return report.write(out / "report.html", "Gossamer: overlay", sentence(summary), facts(summary, command), sections)


def facts(summary: Summary, command: str) -> list[tuple[str, object]]:
    params = summary.params
    chosen = f"{params.selection}, K_g {params.greedy}, K_r {'adaptive' if params.adaptive else params.random}"
    view = params.view if params.view == "full" or isinstance(params.view, float) else f"{params.view:,} others"
    return [
        (
            "topics connected",
            f"{summary.topics_populated - summary.topics_partitioned:,} of {summary.topics_populated:,}",
        ),
        ("nodes", summary.nodes),
        ("subscriptions", summary.subscriptions),
        ("links", summary.links),
        ("neighbours, on average", report.with_error(summary.degree_mean, summary.degree_ci95)),
        ("neighbours, at most", summary.degree_max),
        ("longest way in a topic", at_least(summary.diameter_topic_max, summary.diameter_topic_exact)),
        ("longest way in the overlay", at_least(summary.diameter_overlay, summary.diameter_overlay_exact)),
        ("chosen by", chosen),
        ("view", f"{view}{', rare topics meet at homes' if params.rendezvous else ''}"),
        ("seed", str(summary.seed)),
        ("version", __version__),
        ("command", command),
    ]


def troubles(out: Path, summary: Summary) -> list[Section]:
    """What a reader should know first; nothing where all is well."""
    said = []
    if summary.topics_partitioned:
        text = (
            "Their subscribers cannot all reach each other through subscribers of the same topic. Random neighbours "
            "(`--random 1`, or `--adaptive`), a larger `--view` or `--rendezvous` bring them together."
        )
        rows = [row for row in read_table(out, "components", PARTITIONED_MAX) if row["components"] > 1]
        said.append(Section("Partitioned topics", text, table=topic_table(rows, summary.topics_partitioned)))
    if summary.set_aside:
        count = sum(summary.set_aside.values())
        text = (
            f"{count:,} of {summary.rows:,} rows say no pair of node and topic, or one that was there before: "
            + ", ".join(f"{reason} ({many:,})" for reason, many in summary.set_aside.items())
            + ". They are kept as they are in `quarantine`."
        )
        if summary.nodes_left_out:
            text += f" Left out because they appear in no other row: {counted(summary.nodes_left_out, 'node')}."
        said.append(Section("Rows set aside", text, table=examples_table(summary, count)))
    if not summary.at_rest:
        said.append(Section("Not at rest", f"Links were still changing after {summary.rounds:,} rounds."))
    return said


def examples_table(summary: Summary, count: int) -> Table:
    rows = [[each.file, each.row, each.reason, each.node, each.topic] for each in summary.examples]
    note = f"The first {len(rows):,} of {count:,}; all are in quarantine." if count > len(rows) else ""
    return Table(["file", "row", "reason", "node", "topic"], rows, note)


def overview(out: Path, summary: Summary, drawn: Sequence[Figure]) -> list[Section]:
    by_name = {figure.name: figure for figure in drawn}
    links = (
        f"A link serves {summary.topics_per_link:,.2f} topics on average: if messages of several topics go over it "
        f"together, {summary.messages_saved:.1%} of them need not be sent. Nodes share {summary.tdi:.0f}% of their "
        f"topics with the 20 others most like them{' (a sample)' if summary.tdi_sampled else ''}.\n\n"
        f"Rounds it took: {summary.rounds:,}, with {summary.messages_per_change:,.1f} control messages a node."
    )
    rows = read_table(out, "components", SHOWN_MAX)
    near = [by_name[name] for name in ("degrees", "degree-by-topics") if name in by_name]
    far = [by_name[name] for name in ("diameters",) if name in by_name]
    return [
        Section("Neighbours", links, figures=near),
        Section("Topics", figures=far, table=topic_table(rows, summary.topics_populated)),
    ]


def topic_table(rows: Sequence[Mapping[str, Any]], count: int) -> Table:
    columns = ["topic", "subscribers", "links", "components", "largest", "diameter"]
    cells = [[*(row[name] for name in columns[:-1]), at_least(row["diameter"], row["exact"])] for row in rows]
    file = "components.parquet"
    note = f"The first {len(rows):,} of {count:,}; all are in {file}." if count > len(rows) else f"Also in {file}."
    return Table(columns, cells, note, align="lrrrrr")


def draw_figures(out: Path) -> list[Figure]:
    """Those for which there is something to draw."""
    topics = [row for row in read_table(out, "components") if row["subscribers"] > 1]
    wanted = read_table(out, "degree_by_topics")
    return [
        draw_degrees(read_table(out, "degree_histogram")),
        *([draw_degree_by_topics(wanted)] if len(wanted) > 1 else []),
        *([draw_diameters(topics)] if topics else []),
    ]


def draw_degrees(rows: Sequence[Mapping[str, Any]]) -> Figure:
    low, high = rows[0]["degree"], rows[-1]["degree"]
    width = -(-(high - low + 1) // BARS_MAX)
    counts = [0] * ((high - low) // width + 1)
    for row in rows:
        counts[(row["degree"] - low) // width] += row["nodes"]
    firsts = [low + width * i for i in range(len(counts))]
    labels = [str(first) if width == 1 else f"{first}–{first + width - 1}" for first in firsts]
    return figures.bars(
        labels, {"nodes": counts}, name="degrees", title="How many neighbours nodes have", x_label="neighbours",
        y_label="nodes",
    )  # fmt: skip


def draw_degree_by_topics(rows: Sequence[Mapping[str, Any]]) -> Figure:
    points = [
        {"metric": "neighbours", "group": "all", "point": {"topics": row["topics"]}, "mean": row["degree_mean"],
         "ci95": row["degree_ci95"]}
        for row in rows
    ]  # fmt: skip
    most = max(row["topics"] for row in rows)
    return figures.lines(
        points, name="degree-by-topics", title="Neighbours by number of topics", x="topics", metric="neighbours",
        x_label="topics a node wants", y_label="neighbours, on average", log_x=most > 100,
        references=[figures.Reference("a neighbour for each topic", [1, most], [1, most])],
    )  # fmt: skip


def draw_diameters(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Of topics of about the same size, the longest: each bar is for sizes up to twice the first."""
    longest: dict[int, int] = {}
    for row in rows:
        size = row["subscribers"].bit_length()
        longest[size] = max(row["diameter"], longest.get(size, 0))
    sizes = sorted(longest)
    bound = "" if all(row["exact"] for row in rows) else " Of more than 10,000 subscribers: at least so long."
    return figures.bars(
        [f"{1 << (size - 1):,}–{(1 << size) - 1:,}" for size in sizes],
        {"hops": [longest[size] for size in sizes]},
        name="diameters", title="The longest way inside a topic", x_label="subscribers of the topic", y_label="hops",
        caption=f"Of the shortest ways between two subscribers; of topics of about one size, the longest.{bound}",
    )  # fmt: skip
