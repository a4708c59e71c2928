"""What somebody at a terminal sees while the demo runs: a line for each thing that happened, a bar for what happens."""

from pathlib import Path
from types import TracebackType

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from gossamer.pipeline.audit_verdict import Verdict
from gossamer.pipeline.results import read_table


class Screen:
    """Where there is no terminal, only the lines."""

    def __init__(self, console: Console) -> None:
        self.console = console
        columns = (
            TextColumn("[cyan]{task.description:<12}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.fields[beside]}"),
            TimeElapsedColumn(),
        )
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._bar: TaskID | None = None

    def __enter__(self) -> "Screen":
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begin(self, says: str, total: int) -> None:
        if self._bar is not None:
            self._progress.remove_task(self._bar)
        self._bar = self._progress.add_task(says, total=total, beside="")

    def count(self, done: int, beside: str = "") -> None:
        if self._bar is not None:
            self._progress.update(self._bar, completed=done, beside=beside)

    def tell(self, says: str) -> None:
        self.console.print(f"[green]•[/] {escape(says)}", highlight=False, soft_wrap=True)


def show_verdict(console: Console, verdict: Verdict, out: Path) -> None:
    """A row per community, then what it comes to."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in ("community", "nodes", "expected", "delivered", "missing", "in doubt", "copies each"):
        table.add_column(column, justify="left" if column == "community" else "right", no_wrap=True)
    rows = read_table(out, "per_community")
    for row in sorted(rows, key=lambda row: len(row["community"]), reverse=True):
        counts = [row["members"], row["expected"], row["delivered"], row["missing"], row["in_doubt"]]
        table.add_row(row["community"], *map(number, counts), each(row["efficiency"]))
    total = [verdict.nodes, verdict.expected, verdict.delivered, verdict.missing, verdict.in_doubt]
    table.add_row("all", *map(number, total), each(verdict.efficiency), style="bold")
    console.print(table)
    for good, says in findings(verdict, out):
        mark = "[green]✓[/]" if good else "[bold red]✗[/]"
        console.print(mark, escape(says), highlight=False, soft_wrap=True)
    console.print(
        f"{verdict.promised} of {verdict.events} events are promised: their publisher survived or came back. "
        f"In doubt is what\nwas published within 2 s of a node's coming or going.\n",
        style="dim",
        highlight=False,
        soft_wrap=True,
    )


def findings(verdict: Verdict, out: Path) -> list[tuple[bool, str]]:
    """What the promise consists of, and whether each part was kept."""
    parasites, duplicates = verdict.parasites, verdict.duplicates
    return [
        (not verdict.broken, owed(verdict, out)),
        (
            not parasites,
            f"{parasites} events came to nodes that had not asked for them: {out / 'parasites.csv'} names each"
            if parasites
            else "no parasites: no node was sent an event it had not asked for",
        ),
        (
            not duplicates,
            f"{duplicates} deliveries were made again: {out / 'duplicates.csv'} names each"
            if duplicates
            else "no duplicates: no event was delivered twice to the same node",
        ),
        *([(True, found_again(verdict))] if verdict.recovered or verdict.unfilled else []),
    ]


def found_again(verdict: Verdict) -> str:
    """What recovery did. Without it, these deliveries would be missing."""
    says = f"{verdict.recovered:,} deliveries had been lost on the way and were found again"
    return f"{says}; {verdict.unfilled:,} were not" if verdict.unfilled else says


def owed(verdict: Verdict, out: Path) -> str:
    if not verdict.missing:
        late = f"half of them within {ms(verdict.latency_us_p50)}, 99 % within {ms(verdict.latency_us_p99)}"
        return f"all {verdict.expected:,} deliveries owed were made, {late}"
    whose = f"{verdict.broken} of events that were promised" if verdict.broken else "all of events lost with their node"
    named = f"{out / 'missing.csv'} says where each was seen last"
    return f"{verdict.missing:,} of {verdict.expected:,} deliveries owed are missing, {whose}: {named}"


def number(value: int | None) -> str:
    return f"{value or 0:,}"


def each(efficiency: float | None) -> str:
    """Copies that came in for each one that was of use."""
    return f"{1 / efficiency:.1f}" if efficiency else "–"


def ms(latency_us: float | None) -> str:
    return "–" if latency_us is None else f"{latency_us / 1000:,.1f} ms"
