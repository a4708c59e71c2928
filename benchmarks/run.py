"""Measures, tells, and writes bench.json and bench.md: `python -m benchmarks.run --out out/bench`."""

import gc
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

import click
import msgspec
from rich.console import Console

from benchmarks import (
    audit,
    blocks,
    epidemic,
    filters,
    giant,
    hierarchy,
    machines,
    overlay,
    spreads,
    subscribing,
    sweeps,
)
from benchmarks.bench import Bench, Part, Scale, load, machine, told, verdicts
from benchmarks.measure import Disagreement
from benchmarks.tables import Table, shown

WIDTH = 130
"Of the tables, where no terminal says how wide it is."
PARTS: Mapping[str, Part] = {
    "spread": spreads,
    "giant": giant,
    "blocks": blocks,
    "machines": machines,
    "spark": sweeps,
    "filters": filters,
    "subscribing": subscribing,
    "epidemic": epidemic,
    "overlay": overlay,
    "hierarchy": hierarchy,
    "audit": audit,
}
CHECKED = ((1, 2, 3, 10, 100, 1_000, 5_000), (1, 2, 3))
"Sizes and seeds at which the contenders are compared process by process."


@click.command(epilog="Example: python -m benchmarks.run --out out/bench --only spread")
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder for the results.")
@click.option("--quick", is_flag=True, help="A smoke test: fewer turns, nothing very large.")
@click.option("--only", multiple=True, type=click.Choice([*PARTS]), help="This part only; may be given several times.")
@click.option("--sizes", multiple=True, type=click.IntRange(1), help="Other numbers of processes to compare at.")
def command(out: Path, quick: bool, only: tuple[str, ...], sizes: tuple[int, ...]) -> None:
    """How fast Gossamer is, as ratios against other ways to do the same. Takes minutes; exits 1 if a bar is missed."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    out.mkdir(parents=True, exist_ok=True)
    asked = {name: part for name, part in PARTS.items() if not only or name in only}
    try:
        bench, tables = measure(console, asked, Scale(quick, sizes))
    except Disagreement as wrong:
        console.print(f"Nothing was written: {wrong}", style="red")
        sys.exit(1)
    (out / "bench.json").write_bytes(msgspec.json.format(msgspec.json.encode(bench), indent=2) + b"\n")
    (out / "bench.md").write_text(told(bench, tables))
    console.print(f"{out / 'bench.json'} · {out / 'bench.md'}")
    sys.exit(any(bar.met is False for bar in bench.bars))


def measure(console: Console, asked: Mapping[str, Part], scale: Scale) -> tuple[Bench, list[Table]]:
    load_before = load()
    with console.status("kernel, NumPy and plain Python must agree …"):
        agreed = spreads.check(*CHECKED)
    # The compiler has left many objects behind; to look through them again and again would slow plain Python down.
    gc.collect()
    gc.freeze()
    found, tables = {}, []
    for name, part in asked.items():
        with console.status(f"{part.ABOUT} …"):
            found[name] = part.measure(scale)
        for table in part.tables(found[name]):
            console.print(shown(table))
            tables.append(table)
    gc.unfreeze()
    bars = [bar for name, part in PARTS.items() for bar in part.bars(found.get(name))]
    console.print(shown(verdicts(bars)))
    said = shlex.join(["python", "-m", "benchmarks.run", *sys.argv[1:]])
    return Bench(said, machine(load_before), agreed, found, bars), [*tables, verdicts(bars)]


if __name__ == "__main__":
    command()
