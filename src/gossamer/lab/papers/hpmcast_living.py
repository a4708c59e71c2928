"""What the paper on hpmcast says about its membership (3.3, 4.2, 6.3.2, 7), judged by living participants."""

from itertools import pairwise

from gossamer.lab.book import Book
from gossamer.lab.claims import Claim, above, measured, measured_share, not_below
from gossamer.lab.papers.hpmcast_words import at, judged, nines, one, percent, told

DISTANCES = (1, 2, 3)
ASKED = (1, 2, 8)
LASTING = 0.95


def close_contact(book: Book) -> Claim:
    rows = {
        (what, r): [one(book, "joining", f"join_{what}_{far}", delegates=r) for far in DISTANCES]
        for what in ("ms", "messages")
        for r in (1, 2, 3)
    }
    lost = at(book, "joining", "lost_newcomers")
    return judged(
        "close-contact", "4.2.1",
        "If the becoming participant contacts a close participant, joining completes faster and induces less overhead.",
        "contact at distance 1, 2, 3: "
        + "; ".join(f"{', '.join(map(measured, lines))} {what} (R = {r})" for (what, r), lines in rows.items())
        + f"; not done after two seconds: {percent(max(line.max for line in lost))} at most",
        all(above(far, near) for lines in rows.values() for near, far in pairwise(lines))
        and all(line.max == 0 for line in lost),
        "64 living participants on three levels, 15 newcomers in each run. With 1, 2 and 3 delegates each level "
        "farther must take more time and more messages, intervals apart: until a newcomer has a line for every "
        "neighbour and every subsystem in its views, and its requests with all they made others send. Nobody may need "
        "more than two seconds: times are of those who are done by then. A message takes 1, 5 or 25 ms.",
        rows["messages", 3][-1],
    )  # fmt: skip


def every_failure_noticed(book: Book) -> bool:
    """Times until failures are noticed are of those that are."""
    return all(line.max == 0 for line in at(book, "detection", "unnoticed"))


def close_detection(book: Book) -> Claim:
    wrong, soon = (
        {
            asks: [one(book, "detection", metric, addresses=how, asks=asks) for how in ("near", "drawn")]
            for asks in ASKED
        }
        for metric in ("mistaken", "gone_s_level_1")
    )
    return judged(
        "close-detection", "4.2.1",
        "Detecting failures makes sense at the lowest level, where neighbours are close: the reduced latency makes it "
        "more accurate.",
        "living neighbours given up, per participant and hour: "
        + "; ".join(f"{measured(a)}, scattered {measured(b)} ({asks} asked)" for asks, (a, b) in wrong.items())
        + ". Seconds until a failure is gone from level 1: "
        + "; ".join(f"{measured(a)}, {measured(b)}" for a, b in soon.values()),
        above(wrong[1][1], wrong[1][0])
        and every_failure_noticed(book)
        and all(not_below(b, a) for lines in (wrong, soon) for a, b in lines.values()),
        "The same network, once with neighbours in it as neighbours in the hierarchy and once with addresses drawn; a "
        "message takes 1, 10 or 100 ms. Where one question in vain is enough, fewer of the living must be given up, "
        "intervals apart; with no number of questions may there be more of them, or a failure be noticed later, "
        "intervals allowed for, and none never. Whoever asks eight times, as we do, makes up for distance.",
        wrong[1][1],
    )  # fmt: skip


def failures_travel(book: Book) -> Claim:
    lines = [one(book, "detection", f"gone_s_level_{level}", addresses="near", asks=8) for level in (1, 2, 3)]
    return judged(
        "failures-travel", "6.3.2",
        "If a participant of a higher level fails, the information about its failure has to travel over more levels.",
        "seconds until it stands in nobody's view of level 1, 2, 3: " + ", ".join(map(measured, lines)),
        all(above(b, a) for a, b in pairwise(lines)) and every_failure_noticed(book),
        "64 living participants, 9 failures in each run, of those that stand on level 1 alone, up to 2 and up to 3 by "
        "turns. Every level must take longer than the one below, intervals apart, and every failure be gone from all "
        "views in the end.", lines[-1],
    )  # fmt: skip


def locality_and_redundancy(book: Book) -> Claim:
    rows = {
        (metric, local): [one(book, "locality", metric, addresses=how, local=local) for how in ("near", "alike")]
        for metric in ("way_ms", "interest_level_2")
        for local in (0.0, 1.0)
    }
    (near_way, alike_way), (near_lines, alike_lines) = rows["way_ms", 0.0], rows["interest_level_2", 0.0]
    same_way, same_lines = rows["way_ms", 1.0], rows["interest_level_2", 1.0]
    return judged(
        "locality-and-redundancy", "3.3",
        "Redundancy competes to some extent with locality: close neighbours do not necessarily have close interests, "
        "and a scheme relying on one of the two might rule out the exploiting of the other.",
        f"interests that have nothing to do with places: a copy travels {measured(near_way)} ms where addresses follow "
        f"places, {measured(alike_way)} where they follow interests; it concerns {measured_share(near_lines)} and "
        f"{measured_share(alike_lines)} of the lowest groups. Where neighbours want the same: "
        f"{measured(same_way[0])} and {measured(same_way[1])} ms, {measured_share(same_lines[0])} and "
        f"{measured_share(same_lines[1])}",
        above(alike_way, near_way) and above(near_lines, alike_lines),
        "64 living participants, six topics, p1 = 0.1. With interests drawn without regard to places, addresses that "
        "follow places must make ways shorter, and addresses that follow interests must let an event concern fewer "
        "lowest groups, each than the other, intervals apart.", near_lines,
    )  # fmt: skip


def chosen_by_pattern(book: Book) -> Claim:
    plain, covering = (at(book, "choice", "spurious", choice=how) for how in ("address", "coverage"))
    return judged(
        "chosen-by-pattern", "4.2.2",
        "Delegates can be chosen by the nature of their subscription patterns, to reduce pure forwarding: handling "
        "events without being interested in them.",
        f"uninterested that get an event, by address: {told(plain, 'interest', percent)}; by what they cover: "
        f"{told(covering, 'interest', percent)}",
        all(above(a, b) for a, b in zip(plain, covering, strict=True)),
        "72 living participants, two delegates for each group of eight, six topics. For every p1 fewer of the "
        "uninterested must get an event where delegates are those whose patterns cover most of their group's, "
        "intervals apart.", covering[-1],
    )  # fmt: skip


def lives_with_churn(book: Book) -> Claim:
    lines = at(book, "churn", "delivery")
    views = at(book, "churn", "views_right")
    return judged(
        "strongly-dynamic", "7",
        "hpmcast abides well to strongly dynamic settings.",
        f"reached, by the seconds a participant stays up: {told(lines, 'up_s', nines)}; all views right: "
        f"{told(views, 'up_s', percent)}",
        all(line.mean - line.ci95 >= LASTING for line in lines),
        "64 living participants that crash and are back 15 s later on average, few told at once (direct = 16), nothing "
        f"found again. Of those up throughout {percent(LASTING)} must get an event, interval allowed for, however "
        "short lives are.", lines[0],
    )  # fmt: skip
