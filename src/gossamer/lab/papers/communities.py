"""What both papers on the one algorithm claim. A claim is told its experiment, so each paper brings its own."""

import math
from itertools import pairwise

from gossamer.lab.book import ALL, Book
from gossamer.lab.claims import Claim, number, share, verdict
from gossamer.protocols.camcast import theory

BOTTOM, MIDDLE, ROOT = ".d.g", ".d", "."
SIZES = (10, 100, 1000)
CRASHED = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
EXTRA, ELECTORS, LINKS, TARGETS, SUCCESS = 5.0, 5.0, 3, 1.0, 0.85


def no_parasites(book: Book, where: str, id: str = "no-parasites") -> Claim:
    """Every run of every experiment of the algorithm itself."""
    lines = [line for line in book if line.metric == "parasites" and line.group == ALL]
    own = [line for line in lines if line.point.get("case", "camcast").startswith("camcast")]
    worst, runs = max(line.max for line in own), sum(line.runs for line in own)
    return Claim(
        id=id,
        where=where,
        paper_says="No process ever receives an event of a community it is not part of: 0 parasites.",
        ours=f"{worst:.0f} in the worst of {runs:,} runs",
        runs=runs,
        verdict=verdict(worst == 0),
        why="Every copy that arrives is counted at a process that neither subscribes to nor publishes on an "
        "including topic.",
    )


def messages_in_order(book: Book, experiment: str, where: str) -> Claim:
    lines = book.series(experiment, ".g", "sent_intra")
    sizes = [next(iter(line.point.values())) for line in lines]
    ratios = [line.mean / (size * math.log(size)) for line, size in zip(lines, sizes, strict=True)]
    bounded = all(line.mean <= size * (math.log(size) + EXTRA) + 1e-9 for line, size in zip(lines, sizes, strict=True))
    falling = all(later <= earlier * 1.05 for earlier, later in pairwise(ratios))
    return Claim(
        id="messages-n-ln-n",
        where=where,
        paper_says="Messages inside a community are of order N ln N, at most N (ln N + c).",
        ours=f"messages / (N ln N) = {ratios[0]:.2f} at N = {sizes[0]} … {ratios[-1]:.2f} at N = {sizes[-1]:,}",
        runs=sum(line.runs for line in lines),
        verdict=verdict(bounded and falling),
        why="The ratio falls towards 1 as c matters less; no mean exceeds the bound. The fanout is floor(ln N + c).",
    )


def upward_about_five(book: Book, experiment: str, where: str) -> Claim:
    line = book.find(experiment, BOTTOM, "sent_up", fraction=0.0)
    return Claim(
        id="upward-messages",
        where=where,
        paper_says="About g · a = 5 upward messages leave the bottom community without crashes, whatever its size.",
        ours=number(line.mean),
        ci95=line.ci95,
        runs=line.runs,
        verdict=verdict(abs(line.mean - ELECTORS * TARGETS) <= max(0.05 * ELECTORS, line.ci95)),
        why="N processes each elect themselves with chance g/N and then tell each of z links with chance a/z.",
    )


def half_crashed_still_climbs(book: Book, experiment: str, where: str) -> Claim:
    sent = [book.find(experiment, group, "sent_up", fraction=0.5) for group in (BOTTOM, MIDDLE)]
    none = [1 - book.find(experiment, group, "climbed", fraction=0.5).mean for group in (BOTTOM, MIDDLE)]
    return Claim(
        id="half-crashed-climbs",
        where=where,
        paper_says="Even if almost half of the processes fail, at least one event is sent to the community above.",
        ours=f"{sent[0].mean:.2f} from {BOTTOM} and {sent[1].mean:.2f} from {MIDDLE}, on average",
        ci95=sent[0].ci95,
        runs=sent[0].runs,
        verdict=verdict(all(line.mean >= 1 for line in sent)),
        why=f"True of the averages the figure shows. In {share(none[0])} of runs nothing left {BOTTOM}, "
        f"in {share(none[1])} nothing left {MIDDLE}: an average above 1 does not mean one each time.",
    )


def lower_is_surer(book: Book, experiment: str, metric: str, id: str, where: str, says: str) -> Claim:
    """The bottom community does at least as well as the middle, the middle as the root."""
    rows = [[book.find(experiment, g, metric, fraction=f) for g in (BOTTOM, MIDDLE, ROOT)] for f in CRASHED]
    kept = [all(a.mean + a.ci95 >= b.mean - b.ci95 for a, b in pairwise(row)) for row in rows]
    at = rows[3]
    where_not = [f"{fraction:.0%}" for fraction, holds in zip(CRASHED, kept, strict=True) if not holds]
    return Claim(
        id=id,
        where=where,
        paper_says=says,
        ours="at 30 % crashed: " + " / ".join(f"{line.group} {share(line.mean)}" for line in at),
        ci95=at[2].ci95,
        runs=at[2].runs,
        verdict=verdict(not where_not),
        why="The order holds at every crash fraction, intervals allowed for."
        if not where_not
        else f"The order breaks at {', '.join(where_not)} crashed: a large community needs every one of its many "
        "processes, so when fewer are alive its own gossip misses somebody sooner than a small community's does.",
    )


