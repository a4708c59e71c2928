"""Figures from summary rows: one line per group with its confidence band, beside what the paper or the theory says.

A figure is text and bytes, not an open plot: the same rows give the same bytes on every run, so a changed figure means
changed numbers. matplotlib's object interface only; pyplot would keep every figure alive and pick a screen.
"""

import io
import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from gossamer.lab.metrics import WORDS, is_percent

Row = Mapping[str, Any]
# Okabe and Ito's: told apart with any common colour blindness. Without their yellow, which white swallows.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#222222")
# One fewer than the colours, so that colour and marker pair up differently on each time round.
MARKERS = ("o", "s", "^", "D", "v", "P")
INK, FAINT = "#333333", "#DDDDDD"
HOUSE: dict[Any, Any] = {
    "svg.hashsalt": "gossamer", "svg.fonttype": "none", "text.parse_math": False,  # a topic may contain dollars
    "font.size": 10, "axes.labelsize": 10, "axes.labelcolor": INK, "text.color": INK,
    "axes.edgecolor": "#999999", "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.8,
    "axes.grid": True, "axes.axisbelow": True, "grid.color": FAINT, "grid.linewidth": 0.7,
    "xtick.color": "#999999", "ytick.color": "#999999", "xtick.labelcolor": INK, "ytick.labelcolor": INK,
    "lines.linewidth": 1.8, "lines.markersize": 5, "legend.frameon": False, "legend.fontsize": 9.5,
}  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """A finished figure. The SVG stands under a heading of its page; the PNG travels alone, so its title is drawn."""

    name: str
    title: str
    svg: str
    caption: str = ""
    png: Callable[[], bytes] | None = field(default=None, repr=False, compare=False)  # drawn only if wanted: it is slow


@dataclass(frozen=True)
class Reference:
    """Numbers from elsewhere, drawn dashed. With `group`, in the colour of that line or bar."""

    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    group: str | None = None


@dataclass(frozen=True)
class Curve:
    label: str
    xs: list[float]
    means: list[float]
    errors: list[float]


def lines(
    rows: Sequence[Row], *, name: str, title: str, x: str, metric: str, groups: Sequence[str] | None = None,
    by: str | None = None, x_label: str | None = None, y_label: str | None = None, caption: str = "",
    log_x: bool = False, log_y: bool = False, references: Sequence[Reference] = (),
) -> Figure:  # fmt: skip
    """The mean of `metric` over the swept field `x`, one line per group, or per value of a second swept field `by`."""
    chosen = [row for row in rows if row["metric"] == metric and (groups is None or row["group"] in groups)]
    curves = curves_of(chosen, x, groups, by)
    if not curves:
        raise ValueError(f"no summary row has a mean of {metric!r} over {x!r}: nothing to draw in figure {name!r}")
    share = is_share(metric, [mean for curve in curves for mean in curve.means])
    lows = [np.subtract(curve.means, curve.errors) for curve in curves]

    def draw(axes: Axes) -> None:
        colours = {curve.label: PALETTE[i % len(PALETTE)] for i, curve in enumerate(curves)}
        for i, curve in enumerate(curves):
            label = "measured" if list(colours) == ["all"] else curve.label
            draw_curve(axes, curve, colours[curve.label], MARKERS[i % len(MARKERS)], share, label)
        draw_references(axes, references, colours)
        axes.set(xlabel=plain(x_label or x, 80), ylabel=plain(y_label or metric, 60))
        if share and not log_y and max(map(max, (curve.means for curve in curves))) > 0.5:
            lowest = min(float(y) for ys in [*lows, *(one.ys for one in references)] for y in ys if math.isfinite(y))
            bottom = 0.0 if lowest < 0.6 else min(1.15 * lowest - 0.15, 0.999)  # high shares differ in their nines
            axes.set_ylim(bottom, 1 + 0.03 * (1 - bottom))
        dress(axes.xaxis, log_x, is_share(x, [value for curve in curves for value in curve.xs]))
        dress(axes.yaxis, log_y, share)

    keyed = bool(references) or [curve.label for curve in curves] != ["all"]
    return finish(draw, name, title, f"{caption} {band_note(chosen)}".strip(), keyed)


