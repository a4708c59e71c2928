"""The results as tables, for the terminal and for Markdown."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from benchmarks.bench import Bar, verdicts
from benchmarks.live.results import Cell, Ratio
from benchmarks.live.systems import SYSTEMS
from benchmarks.tables import Table, number, ranged

BUSY = 0.5
"A load beyond this makes times longer than they are."
NOTE = (
    "Median (lowest–highest) of rounds in which the systems took turns. CPU is that of all processes, publisher, "
    "subscribers and broker together, while messages flow; only Gossamer with keys encrypts and signs."
)


class Live(Struct, frozen=True):
    """The whole result."""

    command: str
    machine: dict[str, str | float]
    versions: dict[str, str]
    absent: dict[str, str]
    "Systems that were not measured, and what they lack."
    rounds: int
    cells: list[Cell]
    ratios: list[Ratio]
    failures: list[str]
    bars: list[Bar]


def bytes_of(size: int) -> str:
    return f"{size // 1024} KiB" if size >= 1024 and size % 1024 == 0 else f"{size} B"


def to(subscribers: int) -> str:
    return "1 subscriber" if subscribers == 1 else f"{subscribers} subscribers"


def measured(cells: Sequence[Cell], subscribers: int) -> Table:
    """Everything about one number of subscribers."""
    rows = []
    for each in sorted((cell for cell in cells if cell.subscribers == subscribers), key=lambda cell: cell.size):
        roles = " / ".join(number(each.cpu_us_by_role[role]) for role in ("publisher", "broker", "subscribers"))
        rows.append(
            [
                bytes_of(each.size),
                each.system,
                ranged(each.cpu_us),
                roles,
                ranged(each.cpu_us_per_copy) if each.cpu_us_per_copy else "–",
                f"{each.copies_per_delivery:.1f}" if each.copies_per_delivery else "–",
                ranged(each.rate),
                ranged(each.p50_ms) if each.p50_ms else "–",
                ranged(each.p99_ms) if each.p99_ms else "–",
                f"{each.lost:,}" + (f" (+{each.duplicates:,} twice)" if each.duplicates else ""),
            ]
        )
    head = ["body", "system", "CPU µs per delivery", "pub / broker / subs", "per copy", "copies"]
    return Table(f"One publisher, {to(subscribers)}", [*head, "messages/s", "p50 ms", "p99 ms", "lost"], rows, NOTE)


def compared(ratios: Sequence[Ratio]) -> Table:
    """Gossamer over each other system."""
    others = list(dict.fromkeys(each.other for each in ratios))
    cases = sorted({(each.size, each.subscribers, each.system) for each in ratios})
    times = {(each.size, each.subscribers, each.system, each.other): each.times for each in ratios}
    rows = [
        [
            bytes_of(size),
            str(subscribers),
            system,
            *(f"{ranged(found)} ×" if (found := times.get((*case, other))) else "–" for other in others),
        ]
        for case in cases
        for size, subscribers, system in [case]
    ]
    note = "CPU per delivery, round by round. Gossip carries an event to each subscriber several times: see copies."
    return Table("Gossamer, times the CPU of others", ["body", "subscribers", "system", *others], rows, note)


def tables(live: Live) -> Iterator[Table]:
    for subscribers in sorted({cell.subscribers for cell in live.cells}):
        yield measured(live.cells, subscribers)
    if live.ratios:
        yield compared(live.ratios)
    yield verdicts(live.bars)


def busy(load: float) -> str:
    """A warning, or nothing."""
    return f"The machine is busy (load {load:.2f} before the run): trust ratios, not times." if load > BUSY else ""


def markdown(live: Live) -> str:
    on = live.machine
    lines = [
        "# Live, beside others",
        "",
        f"`{live.command}` on {on['cores']} cores of {on['cpu']}, Python {on['python']}; "
        f"load {on['load_before']} before, {on['load_after']} after; {live.rounds} rounds.",
        " ".join(f"{name} {version}," for name, version in live.versions.items()).rstrip(",") + ".",
    ]
    if warning := busy(float(on["load_before"])):
        lines += ["", f"**{warning}**"]
    lines += ["", *(f"- {name}: {entry.what}" for name, entry in SYSTEMS.items() if name not in live.absent)]
    lines += [f"- {name}: not measured, {lack} is not installed" for name, lack in live.absent.items()]
    for table in tables(live):
        lines += ["", f"## {table.title}", "", "| " + " | ".join(table.head) + " |", "|" + "---|" * len(table.head)]
        lines += ["| " + " | ".join(row) + " |" for row in table.rows]
        lines += ["", table.note] if table.note else []
    if live.failures:
        lines += ["", "## What failed", "", *(f"- {failure}" for failure in live.failures)]
    return "\n".join(lines) + "\n"
