"""The figures of an audit, from the points in its table of curves."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gossamer.lab import figures
from gossamer.lab.figures import Figure, Reference
from gossamer.pipeline.audit import bin_us
from gossamer.pipeline.audit_tables import ALL
from gossamer.pipeline.results import read_table

OF_RECOVERY = ("recovery", "found-again")
"Figures that have a section of their own."
TOPICS_MAX = 6
"Lines in a figure: those of the topics with most deliveries."


def draw_figures(out: Path) -> list[Figure]:
    """Those for which there is something to draw."""
    curves: dict[str, dict[str, dict[float, float]]] = defaultdict(lambda: defaultdict(dict))
    for row in read_table(out, "curves"):
        curves[row["figure"]][row["series"]][row["x"]] = row["y"]  # where x repeats, the last and greatest y
    busiest = sorted(read_table(out, "per_topic"), key=lambda row: -row["delivered"])
    topics = list(dict.fromkeys(row["topic"] for row in busiest))[:TOPICS_MAX]
    return [
        *([draw_latency(curves["latency"], topics)] if curves["latency"] else []),
        *([draw_timeline(curves["timeline"], out)] if curves["timeline"] else []),
        *([draw_hops(curves["hops"], topics)] if curves["hops"] else []),
        *([draw_recovery(curves["recovery"])] if curves["recovery"] else []),
        *([draw_found_again(curves["found again"], out)] if curves["found again"] else []),
    ]


def by_share(curves: Mapping[str, Mapping[float, float]], topics: Sequence[str]) -> list[dict[str, Any]]:
    """Points of lines, one for each of these topics and one for all, from milliseconds to share."""
    wanted = [*topics, ALL] if len(topics) > 1 else [ALL]
    return [
        {"metric": "share", "group": series, "point": {"ms": us / 1e3}, "mean": share}
        for series in wanted
        for us, share in curves.get(series, {}).items()
        if share >= 0.99 or round(share * 100) % 5 == 0
    ]


def draw_latency(curves: Mapping[str, Mapping[float, float]], topics: Sequence[str]) -> Figure:
    rows = by_share(curves, topics)
    return figures.lines(
        rows,
        name="latency",
        title="How soon events were delivered",
        x="ms",
        metric="share",
        x_label="milliseconds from publication to delivery",
        y_label="share of deliveries made by then",
        caption="Deliveries at nodes other than the publisher.",
        log_x=all(row["point"]["ms"] > 0 for row in rows),
    )


def draw_recovery(curves: Mapping[str, Mapping[float, float]]) -> Figure:
    rows = by_share(curves, [series for series in curves if series != ALL][:TOPICS_MAX])
    return figures.lines(
        rows,
        name="recovery",
        title="How soon lost events were found again",
        x="ms",
        metric="share",
        x_label="milliseconds from noticing to having it",
        y_label="share of recovered events",
        caption="Events that came by recovery; what came late by itself is left out.",
        log_x=all(row["point"]["ms"] > 0 for row in rows),
    )


def draw_found_again(curves: Mapping[str, Mapping[float, float]], out: Path) -> Figure:
    return figures.lines(
        over_time(curves, bin_us(out) / 1e6),
        name="found-again",
        title="Lost and found again over time",
        x="s",
        metric="count",
        x_label="seconds since the run began",
        y_label=f"events in {bin_us(out) / 1e6:.3g} s",
        caption="What is slower than what follows it is noticed to be missing too, and comes by itself.",
    )


def over_time(curves: Mapping[str, Mapping[float, float]], width: float) -> list[dict[str, Any]]:
    bins = round(max(at for counts in curves.values() for at in counts) / width)
    return [
        {"metric": "count", "group": series, "point": {"s": round(i * width, 6)}, "mean": near(counts, i * width)}
        for series, counts in curves.items()
        for i in range(bins + 1)
    ]


def draw_timeline(curves: Mapping[str, Mapping[float, float]], out: Path) -> Figure:
    width = bin_us(out) / 1e6
    rows = over_time(curves, width)
    top = max(row["mean"] for row in rows)
    began: dict[str, int] = {}
    lives = read_table(out, "lives")
    for life in lives:
        began[life["run"]] = min(began.get(life["run"], life["born_us"]), life["born_us"])
    silent = [(life["ended_us"] - began[life["run"]]) / 1e6 for life in lives if life["ended"] != "stopped"]
    ends = sorted({round(at / width * 2) * width / 2 for at in silent})  # those side by side would run into each other
    gone = Reference("a node fell silent", *upright(ends, float(top)))
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
