"""What the paper on epidemic recovery says about traffic, load and computation."""

from gossamer.lab.book import ALL, Book, Line
from gossamer.lab.claims import Claim, above, measured, measured_share, not_below, number, share, verdict
from gossamer.lab.papers.epidemic_delivery import ALGORITHMS, of_methods, told

PULLS = ("subscriber-pull", "publisher-pull", "combined")
STORM, STEADY = 0.125, 1.0
EVEN = 3
"Up to so many times the mean the busiest bears a load that is equally distributed."


def counted(lines: dict[str, Line]) -> str:
    return " · ".join(f"{name} {measured(line)}" for name, line in lines.items())


def pull_is_silent(book: Book) -> Claim:
    gossip = of_methods(book, "epidemic/loss", "gossip_hops_per_s", ALGORITHMS, loss=0.0)
    again = of_methods(book, "epidemic/loss", "retransmissions", ALGORITHMS, loss=0.0)
    whole = of_methods(book, "epidemic/loss", "delivery", ALGORITHMS, loss=0.0)
    silent = all(gossip[method].max == 0 and again[method].max == 0 for method in PULLS)
    return Claim(
        id="pull-is-silent",
        where="2.2; 5",
        paper_says="Pull is reactive: triggered only when a process realises it lost a message; otherwise no action is "
        "necessary.",
        ours=f"digests per dispatcher and second without loss: {counted(gossip)}",
        runs=gossip["combined"].runs,
        verdict=verdict(
            silent and gossip["push"].mean > 0 and all(line.p50 == line.mean == 1 for line in whole.values())
        ),
        why="Without loss no pull may send a single digest or retransmission in any run, push must gossip all the "
        "same, and every pair must be delivered.",
    )


def push_is_wasted_when_stable(book: Book) -> Claim:
    calm, lossy = (
        book.find("epidemic/loss", ALL, "gossip_hops_per_s", method="push", loss=loss) for loss in (0.0, 0.1)
    )
    again = book.find("epidemic/loss", ALL, "retransmissions", method="push", loss=0.0)
    return Claim(
        id="push-is-wasted-when-stable",
        where="5",
        paper_says="A proactive push approach is likely to result in wasted bandwidth when the system is stable.",
        ours=f"{number(calm.mean)} digests per dispatcher and second without loss, {number(lossy.mean)} at loss 0.1",
        ci95=calm.ci95,
        runs=calm.runs,
        verdict=verdict(calm.mean > 0 and again.max == 0 and not_below(calm, lossy)),
        why="Without loss push must send no fewer digests than with it, intervals allowed for, though none of them "
        "finds anything.",
    )


def limited_overhead(book: Book) -> Claim:
    ratio = of_methods(book, "epidemic/methods", "overhead", ALGORITHMS)
    return Claim(
        id="limited-overhead",
        where="5",
        paper_says="The algorithms pay only a limited overhead.",
        ours="messages of recovery per event hop: " + counted(ratio),
        ci95=ratio["combined"].ci95,
        runs=ratio["combined"].runs,
        verdict=verdict(all(line.mean + line.ci95 < 1 for line in ratio.values())),
        why="Digests, requests and retransmissions together must be fewer than the copies of events the tree carries, "
        "at loss 0.1, intervals apart. All are counted as messages; a digest is smaller than an event, or not, as "
        "events go.",
    )


def storms_favour_pull(book: Book) -> Claim:
    def line(metric: str, case: str, loss_share: float) -> Line:
        return book.find("epidemic/storms", ALL, metric, case=case, loss_share=loss_share)

    cases = ("push", "subscriber-pull", "combined")
    stormy, steady = ({c: line("gossip_hops_per_s", c, s) for c in cases} for s in (STORM, STEADY))
    delivery = {case: line("delivery", case, STORM) for case in cases}
    saves = {case: stormy[case].mean / steady[case].mean for case in cases}
    cheaper = all(above(stormy["push"], stormy[case]) for case in cases[1:])
    return Claim(
        id="variable-loss-favours-pull",
        where="5",
        paper_says="Reactive approaches perform better, in traffic overhead, when the frequency of losses varies much: "
        "bursts of errors, then periods with very few.",
        ours=f"digests per dispatcher and second, loss in storms (an eighth of the time): {counted(stormy)}; steady: "
        f"{counted(steady)}",
        ci95=stormy["combined"].ci95,
        runs=stormy["combined"].runs,
        verdict=verdict(cheaper and all(saves[case] < 0.9 * saves["push"] for case in cases[1:])),
        why="The same mean loss of 0.1. In storms pulls must send fewer digests than push, intervals apart, and save "
        "more "
        "against steady loss than push does, by a tenth at least. Delivered in storms: " + told(delivery) + ".",
    )


