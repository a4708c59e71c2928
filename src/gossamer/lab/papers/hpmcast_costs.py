"""What the paper on hpmcast says about its predecessors, about matching, loss, crashes and other media."""

import math
from itertools import pairwise

from gossamer.lab.book import Book
from gossamer.lab.claims import Claim, above, measured, measured_share, not_below, number
from gossamer.lab.papers.hpmcast_words import LEVELS, PARTICIPANTS, A, R, at, judged, nines, one, percent, told
from gossamer.protocols.hpmcast.shape import rounds


def rfpbcast_wastes(book: Book) -> Claim:
    lines = at(book, "variants", "messages", variant="rfpbcast")
    bothered = one(book, "variants", "spurious", variant="rfpbcast", interest=0.02)
    return judged(
        "rfpbcast-wastes", "2.2",
        "rfpbcast sends an event to every participant, whether it is interested or not: a waste where few are.",
        f"{measured(lines[0])} messages at every p1; {measured_share(bothered)} of the uninterested get it at 0.02",
        len({line.mean for line in lines}) == 1 and bothered.mean > 0.99,
        "The number of messages must be the same for every p1, run by run, and more than 99 % of the uninterested be "
        "reached at p1 = 0.02.", lines[0],
    )  # fmt: skip


def pmcast_is_genuine(book: Book) -> Claim:
    lines = at(book, "variants", "spurious", variant="pmcast")
    most = max(lines, key=lambda line: line.max)
    return judged(
        "pmcast-genuine", "2.2",
        "With pmcast events are only received by interested participants.",
        f"at most {percent(most.max)} of the uninterested, in any run at any p1", most.max == 0,
        "No uninterested participant may receive anything in any run.", most,
    )  # fmt: skip


def fewer_take_longer(book: Book) -> Claim:
    lines = at(book, "variants", "rounds", variant="pmcast")
    return judged(
        "fewer-take-longer", "3.4, (9)",
        "The number of rounds necessary to infect all interested participants increases as their number decreases.",
        f"pmcast: {told(lines, 'interest')}", all(above(a, b) for a, b in pairwise(lines)),
        "From each p1 to the next larger the rounds until the last is reached must fall, intervals apart.", lines[0],
    )  # fmt: skip


def pittel_rounds(book: Book) -> Claim:
    sizes = (100, 1000, 10_000)
    rows = {
        (fanout, loss): [
            one(book, "pittel", "rounds", branching=size, fanout=fanout, loss=loss).mean
            - rounds(size, fanout, 1 - loss)
            for size in sizes
        ]
        for fanout in (1, 2, 4)
        for loss in (0.0, 0.2)
    }
    least = min(at(book, "pittel", "delivery"), key=lambda line: line.mean)
    return judged(
        "pittel-rounds", "2.1.2, (4), (5)",
        "The rounds necessary to infect a whole system are log n (1/F(1-ε) + 1/log(F(1-ε) + 1)) + c + O(1).",
        "rounds more than that, n = 100, 1,000, 10,000: "
        + "; ".join(f"F = {f}, ε = {ε:g}: {', '.join(f'{x:.1f}' for x in each)}" for (f, ε), each in rows.items()),
        least.mean == 1 and all(abs(each[-1] - each[0]) <= 1 for each in rows.values()),
        "rfpbcast, with more rounds than it needs. Everybody must be reached in every run, and what the formula leaves "
        "out must be the same for 10,000 participants as for 100, to within one round, for every F and ε.", least,
    )  # fmt: skip


def locality(book: Book) -> Claim:
    interests = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
    rows = {
        p: (
            one(book, "variants", "sent_level_3", variant="hpmcast", interest=p),
            one(book, "variants", "messages", variant="pmcast", interest=p),
        )
        for p in interests
    }
    beyond = 1 - (A ** (LEVELS - 1) - 1) / (PARTICIPANTS - 1)
    return judged(
        "locality", "3.2",
        "Only a reasonable number of sends between distant participants takes place; once sparsely spread, an event is "
        "sent between more local ones.",
        " · ".join(f"{number(a.mean)}, pmcast {number(beyond * b.mean)} (p1 = {p:g})" for p, (a, b) in rows.items()),
        all(far.mean + far.ci95 < beyond * (flat.mean - flat.ci95) for far, flat in rows.values()),
        "hpmcast must send fewer messages on its topmost level than pmcast sends from one topmost subsystem to the "
        f"others, which are {percent(beyond)} of all it sends, for every p1, intervals apart.", rows[0.2][0],
    )  # fmt: skip


