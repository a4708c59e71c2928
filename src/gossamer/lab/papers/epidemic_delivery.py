"""What the paper on epidemic recovery says about how much is found again, and how soon."""

from itertools import pairwise

from gossamer.lab.book import ALL, Book, Line
from gossamer.lab.claims import Claim, above, measured, measured_share, not_below, number, share, verdict

ALGORITHMS = ("push", "subscriber-pull", "publisher-pull", "combined")
LOSSES = (0.02, 0.05, 0.1, 0.2)
STANDARD_ERRORS = 4
GOOD = 0.9
DRAWN_FROM_ALL = (
    "A round is about one of all patterns a node knows, so an event's turn comes in proportion to how many of them it "
    "matches: twice the patterns are as bad as half the matches, and the sheer number is not bounded by what one event "
    "is about. The claim would hold if a node drew among the patterns of what it holds."
)


def told(lines: dict[str, Line]) -> str:
    return " · ".join(f"{name} {measured_share(line)}" for name, line in lines.items())


def of_methods(book: Book, experiment: str, metric: str, methods: tuple[str, ...], **swept: object) -> dict[str, Line]:
    return {method: book.find(experiment, ALL, metric, method=method, **swept) for method in methods}


def without_recovery(book: Book) -> Claim:
    pairs = {
        loss: (
            book.find("epidemic/loss", ALL, "delivery", method="none", loss=loss),
            book.find("epidemic/loss", ALL, "delivery_unaided", method="none", loss=loss),
        )
        for loss in LOSSES
    }
    off = {loss: abs(ours.mean - theory.mean) / max(ours.ci95 / 1.96, 1e-9) for loss, (ours, theory) in pairs.items()}
    return Claim(
        id="nothing-by-itself",
        where="1; 3",
        paper_says="The dispatching infrastructure itself guarantees nothing: what a link loses is lost.",
        ours=" · ".join(
            f"{measured_share(o)} at loss {loss:g} (theory {share(t.mean)})" for loss, (o, t) in pairs.items()
        ),
        ci95=pairs[0.1][0].ci95,
        runs=pairs[0.1][0].runs,
        verdict=verdict(max(off.values()) <= STANDARD_ERRORS),
        why="Without recovery a pair d links apart is delivered with probability (1 - loss)^d. Measured over the "
        f"expected pairs of each run, ours is at most {max(off.values()):.1f} standard errors from it; "
        f"{STANDARD_ERRORS} count as equal.",
    )


def improvement(book: Book) -> Claim:
    lines = of_methods(book, "epidemic/methods", "delivery", ("none", *ALGORITHMS))
    better = all(above(lines[method], lines["none"]) for method in ALGORITHMS)
    good = all(lines[method].mean >= GOOD for method in ("push", "combined"))
    return Claim(
        id="remarkable-improvement",
        where="5",
        paper_says="The algorithms bring a remarkable improvement of event delivery.",
        ours=told(lines),
        ci95=lines["combined"].ci95,
        runs=lines["combined"].runs,
        verdict=verdict(better and good),
        why=f"100 dispatchers, loss 0.1. Each algorithm must lie above no recovery, intervals apart, and push and "
        f"combined must deliver {GOOD:.0%} or more.",
    )


def any_cause(book: Book) -> Claim:
    every_s = 0.2
    lines = of_methods(book, "epidemic/changes", "delivery", ("none", *ALGORITHMS), reconfigure_every_s=every_s)
    return Claim(
        id="any-cause-of-loss",
        where="1; 5",
        paper_says="Nothing is assumed about the cause of loss: the algorithms also recover what reconfigurations of "
        "the tree lose.",
        ours=f"a link replaced every {every_s} s: {told(lines)}",
        ci95=lines["combined"].ci95,
        runs=lines["combined"].runs,
        verdict=verdict(all(above(lines[method], lines["none"]) for method in ALGORITHMS)),
        why="Links lose nothing here; a link vanishes and 0.1 s later another joins the halves. Each algorithm must "
        "lie above no recovery, intervals apart. Nothing that needed the missing link is found while it is missing.",
    )