def dynamic_is_milder(book: Book, still: str, dynamic: str, metric: str, id: str, where: str) -> Claim:
    pairs = [
        (book.find(still, group, metric, fraction=f), book.find(dynamic, group, metric, fraction=f))
        for group in (BOTTOM, MIDDLE, ROOT)
        for f in CRASHED[1:]
    ]
    worse = [(s, d) for s, d in pairs if d.mean + d.ci95 < s.mean - s.ci95]
    at = [pair for pair in pairs if pair[0].point["faults.fraction"] == 0.3]
    return Claim(
        id=id,
        where=where,
        paper_says="Much better results when a process appears crashed to some and alive to others than when it "
        "is crashed.",
        ours="at 30 %, crashed → appearing so: "
        + " · ".join(f"{s.group} {share(s.mean)} → {share(d.mean)}" for s, d in at),
        ci95=at[-1][1].ci95,
        runs=at[-1][1].runs,
        verdict=verdict(not worse),
        why="Better or equal in every community at every fraction, intervals allowed for."
        if not worse
        else "Worse at "
        + ", ".join(f"{s.group} {s.point['faults.fraction']:.0%}" for s, _ in worse)
        + ": every process must still be reached there, while stillborn ones need not be.",
    )


def climbing_probability(book: Book, experiment: str, where: str) -> Claim:
    line = book.find(experiment, BOTTOM, "crossed", fraction=0.0)
    paper = theory.climb_paper(1000, ELECTORS, LINKS, TARGETS, SUCCESS)
    exact = theory.climb(1000, ELECTORS, LINKS, TARGETS, SUCCESS)
    return Claim(
        id="pit",
        where=where,
        paper_says="An event reaches the community above with probability pit = 1 - (1 - p_succ)^(g a) = "
        f"{share(paper)}.",
        ours=share(line.mean),
        ci95=line.ci95,
        runs=line.runs,
        verdict=verdict(abs(line.mean - paper) <= line.ci95),
        why="The formula puts a mean count into an exponent. Summed over how many really elect themselves and "
        "how many "
        f"links they tell, the probability is {share(exact)}, which is what we measure.",
    )


def hierarchy_reliability(book: Book, experiment: str, where: str) -> Claim:
    line = book.find(experiment, ROOT, "reliability", fraction=0.0)
    paper = theory.reliability_paper(SIZES, EXTRA, ELECTORS, LINKS, TARGETS, SUCCESS)
    exact = theory.reliability(SIZES, EXTRA, ELECTORS, LINKS, TARGETS, SUCCESS)
    return Claim(
        id="reliability-formula",
        where=where,
        paper_says=f"All processes of all levels receive an event of the bottom topic with probability {share(paper)}.",
        ours=f"{share(line.mean)} for the root community alone",
        ci95=line.ci95,
        runs=line.runs,
        verdict=verdict(abs(line.mean - paper) <= line.ci95),
        why=f"e^-e^-c ignores loss and the floor of the fanout, and pit is optimistic: with both put right the "
        f"probability that all three levels are complete is {share(exact)}.",
    )


def single_topic_unchanged(book: Book, experiment: str, where: str) -> Claim:
    metrics = ("reception", "reliability", "sent_intra", "rounds_last")
    pairs = [
        (
            book.find(experiment, ".g", m, case="camcast", fraction=f),
            book.find(experiment, ".g", m, case="bare gossip", fraction=f),
        )
        for m in metrics
        for f in CRASHED
    ]
    different = [a for a, b in pairs if not math.isclose(a.mean, b.mean, rel_tol=1e-12)]
    return Claim(
        id="single-topic",
        where=where,
        paper_says="With a single topic there is no degradation against the bare membership protocol's gossip.",
        ours=f"{len(different)} of {len(pairs)} means differ, same seeds",
        runs=pairs[0][0].runs,
        verdict=verdict(not different),
        why="Not only no worse: with the same draws it is the same run, message by message (means agree to 12 digits).",
    )


def memory_by_level(book: Book, experiment: str, where: str, says: str, against: tuple[str, ...]) -> Claim:
    """Table entries per process of each level, beside those of the baselines."""
    mine = {g: book.find(experiment, g, "memory", case="camcast", fraction=0.0).mean for g in (BOTTOM, MIDDLE, ROOT)}
    larger: list[str] = []
    for case in against:
        for group, entries in mine.items():
            theirs = book.find(experiment, group, "memory", case=case, fraction=0.0).mean
            if entries >= theirs:
                larger.append(f"{group} keeps {entries:.1f} entries, {case} {theirs:.1f}")
    return Claim(
        id="memory-smaller",
        where=where,
        paper_says=says,
        ours=" · ".join(f"{group} {entries:.1f}" for group, entries in mine.items()) + " entries",
        verdict=verdict(not larger),
        why="True of every level." if not larger else "Not of every level: " + "; ".join(larger) + ".",
    )
