"""What the paper on hpmcast says about who is reached: its simulations (5.3) and the floor under an audience (5.4)."""

from itertools import pairwise

from gossamer.lab.book import Book, Line
from gossamer.lab.claims import Claim, above, measured, measured_share, not_below, number, verdict
from gossamer.lab.papers.hpmcast_words import A, R, at, judged, nines, one, percent, told
from gossamer.protocols.hpmcast.shape import Shape

DEPTHS = ("1", "2", "3", "4", "6")
"Of 4,096 participants."


def good_overall(book: Book) -> Claim:
    lines = [line for line in at(book, "fig7", "delivery") if line.point["workload.interest"] >= 0.3]
    least = min(lines, key=lambda line: line.mean)
    return judged(
        "fig7-good-overall", "5.3.1, Fig. 7",
        "Over p1 there is a very good overall degree of reliability.",
        told(lines, "interest", nines), all(line.mean - line.ci95 >= 0.97 for line in lines),
        "From p1 = 0.3 on at least 97 % of the interested must be reached, interval allowed for. The least is "
        f"{measured_share(least)}.", least,
    )  # fmt: skip


def falls_for_small_interest(book: Book) -> Claim:
    lines = at(book, "fig8", "delivery")
    low, high = one(book, "fig8", "delivery", interest=0.01), one(book, "fig8", "delivery", interest=0.2)
    rises = all(not_below(b, a) for a, b in pairwise(lines))
    return judged(
        "fig8-falls", "5.3.1, Fig. 8",
        "Reliability decreases with small values of p1.",
        told(lines, "interest", percent), rises and above(high, low) and low.mean < 0.5,
        "The share reached must never fall from one p1 to the next larger, intervals allowed for, and be below half "
        "at p1 = 0.01.", low,
    )  # fmt: skip


def lowest_level_fails_first(book: Book) -> Claim:
    plain, lan = (one(book, "lowest", "delivery", lan=lan, interest=0.01) for lan in (0, A))
    regained = (lan.mean - plain.mean) / (1 - plain.mean)
    return judged(
        "lowest-level-first", "5.3.1",
        "Higher levels are less prone to this effect; the lowest level is most likely to reach critically low sizes.",
        f"p1 = 0.01: {measured_share(plain)} with gossip on all levels, {measured_share(lan)} where the lowest groups "
        "are told at once instead",
        regained > 0.5,
        "More than half of what is missing must come back when only the lowest level is replaced. It is "
        f"{percent(regained)} of it; the levels above lose the rest.", lan,
    )  # fmt: skip


def fanout_saves_rounds(book: Book) -> Claim:
    rounds = at(book, "fig10", "rounds")
    strict = verdict(all(above(a, b) for a, b in pairwise(rounds)))
    return judged(
        "fanout-saves-rounds", "5.3.2",
        "Increasing the fanout decreases the number of rounds necessary to infect the concerned participants.",
        f"rounds: {told(rounds, 'fanout')}",
        all(not_below(a, b) for a, b in pairwise(rounds)) and above(rounds[0], rounds[-1]),
        "No step in F may take more rounds, intervals allowed for, and the last must take fewer than the first, "
        "intervals apart. Every level is gossiped in for whole rounds, so a step can leave them as they are. A "
        f"stricter rule, that every step take fewer, would say {strict}.", rounds[-1],
    )  # fmt: skip


def fanout_changes_reliability(book: Book) -> Claim:
    delivered = at(book, "fig10", "delivery")
    least, most = (choose(delivered, key=lambda line: line.mean) for choose in (min, max))
    return judged(
        "fig10-certain-impact", "5.3.2, Fig. 10",
        "The estimate of the number of rounds has a certain impact on reliability, so the fanout has.",
        told(delivered, "fanout", percent), above(most, least),
        f"The best and the worst fanout must lie apart, intervals too. p1 = 0.2: {measured_share(least)} and "
        f"{measured_share(most)}.", most,
    )  # fmt: skip