def large_systems_are_captured(book: Book) -> Claim:
    lines = at(book, "sizes", "delivery")
    return judged(
        "pittel-large", "5.3.1",
        "Pittel's formula gives extremely good results when the system grows in size; smaller systems are not well "
        "captured.",
        told(lines, "branching", nines),
        all(not_below(b, a) for a, b in pairwise(lines)) and lines[-1].mean > 0.995 and above(lines[-1], lines[0]),
        "pmcast, p1 = 0.2. From 20 to 30,000 participants the share reached must never fall, intervals allowed for, "
        "and end above 99.5 %.", lines[-1],
    )  # fmt: skip


def messages_grow_slowly(book: Book) -> Claim:
    lines = at(book, "sizes", "messages_each")
    chosen = [line for line in lines if line.point["hierarchy.branching"] >= 300]
    ratio, times = chosen[-1].mean / chosen[0].mean, 100
    return judged(
        "messages-grow-slowly", "1.2.3",
        "Gossip is inherently scalable: the network messages to disseminate an event increase only slightly with the "
        "system's size.",
        f"messages per participant: {told(lines, 'branching')}", ratio < 2,
        f"pmcast, p1 = 0.2. From 300 participants to {times} times as many, messages per participant must not double; "
        f"they grow {ratio:.2f} times. Everybody who has an event gossips it until the rounds are over, and those grow "
        "with the logarithm of the size: so do messages per participant, and in all they grow more than the system.",
        lines[-1],
    )  # fmt: skip


def matched_by_few(book: Book) -> Claim:
    lines = at(book, "fig7", "matches")
    most = max(lines, key=lambda line: line.max)
    groups = sum(A**below for below in range(1, LEVELS))
    bound = A + (R * groups + LEVELS - 1) * A
    return judged(
        "matched-by-r", "5.1.2",
        "Matching against all patterns of a level is done by at most R participants of a subsystem; on the topmost "
        "level only by the publisher.",
        f"{measured(most)} patterns at most, {number(most.mean / PARTICIPANTS)} for each participant",
        most.max <= bound,
        f"R participants in each of {groups} subsystems and the publisher, {A} lines each, make {bound:,} at most, in "
        "any run.", most,
    )  # fmt: skip


def delegates_bear_more(book: Book) -> Claim:
    loads = [one(book, "fig7", f"load_level_{level}", interest=0.3) for level in (1, 2, 3)]
    return judged(
        "delegates-bear-more", "6.1.1",
        "Higher-level delegates receive more gossips than lower-level participants.",
        "messages to each whose highest level is 1, 2, 3: " + ", ".join(measured(line) for line in loads),
        all(above(b, a) for a, b in pairwise(loads)),
        "p1 = 0.3. Every level must bear more than the one below, intervals apart.", loads[-1],
    )  # fmt: skip


def estimates_suffice(book: Book) -> Claim:
    rows = {
        metric: [at(book, "estimated", metric, estimated=how) for how in (False, True)]
        for metric in ("matches", "delivery")
    }
    (all_matched, few_matched), (exact, guessed) = rows.values()
    dear = max(few.mean / every.mean for every, few in zip(all_matched, few_matched, strict=True))
    lost = [100 * (sure.mean - guess.mean) for sure, guess in zip(exact, guessed, strict=True)]
    worst = guessed[lost.index(max(lost))]
    return judged(
        "interest-estimated", "6.1.1",
        "The probability of interest on a level can be estimated from the one above by (19), and improved by matching "
        "against F participants.",
        f"reached: {told(guessed, 'interest', percent)}, instead of {told(exact, 'interest', percent)}; at most "
        f"{percent(dear)} of the patterns",
        dear < 0.2 and max(lost) < 3,
        "For every p1 less than a fifth of the patterns must be compared to learn the interest, and less than 3 points "
        f"of the share reached be lost. The most is {max(lost):.1f}.", worst,
    )  # fmt: skip


def broadcast_below(book: Book) -> Claim:
    rows = {interest: [one(book, "lowest", "delivery", lan=lan, interest=interest) for lan in (0, A)]
            for interest in (0.01, 0.05, 0.2)}  # fmt: skip
    return judged(
        "broadcast-on-the-lan", "6.1.2",
        "A broadcast could be used at the lowest level instead of gossip, if that is a LAN.",
        " · ".join(f"{percent(a.mean)} → {percent(b.mean)} (p1 = {p:g})" for p, (a, b) in rows.items()),
        all(above(b, a) for a, b in rows.values()),
        "At p1 = 0.01, 0.05 and 0.2 more must be reached with it, intervals apart.", rows[0.01][1],
    )  # fmt: skip