def adaptive_saves(book: Book) -> Claim:
    fixed, adaptive = (
        {
            metric: book.find("epidemic/storms", ALL, metric, case=case, loss_share=STORM)
            for metric in ("gossip_hops_per_s", "delivery")
        }
        for case in ("push", "push, adaptive")
    )
    saved = above(fixed["gossip_hops_per_s"], adaptive["gossip_hops_per_s"])
    lost = fixed["delivery"].mean - adaptive["delivery"].mean
    return Claim(
        id="adaptive-interval",
        where="5",
        paper_says="An adaptive gossip interval removes the inefficiency of push.",
        ours=f"in storms {number(fixed['gossip_hops_per_s'].mean)} → {number(adaptive['gossip_hops_per_s'].mean)} "
        f"digests per dispatcher and second, {share(fixed['delivery'].mean)} → {share(adaptive['delivery'].mean)} "
        "delivered",
        ci95=adaptive["gossip_hops_per_s"].ci95,
        runs=adaptive["gossip_hops_per_s"].runs,
        verdict=verdict(saved and lost < 0.05),
        why="Fewer digests, intervals apart, for less than 5 points of delivery. A node doubles its interval, up to "
        f"32 T, while nobody asks for what it tells of; delivery falls by {share(lost)}.",
    )


def changes_favour_pull(book: Book) -> Claim:
    every_s = 2.0
    gossip = of_methods(book, "epidemic/changes", "gossip_hops_per_s", ALGORITHMS, reconfigure_every_s=every_s)
    delivery = of_methods(book, "epidemic/changes", "delivery", ALGORITHMS, reconfigure_every_s=every_s)
    return Claim(
        id="changes-favour-pull",
        where="5",
        paper_says="A significant instance of such variability are changes of the topology, e.g. because of mobility.",
        ours=f"a link replaced every {every_s:g} s, digests per dispatcher and second: {counted(gossip)}",
        ci95=gossip["combined"].ci95,
        runs=gossip["combined"].runs,
        verdict=verdict(all(above(gossip["push"], gossip[method]) for method in PULLS)),
        why="Links lose nothing but while one is being replaced. Every pull must send fewer digests than push, "
        f"intervals apart. Delivered: {told(delivery)}.",
    )


def delayed_rounds(book: Book) -> Claim:
    later, at_once = (
        {
            metric: book.find("epidemic/variants", ALL, metric, case=case)
            for metric in ("gossip_hops_per_s", "delivery", "recovery_latency_ms_p50")
        }
        for case in ("combined", "combined, at once")
    )
    return Claim(
        id="delayed-rounds",
        where="4.2, fn 6",
        paper_says="With frequent losses it is convenient to delay a round to the next interval, so that several lost "
        "events are retrieved in one.",
        ours=f"{number(later['gossip_hops_per_s'].mean)} digests per dispatcher and second on the grid, "
        f"{number(at_once['gossip_hops_per_s'].mean)} with rounds at once",
        ci95=later["gossip_hops_per_s"].ci95,
        runs=later["gossip_hops_per_s"].runs,
        verdict=verdict(above(at_once["gossip_hops_per_s"], later["gossip_hops_per_s"])),
        why="Rounds at once must cost more digests, intervals apart. They deliver "
        f"{share(at_once['delivery'].mean)} against {share(later['delivery'].mean)}, with a median latency of "
        f"{number(at_once['recovery_latency_ms_p50'].mean)} ms against "
        f"{number(later['recovery_latency_ms_p50'].mean)} ms.",
    )


def first_holder(book: Book) -> Claim:
    bare, kept = (
        book.find("epidemic/variants", ALL, "served_by_publisher", case=case)
        for case in ("publisher-pull", "publisher-pull, kept along the way")
    )
    return Claim(
        id="first-holder-answers",
        where="4.2",
        paper_says="Requests are handled by the first dispatcher holding the event found along the path, thus "
        "avoiding to overload the publisher.",
        ours=f"publishers send {measured_share(kept)} of what is sent again if events are kept along the way, "
        f"{measured_share(bare)} if only by those who want them",
        ci95=kept.ci95,
        runs=kept.runs,
        verdict=verdict(kept.mean + kept.ci95 < 0.5 and above(bare, kept)),
        why="With events cached on the route, as the paper assumes of publisher pull, publishers must send less than "
        "half, and less than without, intervals apart.",
    )


