"""CAMCAST, section 6.2: what an event costs, and how long it takes, below three membership services."""

from collections.abc import Iterator
from itertools import pairwise
from math import log

from gossamer.lab.book import Book, Line
from gossamer.lab.claims import Claim, above, measured, not_below, share
from gossamer.lab.papers.camcast_curves import (
    ABOVE,
    CLIMBS,
    EXPERIMENTS_OF_V2,
    LOW,
    NAMES,
    SIZES,
    TARGETS,
    V1,
    V2,
    V3,
    Curves,
    claim,
    named,
    somewhere,
)  # fmt: skip
from gossamer.lab.papers.communities import BOTTOM, MIDDLE, ROOT


def claims(book: Book) -> list[Claim]:
    curves = Curves(book)
    return [
        efficiency_falls(curves),
        upward_in_proportion(curves),
        more_inside(curves),
        nothing_climbs(curves),
        within_the_bound(curves),
        efficiency_in_order(curves),
        latency_falls(curves),
        upward_alike(curves),
    ]


def efficiency_falls(curves: Curves) -> Claim:
    rows = [curves.curve(name, group, "efficiency") for group in ABOVE for name in NAMES]
    return claim(
        "services-efficiency-falls", "6.2.2, Figs 23 and 24",
        "A higher chance of climbing increases duplicates: efficiency falls.",
        "in d, 1 %: " + named(lambda name: curves.at(name, MIDDLE, "efficiency", CLIMBS[0])) + "; 100 %: "
        + named(lambda name: curves.at(name, MIDDLE, "efficiency", 1.0)),
        rows[0][-1], all(above(row[0], row[-1]) for row in rows),
        "Share of arriving copies that were new, over runs in which the event came. Each of six curves ends "
        "below its begin.",
    )  # fmt: skip


def upward_in_proportion(curves: Curves) -> Claim:
    def per_process(name: str, climb: float) -> float:
        return curves.at(name, BOTTOM, "sent_up", climb).mean / climb / SIZES[name][BOTTOM]

    def fits(name: str, climb: float) -> bool:
        line, full = curves.at(name, BOTTOM, "sent_up", climb), curves.at(name, BOTTOM, "sent_up", 1.0)
        return abs(line.mean - climb * full.mean) <= max(0.05 * climb * full.mean, 1.5 * line.ci95 + climb * full.ci95)

    off = [f"{name} at {climb:g}" for name in NAMES for climb in CLIMBS if not fits(name, climb)]
    rows = [curves.curve(name, MIDDLE, "sent_up") for name in NAMES]
    rising = all(above(after, before) for row in rows for before, after in pairwise(row))
    return claim(
        "services-upward", "6.2.2, Figs 27 and 28", "Upward messages increase in proportion to the chance of climbing.",
        "messages per process and chance, from g: " + " · ".join(
            f"{name} {per_process(name, LOW):.2f} at 10 %, {per_process(name, 1.0):.2f} at 100 %" for name in NAMES
        ),
        curves.at(V3, BOTTOM, "sent_up", 1.0), not off and rising,
        f"Expected: a = {TARGETS}. From g in proportion within 5 % or the intervals"
        + (f", but for {', '.join(off)}" if off else "")
        + "; from d more than in proportion, since more of d is reached, and rising at every step.",
    )  # fmt: skip


def more_inside(curves: Curves) -> Claim:
    rows = [curves.curve(name, group, "sent_intra") for group in ABOVE for name in NAMES]
    rising = all(not_below(after, before) for row in rows for before, after in pairwise(row))
    return claim(
        "services-inside", "6.2.2", "As reliability increases, so does the number of messages inside a community.",
        "in d, 1 %: " + named(lambda name: curves.at(name, MIDDLE, "sent_intra", CLIMBS[0]), measured) + "; 100 %: "
        + named(lambda name: curves.at(name, MIDDLE, "sent_intra", 1.0), measured),
        rows[0][-1], rising and all(above(row[-1], row[0]) for row in rows),
        "No step of any of the six curves goes down, intervals allowed for.",
    )  # fmt: skip


