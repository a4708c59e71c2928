"""Measures, tells, and writes live.json and live.md: `python -m benchmarks.live.run --out out/bench`."""

import asyncio
import os
import platform
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec
from rich.console import Console

from benchmarks.bench import cpu_model, load
from benchmarks.live import results, tables, turn
from benchmarks.live.results import Measured, Wanted
from benchmarks.live.systems import SYSTEMS, lacking, versions
from benchmarks.live.tables import Live
from benchmarks.live.traffic import HEAD
from benchmarks.tables import shown

WIDTH = 180
"Of the tables, where no terminal says how wide it is."
SIZES = (64, 1024, 65536)
SUBSCRIBERS = (1, 8, 32)
ROUNDS = 3
DELIVERIES = 120_000
DELIVERED_BYTES = 512 << 20
"In all, of each phase at full speed: whichever comes first."
PACED_DELIVERIES = 800
PACED_BYTES = 16 << 20
RATES = (10, 200)
"When latency is measured, per second: so many deliveries, bytes in all, and messages. Nobody should be busy then."
PACE_S = 2.0
PATIENCE_S = 20.0


class Several(click.ParamType):
    """Things with commas between them."""

    name = "LIST"

    def __init__(self, each: click.ParamType) -> None:
        self.each = each

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[object, ...]:
        if not isinstance(value, str):
            return tuple(value) if isinstance(value, (tuple, list)) else (value,)
        return tuple(dict.fromkeys(self.each.convert(part.strip(), param, ctx) for part in value.split(",")))


@click.command(epilog="Example: python -m benchmarks.live.run --out out/bench --systems gossamer,nats --sizes 64")
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder for the results.")
@click.option("--systems", type=Several(click.Choice(list(SYSTEMS))), help=f"Of {','.join(SYSTEMS)}; those installed.")
@click.option("--sizes", type=Several(click.IntRange(HEAD.size, 1 << 20)), default=SIZES, help="Bytes of a body.")
@click.option("--subscribers", type=Several(click.IntRange(1, 256)), default=SUBSCRIBERS, help="Processes.")
@click.option("--rounds", type=click.IntRange(1), default=ROUNDS, show_default=True, help="Turns each system takes.")
@click.option("--messages", type=click.IntRange(1), help="At full speed; usually as many as make the times good.")
@click.option("--pace-s", type=click.FloatRange(0), default=PACE_S, show_default=True, help="For the latency; 0: none.")
@click.option(
    "--patience-s", type=click.FloatRange(0.1), default=PATIENCE_S, show_default=True, help="Silence allowed."
)
def command(
    out: Path,
    systems: Sequence[str] | None,
    sizes: Sequence[int],
    subscribers: Sequence[int],
    rounds: int,
    messages: int | None,
    pace_s: float,
    patience_s: float,
) -> None:
    """CPU, rate and latency of the live node beside other systems. Takes minutes; exits 1 if a bar is missed."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    load_before = load()
    if warning := tables.busy(load_before):
        console.print(warning, style="yellow")
    absent = {name: lack for name in systems or SYSTEMS if (lack := lacking(name))}
    for name, lack in absent.items():
        console.print(f"{name} is left out: {lack} is not installed (make bench-peers)", style="yellow")
    present = [name for name in systems or SYSTEMS if name not in absent]
    if not present:
        console.print("Nothing to measure: none of the systems asked for is installed.", style="red")
        sys.exit(2)
    out.mkdir(parents=True, exist_ok=True)

    def plan(count: int) -> list[Wanted]:
        return [planned(size, count, messages, pace_s, patience_s) for size in sizes]

    taken: list[Measured] = []
    for count in subscribers:
        taken += asyncio.run(in_turns(console, present, count, plan(count), rounds, out))
        console.print(shown(tables.measured(results.cells(taken), count)))
    live = whole(taken, present, absent, rounds, load_before)
    for table in list(tables.tables(live))[len(subscribers) :]:
        console.print(shown(table))
    for failure in live.failures:
        console.print(failure, style="red")
    (out / "live.json").write_bytes(msgspec.json.format(msgspec.json.encode(live), indent=2) + b"\n")
    (out / "live.md").write_text(tables.markdown(live))
    console.print(f"{out / 'live.json'} · {out / 'live.md'}")
    sys.exit(any(bar.met is False for bar in live.bars) or bool(live.failures))


def planned(size: int, subscribers: int, messages: int | None, pace_s: float, patience_s: float) -> Wanted:
    most = min(DELIVERIES, DELIVERED_BYTES // size)
    rate = min(max(min(PACED_DELIVERIES, PACED_BYTES / size) / subscribers, RATES[0]), RATES[1])
    return Wanted(size, messages or max(1, most // subscribers), int(rate * pace_s), rate, patience_s)


async def in_turns(
    console: Console, names: Sequence[str], count: int, wanted: Sequence[Wanted], rounds: int, out: Path
) -> list[Measured]:
    """A B C A B C: what slows the machine down for a while slows all of them."""
    taken: list[Measured] = []
    for number in range(1, rounds + 1):
        for name in names:
            with console.status(f"{tables.to(count)}, round {number} of {rounds}: {name} …"):
                taken += await turn.take(name, count, wanted, number, out)
    return taken


def whole(
    taken: Sequence[Measured], present: Sequence[str], absent: dict[str, str], rounds: int, load_before: float
) -> Live:
    found = results.cells(taken)
    compared = list(results.ratios(found))
    return Live(
        command=shlex.join(["python", "-m", "benchmarks.live.run", *sys.argv[1:]]),
        machine={
            "cpu": cpu_model(),
            "cores": os.cpu_count() or 1,
            "python": platform.python_version(),
            "load_before": load_before,
            "load_after": load(),
        },
        versions=versions(present),
        absent=absent,
        rounds=rounds,
        cells=found,
        ratios=compared,
        failures=results.failures(taken),
        bars=list(results.bars(found, compared)),
    )


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C: nothing is left behind
    command()