def bars(
    labels: Sequence[str], series: Mapping[str, Sequence[float]], *, name: str, title: str, y_label: str,
    errors: Mapping[str, Sequence[float]] | None = None, x_label: str = "", caption: str = "", share: bool = False,
    log_y: bool = False, references: Sequence[Reference] = (),
) -> Figure:  # fmt: skip
    """One cluster of bars per label, one bar per series. The `xs` of a reference count the labels from 0."""
    for key, values in [*series.items(), *(errors or {}).items()]:
        if len(values) != len(labels):
            raise ValueError(f"series {key!r} of figure {name!r} has {len(values)} values for {len(labels)} labels")
    width = 0.8 / max(1.4, len(series))  # a bar alone in its cluster need not fill it
    shift = {key: (i - (len(series) - 1) / 2) * width for i, key in enumerate(series)}

    def draw(axes: Axes) -> None:
        for i, (key, values) in enumerate(series.items()):
            spread = list((errors or {}).get(key, [0.0] * len(labels)))
            xs = [at + shift[key] for at in range(len(labels))]
            axes.bar(xs, values, width * 0.92, color=PALETTE[i % len(PALETTE)], label=plain(key))
            if any(spread):
                axes.errorbar(xs, values, spread, fmt="none", ecolor=INK, elinewidth=1, capsize=3)
            if len(labels) * len(series) <= 12 and not references:  # else they collide; the axis still tells
                for x, y, error in zip(xs, values, spread, strict=True):
                    axes.annotate(tick(y, share, 4), (x, y + error), (0, 4), textcoords="offset points", ha="center")
        for one in references:
            xs = [at + shift.get(one.group or "", 0.0) for at in one.xs]
            axes.plot(xs, one.ys, "D", mfc="white", mec=INK, markersize=7, label=plain(one.label), zorder=4)
        crowded = sum(map(len, labels)) > 75
        slant: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
        axes.set_xticks(range(len(labels)), list(map(plain, labels)), **slant)
        axes.set(xlabel=plain(x_label, 80), ylabel=plain(y_label, 60))
        axes.tick_params(axis="x", length=0, pad=6, grid_alpha=0)
        axes.margins(y=0.1)
        dress(axes.yaxis, log_y, share)

    return finish(draw, name, title, caption, keyed=len(series) > 1 or bool(references))


def dots(
    labels: Sequence[str], series: Mapping[str, Sequence[float]], *, name: str, title: str, x_label: str,
    errors: Mapping[str, Sequence[float]], caption: str = "", share: bool = False, log_x: bool = False,
) -> Figure:  # fmt: skip
    """A row per label and a mark per series: for numbers of many sizes, since a mark needs no zero to stand on."""

    def draw(axes: Axes) -> None:
        for i, (key, values) in enumerate(series.items()):
            ys = [at + (i - (len(series) - 1) / 2) * 0.2 for at in range(len(labels))]
            low = np.minimum(errors[key], values)  # nothing here is less than nothing
            high = np.minimum(errors[key], np.subtract(1, values)) if share else np.asarray(errors[key])
            axes.errorbar(values, ys, xerr=np.array([low, high]), fmt=MARKERS[i % len(MARKERS)], markersize=5,
                          color=PALETTE[i % len(PALETTE)], elinewidth=1, capsize=2, label=plain(key))  # fmt: skip
        for at in range(0, len(labels), 2):
            axes.axhspan(at - 0.5, at + 0.5, color=FAINT, alpha=0.4, linewidth=0, zorder=0)
        axes.set_yticks(range(len(labels)), list(map(plain, labels)))
        axes.set(xlabel=plain(x_label, 80), ylim=(len(labels) - 0.5, -0.5))
        axes.tick_params(axis="y", length=0, pad=6, grid_alpha=0)
        if share:
            axes.set_xlim(0, 1.03)
        dress(axes.xaxis, log_x, share)

    return finish(draw, name, title, caption, keyed=len(series) > 1)


