"""`python -m benchmarks.services`: CAMCAST's section 6.2 with live nodes, beside its simulation."""

import asyncio
import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from benchmarks.bench import verdicts
from benchmarks.services import simulated
from benchmarks.services.counting import Row, count
from benchmarks.services.network import Said, Told
from benchmarks.services.plan import CLIMBS, SIZES, Plan, plans
from benchmarks.services.running import Failed, Watch, run_all
from benchmarks.services.summary import summarise
from benchmarks.services.telling import bars, receptions, what_came, write
from benchmarks.tables import shown
from gossamer.cli.audit import audit_with_progress
from gossamer.cli.demo import stopped_like_interrupted
from gossamer.cli.on_spark import starting_spark
from gossamer.cli.running import WIDE
from gossamer.pipeline.audit_case import opened
from gossamer.pipeline.audit_verdict import Verdict


@click.command(epilog="Example: python -m benchmarks.services --service structured --out out/services")
@click.option("--service", "services", type=click.Choice(list(SIZES)), multiple=True,
              help="This one alone; repeatable. Otherwise all three.")  # fmt: skip
@click.option("--networks", type=click.IntRange(1), default=2, show_default=True, help="Networks of each service.")
@click.option("--events", type=click.IntRange(1), default=10, show_default=True,
              help="Events of each network at each p_sel.")  # fmt: skip
@click.option(
    "--sizes", type=click.IntRange(1), nargs=3, help="Other sizes of the three communities, the root's first."
)
@click.option("--climbs", type=click.FloatRange(0, 1), multiple=True, help="Another p_sel; repeatable.")
@click.option("--jobs", type=click.IntRange(1), default=min(2, os.cpu_count() or 1), show_default=True,
              help="Networks at the same time: one keeps a core busy.")  # fmt: skip
@click.option("--simulated", "swept", type=click.Path(exists=True, file_okay=False, path_type=Path),
              help="Folder of `gossamer sweep camcast/services`. Otherwise it is swept here.")  # fmt: skip
@click.option("--runs", type=click.IntRange(0), default=40, show_default=True,
              help="Runs of that sweep; 0: nothing is simulated.")  # fmt: skip
@click.option("--seed", type=int, default=1, show_default=True, help="Who comes when, and which event has which p_sel.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("out/services"),
              show_default=True, help="Folder for rows, summary, figures, report and audit.")  # fmt: skip
def command(
    services: tuple[Any, ...], networks: int, events: int, sizes: tuple[int, int, int] | None,
    climbs: tuple[float, ...], jobs: int, swept: Path | None, runs: int, seed: int, out: Path,
) -> None:  # fmt: skip
    """Networks of live nodes over TLS on this machine, one per process, publish events with several p_sel; the audit
    says what came of each. Exits with 1 if a bar is not met."""
    console = Console(width=None if sys.stdout.isatty() else WIDE)
    made = plans(services or (*SIZES,), networks, events, seed, sizes or None, climbs or CLIMBS)
    try:
        with stopped_like_interrupted():
            told, rows, verdict = measure(console, made, jobs, out)
            if swept or runs:
                with console.status("simulating …"):
                    rows += simulated.read(swept or simulated.sweep(out / "simulated", runs))
    except Failed as failed:
        raise click.ClickException(str(failed)) from None
    means = summarise(rows)
    asked = [*bars(means, verdict)]
    tables = [what_came(told), *receptions(means), verdicts(asked)]
    write(out, told, rows, means, tables)
    for table in tables:
        console.print(shown(table))
    console.print(f"Report with figures: {out / 'report.html'}")
    sys.exit(any(bar.met is False for bar in asked))


def measure(console: Console, made: Sequence[Plan], jobs: int, out: Path) -> tuple[list[Told], list[Row], Verdict]:
    """Runs the networks, then audits their traces; whatever happens, nothing but `out` is left."""
    with tempfile.TemporaryDirectory(prefix="services-") as folder:
        with watching(console) as watch:
            told = asyncio.run(run_all(made, Path(folder), jobs, watch))
        with starting_spark(console) as spark:
            with opened(Path(folder), out / "audit") as case:
                verdict = audit_with_progress(console, spark, case)
            with console.status("counting …"):
                return told, count(spark, Path(folder), out / "audit", told), verdict


@contextlib.contextmanager
def watching(console: Console) -> Iterator[Watch]:
    """A bar for each network that runs; without a terminal, a line for each thing it begins."""
    columns = (TextColumn("{task.description:<32}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    lines: dict[str, TaskID] = {}
    begun: set[tuple[str, str]] = set()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:

        def watch(plan: Plan, said: Said) -> None:
            if plan.name not in lines:
                lines[plan.name] = progress.add_task(plan.name)
            doing = f"{plan.name} {said.what}"
            progress.update(lines[plan.name], description=doing, completed=said.done, total=said.total)
            if not console.is_terminal and (plan.name, said.what) not in begun:
                begun.add((plan.name, said.what))
                console.print(f"{plan.name}: {said.what}")

        yield watch


if __name__ == "__main__":
    command()
