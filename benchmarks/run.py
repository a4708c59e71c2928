"""Measures, tells, and writes bench.json and bench.md: `python -m benchmarks.run --out out/bench`."""

import gc
import itertools
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec
from rich.console import Console

from benchmarks import epidemic, filters, machines, spreads, sweeps, tables
from benchmarks.bench import Bench, bars, load, machine
from benchmarks.giant import run_apart
from benchmarks.measure import Disagreement

THREADS = min(2, os.cpu_count() or 1)
WIDTH = 130
"Of the tables, where no terminal says how wide it is."
PARTS = ("spread", "giant", "machines", "spark", "filters", "epidemic")
SIZES = (10_000, 100_000, 1_000_000)
GIANTS: tuple[tuple[tuple[int, ...], float], ...] = (
    ((10_000_000,), 1.0),
    ((100_000_000,), 1.0),
    ((1_000, 100_000, 100_000_000), spreads.LOSSY),
)
CHECKED = ((1, 2, 3, 10, 100, 1_000, 5_000), (1, 2, 3))
"Sizes and seeds at which the contenders are compared process by process."


@click.command(epilog="Example: python -m benchmarks.run --out out/bench --only spread")
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder for the results.")
@click.option("--quick", is_flag=True, help="A smoke test: fewer turns, nothing beyond 10^6 processes.")
@click.option("--only", multiple=True, type=click.Choice(PARTS), help="This part only; may be given several times.")
@click.option("--sizes", multiple=True, type=click.IntRange(1), help="Other numbers of processes to compare at.")
def command(out: Path, quick: bool, only: tuple[str, ...], sizes: tuple[int, ...]) -> None:
    """How fast Gossamer is, as ratios against other ways to do the same. Takes minutes; exits 1 if a bar is missed."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    out.mkdir(parents=True, exist_ok=True)
    try:
        bench = measure(console, only or PARTS, sizes or SIZES, quick)
    except Disagreement as wrong:
        console.print(f"Nothing was written: {wrong}", style="red")
        sys.exit(1)
    (out / "bench.json").write_bytes(msgspec.json.format(msgspec.json.encode(bench), indent=2) + b"\n")
    (out / "bench.md").write_text(tables.markdown(bench))
    console.print(f"{out / 'bench.json'} · {out / 'bench.md'}")
    sys.exit(any(bar.met is False for bar in bench.bars))


def measure(console: Console, parts: Sequence[str], sizes: Sequence[int], quick: bool) -> Bench:
    load_before = load()
    with console.status("kernel, NumPy and plain Python must agree …"):
        agreed = spreads.check(*CHECKED)
    # The compiler has left many objects behind; to look through them again and again would slow plain Python down.
    gc.collect()
    gc.freeze()
    spread, giant, real, spark, asked_at_once, recovering = [], [], None, None, None, []
    if "spread" in parts:
        for n in sizes:
            with console.status(f"one event among {n:,} processes …"):
                found = [spreads.compare(n, success, 3 if quick else 15, THREADS) for success in (1.0, spreads.LOSSY)]
            console.print(tables.shown(tables.spreads(found)))
            spread += found
    if "giant" in parts and not quick:
        for (groups, success), threads in itertools.product(GIANTS, range(1, THREADS + 1)):
            with console.status(f"one event among {sum(groups):,} processes, threads: {threads} …"):
                giant.append(run_apart(groups, success, threads))
        console.print(tables.shown(tables.giants(giant)))
    if "machines" in parts:
        with console.status("machines …"):
            real = machines.measure(runs=3 if quick else 15)
        console.print(tables.shown(tables.machines(real)))
    if "spark" in parts:
        with console.status("sweeps on Spark …"):
            spark = sweeps.measure(runs=100 if quick else 1000)
        console.print(tables.shown(tables.sweeps(spark)))
    if "filters" in parts:
        with console.status("filters …"):
            asked_at_once = filters.measure(filters.SIZES[:-1] if quick else filters.SIZES, turns=2 if quick else 5)
        console.print(tables.shown(tables.matching(asked_at_once)), tables.shown(tables.condensing(asked_at_once)))
    if "epidemic" in parts:
        with console.status("recovery in experiments …"):
            recovering = epidemic.measure(runs=2 if quick else 5)
        console.print(tables.shown(tables.epidemic(recovering)))
    gc.unfreeze()
    asked = list(bars(spread, giant, asked_at_once, recovering))
    console.print(tables.shown(tables.verdicts(asked)))
    said = shlex.join(["python", "-m", "benchmarks.run", *sys.argv[1:]])
    return Bench(said, machine(load_before), agreed, spread, giant, real, spark, asked_at_once, recovering, asked)


if __name__ == "__main__":
    command()
