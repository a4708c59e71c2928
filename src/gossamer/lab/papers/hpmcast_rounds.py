"""What the paper on hpmcast says about how long events are gossiped: for rounds that are fixed (3.4), or reckoned from
the share that is to be reached (5.4.1)."""

from functools import cache
from itertools import pairwise

from gossamer.lab.book import Book
from gossamer.lab.claims import Claim, above
from gossamer.lab.papers.hpmcast_words import LEVELS, PARTICIPANTS, F, R, at, judged, one, percent, told
from gossamer.protocols.hpmcast import theory

T = 21
"Rounds that (9) asks for where half of the participants are interested."
SMALL = (0.005, 0.01, 0.02, 0.05, 0.1)
CLOSE = 0.05


@cache
def predicted(interest: float) -> float:
    """What the chain says of pmcast after T rounds."""
    wanted = round(PARTICIPANTS * interest)
    return theory.expected(theory.spread(wanted, theory.reach(PARTICIPANTS, F), T, 0, 1)) / wanted


def fixed_rounds(book: Book) -> Claim:
    lines, needed = (at(book, "fixed", "delivery", rounds=rounds) for rounds in (T, 0))
    off = max(abs(line.mean - predicted(line.point["workload.interest"])) for line in lines)
    at_a_tenth = one(book, "fixed", "delivery", rounds=T, interest=0.1)
    return judged(
        "fixed-rounds-weaken", "3.4",
        "By fixing the number of rounds an event can spend in the system, one ends up with considerably weaker "
        "reliability for events with a small audience.",
        f"pmcast with {T} rounds for every event: {told(lines, 'interest', percent)}; with as many as each asks for: "
        f"{told(needed, 'interest', percent)}",
        all(above(b, a) for a, b in pairwise(lines)) and at_a_tenth.mean < 0.5
        and all(above(many, few) for few, many in zip(lines[:3], needed[:3], strict=True)),
        f"{T} rounds are what p1 = 0.5 needs. With them the share reached must fall with p1, intervals apart, be below "
        "half at 0.1, and lie below that of as many rounds as the audience asks for, for p1 up to 0.1. The chain is "
        f"{100 * off:.1f} points off at most.", at_a_tenth,
    )  # fmt: skip


def reckoned_from_reliability(book: Book) -> Claim:
    rows = {p: [one(book, "target", "delivery", reliability=share, interest=p) for share in (0.0, 0.99)] for p in SMALL}
    spent = [[one(book, "target", metric, reliability=share, interest=0.01).mean for share in (0.0, 0.9, 0.99)]
             for metric in ("messages", "rounds")]  # fmt: skip
    hundredth = rows[0.01][1]
    return judged(
        "rounds-by-reliability", "5.4.1",
        "The behaviour for small p1 can be improved by another approximation of the number of rounds, associated with "
        "an expected reliability degree.",
        " · ".join(f"{percent(a.mean)} → {percent(b.mean)} (p1 = {p:g})" for p, (a, b) in rows.items()),
        all(above(b, a) for a, b in rows.values()) and hundredth.mean > 0.97,
        "With a degree of 0.99 more must be reached for every p1 up to 0.1, intervals apart, and above 97 % at p1 = "
        "0.01. There, by the asymptote, with 0.9 and with 0.99: "
        f"{', '.join(f'{each:,.0f}' for each in spent[0])} messages, {', '.join(f'{each:.0f}' for each in spent[1])} "
        "rounds. Rounds are those of an epidemic of means that one participant begins.", hundredth,
    )  # fmt: skip


def reliability_degree(book: Book) -> Claim:
    degrees = {share: share * (1 - (1 - share) ** R) ** (LEVELS - 1) for share in (0.9, 0.99)}
    rows = {share: at(book, "target", "delivery", reliability=share) for share in degrees}
    off = max(abs(line.mean - degrees[share]) for share, lines in rows.items() for line in lines)
    return judged(
        "reliability-degree", "5.4.1, footnote 10; (23)",
        "With such an approach the share infected in (23) can be directly replaced by the expected reliability degree.",
        "; ".join(f"degree {share:g}: {percent(degrees[share])} by (23) and the product of all r_i, measured "
                  f"{told(lines, 'interest', percent)}" for share, lines in rows.items()),
        off <= CLOSE,
        f"For every p1 from 0.005 to 0.5 the formula must be within {100 * CLOSE:g} points of what is measured; it is "
        f"{100 * off:.1f} points off at most. More is reached than the degree says where R delegates have the event "
        "when a subsystem begins, and rounds are reckoned for one.", rows[0.9][0],
    )  # fmt: skip