def scales(book: Book) -> Claim:
    rows = {interest: at(book, "fig11", "delivery", interest=interest) for interest in (0.2, 0.5, 1.0)}
    large = [line for lines in rows.values() for line in lines if line.point["hierarchy.branching"] >= 20]
    kept = all(lines[-1].mean > lines[0].mean - 0.01 for lines in rows.values())
    strict = all(not_below(lines[-1], lines[0]) for lines in rows.values())
    return judged(
        "fig11-scales", "5.3.3, Fig. 11",
        "hpmcast shows very good scalability properties when increasing a in a hierarchy of fixed depth.",
        "; ".join(f"p1 = {interest:g}: {told(lines, 'branching', percent)}" for interest, lines in rows.items()),
        kept and all(line.mean >= 0.97 for line in large),
        "For p1 = 0.2, 0.5 and 1 the largest hierarchy must reach no less than the smallest, up to a point, since the "
        "text itself speaks of a slight decrease; and from a = 20 on 97 % must be reached. The figure does not say "
        f"which p1 it is drawn for. A stricter rule, with nothing lost but the intervals, would say {verdict(strict)}.",
        rows[0.2][-1],
    )  # fmt: skip


def small_interest_scales_worse(book: Book) -> Claim:
    few, many = (at(book, "fig11", "delivery", interest=interest) for interest in (0.02, 0.5))
    lost, lost_many = few[0].mean - few[-1].mean, many[0].mean - many[-1].mean
    return judged(
        "fig11-small-interest", "5.3.3",
        "With a small p1 there is a slightly stronger decrease of reliability with an increased system size.",
        f"p1 = 0.02: {told(few, 'branching', percent)}", above(few[0], few[-1]) and lost > lost_many,
        "At p1 = 0.02 the largest hierarchy must lie below the smallest, intervals apart, by more than at p1 = 0.5. It "
        f"loses {100 * lost:.1f} points, at p1 = 0.5 {100 * lost_many:.1f}. " + _turn(few), few[-1],
    )  # fmt: skip


def _turn(lines: list[Line]) -> str:
    least = min(lines, key=lambda line: line.mean)
    return f"The least is at a = {least.point['hierarchy.branching']}."


def better_rounds_counteract(book: Book) -> Claim:
    rows = {interest: at(book, "fig11", "delivery", interest=interest) for interest in (0.02, 0.1, 0.2)}
    turned = {interest: above(lines[-1], min(lines, key=lambda line: line.mean)) for interest, lines in rows.items()}
    return judged(
        "fig11-counteracted", "5.3.3",
        "The effect is counteracted by the better approximation of the number of rounds with larger subsystems: more "
        "participants can even lead to a better reliability.",
        "; ".join(f"p1 = {interest:g}: {told(lines, 'branching', percent)}" for interest, lines in rows.items()),
        all(turned.values()),
        "At p1 = 0.02, 0.1 and 0.2 the largest hierarchy must lie above the worst one, intervals apart: "
        + ", ".join(f"{interest:g} {'does' if does else 'does not'}" for interest, does in turned.items()) + ".",
        rows[0.1][-1],
    )  # fmt: skip


def by_depth(book: Book, metric: str, interest: float) -> list[Line]:
    return [one(book, "depth", metric, case=case, interest=interest) for case in DEPTHS]