def pull_is_faster(book: Book) -> Claim:
    soon, later = (of_methods(book, "epidemic/waiting", "delivery", ALGORITHMS, seconds=at_s) for at_s in (5.1, 7.0))
    waits = of_methods(book, "epidemic/waiting", "recovery_latency_ms_p50", ALGORITHMS, seconds=7.0)
    quicker = all(above(waits["push"], waits[method]) for method in ALGORITHMS[1:])
    return Claim(
        id="pull-converges-faster",
        where="2.2",
        paper_says="Pull converges faster than push, provided that a majority of the participants have the message: "
        "who missed it recovers it immediately instead of waiting to be pushed.",
        ours="median ms from noticing a loss to having the event: "
        + " · ".join(f"{method} {measured(line)}" for method, line in waits.items()),
        ci95=waits["combined"].ci95,
        runs=waits["combined"].runs,
        verdict=verdict(quicker and above(later["combined"], later["push"])),
        why="Links lose 2 %, so most have each event. Every pull must be quicker than push from noticing on, and "
        f"combined must have delivered more 2 s after the last of them, intervals apart: {told(later)}. A pull has to "
        f"notice first, by the next event of the same publisher and pattern: after 0.1 s it is {told(soon)}.",
    )


def low_rates_favour_push(book: Book) -> Claim:
    methods = ("none", "push", "combined")
    low, high = (of_methods(book, "epidemic/rates", "delivery", methods, rate=rate) for rate in (0.25, 64.0))
    return Claim(
        id="low-rates-favour-push",
        where="2.2",
        paper_says="With a low rate of communication a process may not realise it missed a message until the next one: "
        "push may be preferable.",
        ours=f"an event every 4 s: {told(low)}; 64 a second: {told(high)}",
        ci95=low["push"].ci95,
        runs=low["push"].runs,
        verdict=verdict(above(low["push"], low["combined"])),
        why="At the lowest rate push must lie above combined pull, intervals apart.",
    )


def found(book: Book, method: str, **swept: object) -> Line:
    return book.find("epidemic/subscribers", ALL, "found_again", method=method, **swept)


def few_subscribers_hurt_pull(book: Book) -> Claim:
    few, many = (found(book, "subscriber-pull", subscriptions=each) for each in (1, 8))
    return Claim(
        id="few-subscribers-hurt-pull",
        where="5",
        paper_says="Pull strongly depends on a reasonable number of subscribers for the same pattern: scenarios where "
        "subscriptions overlap little are very critical.",
        ours=f"subscriber pull finds {measured_share(few)} of what is lost with 0.5 subscribers per pattern, "
        f"{measured_share(many)} with 4",
        ci95=few.ci95,
        runs=few.runs,
        verdict=verdict(above(many, few) and few.mean < many.mean / 2),
        why="With few it must find less than half of what it finds with many, intervals apart.",
    )


def few_subscribers_spare_push(book: Book) -> Claim:
    few, many = (found(book, "push", subscriptions=each) for each in (1, 8))
    pull_few, pull_many = (found(book, "subscriber-pull", subscriptions=each) for each in (1, 8))
    fall, pull_fall = many.mean - few.mean, pull_many.mean - pull_few.mean
    return Claim(
        id="few-subscribers-spare-push",
        where="5",
        paper_says="Little overlap of subscriptions does not affect significantly the performance of push.",
        ours=f"push finds {measured_share(few)} of what is lost with 0.5 subscribers per pattern, {share(many.mean)} "
        "with 4",
        ci95=few.ci95,
        runs=few.runs,
        verdict=verdict(fall < 0.1),
        why=f"Less than 10 points of difference count as not significant. Push changes by {share(fall)}, subscriber "
        f"pull by {share(pull_fall)}.",
    )


