"""Figures 19 to 28 of the paper: each metric in each upper community over p_sel, live and simulated together."""

from collections.abc import Iterator, Sequence

from matplotlib.axes import Axes

from benchmarks.services.plan import BOTTOM, MIDDLE, ROOT, SIZES, UPPER
from benchmarks.services.summary import SHARES, Mean
from gossamer.lab.figures import MARKERS, PALETTE, Figure, dress, finish

TITLES = {
    "reception": "Members of {} that have an event",
    "reliability": "Events that all of {} have",
    "efficiency": "Copies in {} that were of use",
    "hops": "Hops to the last member of {}",
    "sent_up": "Copies sent up from {}",
}
"In the paper's order."
NAMES = {ROOT: "root", MIDDLE: "middle", BOTTOM: "bottom"}
CAPTION = "Whole lines: live. Dashed lines: simulated. Bars and bands: 99 % intervals of the mean."


def figures(means: Sequence[Mean]) -> Iterator[Figure]:
    for metric, title in TITLES.items():
        for community in (BOTTOM, MIDDLE) if metric == "sent_up" else UPPER:
            drawn = [each for each in means if (each.metric, each.community) == (metric, community)]
            if drawn:
                yield figure(f"services-{metric}-{NAMES[community]}", title.format(community), metric, drawn)


def figure(name: str, title: str, metric: str, means: Sequence[Mean]) -> Figure:
    def draw(axes: Axes) -> None:
        for number, service in enumerate(SIZES):
            for side in ("live", "simulated"):
                shown = [each for each in means if (each.service, each.side) == (service, side)]
                draw_side(axes, sorted(shown, key=lambda each: each.climb), number, f"{service}, {side}")
        axes.set(
            xlabel="p_sel: the chance with which each process carries an event up", ylabel=metric.replace("_", " ")
        )
        dress(axes.xaxis, True, False)
        dress(axes.yaxis, False, metric in SHARES)

    return finish(draw, name, title, CAPTION, keyed=True)


def draw_side(axes: Axes, means: Sequence[Mean], number: int, label: str) -> None:
    if not means:
        return
    xs, colour = [each.climb for each in means], PALETTE[number]
    lows, highs = ([getattr(each, end) for each in means] for end in ("low", "high"))
    if means[0].side == "live":
        style = {"color": colour, "marker": MARKERS[number]}
        axes.vlines(xs, lows, highs, color=colour, alpha=0.6, linewidth=1.2)
    else:
        style = {"color": colour, "linestyle": "--", "linewidth": 1.2}
        axes.fill_between(xs, lows, highs, color=colour, alpha=0.15, linewidth=0)
    axes.plot(xs, [each.mean for each in means], label=label, **style)