def no_clear_trend(book: Book) -> Claim:
    rows = {interest: by_depth(book, "delivery", interest)[1:] for interest in (0.005, 0.02, 0.1, 0.2, 0.5, 1.0)}
    falls = [interest for interest, lines in rows.items() if above(lines[0], lines[-1])]
    rises = [interest for interest, lines in rows.items() if above(lines[-1], lines[0])]
    return judged(
        "depth-no-clear-trend", "5.3.4",
        "Increasing the depth has a similar impact as decreasing p1 in certain cases, and the opposite in others: no "
        "clear trend appears.",
        "depth 2, 3, 4, 6: " + "; ".join(
            f"p1 = {interest:g}: {', '.join(percent(line.mean) for line in lines)}" for interest, lines in rows.items()
        ),
        bool(falls) and bool(rises),
        "4,096 participants. From 2 to 6 levels the share reached must fall for one p1 and rise for another, intervals "
        f"apart. It falls for p1 = {', '.join(map(str, falls)) or 'none'} and rises for "
        f"{', '.join(map(str, rises)) or 'none'}. In deep hierarchies most participants are delegates of something and "
        "are reached as such, which helps where few are interested; groups are small, which hurts.",
        rows[0.2][-1],
    )  # fmt: skip


def redundancy_helps(book: Book) -> Claim:
    lines = at(book, "fig12", "delivery", interest=0.2)
    return judged(
        "fig12-rises", "5.3.5, Fig. 12",
        "Increasing redundancy increases reliability.",
        told(lines, "delegates", percent), all(above(b, a) for a, b in pairwise(lines)),
        "p1 = 0.2. Every step in R must reach more, intervals apart. The caption says R = 3, where R is what varies.",
        lines[-1],
    )  # fmt: skip


def redundancy_saturates(book: Book) -> Claim:
    lines = at(book, "fig12", "delivery", interest=0.2)
    gains = [b.mean - a.mean for a, b in pairwise(lines)]
    return judged(
        "fig12-saturates", "5.3.5, Fig. 12",
        "When further increasing R, only little more reliability is gained.",
        "points gained by each delegate more: " + ", ".join(f"{100 * gain:.1f}" for gain in gains),
        all(later < earlier for earlier, later in pairwise(gains)) and sum(gains[2:]) < gains[0],
        "p1 = 0.2. Each further delegate must gain less than the one before, and the fourth to sixth together less "
        "than the second.", lines[-1],
    )  # fmt: skip


def redundancy_does_not_repair(book: Book) -> Claim:
    few, some = (at(book, "fig12", "delivery", interest=interest) for interest in (0.01, 0.2))
    missing = [(1 - lines[-1].mean) / (1 - lines[0].mean) for lines in (few, some)]
    return judged(
        "fig12-small-interest", "5.3.5",
        "Redundancy has less impact on the main problem encountered with small p1.",
        f"p1 = 0.01: {told(few, 'delegates', percent)}", few[-1].mean < 0.5 and missing[0] > missing[1],
        "With six delegates less than half must be reached at p1 = 0.01, and more of what one delegate missed still be "
        f"missed than at p1 = 0.2: {percent(missing[0])} and {percent(missing[1])}.", few[-1],
    )  # fmt: skip


def floor_repairs(book: Book) -> Claim:
    interests = (0.005, 0.01, 0.02, 0.05, 0.1)
    pairs = {
        interest: [one(book, "fig13", "delivery", audience_floor=floor, interest=interest) for floor in (0, 8)]
        for interest in interests
    }
    middle = pairs[0.01][1]
    return judged(
        "fig13-floor", "5.4.2, Fig. 13",
        "Adding the D first participants of a view to a small audience improves the degree of reliability.",
        " · ".join(f"{percent(a.mean)} → {percent(b.mean)} (p1 = {interest:g})" for interest, (a, b) in pairs.items()),
        all(above(b, a) for a, b in pairs.values()) and middle.mean > 0.97,
        "With D = 8 more must be reached for every p1 up to 0.1, intervals apart, and above 97 % at p1 = 0.01. The "
        "paper does not say which D its figure has.", middle,
    )  # fmt: skip


def floor_chosen(book: Book) -> Claim:
    lines = at(book, "fig13", "delivery", interest=0.01)
    return judged(
        "floor-by-simulation", "5.4.2",
        "By fixing a lower bound on the desired reliability degree, D can be obtained through simulation.",
        f"p1 = 0.01: {told(lines, 'audience_floor', percent)}",
        all(not_below(b, a) for a, b in pairwise(lines)) and above(lines[-1], lines[0]),
        "The share reached must not fall with a larger D, intervals allowed for, so that a smallest sufficient D "
        "exists.", lines[-1],
    )  # fmt: skip