def pulls(book: Book, subscriptions: int) -> dict[str, Line]:
    return of_methods(book, "epidemic/subscribers", "delivery", ALGORITHMS[1:], subscriptions=subscriptions)


def combining_overcomes(book: Book) -> Claim:
    few = pulls(book, 1)
    return Claim(
        id="combining-overcomes-few-subscribers",
        where="5",
        paper_says="One way to overcome the dependence on many subscribers is to combine subscriber-based with "
        "publisher-based pull.",
        ours=f"half a subscriber per pattern: {told(few)}",
        ci95=few["combined"].ci95,
        runs=few["combined"].runs,
        verdict=verdict(above(few["combined"], few["subscriber-pull"])),
        why="Combined must lie above subscriber pull, intervals apart.",
    )


def combining_improves(book: Book) -> Claim:
    rows = {each: pulls(book, each) for each in (1, 2, 4, 8)}
    alone = ("subscriber-pull", "publisher-pull")
    worse = {each: other for each, row in rows.items() for other in alone if above(row[other], row["combined"])}
    return Claim(
        id="combining-improves-the-chances",
        where="5",
        paper_says="The combination improves the chances to recover an event, since recovery proceeds not only towards "
        "receivers, but also towards the sender.",
        ours=f"half a subscriber per pattern: {told(rows[1])}; four: {told(rows[8])}",
        ci95=rows[8]["combined"].ci95,
        runs=rows[8]["combined"].runs,
        verdict=verdict(not worse and all(above(rows[8]["combined"], rows[8][other]) for other in alone)),
        why="With 1, 2, 4 and 8 subscriptions each, combined must never lie below either pull alone, and with 8 above "
        "both, intervals apart."
        + (
            "".join(f" With {each} it lies below {other}." for each, other in worse.items())
            + " A round is one pull or the other: where nobody else subscribes, half of the rounds are spent in vain."
            if worse
            else ""
        ),
    )


def many_patterns_hurt_push(book: Book) -> Claim:
    lines = book.series("epidemic/patterns", ALL, "found_again", method="push")
    waits = book.series("epidemic/patterns", ALL, "recovery_latency_ms_p50", method="push")
    falls = above(lines[0], lines[-1]) and all(not_below(a, b) for a, b in pairwise(lines))
    return Claim(
        id="many-patterns-hurt-push",
        where="5",
        paper_says="Push is challenged by a high number of patterns: the more, the bigger the latency, and events get "
        "discarded meanwhile.",
        ours="push finds "
        + " · ".join(f"{measured_share(line)} ({line.point['workload.patterns']} patterns)" for line in lines),
        ci95=lines[-1].ci95,
        runs=lines[-1].runs,
        verdict=verdict(falls and above(waits[-1], waits[0])),
        why="The share found again must never rise with the number of patterns, intervals allowed for, and fall from "
        "the first to the last, intervals apart, while the latency grows: from "
        f"{number(waits[0].mean)} to {number(waits[-1].mean)} ms in the median. A node draws one pattern per round.",
    )


def patterns_per_event_decide(book: Book) -> Claim:
    sheer = book.series("epidemic/patterns", ALL, "found_again", method="push")
    matched = book.series("epidemic/per-event", ALL, "found_again", method="push")
    by_number, by_match = (
        max(line.mean for line in lines) - min(line.mean for line in lines) for lines in (sheer, matched)
    )
    return Claim(
        id="patterns-per-event-decide",
        where="5",
        paper_says="What dominates the behaviour of push is not the sheer number of patterns but the number each event "
        "potentially matches.",
        ours=f"eight times the patterns change what push finds by {share(by_number)}, eight times the patterns per "
        f"event by {share(by_match)}",
        ci95=max(line.ci95 for line in (*sheer, *matched)),
        runs=matched[0].runs,
        verdict=verdict(by_match > by_number),
        why="Both sweeps span a factor of eight; the one with the larger effect dominates."
        + ("" if by_match > by_number else f" {DRAWN_FROM_ALL}"),
    )
