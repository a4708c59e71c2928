"""Sections of the report on hpmcast: what no single sweep shows by itself, and what goes beyond the paper."""

from gossamer.lab.book import Book, Line
from gossamer.lab.claims import measured, measured_share, number
from gossamer.lab.figures import Figure, Reference, bars, lines
from gossamer.lab.papers import Part
from gossamer.lab.papers.hpmcast_analysis import DEPTHS, planning, predicted
from gossamer.lab.papers.hpmcast_reached import DEPTHS as CASES
from gossamer.lab.papers.hpmcast_words import F, at, one, percent
from gossamer.lab.studies.hierarchy.metrics import DEGREES
from gossamer.protocols.hpmcast import shape

NO_BREAK = "\u00a0"
REPAIRS = (
    "as it is", "D = 4", "D = 8", "D = 16", "reliability = 0.9", "reliability = 0.99", "direct = 1", "direct = 2",
    "direct = 4",
)  # fmt: skip
LOSSY = ("as it is", "D = 8", "D = 16", "reliability = 0.99", "direct = 4")
SMALL_INTEREST = 0.01
WANTED = 0.99


def kept(text: str) -> str:
    return text.replace(" ", NO_BREAK)


def rows_of(found: list[Line]) -> list[dict[str, object]]:
    return [{name: getattr(line, name) for name in Line.__struct_fields__} for line in found]


def three(book: Book) -> Part:
    """hpmcast and its two predecessors."""
    rows = []
    for variant in ("hpmcast", "pmcast", "rfpbcast"):
        for interest in (0.02, 0.2, 1.0):
            said = [
                one(book, "variants", metric, variant=variant, interest=interest)
                for metric in ("delivery", "spurious", "messages", "rounds", "view_size", "matches_each")
            ]
            shares = [kept(measured_share(line)) for line in said[:2]]
            rows.append((variant, f"{interest:g}", *shares, *(number(line.mean) for line in said[2:])))
    return Part(
        "hpmcast, pmcast and rfpbcast",
        "10,648 participants, F = 2, R = 3. Spurious is the share of the uninterested that get the event; patterns are "
        "those compared per participant.",
        ("variant", "p1", "delivery", "spurious", "messages", "rounds", "view", "patterns"),
        tuple(rows),
    )


def formulas(book: Book) -> Part:
    """Figures 8 and 9 beside what is worked out, and the chain beside pmcast."""
    said = planning(book)
    eight = lines(
        rows_of(at(book, "fig8", "delivery")), name="fig8-theory", title="Figure 8 beside the formula",
        x="workload.interest", metric="delivery", x_label="Share of participants that are interested (p1)",
        y_label="Interested participants reached",
        references=(Reference("worked out from all audiences", [p for p, *_ in said], [ours for *_, ours in said]),),
    )  # fmt: skip
    steps = at(book, "fig9", "steps")
    ps = [line.point["workload.interest"] for line in steps]
    nine = lines(
        rows_of(steps), name="fig9-theory", title="Figure 9: rounds by equation (9), and those that pmcast spends",
        x="workload.interest", metric="steps", x_label="Share of participants that are interested (p1)",
        y_label="Rounds", references=(Reference("equation (9)", ps, [shape.rounds(100 * p, F * p) for p in ps]),),
    )  # fmt: skip
    rows = []
    for line in at(book, "variants", "delivery", variant="pmcast"):
        p = line.point["workload.interest"]
        rows.append((f"{p:g}", kept(measured_share(line)), kept(percent(predicted(p)))))
    return Part(
        "Formulas beside measurements",
        "The table has pmcast beside the Markov chain of (6) to (8). Rounds in Figure 9 are whole, and means over "
        "audiences that differ from run to run; the equation has one audience, the expected one.",
        ("p1", "pmcast, measured", "by the chain"),
        tuple(rows),
        (eight, nine),
    )


def depths(book: Book) -> Part:
    rows = []
    for case, made in zip(CASES, DEPTHS.values(), strict=True):
        said = [one(book, "depth", metric, case=case, interest=0.2) for metric in ("delivery", "spurious")]
        rounds = one(book, "depth", "rounds", case=case, interest=1.0)
        printed = f"{made.level_mean_paper():.2f}"
        rows.append(
            (
                case, str(made.branching), *(kept(measured_share(line)) for line in said), number(rounds.mean),
                str(made.rounds_whole(1.0)), number(made.view_size()), number(made.updated()),
                f"{made.level_mean():.3f}", printed,
            )
        )  # fmt: skip
    return Part(
        "What depth changes",
        "4,096 participants. Delivery and spurious receptions at p1 = 0.2; rounds of a broadcast, measured and by (20) "
        "in whole rounds; participants known (18), to be updated after a failure (35), and the mean level of a "
        "participant by the exact sum of (36) and by its printed end, which cannot be.",
        ("levels", "a", "delivery", "spurious", "rounds", "by (20)", "view", "updated", "mean level", "printed"),
        tuple(rows),
    )


