"""What the paper on hpmcast derives: the chain, rounds, views and updates, held against measurements and themselves."""

import math
from functools import cache
from itertools import pairwise

from gossamer.lab.book import Book
from gossamer.lab.claims import Claim, above, measured_share, number
from gossamer.lab.papers.hpmcast_reached import by_depth
from gossamer.lab.papers.hpmcast_words import LEVELS, PARTICIPANTS, A, F, R, at, judged, one, percent
from gossamer.protocols.hpmcast import shape, theory
from gossamer.protocols.hpmcast.shape import Shape

DEPTHS = {levels: Shape(a, levels, R, F) for levels, a in ((1, 4096), (2, 64), (3, 16), (4, 8), (6, 4))}
"4,096 participants."
EQUAL = 1e-9


@cache
def predicted(interest: float) -> float:
    """What the chain says of pmcast among as many participants as the figures have."""
    wanted = round(PARTICIPANTS * interest)
    limit = math.ceil(shape.rounds(wanted, F * interest))
    return theory.expected(theory.spread(wanted, theory.reach(PARTICIPANTS, F), limit, 0, 1)) / wanted


def chain(book: Book) -> Claim:
    lines = at(book, "variants", "delivery", variant="pmcast")
    pairs = [(line.point["workload.interest"], line, predicted(line.point["workload.interest"])) for line in lines]
    off = max(abs(line.mean - said) for _, line, said in pairs)
    return judged(
        "markov-chain", "2.2.2, (6)–(8)",
        "The number of participants that pmcast infects is a Markov chain with binomial transitions.",
        " · ".join(f"{percent(line.mean)}, by the chain {percent(said)} (p1 = {p:g})" for p, line, said in pairs),
        off <= 0.01,
        "The expected share of the chain, in its corrected form, must be within a point of the measured one, for every "
        f"p1; it is {100 * off:.2f} points off at most.", lines[0],
    )  # fmt: skip


def pessimistic(book: Book) -> Claim:
    interests = (0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0)
    made = Shape(A, LEVELS, R, F)
    rows = {p: (one(book, "fig7", "delivery", interest=p), theory.delivery_from_means(made, p)) for p in interests}
    return judged(
        "pessimistic-value", "5.2.3, (22), (23)",
        "The expected number infected is a pessimistic value, since it starts from one infected participant in each "
        "subsystem.",
        " · ".join(f"{percent(line.mean)}, formula {percent(said)} (p1 = {p:g})" for p, (line, said) in rows.items()),
        all(line.mean - line.ci95 > said for line, said in rows.values()),
        "More must be reached than the product of all r_i says, interval apart, wherever a lowest group is expected to "
        "hold somebody interested (a p1 ≥ 1). To start from one is pessimistic; to take every audience for the "
        "expected one is not, and where that is one or two it matters more.", rows[0.1][0],
    )  # fmt: skip


def rounds_by_interest(book: Book) -> Claim:
    ps = [at_p / 1000 for at_p in range(10, 1001)]
    said = [shape.rounds_paper(100 * p, F * p) for p in ps]
    peak = max(range(len(ps)), key=lambda at_p: said[at_p])
    rises = all(a <= b for a, b in pairwise(said[: peak + 1]))
    falls = all(a >= b for a, b in pairwise(said[peak:]))
    lines = at(book, "fig9", "steps")
    top = max(lines, key=lambda line: line.mean)
    return judged(
        "fig9-rounds", "5.3.1, Fig. 9",
        "The expected number of rounds increases first with a decreasing p1, before decreasing quickly and becoming 0 "
        "in p1 n = 1.",
        f"by (9): {said[-1]:.1f} at p1 = 1, {said[peak]:.1f} at {ps[peak]:g}, {abs(said[0]):.1f} at 0.01; spent by "
        f"pmcast: {number(lines[-1].mean)} at 1, {number(top.mean)} at {top.point['workload.interest']:g}, "
        f"{number(lines[0].mean)} at 0.01",
        0 < peak < len(ps) - 1 and rises and falls and abs(said[0]) < EQUAL
        and above(top, lines[-1]) and above(top, lines[0]),
        "n = 100, F = 2. (9) must rise to one peak, fall from there and be 0 at p1 = 0.01; the rounds pmcast spends "
        "must be most in between, intervals apart. They are means over audiences that differ from run to run.", top,
    )  # fmt: skip


def broadcast_identity(book: Book) -> Claim:
    alone = shape.rounds(4096, F)
    off = max(abs(made.rounds_shortened(1.0) - alone) for made in DEPTHS.values())
    return judged(
        "broadcast-identity", "6.2, (28)",
        "For p1 = 1 the expected rounds of (21) are those of the algorithm without a hierarchy, T(n, F).",
        f"T(4096, 2) = {alone:.6f}; with 1 to 6 levels the same to {off:.1e}", off < EQUAL,
        f"The formulas must be equal to {EQUAL:g}.",
    )  # fmt: skip