def nothing_climbs(curves: Curves) -> Claim:
    crossed = curves.at(V2, MIDDLE, "crossed", CLIMBS[0])
    none = 1 - crossed.mean
    return claim(
        "services-nothing-climbs", "6.2.2, Fig. 24",
        "With a chance of 0.01, semi-structured, no event came from d to the root.",
        f"none comes in {share(none)} of runs, so in none of {EXPERIMENTS_OF_V2} with {share(none**EXPERIMENTS_OF_V2)}",
        crossed, none**EXPERIMENTS_OF_V2 >= 0.05,
        f"The paper has {EXPERIMENTS_OF_V2} experiments: theirs is likely if its chance is at least 5 %.",
    )  # fmt: skip


def within_the_bound(curves: Curves) -> Claim:
    def bounds(name: str, climb: float) -> Iterator[tuple[Line, float]]:
        for group, size in SIZES[name].items():
            yield curves.at(name, group, "sent_intra", climb), size * log(size)
            if group != ROOT:
                yield curves.at(name, group, "sent_up", climb), size * climb * TARGETS

    over = [
        line for name in NAMES for climb in CLIMBS for line, most in bounds(name, climb) if line.mean - line.ci95 > most
    ]
    full = curves.at(V3, BOTTOM, "sent_intra", 1.0)
    return claim(
        "services-bound", "6.2.2; 4.3", "Messages stay below the bound of the analysis.",
        f"{len(over)} of {len(NAMES) * len(CLIMBS) * 5} means exceed it, intervals allowed for",
        full, not over, "At most N (ln N + c) messages inside a community and N p_sel a upwards, on average.",
    )  # fmt: skip


def efficiency_in_order(curves: Curves) -> Claim:
    orders = {f"{a} over {b}": curves.order(a, b, "efficiency") for a, b in ((V3, V2), (V2, V1))}
    both = orders.items()
    return claim(
        "services-efficiency-order", "6.2.2, Figs 23 and 24",
        "Structured is more efficient than semi-structured, that than unstructured.",
        "at 10 % in d: " + named(lambda name: curves.at(name, MIDDLE, "efficiency", LOW)),
        curves.at(V3, MIDDLE, "efficiency", LOW), all(better and not worse for better, worse in orders.values()),
        "; ".join(f"{pair}: better at {somewhere(up)}, worse at {somewhere(down)}" for pair, (up, down) in both) + ".",
    )  # fmt: skip


def latency_falls(curves: Curves) -> Claim:
    rows = [curves.curve(name, group, "rounds_last") for group in ABOVE for name in NAMES]
    return claim(
        "services-latency-falls", "6.2.2, Figs 25 and 26", "Latency decreases as the chance of climbing increases.",
        "in the root, 10 %: " + named(lambda name: curves.at(name, ROOT, "rounds_last", LOW), measured) + "; 100 %: "
        + named(lambda name: curves.at(name, ROOT, "rounds_last", 1.0), measured),
        rows[0][-1], all(above(row[CLIMBS.index(LOW)], row[-1]) for row in rows),
        "Rounds until the last process that got the event had it, over runs in which it came; from 10 % to 100 "
        "%. Below, few "
        "runs reach more than some processes. The paper counts 0 where nothing came, which bends its curves down "
        "there.",
    )  # fmt: skip


def upward_alike(curves: Curves) -> Claim:
    each = {name: curves.at(name, BOTTOM, "sent_up", 1.0).mean / SIZES[name][BOTTOM] for name in NAMES}
    return claim(
        "services-upward-alike", "6.2.2, Figs 27 and 28", "Upward messages differ little between the three approaches.",
        "per process of g, everybody elected: " + " · ".join(f"{name} {value:.2f}" for name, value in each.items()),
        curves.at(V3, BOTTOM, "sent_up", 1.0), max(each.values()) <= 1.1 * min(each.values()),
        "Within 10 %. What differs is how many of z = 4 links a process has, and how many processes get the event.",
    )  # fmt: skip
