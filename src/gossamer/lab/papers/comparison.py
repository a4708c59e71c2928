"""Which protocol for which workload: one workload through all of them, and a verdict on what the paper on epidemic
recovery (its section 6) holds against hpmcast."""

from gossamer.lab.book import ALL, Book, Line
from gossamer.lab.claims import Claim, above, measured, measured_share, number, verdict
from gossamer.lab.figures import Figure, dots
from gossamer.lab.papers import Paper, Part

WORKLOAD, CALM = "comparison/workload", "comparison/calm"
DESIGNS = (
    "camcast", "camcast + recovery", "spidercast", "spidercast + recovery", "hpmcast, rounds", "hpmcast",
    "hpmcast + recovery", "dispatch", "dispatch + recovery", "dispatch + pulls", "flood",
)  # fmt: skip
COLUMNS = (
    "design", "delivery", "reached 50 / 90 / 100 %", "p50 / p99, ms", "copies", "words", "kB per delivery",
    "upkeep, B/s", "unwanted", "off topic", "matches", "entries", "load, most", "load by level",
)  # fmt: skip
COSTS = {
    "copies": "copies of an event", "unwanted": "nodes that did not want it", "matches": "comparisons with filters",
    "entries": "entries a node keeps",
}  # fmt: skip
REACHED = {"reached_50": "at least half", "reached_90": "at least 90 %", "reached_all": "all"}
WHERE = "epidemic recovery, 6"
ROUNDS = "hpmcast, rounds"
"As in its paper: what is held against it is held against this."
PAYLOAD = 500
"Of the files."


def rough(book: Book, case: str, metric: str) -> Line:
    return book.find(WORKLOAD, ALL, metric, case=case)


def calm(book: Book, case: str, metric: str) -> Line:
    return book.find(CALM, ALL, metric, case=case)


def claims(book: Book) -> list[Claim]:
    return [overhead(book), guarantee(book), whole_events(book), near_the_root(book)]


def judged(id: str, paper_says: str, ours: str, holds: bool, why: str, line: Line) -> Claim:
    return Claim(
        id=id, where=WHERE, paper_says=paper_says, ours=ours, ci95=line.ci95, runs=line.runs, verdict=verdict(holds),
        why=why,
    )  # fmt: skip


def overhead(book: Book) -> Claim:
    unwanted, again, copies = (calm(book, ROUNDS, metric) for metric in ("unwanted", "duplicates", "copies"))
    tree, passed = calm(book, "dispatch", "copies"), calm(book, "dispatch", "unwanted")
    return judged(
        "hpmcast-overhead",
        "In absence of faults it increases the overhead: events reach also nodes that are not interested, or the same "
        "node more than once.",
        f"per event {measured(unwanted)} nodes that do not want it, {measured(again)} copies for one that has it, "
        f"{measured(copies)} copies in all; on a tree {measured(tree)}",
        unwanted.mean > 0 and again.mean > 0 and above(copies, tree),
        "Both must happen without loss and crashes, and the copies be more than those of content-based routing on a "
        f"tree, intervals apart. Its tree leads through {measured(passed)} nodes that do not want the event, though: "
        "where every node is a dispatcher, the first half is no difference between the two, the second is.", copies,
    )  # fmt: skip


def guarantee(book: Book) -> Claim:
    gossip, live, tree = (calm(book, case, "delivery") for case in (ROUNDS, "hpmcast", "dispatch"))
    return judged(
        "hpmcast-no-guarantee", "Even in absence of faults it does not guarantee that events are delivered correctly.",
        f"{measured_share(gossip)} delivered, on a tree {measured_share(tree)}", gossip.mean < 1 <= tree.mean,
        "Without loss and crashes some delivery must be missing in some run, and none on the tree. Here few want an "
        "event, where rounds of gossip are at their worst; told at once, as live nodes do with small audiences, "
        f"{measured_share(live)} get it (direct and lan, not in the paper).", gossip,
    )  # fmt: skip


def whole_events(book: Book) -> Claim:
    """Judged only where it does not matter whose digests they are: ours repair more and talk all the time, the paper's
    are silent and see only gaps."""
    whole, at_once = (rough(book, case, "bytes_delivery") for case in (ROUNDS, "hpmcast"))
    digests = {case: rough(book, case, "bytes_delivery") for case in ("dispatch + recovery", "dispatch + pulls")}
    repaired = {case: measured_share(rough(book, case, "delivery")) for case in digests}
    dearer = all(above(whole, other) for other in digests.values())
    cheaper = all(above(other, whole) for other in digests.values())
    ours, paper = (kilobytes(line) for line in digests.values())
    why = (
        f"With 5 % loss and crashes, events of {PAYLOAD} bytes, four a second. Reproduced if it costs more bytes per "
        "delivery than a tree with either recovery, intervals apart; differs if less than both. "
        f"Pulls as in the paper bring a tree to {repaired['dispatch + pulls']}: with few events of each publisher and "
        f"pattern hardly a gap shows, so they have little to send. With push and tails it gets "
        f"{repaired['dispatch + recovery']}, for digests at all times, whatever is published. {turning_point(book)} "
        f"Where small audiences are told at once, as live nodes do, it takes {kilobytes(at_once)}."
    )
    return Claim(
        id="hpmcast-whole-events", where=WHERE,
        paper_says="It forces a push approach in which gossip messages include the entire event instead of a digest, "
        "which further increases the traffic.",
        ours=f"kB per delivery: {kilobytes(whole)}; a tree with pulls {paper}, with push too {ours}",
        ci95=whole.ci95, runs=whole.runs,
        verdict="reproduced" if dearer else "differs" if cheaper else "cannot be compared", why=why,
    )  # fmt: skip


