"""The report of an audit, from its files: the verdict in words, what went wrong by name, and how the run went."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gossamer import __version__
from gossamer.lab import figures
from gossamer.lab.figures import Figure, Reference
from gossamer.pipeline.audit import bin_us
from gossamer.pipeline.audit_tables import ALL
from gossamer.pipeline.audit_verdict import Verdict
from gossamer.pipeline.desk import read_csv
from gossamer.web import report
from gossamer.web.report import Section, Table

FACTS = ("events", "expected", "delivered", "missing", "in_doubt", "parasites", "duplicates", "nodes", "silenced")
SHOWN_MAX = 100
"Rows of a table on the page; the files have all."
TOPICS_MAX = 6
"Lines in a figure: those of the topics with most deliveries."

TOPIC_COLUMNS = (
    "topic events expected delivered missing in_doubt parasites duplicates p50_ms p99_ms max_ms hops_mean messages"
)
COMMUNITY_COLUMNS = "community members expected delivered missing in_doubt copies efficiency"
NODE_COLUMNS = "name lives silenced published expected delivered missing duplicates parasites refused lost_rows"
MISSING_COLUMNS = "event topic name promised seen_how seen_at seen_after_us seen_hops had members"
PARASITE_COLUMNS = "event topic name declared found stray copies bytes via"


def sentence(verdict: Verdict) -> str:
    """The verdict in words."""
    if not verdict.events:
        return "No event was published, so none could be missed."
    if verdict.holds:
        kept = f"All {verdict.expected:,} expected deliveries of {verdict.events:,} events were made"
        if verdict.missing:
            kept = (
                f"All promised deliveries were made ({verdict.delivered:,} of {verdict.expected:,} expected ones; "
                f"the publishers of the others were killed)"
            )
        return f"The promise holds. {kept}, nobody got an event unasked, and nobody got one twice."
    wrong = [
        (verdict.broken, "promised delivery is missing", "promised deliveries are missing"),
        (verdict.parasites, "event came to a node that did not want it", "events came to nodes that did not want them"),
        (verdict.duplicates, "delivery was made twice", "deliveries were made twice"),
    ]
    said = [f"{count:,} {one if count == 1 else many}" for count, one, many in wrong if count]
    return f"The promise does not hold: {', '.join(said)}."


def write_report(
    out: Path, verdict: Verdict, command: str, title: str = "Gossamer: audit", before: Sequence[Section] = ()
) -> Path:
    """report.html and its figures, beside the tables that `audit_folder` wrote; with sections to begin with."""
    drawn = draw_figures(out)
    for figure in drawn:
        figures.save(figure, out / "figures")
    facts = [
        ("promise", "holds" if verdict.holds else "does not hold"),
        *((name.replace("_", " "), getattr(verdict, name)) for name in FACTS),
        ("clocks", verdict.clocks),
        ("version", __version__),
        ("command", command),
    ]
    sections = [
        *before,
        *troubles(out, verdict),
        Section("How it went", course(verdict), figures=drawn),
        *overviews(out, verdict),
    ]
    return report.write(out / "report.html", title, sentence(verdict), facts, sections)


def troubles(out: Path, verdict: Verdict) -> list[Section]:
    """What went wrong, by name; what did not has no section."""
    told = [
        ("missing", "Missing deliveries", verdict.missing, MISSING_COLUMNS,
         "Expected, and never delivered. Beside each: where its event was last seen, how long after its publication, "
         "and how many of the node's community have it."),
        ("parasites", "Events that nobody asked for", verdict.parasites + verdict.strays, PARASITE_COLUMNS,
         "`declared` by the node itself, or `found` by its subscriptions; a `stray` was on its way as the node came or "
         "went, and is not held against anybody."),
        ("duplicates", "Delivered twice", verdict.duplicates, "event topic name times redelivered",
         "Without being marked as repeated."),
        ("skipped", "Files not read, or not to the end", verdict.skipped + verdict.torn, "file why",
         "A node that is killed leaves a torn segment; all before the tear was read."),
    ]  # fmt: skip
    return [
        Section(title, text, table=shown(read_csv(out / f"{name}.csv", SHOWN_MAX), columns, f"{name}.csv", count))
        for name, title, count, columns, text in told
        if count
    ]


def course(verdict: Verdict) -> str:
    lines = [f"{verdict.lives:,} lives of {verdict.nodes:,} nodes, {verdict.silenced:,} of them ended without a stop."]
    if verdict.efficiency is not None:
        lines.append(f"{verdict.efficiency:.1%} of the copies that arrived were the first of their event there.")
    if verdict.negative_latencies:
        lines.append(f"{verdict.negative_latencies:,} deliveries are dated before their publication: clocks differ.")
    if verdict.lost_rows:
        lines.append(f"{verdict.lost_rows:,} rows of the traces are lost: what is missing may be among them.")
    return " ".join(lines)


def overviews(out: Path, verdict: Verdict) -> list[Section]:
    tables = [
        ("per_topic", "By topic", TOPIC_COLUMNS, "Topics of events; latencies in milliseconds, to other nodes."),
        (
            "per_community",
            "By community",
            COMMUNITY_COLUMNS,
            "Who should have what climbs to them; copies at level full.",
        ),
        ("per_node", "By node", NODE_COLUMNS, ""),
    ]
    sections = []
    for name, title, columns, text in tables:
        rows = [in_milliseconds(row) for row in read_csv(out / f"{name}.csv")]
        columns = f"run {columns}" if verdict.runs > 1 else columns
        sections.append(Section(title, text, table=shown(rows[:SHOWN_MAX], columns, f"{name}.csv", len(rows))))
    return sections


def in_milliseconds(row: Mapping[str, Any]) -> dict[str, Any]:
    named = {"p50": "latency_us_p50", "p99": "latency_us_p99", "max": "latency_us_max"}
    return {**row, **{f"{key}_ms": None if row.get(us) is None else row[us] / 1e3 for key, us in named.items()}}


def shown(rows: Sequence[Mapping[str, Any]], columns: str, file: str, count: int) -> Table:
    names = columns.split()
    note = f"The first {len(rows):,} of {count:,}; all are in {file}." if count > len(rows) else f"Also in {file}."
    return Table([name.replace("_", " ") for name in names], [[row[name] for name in names] for row in rows], note)


def draw_figures(out: Path) -> list[Figure]:
    """Those for which there is something to draw."""
    curves: dict[str, dict[str, dict[float, float]]] = defaultdict(lambda: defaultdict(dict))
    for row in read_csv(out / "curves.csv"):
        curves[row["figure"]][row["series"]][row["x"]] = row["y"]  # where x repeats, the last and greatest y
    busiest = sorted(read_csv(out / "per_topic.csv"), key=lambda row: -row["delivered"])
    topics = list(dict.fromkeys(row["topic"] for row in busiest))[:TOPICS_MAX]
    return [
        *([draw_latency(curves["latency"], topics)] if curves["latency"] else []),
        *([draw_timeline(curves["timeline"], out)] if curves["timeline"] else []),
        *([draw_hops(curves["hops"], topics)] if curves["hops"] else []),
    ]


def draw_latency(curves: Mapping[str, Mapping[float, float]], topics: Sequence[str]) -> Figure:
    wanted = [*topics, ALL] if len(topics) > 1 else [ALL]
    rows = [
        {"metric": "share", "group": series, "point": {"ms": us / 1e3}, "mean": share}
        for series in wanted
        for us, share in curves.get(series, {}).items()
        if share >= 0.99 or round(share * 100) % 5 == 0
    ]
    return figures.lines(
        rows,
        name="latency",
        title="How soon events were delivered",
        x="ms",
        metric="share",
        x_label="milliseconds from publication to delivery",
        y_label="share of deliveries made by then",
        caption="Deliveries at nodes other than the publisher.",
        log_x=all(row["point"]["ms"] > 0 for row in rows),  # type: ignore[index]
    )


def draw_timeline(curves: Mapping[str, Mapping[float, float]], out: Path) -> Figure:
    width = bin_us(out) / 1e6
    bins = round(max(at for counts in curves.values() for at in counts) / width)
    rows = [
        {"metric": "count", "group": series, "point": {"s": round(i * width, 6)}, "mean": near(counts, i * width)}
        for series, counts in curves.items()
        for i in range(bins + 1)
    ]
    top = max(row["mean"] for row in rows)  # type: ignore[type-var]
    began: dict[str, int] = {}
    lives = read_csv(out / "lives.csv")
    for life in lives:
        began[life["run"]] = min(began.get(life["run"], life["born_us"]), life["born_us"])
    silent = [(life["ended_us"] - began[life["run"]]) / 1e6 for life in lives if life["ended"] != "stopped"]
    ends = sorted({round(at / width * 2) * width / 2 for at in silent})  # those side by side would run into each other
    gone = Reference("a node fell silent", *upright(ends, float(top)))  # type: ignore[arg-type]
    return figures.lines(
        rows,
        name="timeline",
        title="Deliveries over time",
        x="s",
        metric="count",
        x_label="seconds since the run began",
        y_label=f"in {width:.3g} s",
        caption="Where a node fell silent, it was killed, or the trace ends there.",
        references=[gone] if ends else [],
    )


def near(counts: Mapping[float, float], at: float) -> float:
    """The count of a bin, whatever the last digit of its beginning."""
    return next((count for begin, count in counts.items() if abs(begin - at) < 1e-6), 0.0)


def upright(xs: Sequence[float], top: float) -> tuple[list[float], list[float]]:
    """Lines that stand at these places."""
    gap = float("nan")
    return [each for x in xs for each in (x, x, gap)], [each for _ in xs for each in (0.0, top, gap)]


def draw_hops(curves: Mapping[str, Mapping[float, float]], topics: Sequence[str]) -> Figure:
    drawn = {topic: curves[topic] for topic in topics if topic in curves}
    most = round(max(hops for counts in drawn.values() for hops in counts))
    series = {topic: [counts.get(hops, 0.0) for hops in range(most + 1)] for topic, counts in drawn.items()}
    return figures.bars(
        [str(hops) for hops in range(most + 1)],
        series,
        name="hops",
        title="How many hops deliveries took",
        x_label="hops",
        y_label="deliveries",
    )