def reliable_top(book: Book) -> Claim:
    losses = (0.1, 0.2, 0.3, 0.4)
    rows = {loss: [one(book, "top", "delivery", attempts=tries, loss=loss) for tries in (1, 4)] for loss in losses}
    gains = {loss: 100 * (b.mean - a.mean) for loss, (a, b) in rows.items()}
    holds = all(not_below(b, a) for a, b in rows.values()) and above(rows[0.4][1], rows[0.4][0])
    return judged(
        "reliable-top", "6.1.2",
        "A more reliable algorithm can be very advantageous at the upmost level: what fails there isolates a whole "
        "subsystem.",
        " · ".join(f"{percent(a.mean)} → {percent(b.mean)} (loss {loss:g})" for loss, (a, b) in rows.items()),
        holds and max(gains.values()) >= 1,
        "Four attempts for each message of the topmost level must never reach fewer, intervals allowed for, more at a "
        "loss of 0.4, intervals apart, and gain a point or more somewhere to be called advantageous. The most is "
        f"{max(gains.values()):.1f} points. Nodes do not reckon with loss here.", rows[0.4][1],
    )  # fmt: skip


def conservative(book: Book) -> Claim:
    losses = (0.05, 0.1, 0.2, 0.3)
    rows = {loss: [one(book, "loss", "delivery", expected_loss=each, loss=loss) for each in (0.0, 0.1, 0.3)]
            for loss in losses}  # fmt: skip
    return judged(
        "conservative-values", "5.1.2",
        "Loss and crashes are hard to estimate; choosing conservative values is the best way of ensuring a good "
        "performance.",
        "reckoning with 0, 0.1, 0.3: "
        + "; ".join(f"loss {loss:g}: {', '.join(percent(x.mean) for x in lines)}" for loss, lines in rows.items()),
        all(above(lines[-1], lines[0]) for lines in rows.values()),
        "Reckoning with a loss of 0.3 must reach more than reckoning with none, for every loss, intervals apart.",
        rows[0.1][-1],
    )  # fmt: skip


def more_than_one_delegate(book: Book) -> Claim:
    rows = {crashed: at(book, "crashes", "delivery", crashed=crashed) for crashed in (0.0, 0.1, 0.3)}
    falls = [calm.mean - stormy.mean for calm, stormy in zip(rows[0.0], rows[0.3], strict=True)]
    return judged(
        "more-than-one-delegate", "4.1.3",
        "R is best chosen larger than 1: with R = 1 the hierarchy is very sensitive to crashes of individual "
        "participants.",
        "R = 1, 2, 3, 4: "
        + "; ".join(f"{share:.0%} crashed: {', '.join(percent(x.mean) for x in each)}" for share, each in rows.items()),
        all(later < earlier for earlier, later in pairwise(falls)) and falls[0] > 2 * falls[-1],
        "p1 = 0.5. With three tenths crashed each delegate more must lessen what is lost by it, and R = 1 lose more "
        f"than twice what R = 4 loses. Points lost: {', '.join(f'{100 * fall:.1f}' for fall in falls)}. Views stay as "
        "they were: nobody is replaced here.", rows[0.3][0],
    )  # fmt: skip


def once_with_log_n(book: Book) -> Claim:
    log_n = math.log(10_000)
    lines, shares = at(book, "once", "reached_all"), at(book, "once", "delivery")
    fanout = math.ceil(log_n)
    here = next(line for line in lines if line.point["params.fanout"] == fanout)
    some = next(line for line in shares if line.point["params.fanout"] == fanout)
    theory = math.exp(-math.exp(log_n - fanout))
    return judged(
        "log-n-once", "2.1.2, [20]",
        "With one repetition only, choosing the natural logarithm of the system's size for F brings the probability of "
        "reaching all participants very close to 1.",
        f"F = {fanout}, n = 10,000: everybody reached in {measured_share(here)} of the runs, {nines(some.mean)} of the "
        f"participants on average; by F: {told(lines, 'fanout', percent)}",
        here.mean - here.ci95 >= 0.95,
        f"95 % of the runs must reach everybody at F = {fanout}, the next whole number above ln n = {log_n:.2f}. "
        + f"With F = ln n + c it is e^(-e^(-c)), which is {percent(theory)} for this F, and 37 % for c = 0: the share "
        "reached is very close to 1, the probability of reaching all is so only from c = 3 on.", here,
    )  # fmt: skip


def a_million(book: Book) -> Claim:
    views, delivered = (one(book, "million", metric, interest=0.3, direct=0) for metric in ("view_size", "delivery"))
    return judged(
        "a-million", "3.1; 7",
        "hpmcast abides well to largely scaled settings and intrinsically reduces the view of each participant.",
        f"1,000,000 participants on three levels: {number(views.mean)} known by each, {measured_share(delivered)} "
        "reached at p1 = 0.3",
        views.mean < 1000 and delivered.mean > 0.98,
        "Less than a thousandth of the others may be known to each, and more than 98 % must be reached at p1 = 0.3.",
        delivered,
    )  # fmt: skip