def view_size(book: Book) -> Claim:
    lines = by_depth(book, "view_size", 0.2)
    off = max(abs(line.mean - made.view_size()) for line, made in zip(lines, DEPTHS.values(), strict=True))
    return judged(
        "view-size", "5.2.1, (18)",
        "A participant knows m = Ra(l - 1) + a participants.",
        "1, 2, 3, 4, 6 levels: " + ", ".join(number(line.mean) for line in lines), off < EQUAL,
        f"For every depth the measured size must be that of (18) to {EQUAL:g}.", lines[-1],
    )  # fmt: skip


def views_shrink(book: Book) -> Claim:
    lines = by_depth(book, "view_size", 0.2)
    shrink = all(above(a, b) for a, b in pairwise(lines))
    depths = {n: (shape.best_depth(n, R), math.log(n)) for n in (4096, 10**6, 10**9)}
    near = all(best > 0.85 * log_n for best, log_n in depths.values())
    slopes = all(shape.view_slope(n, deepest(n), R) < 0 for n in depths)
    return judged(
        "views-shrink", "6.3.1, (29)–(32)",
        "m decreases as l increases, as long as l < log n, and is smallest at l = log n, a limit that is never reached "
        "where a ≥ R > e.",
        "measured: " + ", ".join(number(line.mean) for line in lines) + "; smallest by (18): "
        + ", ".join(f"l = {best:.2f} (n = {n:,}, log n = {log_n:.2f})" for n, (best, log_n) in depths.items()),
        shrink and near and slopes,
        "Measured views must shrink with every step in depth; (18) must be falling at a = R for 4,096 to 10^9 "
        "participants; and its minimum lie within 15 % of log n. (30) is the slope of lRn^(1/l), which counts R "
        "delegates on the lowest level too: the minimum of (18) itself comes a little earlier.", lines[-1],
    )  # fmt: skip


def deepest(n: float) -> float:
    """The depth at which a = R."""
    return math.log(n) / math.log(R)


def updates(book: Book) -> Claim:
    made = [each for each in DEPTHS.values() if each.branching >= R]
    off = max(abs(each.updated() - each.updated_paper()) for each in made)
    return judged(
        "updates", "6.3.2, (33)–(35)",
        "When a participant fails, (a - 1)[R(l - 1) + 1] others must be updated on average; this decreases as l "
        "increases.",
        "1, 2, 3, 4, 6 levels: " + ", ".join(number(each.updated()) for each in made),
        off < 1e-6 and all(a.updated() > b.updated() for a, b in pairwise(made)),
        "The sum and the closed form of (35) must be equal, and fall with every step in depth.",
    )  # fmt: skip


def mean_level(book: Book) -> Claim:
    made = list(DEPTHS.values())
    return judged(
        "mean-level-rises", "6.3.2",
        "The average level of a participant increases as the number of levels increases.",
        "1, 2, 3, 4, 6 levels: " + ", ".join(f"{each.level_mean():.3f}" for each in made),
        all(a.level_mean() < b.level_mean() for a, b in pairwise(made)),
        "The exact sum of (36) must rise with every step in depth, for 4,096 participants.",
    )  # fmt: skip


def mean_level_formula(book: Book) -> Claim:
    made = list(DEPTHS.values())[1:]
    off = max(abs(each.level_mean_paper() / each.level_mean() - 1) for each in made)
    return judged(
        "mean-level-formula", "6.3.2, (36)",
        "l_upd is about l²Rn^(1/l) / (n log n) · (1 - 1/log n) + lR / log n · (l / log n - 1).",
        "2, 3, 4, 6 levels: " + ", ".join(f"{each.level_mean_paper():.3f}" for each in made) + ", where the sum is "
        + ", ".join(f"{each.level_mean():.3f}" for each in made),
        off < 0.25,
        "The formula must be within a quarter of the sum it stands for. It is negative, where no level is below 1: an "
        "integral takes the place of a sum over few levels, and the integral of i a^(-i) has its sign turned round.",
    )  # fmt: skip


def mean_level_terms(book: Book) -> Claim:
    terms = [each.level_terms_paper() for each in list(DEPTHS.values())[1:]]
    rise = all(later > earlier for column in zip(*terms) for earlier, later in pairwise(column))
    return judged(
        "mean-level-terms", "6.3.2, (36)",
        "Both remaining terms of l_upd increase as l increases.",
        "2, 3, 4, 6 levels: " + "; ".join(", ".join(f"{each:.4f}" for each in column) for column in zip(*terms)), rise,
        "Both must rise with every step in depth, for 4,096 participants. Each has its minimum at l = log n / 2, which "
        f"is {math.log(4096) / 2:.1f} here: up to there both fall.",
    )  # fmt: skip