def kilobytes(line: Line) -> str:
    return f"{line.mean / 1000:.1f} ± {line.ci95 / 1000:.1f}"


def turning_point(book: Book) -> str:
    """From which payload on whole events cost more than digests: copies do not depend on it, words neither."""
    (more, whole), (fewer, digests) = (costs(book, case) for case in (ROUNDS, "dispatch + recovery"))
    if more <= fewer:
        return "Against the latter, hpmcast sends no more copies than the tree: no payload would change that."
    least = PAYLOAD + (digests - whole) / (more - fewer)
    if least <= 0:
        return "Against the latter, whole events cost more with every payload."
    return f"Against the latter, whole events cost more from a payload of about {least:,.0f} bytes on."


def costs(book: Book, case: str) -> tuple[float, float]:
    """Copies and bytes, per delivery."""
    copies, audience, delivery, size = (
        rough(book, case, metric).mean for metric in ("copies", "audience", "delivery", "bytes_delivery")
    )
    return copies / (audience * delivery), size


def near_the_root(book: Book) -> Claim:
    loads = [calm(book, ROUNDS, f"load_level_{level}") for level in (1, 2, 3)]
    held = [calm(book, ROUNDS, f"held_level_{level}") for level in (1, 2, 3)]
    most = [calm(book, case, "load_max") for case in (ROUNDS, "dispatch")]
    return judged(
        "hpmcast-near-the-root",
        "Nodes near the root of the hierarchy are subject to a high traffic, and must keep very large event caches.",
        "copies per event on level 1, 2, 3: " + ", ".join(map(measured, loads)) + "; share of all events held: "
        + ", ".join(map(measured_share, held)),
        all(above(high, low) for low, high in ((loads[0], loads[1]), (loads[1], loads[2]), (held[0], held[2]))),
        "Every level must bear more copies than the one below, and the topmost hold more of all events than the "
        "lowest, intervals apart: for the same time, its cache must be larger in proportion. The most loaded node "
        f"bears {measured(most[0])} copies per event, that of the tree {measured(most[1])}: a tree has its middle.",
        loads[2],
    )  # fmt: skip


# -- the table and the figure ---------------------------------------------------------------------------------------


def row(book: Book, case: str) -> tuple[str, ...]:
    def mean(metric: str) -> str:
        return number(rough(book, case, metric).mean)

    return (
        case,
        measured_share(rough(book, case, "delivery")),
        " / ".join(f"{100 * rough(book, case, metric).mean:.3g}" for metric in REACHED),
        f"{rough(book, case, 'latency_p50_ms').mean:,.0f} / {rough(book, case, 'latency_p99_ms').mean:,.0f}",
        measured(rough(book, case, "copies")),
        mean("words"),
        f"{rough(book, case, 'bytes_delivery').mean / 1000:.1f}",
        mean("upkeep_bytes"),
        measured(rough(book, case, "unwanted")),
        mean("off_topic"),
        measured(rough(book, case, "matches")),
        measured(rough(book, case, "entries")),
        mean("load_max"),
        " / ".join(f"{rough(book, case, f'load_level_{level}').mean:.1f}" for level in (1, 2, 3)),
    )


def drawn(book: Book, metrics: dict[str, str]) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Means by label, and half of their intervals."""
    found = {label: [rough(book, case, metric) for case in DESIGNS] for metric, label in metrics.items()}
    means = {label: [line.mean for line in lines] for label, lines in found.items()}
    return means, {label: [line.ci95 for line in lines] for label, lines in found.items()}


def figures(book: Book) -> tuple[Figure, Figure]:
    caption = "5 % of messages lost, 4 of 75 nodes crash. Whiskers: 95 % confidence intervals."
    (costs, costs_by), (reached, reached_by) = drawn(book, COSTS), drawn(book, REACHED)
    return (
        dots(
            DESIGNS, costs, errors=costs_by, name="comparison", title="What one event takes, and what a node keeps",
            x_label="per event; entries: per node", log_x=True, caption=f"{caption} Each step is ten times as many.",
        ),
        dots(
            DESIGNS, reached, errors=reached_by, name="reached", title="How many of those who want an event it reaches",
            x_label="share of events that reached so many", share=True, caption=caption,
        ),
    )  # fmt: skip


def everything(book: Book) -> list[Part]:
    unexplained = sum(rough(book, case, "parasites").mean for case in DESIGNS)
    text = (
        "Per event: copies are messages with the event in them, words are messages about events without one, unwanted "
        "are nodes that got it and did not want it, off topic those of them that do not read its topic; matches are "
        "comparisons with a filter, or with an index of many. Load is the copies a node sends and receives, of the one "
        "that bears most, and of those on level 1, 2 and 3 of the hierarchy. Entries are what a node keeps about "
        f"others: peers, topics, filters. Upkeep is per node. Parasites, which nothing explains: {number(unexplained)}."
    )
    rows = tuple(row(book, case) for case in DESIGNS)
    return [Part("One workload, every design", text, COLUMNS, rows, figures(book))]


PAPER = Paper(
    name="comparison",
    title="a comparison of protocols",
    lead="One workload of topics and filters on lossy links, carried by CAMCAST, SpiderCast, hpmcast, dispatch and "
    "flooding; and verdicts on four claims against hpmcast.",
    experiments=(WORKLOAD, CALM),
    claims=claims,
    analysis=everything,
)
