"""The analytic comparisons of both papers, as tables, with the formulas put right beside the printed ones."""

import math

from gossamer.lab.book import ALL, Book
from gossamer.lab.claims import number, share
from gossamer.lab.figures import Reference, lines
from gossamer.lab.papers import Part
from gossamer.lab.papers.communities import BOTTOM, ELECTORS, EXTRA, LINKS, MIDDLE, ROOT, SIZES, SUCCESS, TARGETS
from gossamer.protocols.camcast import comparisons, theory

CASES = ("camcast", "gossip broadcast", "gossip multicast", "hierarchical broadcast")


def approaches(book: Book, baselines: str, middle: str) -> Part:
    """Messages, parasites, memory and reception of the four approaches, as measured."""
    rows = []
    for case in CASES:
        bottom = book.find(baselines, ALL, "messages", case=case, fraction=0.0)
        aside = book.find(middle, ALL, "parasites", case=case)
        entries = [book.find(baselines, g, "memory", case=case, fraction=0.0).mean for g in (ROOT, MIDDLE, BOTTOM)]
        reached = [book.find(baselines, g, "reception", case=case, fraction=0.3).mean for g in (ROOT, MIDDLE, BOTTOM)]
        rows.append(
            (
                case,
                number(bottom.mean),
                number(aside.mean),
                " / ".join(f"{each:.1f}" for each in entries),
                " / ".join(share(each) for each in reached),
            )
        )
    return Part(
        "CAMCAST beside the alternatives",
        "Messages of an event of the bottom topic; parasite copies of an event of the middle topic; table entries per "
        "process and share of live processes reached with 30 % stillborn (root / middle / bottom).",
        ("approach", "messages", "parasites", "memory", "reached at 30 % crashed"),
        tuple(rows),
    )


def formulas(book: Book, experiment: str) -> Part:
    """The papers' closed forms, the corrected ones, and what was measured."""
    measured = {
        "messages": book.find(experiment, ALL, "messages", case="camcast", fraction=0.0).mean,
        "crossed": book.find(experiment, BOTTOM, "crossed", case="camcast", fraction=0.0).mean,
        "reliable": book.find(experiment, BOTTOM, "reliability", case="camcast", fraction=0.0).mean,
    }
    given = (ELECTORS, LINKS, TARGETS)
    inside = math.floor(math.log(1000) + EXTRA)
    rows = (
        (
            "messages of a bottom event (eq. 1)",
            number(comparisons.total_messages_paper(SIZES, EXTRA, *given, SUCCESS)),
            number(comparisons.total_messages(SIZES, EXTRA, *given)),
            number(measured["messages"]),
        ),
        (
            "climbs from the bottom (pit)",
            share(theory.climb_paper(1000, *given, SUCCESS)),
            share(theory.climb(1000, *given, SUCCESS)),
            share(measured["crossed"]),
        ),
        (
            "everybody of the bottom reached",
            share(theory.all_reached_paper(EXTRA)),
            share(theory.all_reached_exact(1000, inside, SUCCESS, 1000)),
            share(measured["reliable"]),
        ),
        (
            "rounds, average case (eq. 12)",
            f"{theory.latency_average_paper(SIZES):.2f} + O(1)",
            f"{theory.latency_average(SIZES):.2f} + O(1)",
            number(book.find(experiment, ALL, "rounds_last", case="camcast", fraction=0.0).mean),
        ),
    )
    return Part(
        "Closed formulas",
        "As printed, put right, and measured (communities of 1,000, 100 and 10; c = 5, g = 5, a = 1, z = 3, "
        "p_succ = 0.85).",
        ("quantity", "printed", "put right", "measured"),
        rows,
    )


def conditions() -> Part:
    """For which c the algorithm can be as reliable as each alternative, and how many links still save memory."""
    levels, size, groups = 3, 100, 10
    climb = theory.climb(size, ELECTORS, LINKS, TARGETS, SUCCESS)
    rows = []
    for label, terms in (
        ("gossip broadcast (a)", 1),
        ("gossip multicast (b)", levels),
        ("hierarchical (c)", groups + 1),
    ):
        low, high = comparisons.matching_range(terms, levels, climb)
        c = max(0.0, low) + 0.5 * (high - max(0.0, low))
        needed = comparisons.matching_extra(terms, c, levels, climb)
        bound = {
            1: comparisons.links_below_broadcast(10 * levels * size, size, c, levels, climb),
            levels: comparisons.links_below_multicast(size, c, levels, climb),
            groups + 1: comparisons.links_below_hierarchical(groups, size, size, c, levels, climb),
        }[terms]
        rows.append((label, f"{max(0.0, low):.2f} ≤ c < {high:.2f}", f"{c:.2f} → {needed:.2f}", f"{bound:.2f}"))
    return Part(
        "When the algorithm is as reliable as the alternatives",
        f"Three levels of 100 processes, with the exact probability of climbing ({share(climb)}) in place of "
        "pit. Within the "
        "range of the alternative's c there is a c for the algorithm that gives the same reliability; with fewer "
        "links than "
        "in the last column it then also keeps fewer table entries.",
        ("alternative", "range of its c", "its c → ours", "links z below"),
        tuple(rows),
    )


def unrelated_topics() -> Part:
    """001 4.4.2: k tables of their own, or one common super-topic and its unwanted events."""
    topics, size = 20, 100
    union = topics * size
    ks = list(range(1, topics + 1))
    apart = [k * (math.log(size) + EXTRA + LINKS) for k in ks]
    common = [math.log(union) + EXTRA for _ in ks]
    unwanted = [(topics - k) / topics for k in ks]
    shown = [{"point": {"k": k}, "group": "k topics", "metric": "entries", "mean": each, "ci95": 0.0, "p50": each,
              "p99": each, "max": each, "runs": 1} for k, each in zip(ks, apart, strict=True)]  # fmt: skip
    figure = lines(
        shown,
        name="unrelated",
        title="Table entries of a process that wants k of 20 topics",
        x="k",
        metric="entries",
        x_label="Topics it wants, of 20 under one super-topic",
        y_label="Table entries",
        references=(Reference("one common super-topic", ks, common),),
    )
    picked = (1, 2, 5, 10, 20)
    return Part(
        "k unrelated topics, or one common super-topic",
        "A process that wants k of 20 topics of 100 processes each may join k communities (k topic tables, k "
        "super-topic "
        "tables, nothing unwanted), or subscribe to the super-topic (one table), and then also receives every "
        "event of the "
        "other topics. These are events it asked for by that subscription, so they are not parasites; here is "
        "the price.",
        ("k", "entries, k communities", "entries, common super-topic", "events it did not want"),
        tuple((str(k), f"{apart[k - 1]:.1f}", f"{common[k - 1]:.1f}", share(unwanted[k - 1])) for k in picked),
        (figure,),
    )