def joint_interest(book: Book) -> Claim:
    made, p = Shape(A, LEVELS, R, F), 0.01
    rows = [(made.interest_paper(level, p), made.interest(level, p)) for level in range(1, LEVELS + 1)]
    return judged(
        "joint-interest", "4.1.3, (13), (14); 5.2.2, (19)",
        "A delegate is interested with p_i = 1 - (1 - p1)^(all below its branch address of level i), so in a regular "
        "hierarchy with 1 - (1 - p1)^(a^(i-1)).",
        f"levels 1, 2, 3 at p1 = {p:g}: "
        + "; ".join(f"{percent(printed)} by (13) and (14), {percent(meant)} by (19)" for printed, meant in rows),
        max(abs(printed - meant) for printed, meant in rows) < EQUAL,
        f"(13) in (14) must be (19) to {EQUAL:g}. All below a branch address of level i are a^i: (13) is one level too "
        "high. On level 1 a participant stands for itself, so (19) is the one that is meant.",
    )  # fmt: skip


def starts_with_delegates(book: Book) -> Claim:
    views = (A, A * R)
    said = shape.rounds(R, F)
    saved = [needed(size, 1) - needed(size, R) for size in views]
    return judged(
        "starts-with-r", "5.2.2, (21)",
        "That every subsystem but the topmost starts with R infected saves T(R, F) rounds at each level.",
        f"T({R}, {F}) = {said:.2f}; views of {views[0]}, {views[1]}: " + ", ".join(f"{each:.2f}" for each in saved),
        all(abs(each - said) <= 1 for each in saved),
        "By the chain, p1 = 1: R instead of one must save that many rounds, to within one, until 99 % are expected to "
        "have the event. Parts of rounds are interpolated.",
    )  # fmt: skip


def needed(size: int, started: int, share: float = 0.99) -> float:
    """Rounds until so large a share is expected to have the event."""
    goal, before, rounds = share * size, float(started), 0
    while True:
        rounds += 1
        now = theory.expected(theory.spread(size, theory.reach(size, F), rounds, started))
        if now >= goal:
            return rounds - (now - goal) / (now - before)
        before = now


def group_per_subset(book: Book) -> Claim:
    sizes = range(2, 13)
    counted = [sum(bin(others).count("1") for others in range(1 << n - 1)) for n in sizes]
    return judged(
        "group-per-subset", "1.2.3",
        "With a broadcast group for every subset of n participants, the views of one of them have (n - 1) 2^(n - 2) "
        "entries.",
        f"n = 2, 3, …, 12, counted: {', '.join(f'{each:,}' for each in counted)}",
        counted == [(n - 1) * 2 ** (n - 2) for n in sizes],
        "Counted over all subsets that it is in, the formula must be right for n = 2 to 12. With itself in every view "
        "there are (n + 1) 2^(n - 2); the n 2^(n - 1) of the footnote are the entries of all groups, its own or not.",
    )  # fmt: skip


def infected_product(book: Book) -> Claim:
    made, p = Shape(A, LEVELS, R, F), 0.02
    line = one(book, "fig8", "delivery", interest=p)
    printed, ours = theory.infected_paper(made, p) / (made.size * p), theory.delivery(made, p)
    rows = {p: theory.infected_paper(made, p) / (made.size * p) for p in (0.005, 0.01, 0.02, 0.5, 1.0)}
    lines = {p: one(book, "fig8" if p < 0.2 else "fig7", "delivery", interest=p) for p in rows}
    off = max(abs(lines[p].mean - said) for p, said in rows.items())
    return judged(
        "infected-product", "5.2.4, (26), (27)",
        "The expected reliability degree is the product of all r_i a p_i, divided by n p1.",
        " · ".join(f"{percent(said)}, measured {percent(lines[p].mean)} (p1 = {p:g})" for p, said in rows.items()),
        off <= 0.05,
        f"The formula must be within 5 points of the measured share for p1 = 0.005 to 1; it is {100 * off:.1f} points "
        "off at most. It counts the interest of a subsystem once on its own level and again on the one below, takes "
        "every audience for the expected one, and starts from one participant. Worked out from all audiences a group "
        f"can have, it is {percent(ours)} at p1 = {p:g}, where {percent(printed)} is printed and "
        f"{measured_share(line)} measured.", line,
    )  # fmt: skip


def planning(book: Book) -> tuple[tuple[float, float, float, float], ...]:
    """p1, measured with its interval, and what our formula says."""
    made = Shape(A, LEVELS, R, F)
    lines = at(book, "fig8", "delivery")
    return tuple(
        (p := line.point["workload.interest"], line.mean, line.ci95, theory.delivery(made, p)) for line in lines
    )
