"""CAMCAST, section 6.2: who gets an event below three membership services."""

from itertools import pairwise
from math import hypot

from gossamer.core.intervals import Z95
from gossamer.lab.book import Book
from gossamer.lab.claims import Claim, above, incomparable, measured_share, not_below, share, verdict
from gossamer.lab.papers.camcast_curves import (
    ABOVE,
    ALL,
    CLIMBS,
    HIGH,
    LOW,
    NAMES,
    V1,
    V2,
    V3,
    Curves,
    claim,
    named,
)
from gossamer.lab.papers.communities import BOTTOM, MIDDLE, ROOT


def claims(book: Book) -> list[Claim]:
    curves = Curves(book)
    return [
        better_with_structure(curves),
        converges(curves),
        good_when_low(curves),
        converges_fastest(curves),
        more_upward_reaches_more(curves),
        first_two_differ(curves),
        reliable_when_low(curves),
        complete_once_there(curves),
        seven_percent(curves),
        as_good_as_uniform(curves),
        incomparable(
            "services-values", "6.2, Figs 19-28", "The values of the curves.",
            "They are not in the text; the sentences about them are, and are judged one by one. Ours are in the "
            "figures of camcast/services.",
        ),
    ]  # fmt: skip


def better_with_structure(curves: Curves) -> Claim:
    metrics = ("reception", "reliability", "efficiency")
    orders = [curves.order(*pair, metric) for metric in metrics for pair in ((V3, V2), (V2, V1))]
    better, worse = (sum(len(order[side]) for order in orders) for side in (0, 1))
    return claim(
        "services-structure", "6.2", "The more structured the membership service, the better the overall performance.",
        f"the more structured of two neighbours is better at {better} points, worse at {worse}",
        curves.at(V3, ROOT, "reception", LOW), better > 0 and worse == 0,
        "Reception, reliability and efficiency, in d and in the root, at seven chances; better or worse where the "
        "intervals are apart. Unstructured has 84 and 27 processes where the others have 79 and 28, as in the paper.",
    )  # fmt: skip


def converges(curves: Curves) -> Claim:
    ends = list(curves.each("reception", 1.0))
    low = min(ends, key=lambda line: line.mean)
    return claim(
        "services-converge", "6.2.2, Figs 19 and 20",
        "All three approaches converge to a reception of 100 %, in d and in the root.",
        f"at least {measured_share(low)} of the processes when everybody elects itself",
        low, all(line.mean + line.ci95 >= ALL for line in ends),
        "The lowest of the six means; the interval of each must reach 100 %.",
    )  # fmt: skip


def good_when_low(curves: Curves) -> Claim:
    low, lowest = ([curves.at(V3, group, "reception", climb) for group in ABOVE] for climb in (LOW, CLIMBS[0]))
    return claim(
        "services-low", "6.2.2, Figs 19 and 20",
        "The structured approach ensures very good results even for a low chance of climbing.",
        f"at 10 %: d {measured_share(low[0])}, root {measured_share(low[1])}; "
        f"at 1 %: {measured_share(lowest[0])}, {measured_share(lowest[1])}",
        low[1], all(line.mean - line.ci95 >= HIGH for line in low),
        f"Judged at 10 %, which the paper calls low: at least {share(HIGH)} in both. With 1 %, nobody at all of "
        f"79 elects "
        f"itself in {share(0.99**79)} of runs, whatever the tables.",
    )  # fmt: skip


def converges_fastest(curves: Curves) -> Claim:
    orders = [curves.order(V3, other, "reception") for other in (V1, V2)]
    better, worse = ([at for order in orders for at in order[side]] for side in (0, 1))
    return claim(
        "services-fastest", "6.2.2, Figs 19 and 20", "The structured approach converges the fastest.",
        f"better than another one at {len(better)} points, worse at {len(worse)}; at 10 % in the root: "
        + named(lambda name: curves.at(name, ROOT, "reception", LOW)),
        curves.at(V3, ROOT, "reception", LOW), bool(better) and not worse,
        f"Reception, intervals apart, against both. Better at {', '.join(better) or 'none'}; worse at "
        f"{', '.join(worse) or 'none'}.",
    )  # fmt: skip


def more_upward_reaches_more(curves: Curves) -> Claim:
    rows = [curves.curve(name, group, "reception") for group in ABOVE for name in NAMES]
    rising = all(not_below(after, before) for row in rows for before, after in pairwise(row))
    return claim(
        "services-reception-rises", "6.2.2, Figs 19 and 20",
        "More upward messages reach more processes of the community above.",
        "in the root from 1 % to 100 %: " + named(lambda name: curves.at(name, ROOT, "reception", CLIMBS[0])) + " → "
        + named(lambda name: curves.at(name, ROOT, "reception", 1.0)),
        rows[-1][0], rising and all(above(row[-1], row[0]) for row in rows),
        "No step of any of the six curves goes down, intervals allowed for, and each ends above where it began.",
    )  # fmt: skip