def delegates_only(book: Book) -> Claim:
    lines = [line for line in at(book, "fig7", "spurious") if line.point["workload.interest"] < 1]
    most = max(lines, key=lambda line: line.mean)
    return judged(
        "only-delegates-bothered", "5.1.1",
        "A delegate can be involved in the dissemination though it is not itself interested; nobody else is.",
        f"at most {measured_share(most)} of the uninterested, R/a is {percent(R / A)}", most.mean <= 1.02 * R / A,
        "The share of the uninterested that get an event must not exceed 1.02 R/a for any p1 without a floor.", most,
    )  # fmt: skip


def all_iff_all_want(book: Book) -> Claim:
    lines = at(book, "fig7", "spurious")
    everybody = one(book, "fig7", "delivery", interest=1.0)
    reached = {
        line.point["workload.interest"]: one(book, "fig7", "delivery", interest=line.point["workload.interest"]).mean
        * line.point["workload.interest"]
        + line.mean * (1 - line.point["workload.interest"])
        for line in lines
    }
    partly = max(share for interest, share in reached.items() if interest < 1)
    return judged(
        "all-iff-all-want", "5.1.1",
        "One can expect all participants to be infected iff p1 = 1.",
        f"{measured_share(everybody)} of all at p1 = 1; at most {percent(partly)} below",
        everybody.mean > 0.99 and partly < 0.95,
        "At p1 = 1 more than 99 % of all participants must be reached, and below, up to p1 = 0.9, less than 95 %. All "
        f"to the last one were reached in {percent(one(book, 'fig7', 'reached_all', interest=1.0).mean)} of the runs.",
        everybody,
    )  # fmt: skip


def depth_costs_rounds(book: Book) -> Claim:
    lines = by_depth(book, "rounds", 1.0)
    shapes = [Shape(a, levels, R, 2) for a, levels in ((4096, 1), (64, 2), (16, 3), (8, 4), (4, 6))]
    apart = max(line.mean for line in lines) - min(line.mean for line in lines)
    return judged(
        "broadcast-depth", "6.2, (28)",
        "The depth of the hierarchy has no impact on the time it takes to broadcast an event (p1 = 1).",
        "rounds with 1, 2, 3, 4, 6 levels: " + ", ".join(number(line.mean) for line in lines), apart <= 1,
        f"The rounds must be the same to within one; they are {number(apart)} apart. (28) is right about (21), which "
        f"is {shapes[0].rounds_total(1.0):.1f} for every depth, and (21) is not what the algorithm of Figure 6 does: "
        "it gossips for T(aR, F) on every level above the lowest, as in (20), although R delegates have the event "
        f"already, and for whole rounds: {', '.join(str(shape.rounds_whole(1.0)) for shape in shapes)}.", lines[-1],
    )  # fmt: skip


def depth_is_a_compromise(book: Book) -> Claim:
    metrics = ("rounds", "delivery", "spurious", "matches_each")
    pairs = {metric: by_depth(book, metric, 0.2) for metric in metrics}
    moved = {metric: above(a, b) or above(b, a) for metric, (_, a, *_, b) in pairs.items()}
    return judged(
        "depth-compromise", "6.3.2",
        "Rounds, reliability, infected participants that only act as delegates, and the filtering load of an average "
        "participant can probably not be changed without affecting the others.",
        "2 and 6 levels, p1 = 0.2: "
        + "; ".join(f"{metric} {measured(lines[1])} and {measured(lines[-1])}" for metric, lines in pairs.items()),
        all(moved.values()),
        "From 2 to 6 levels all four must change, intervals apart.", pairs["delivery"][-1],
    )  # fmt: skip