def degrees(book: Book) -> Part:
    """Δ-reliability (1.1.3): how surely how much is reached."""
    rows = []
    for line in at(book, "fig7", "delivery"):
        p = line.point["workload.interest"]
        said = [one(book, "fig7", metric, interest=p) for metric in (*DEGREES, "reached_all")]
        rows.append((f"{p:g}", *(f"{each.mean:.0%}" for each in said)))
    return Part(
        "How surely how much is reached",
        "The distribution of the share reached (Δ-reliability, 1.1.3): runs in which at least so many of the "
        "interested got the event.",
        ("p1", *(f"{share:.0%}" for share in DEGREES.values()), "all"),
        tuple(rows),
    )


def repair(book: Book) -> Part:
    """Beyond the paper: the few are told at once."""
    rows = tuple(_repaired(book, "repair", case, "0 %") for case in REPAIRS) + tuple(
        _repaired(book, "repair-loss", case, "10 %") for case in LOSSY
    )
    return Part(
        "Telling a few at once, instead of adding others",
        "p1 = 0.01. D adds uninterested participants until gossip works; with a reliability, rounds are reckoned from "
        "the share that is to be reached. Both are the paper's, direct is not: whoever has "
        "matched a view and finds that few want the event tells these at once: gossip is no good for a few, and a view "
        "that was matched names them. Under loss it repeats until the chance that all copies are lost is 1 % or less. "
        + verdict_on_repair(book),
        ("repair", "loss", "delivery", "spurious", "messages", "rounds", "in runs ≥ 99 %"),
        rows,
        (_bars(book),),
    )


def verdict_on_repair(book: Book) -> str:
    """Which of each kind is enough, and what the two cost."""
    enough = [
        case for case in REPAIRS if one(book, "repair", "delivery", case=case, interest=SMALL_INTEREST).mean >= WANTED
    ]
    floor, direct = (next((case for case in enough if case.startswith(kind)), None) for kind in ("D", "direct"))
    if direct is None:
        return f"No number told at once reaches {WANTED:.0%}."
    said = [one(book, "repair", "spurious", case=case, interest=SMALL_INTEREST) for case in (direct, floor) if case]
    first = f"The smallest that reaches {WANTED:.0%}: {direct}, with {measured_share(said[0])} spurious receptions"
    return f"{first}; {floor}, with {measured_share(said[1])}." if floor else f"{first}; no D does."


def _repaired(book: Book, file: str, case: str, loss: str) -> tuple[str, ...]:
    said = {
        metric: one(book, file, metric, case=case, interest=SMALL_INTEREST)
        for metric in ("delivery", "spurious", "messages", "rounds", "reached_99")
    }
    shares = (kept(measured_share(said["delivery"])), kept(measured_share(said["spurious"])))
    others = (kept(measured(said["messages"])), number(said["rounds"].mean), f"{said['reached_99'].mean:.0%}")
    return (kept(case), kept(loss), *shares, *others)


def _bars(book: Book) -> Figure:
    found = {
        metric: [one(book, "repair", metric, case=case, interest=SMALL_INTEREST) for case in REPAIRS]
        for metric in ("delivery", "spurious")
    }
    return bars(
        [case.replace(" = ", " ") for case in REPAIRS],
        {name: [line.mean for line in said] for name, said in found.items()},
        errors={name: [line.ci95 for line in said] for name, said in found.items()},
        name="repair-both",
        title="Repairs at p1 = 0.01: who is reached, and who is bothered",
        y_label="Share of the interested, of the uninterested",
        share=True,
        caption="10,648 participants, nothing lost; 95 % confidence intervals.",
    )


def loads(book: Book) -> Part:
    rows = []
    for interest in (0.01, 0.1, 0.3, 1.0):
        said = []
        for level in (3, 2, 1):
            sent, heard = (one(book, "fig7", f"{what}_level_{level}", interest=interest) for what in ("sent", "load"))
            said += [number(sent.mean), kept(measured(heard))]
        rows.append((f"{interest:g}", *said))
    columns = [f"{what} {level}" for level in (3, 2, 1) for what in ("sent on level", "to each of level")]
    return Part(
        "What each level bears",
        "Messages sent on a level in all, and messages that reach one participant whose highest level it is.",
        ("p1", *columns),
        tuple(rows),
    )


def everything(book: Book) -> tuple[Part, ...]:
    return (three(book), formulas(book), depths(book), loads(book), degrees(book), repair(book))
