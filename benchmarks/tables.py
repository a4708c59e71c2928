"""The results as tables, once for the terminal and once for Markdown."""

from collections.abc import Iterator

from msgspec import Struct
from rich import box
from rich.table import Table as Shown

from benchmarks.bench import Bar, Bench
from benchmarks.epidemic import Recovering
from benchmarks.filters import Filters
from benchmarks.giant import Giant
from benchmarks.machines import Machines
from benchmarks.measure import Span, scaled
from benchmarks.spreads import Comparison
from benchmarks.sweeps import Sweeps


class Table(Struct, frozen=True):
    title: str
    head: list[str]
    rows: list[list[str]]
    note: str = ""


def number(value: float) -> str:
    """Three digits that matter."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def ranged(measured: Span, unit: float = 1.0) -> str:
    middle, low, high = (number(value * unit) for value in (measured.median, measured.low, measured.high))
    return middle if measured.times == 1 else f"{middle} ({low}–{high})"


def spreads(compared: list[Comparison]) -> Table:
    rows = []
    for each in compared:
        for name, taken in each.taken.items():
            beside = each.ratios.get(name)
            unit = "× as fast" if name.startswith("kernel") else "×"
            times = "" if beside is None else f"{ranged(beside)} {unit}"
            per_message = ranged(scaled(taken.cpu_s, 1e9 / each.messages))
            case = [f"{each.processes:,}", f"{1 - each.success:.0%}", name]
            rows.append([*case, ranged(taken.cpu_s, 1e3), ranged(taken.wall_s, 1e3), per_message, times])
    head = ["processes", "loss", "who", "CPU ms", "wall ms", "CPU ns per message", "of the kernel's time"]
    note = "Median (least–most) of turns all took in one run; ratios are of CPU time, of threads by the clock."
    return Table("One event, every process tells floor(ln n + 5) different others", head, rows, note)


def giants(ran: list[Giant]) -> Table:
    rows = [
        [
            " / ".join(f"{size:,}" for size in reversed(each.sizes)),
            f"{1 - each.success:.0%}",
            str(each.threads),
            number(each.took.wall_s),
            number(each.took.cpu_s),
            number(each.ns_per_message),
            f"{each.bytes_per_process:.2f}",
            f"{each.reached:.4%}",
            str(each.rounds),
        ]
        for each in ran
    ]
    head = ["processes", "loss", "threads", "wall s", "CPU s", "ns/message", "bytes/process", "reached", "rounds"]
    return Table("The kernel alone, one run each", head, rows, "Nanoseconds are by the clock.")


def machines(told: Machines) -> Table:
    rows = [
        ["machines made and subscribed, ms", ranged(told.build_ms)],
        ["one event, ms", ranged(told.event_ms)],
        ["one step, µs", ranged(told.us_per_step)],
        ["steps of an event", ranged(told.steps)],
        ["times the kernel's time", ranged(told.kernel_ratio)],
    ]
    return Table(f"Real machines in the simulated world, {told.processes:,} of them", ["what", "CPU"], rows)


def sweeps(told: Sweeps) -> Table:
    rows = [
        [
            each.name,
            f"{each.trials:,}",
            number(each.loop_s),
            number(each.spark_s),
            f"{each.loop_s / each.spark_s:.2f} ×",
            f"{each.overhead_s:.2f}",
            f"{1e6 * each.overhead_s / each.trials:.0f}",
        ]
        for each in told.sweeps
    ]
    cores = told.sweeps[0].cores
    head = ["sweep", "trials", "loop s", f"Spark s, {cores} cores", "speed-up", "overhead s", "µs per trial"]
    note = (
        f"Before that, once: Spark starts in {told.session_s:.1f} s, its first job takes {told.first_job_s:.1f} s. "
        "Overhead is what Spark takes beyond the loop's time divided by the cores; it includes writing the outcomes."
    )
    return Table("A sweep on Spark, against a loop in one process", head, rows, note)


def matching(told: Filters) -> Table:
    rows = [
        [
            f"{each.filters:,}",
            number(each.matches),
            ranged(each.index_per_s),
            ranged(each.loop_per_s),
            ranged(each.times),
        ]
        for each in told.matching
    ]
    head = ["filters", "matches per event", "index, events/s", "loop, events/s", "times as fast"]
    note = "Stocks by Zipf(1) and price ranges, a tenth with `or`. Per second of CPU time; both named the same filters."
    return Table("Many filters asked at once", head, rows, note)


def condensing(told: Filters) -> Table:
    rows = [[str(each.size), str(each.filters), ranged(each.wrong, 100)] for each in told.condensing]
    head = ["size", "filters in one", "events let through in vain, %"]
    return Table("Condensed filters", head, rows, "Of events that none of the filters wants.")


def epidemic(told: list[Recovering]) -> Table:
    rows = [
        [
            each.method,
            ranged(each.full_s),
            ranged(each.ns_per_hop),
            ranged(each.machines_s),
            ranged(each.kernel_ratio),
        ]
        for each in told
    ]
    head = ["recovery", "kernel, s", "ns per message", "machines, small, s", "times the kernel's time"]
    note = "100 dispatchers, 50 events/s each, 15 s; machines: 30, 20 events/s, 2 s, the same runs by both. CPU time."
    return Table("Events lost on a tree and found again", head, rows, note)


def verdicts(asked: list[Bar]) -> Table:
    met = {True: "met", False: "NOT met", None: "–"}
    rows = [[bar.what, bar.wanted, bar.got, met[bar.met]] for bar in asked]
    return Table("Bars", ["what", "wanted", "got", ""], rows)


def tables(bench: Bench) -> Iterator[Table]:
    if bench.spread:
        yield spreads(bench.spread)
    if bench.giant:
        yield giants(bench.giant)
    if bench.machines:
        yield machines(bench.machines)
    if bench.spark:
        yield sweeps(bench.spark)
    if bench.filters:
        yield matching(bench.filters)
        yield condensing(bench.filters)
    if bench.epidemic:
        yield epidemic(bench.epidemic)
    yield verdicts(bench.bars)


def shown(table: Table) -> Shown:
    made = Shown(title=table.title, caption=table.note or None, box=box.SIMPLE_HEAD)
    made.title_justify = made.caption_justify = "left"
    for position, name in enumerate(table.head):
        made.add_column(name, justify="left" if position == 0 else "right")
    for row in table.rows:
        made.add_row(*row)
    return made


def markdown(bench: Bench) -> str:
    on = bench.machine
    lines = [
        "# Benchmarks",
        "",
        f"`{bench.command}` on {on.cores} cores of {on.cpu} ({on.system}), Python {on.python}, NumPy {on.numpy}, "
        f"Numba {on.numba}, PySpark {on.pyspark}; load {on.load_before} before, {on.load_after} after.",
        f"Before timing, kernel, NumPy and plain Python were compared process by process in {bench.agreed} runs.",
    ]
    for table in tables(bench):
        lines += ["", f"## {table.title}", "", "| " + " | ".join(table.head) + " |", "|" + "---|" * len(table.head)]
        lines += ["| " + " | ".join(row) + " |" for row in table.rows]
        lines += ["", table.note] if table.note else []
    return "\n".join(lines) + "\n"