def no_implosion(book: Book) -> Claim:
    most, mean = (of_methods(book, "epidemic/methods", f"served_event_{each}", ALGORITHMS) for each in ("max", "mean"))
    readers = book.find("epidemic/methods", ALL, "subscribers_max", method="publisher-pull")
    return Claim(
        id="no-implosion",
        where="4.2",
        paper_says="No acknowledgment implosion: push and subscriber pull are essentially free from it; for publisher "
        "pull its probability is rather low.",
        ours=f"a publisher sends an event again: {counted(mean)} times on average, at most {counted(most)}",
        ci95=most["publisher-pull"].ci95,
        runs=most["publisher-pull"].runs,
        verdict=verdict(all(line.mean + line.ci95 < readers.mean for line in most.values())),
        why="Implosion would be all subscribers of an event at its publisher at once. Counted is the worst event of "
        f"each run, over all its time: it must be fewer than the {number(readers.mean)} subscribers of the most "
        "wanted event, intervals apart.",
    )


def only_the_publisher_matches_all(book: Book) -> Claim:
    tagging = book.find("epidemic/methods", ALL, "matches_publishing", method="combined")
    routing = book.find("epidemic/methods", ALL, "matches_routing", method="combined")
    return Claim(
        id="only-the-publisher-matches-all",
        where="5",
        paper_says="Pull makes a publisher match each event against all patterns of its table; only the publisher: "
        "routing elsewhere stops at the first match.",
        ours=f"{measured(tagging)} comparisons to find all tags of an event, once, {measured(routing)} at each "
        "dispatcher to route it",
        ci95=routing.ci95,
        runs=routing.runs,
        verdict=verdict(above(tagging, routing)),
        why="Finding all tags must take more comparisons than routing an event once, intervals apart. Counted as a "
        "plain loop over the table would make them, for each neighbour until one pattern matches; an index of filters "
        "needs fewer of both.",
    )


def load_is_shared(book: Book) -> Claim:
    busiest = of_methods(book, "epidemic/methods", "busiest", ALGORITHMS)
    uneven = [name for name, line in busiest.items() if line.mean + line.ci95 >= EVEN]
    return Claim(
        id="load-is-shared",
        where="2.2",
        paper_says="Gossip imposes a constant, equally distributed load on the processes.",
        ours="retransmissions of the busiest dispatcher, in multiples of the mean: " + counted(busiest),
        ci95=busiest["combined"].ci95,
        runs=busiest["combined"].runs,
        verdict=verdict(not uneven),
        why=f"Less than {EVEN} times the mean, intervals apart, counts as equally distributed."
        + (
            f" Not so with {', '.join(uneven)}: all dispatchers publish and subscribe alike, but a request meets those "
            "in the middle of the tree first."
            if uneven
            else ""
        ),
    )


def scalable(book: Book) -> Claim:
    sizes, methods = (15, 30, 60, 120), ("none", "push", "combined")
    delivery = {
        method: [book.find("epidemic/sizes", ALL, "delivery", method=method, dispatchers=n) for n in sizes]
        for method in methods
    }
    cost = {
        m: [book.find("epidemic/sizes", ALL, "overhead", method=m, dispatchers=n) for n in sizes] for m in methods[1:]
    }
    gains = {m: [more.mean - less.mean for more, less in zip(delivery[m], delivery["none"], strict=True)] for m in cost}
    kept = all(gain[-1] >= gain[0] for gain in gains.values())
    cheap = all(lines[-1].mean + lines[-1].ci95 < 1 for lines in cost.values())
    return Claim(
        id="scalable",
        where="2.2; 5",
        paper_says="The properties are preserved as the system grows: the algorithms are scalable.",
        ours=f"from {sizes[0]} to {sizes[-1]} dispatchers: "
        + " · ".join(f"{m} {measured_share(lines[0])} → {measured_share(lines[-1])}" for m, lines in delivery.items()),
        ci95=delivery["combined"][-1].ci95,
        runs=delivery["combined"][-1].runs,
        verdict=verdict(kept and cheap),
        why="A larger tree is deeper, and loses more. What each method adds to it, in points, must not shrink from the "
        "smallest to the largest, with the same buffer and interval, and the messages of recovery per event hop must "
        "be below 1 at the largest, intervals apart: "
        + " · ".join(f"{m} {number(lines[0].mean)} → {number(lines[-1].mean)}" for m, lines in cost.items())
        + ".",
    )