def save(figure: Figure, folder: Path) -> list[Path]:
    """Write NAME.svg and NAME.png, and say where."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {folder / f"{figure.name}.svg": figure.svg.encode()}
    if figure.png:
        files[folder / f"{figure.name}.png"] = figure.png()
    return [path for path, content in files.items() if path.write_bytes(content)]


def curves_of(rows: Sequence[Row], x: str, groups: Sequence[str] | None, by: str | None) -> list[Curve]:
    found: dict[Any, dict[float, Row]] = {}
    for row in rows:
        if x not in row["point"] or not known(row["mean"]):
            continue
        at, key = row["point"][x], row["point"].get(by) if by else row["group"]
        if not known(at):
            raise ValueError(f"{x!r} is {at!r} in a summary row: a line needs numbers, use bars")
        if at in found.setdefault(key, {}):
            raise ValueError(f"two rows for {key!r} at {x} = {at}: keep one, or name the other swept field with by=")
        found[key][at] = row
    # Numbers by size, names by letter, `all` last. The order in which rows arrive is chance: never let it show.
    keys = sorted(found, key=lambda key: (key == "all", float(key) if known(key) else math.inf, natural(str(key))))
    if groups is not None and not by:
        keys = [group for group in groups if group in found]
    curves = []
    for label, points in ((label_of(key, by), sorted(found[key].items())) for key in keys):
        errors = [float(row["ci95"]) if known(row.get("ci95")) else 0.0 for _, row in points]
        curves.append(Curve(label, [float(at) for at, _ in points], [float(row["mean"]) for _, row in points], errors))
    return curves


def label_of(key: object, by: str | None) -> str:
    """A name speaks for itself; a number needs the field it is a value of."""
    return f"{by.rpartition('.')[2].replace('_', ' ')} = {key}" if by and known(key) else str(key)


def natural(text: str) -> list[tuple[int, str]]:
    """The order in which people expect names: 4 before 12."""
    return [(int(part) if part.isdecimal() else 0, part) for part in re.split(r"([0-9]+)", text)]


def draw_curve(axes: Axes, curve: Curve, colour: str, marker: str, share: bool, label: str) -> None:
    ends = (0.0, 1.0) if share else (-math.inf, math.inf)  # nobody receives more than everything
    low = np.clip(np.subtract(curve.means, curve.errors), *ends)
    high = np.clip(np.add(curve.means, curve.errors), *ends)
    axes.vlines(curve.xs, low, high, color=colour, alpha=0.4, linewidth=1)  # a point alone has no band
    axes.fill_between(curve.xs, low, high, color=colour, alpha=0.18, linewidth=0)
    axes.plot(curve.xs, curve.means, color=colour, marker=marker, label=plain(label), zorder=3)


def draw_references(axes: Axes, references: Sequence[Reference], colours: Mapping[str, str]) -> None:
    for i, one in enumerate(references):
        colour = colours.get(one.group or "", ("#555555", "#8A8A8A")[i % 2])
        axes.plot(one.xs, one.ys, color=colour, linestyle=("--", ":", "-.")[i % 3], linewidth=1.4, zorder=2,
                  marker=MARKERS[i % len(MARKERS)], markerfacecolor="white", label=plain(one.label))  # fmt: skip


def dress(axis: Any, log: bool, share: bool) -> None:
    if log:
        getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
        low, high = axis.get_view_interval()
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 100 else (1,)))
        axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick(value, share)))


def finish(draw: Callable[[Axes], None], name: str, title: str, caption: str, keyed: bool) -> Figure:
    if not re.fullmatch(r"\w[\w.-]*", name):  # it becomes a file name
        raise ValueError(f"a figure's name is letters, digits, '.', '-' and '_', not {name!r}")
    svg = paint(draw, title, keyed, "svg").decode()
    return Figure(name, title, svg, caption, lambda: paint(draw, title, keyed, "png"))


def paint(draw: Callable[[Axes], None], title: str, keyed: bool, kind: str) -> bytes:
    with matplotlib.rc_context(), warnings.catch_warnings():  # the caller's own settings come back
        matplotlib.rcdefaults()  # whatever matplotlibrc the machine has
        matplotlib.rcParams.update(HOUSE)
        warnings.filterwarnings("ignore", message="Glyph")  # a browser has the letters matplotlib's font lacks
        canvas = Canvas(figsize=(7.3, 4.1), layout="constrained", facecolor="white")
        axes = canvas.add_subplot()
        draw(axes)
        if keyed:
            key = sorted(zip(*axes.get_legend_handles_labels(), strict=True), key=lambda k: isinstance(k[0], Line2D))
            columns = max(1, min(len(key), 92 // (max(len(label) for _, label in key) + 7)))
            axes.legend(*zip(*key, strict=True), loc="lower left", bbox_to_anchor=(-0.01, 1.01), ncols=columns)
        if kind == "png":
            canvas.suptitle(plain(title, limit=90), x=0.015, ha="left", fontsize=12, fontweight="bold")
        # No date and no version: they would change the bytes.
        unsaid = dict.fromkeys(("Software",) if kind == "png" else ("Date", "Creator", "Format", "Type"))
        canvas.savefig(file := io.BytesIO(), format=kind, dpi=160, metadata={**unsaid, "Title": plain(title, 400)})
    return file.getvalue()


def is_share(what: str, values: Sequence[float]) -> bool:
    """Whether to print percents: the name says so, and the values do not contradict it."""
    words = re.split(r"[._]", what)
    return (not WORDS.isdisjoint(words) or any(map(is_percent, words))) and all(0 <= value <= 1 for value in values)


def tick(value: float, share: bool, digits: int = 6) -> str:
    if share:
        return f"{value * 100:.{digits}g}\u00a0%"
    if abs(value) >= 1e6:
        return f"{value / 1e6:,.{digits}g}\u00a0M"  # nine digits per tick would run into each other
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def band_note(rows: Sequence[Row]) -> str:
    runs = sorted({int(row["runs"]) for row in rows if known(row.get("runs"))})
    count = " to ".join(f"{one:,}" for one in (runs if len(runs) < 2 else (runs[0], runs[-1])))
    return (
        f"Bands: 95\u00a0% confidence interval of the mean, {count} runs per point." if max(runs, default=0) > 1 else ""
    )


def known(value: object) -> bool:
    return isinstance(value, Real) and math.isfinite(value)


def plain(text: str, limit: int = 44) -> str:
    """Text that SVG can hold: control characters are not XML, and matplotlib hides a label that starts with `_`."""
    clean = re.sub(r"[^\t -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
    short = clean if len(clean) <= limit else f"{clean[: limit // 2]}…{clean[-(limit // 2 - 1) :]}"
    return f"\u200a{short}" if short.startswith("_") else short