def first_two_differ(curves: Curves) -> Claim:
    better, worse = curves.order(V1, V2, "reception")
    below = [at for at in (*better, *worse) if float(at.rpartition(" ")[2]) < 0.5]
    return claim(
        "services-v1-v2", "6.2.2, Figs 19 and 20",
        "Below a chance of 0.5, unstructured and semi-structured perform differently.",
        f"apart at {len(below)} of {2 * sum(climb < 0.5 for climb in CLIMBS)} points below 0.5; at 10 % in d: "
        + named(lambda name: curves.at(name, MIDDLE, "reception", LOW)),
        curves.at(V2, MIDDLE, "reception", LOW), bool(below),
        f"Unstructured is better at {', '.join(better) or 'none'}, worse at {', '.join(worse) or 'none'}, "
        f"intervals apart. "
        "The paper averages 10 and 5 experiments, whose intervals are several times as wide.",
    )  # fmt: skip


def reliable_when_low(curves: Curves) -> Claim:
    lines = list(curves.each("reliability", LOW))
    return claim(
        "services-reliability", "6.2.2, Figs 21 and 22",
        "Reliability is very high for all approaches, even with a chance of 0.1.",
        "d: " + named(lambda name: curves.at(name, MIDDLE, "reliability", LOW)) + "; root: "
        + named(lambda name: curves.at(name, ROOT, "reliability", LOW)),
        lines[0], all(line.mean - line.ci95 >= HIGH for line in lines),
        f"Share of runs in which every process of the community got the event (4.5), at least {share(HIGH)} "
        f"wanted. c = 0: "
        "the paper's own e^-e^-c is 37 % for one community by gossip alone; what comes from below adds to that. Its "
        "figures may show shares of processes: those are 'reception'.",
    )  # fmt: skip


def complete_once_there(curves: Curves) -> Claim:
    def given(name: str, group: str) -> float:
        below = BOTTOM if group == MIDDLE else MIDDLE
        return curves.at(name, group, "reliability", LOW).mean / curves.at(name, below, "crossed", LOW).mean

    shares = {(name, group): given(name, group) for group in ABOVE for name in NAMES}
    return claim(
        "services-once-there", "6.2.2",
        "Once an event came to a community, it is highly likely to come to all its processes.",
        "; ".join(
            f"{'d' if group == MIDDLE else 'root'}: "
            f"" + " · ".join(f"{name} {share(shares[name, group])}" for name in NAMES)
            for group in ABOVE
        ),
        curves.at(V3, MIDDLE, "reliability", LOW), all(value >= HIGH for value in shares.values()),
        f"At a chance of 0.1: runs in which all got it, of those in which it came at all. At least {share(HIGH)} "
        f"wanted.",
    )  # fmt: skip


def seven_percent(curves: Curves) -> Claim:
    lines = [curves.at(name, group, "reliability", 0.07) for name in NAMES for group in (BOTTOM, *ABOVE)]
    crossed = curves.at(V3, MIDDLE, "crossed", 0.07)
    return Claim(
        id="headline-7-percent",
        where="1.4; 7",
        paper_says="Communities of 80, 30 and 7: 100 % reliability while 7 % of the processes carry events upwards.",
        ours="root complete in " + named(lambda name: curves.at(name, ROOT, "reliability", 0.07)) + " of runs",
        ci95=lines[-1].ci95,
        runs=lines[-1].runs,
        verdict=verdict(all(line.mean + line.ci95 >= 1 for line in lines)),
        why="Reliability is a probability: that every process gets the event. 7 % is p_sel; of 28 processes that "
        "is two on "
        f"average, and none at all in {share(0.93**28)} of runs: structured, something comes to the root in "
        f"{share(crossed.mean)}. The paper averages 5 to 10 experiments, too few to see it.",
    )


def as_good_as_uniform(curves: Curves) -> Claim:
    """Four standard errors of the difference, at every chance, in d and in the root."""

    def apart(group: str, metric: str, climb: float) -> float:
        ours, ideal = curves.at(V3, group, metric, climb), curves.uniform(group, metric, climb)
        error = hypot(ours.ci95, ideal.ci95) / Z95
        return (ours.mean - ideal.mean) / error if error else 0.0

    found = {
        f"{metric} in {group} at {climb:g}": apart(group, metric, climb)
        for metric in ("reception", "reliability")
        for group in ABOVE
        for climb in CLIMBS
    }
    off = [f"{at} ({value:+.1f})" for at, value in found.items() if abs(value) > 4]
    most = max(found, key=lambda at: abs(found[at]))
    return claim(
        "services-uniform", "5.2.3; 6.2.2", "The structured overlay gives uniform random membership tables.",
        f"at most {abs(found[most]):.1f} standard errors from fixed uniform tables ({most})",
        curves.at(V3, ROOT, "reliability", LOW), not off,
        "Reception and reliability in d and in the root at seven chances, beside the same events on tables drawn "
        "uniformly; "
        f"within 4 standard errors counts as the same{'' if not off else '. Outside: ' + ', '.join(off)}.",
    )  # fmt: skip
