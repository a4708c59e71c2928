"""`python -m benchmarks.faults --runs 500`: real processes under faults, and what they make of it."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import msgspec

from benchmarks.faults import report
from benchmarks.faults.plan import LONG, SCENARIOS
from benchmarks.faults.run import Result, run

PATIENCE_S = 15.0


@click.command(epilog="Example: python -m benchmarks.faults --runs 20 --seed 1 --out out/faults")
@click.option("--runs", type=click.IntRange(1), default=len(SCENARIOS), show_default=True, help="How many in all.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the first run; the next has the next.")
@click.option(
    "--only",
    type=click.Choice([*SCENARIOS, *LONG]),
    help="This scenario alone; otherwise all in turn but for the long ones, which are last here.",
)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("out/faults"), show_default=True,
              help="Folder for report, ledgers and logs of runs that failed.")  # fmt: skip
@click.option("--resume", is_flag=True, help="Go on: runs that are in the folder's results are not run again.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Runs at the same time.")
@click.option("--patience-s", type=click.FloatRange(1), default=PATIENCE_S, show_default=True,
              help="From the last return until everybody must have everything.")  # fmt: skip
def command(runs: int, seed: int, only: str | None, out: Path, resume: bool, jobs: int, patience_s: float) -> None:
    """Each run starts five processes, strikes them as its seed says, and compares what they wrote down. Exits with 1 if
    a promise was broken; every failure says how it is run again."""
    out.mkdir(parents=True, exist_ok=True)
    log = out / "results.jsonl"
    if not resume:
        log.unlink(missing_ok=True)
    done = list(read(log))
    known = {(each.scenario, each.seed) for each in done}
    names = [only] if only else list(SCENARIOS)
    todo = [(names[number % len(names)], number) for number in range(seed, seed + runs)]
    todo = [each for each in todo if each not in known]
    with ThreadPoolExecutor(jobs) as pool, log.open("ab") as file:
        started = (pool.submit(run, name, number, out / f"{name}-{number}", patience_s) for name, number in todo)
        for number, future in enumerate(list(started), start=1):
            result = future.result()
            file.write(msgspec.json.encode(result) + b"\n")
            file.flush()
            done.append(result)
            click.echo(line(number, len(todo), result))
    report.write(out, done)
    click.echo(report.text(done))
    sys.exit(any(not each.fine for each in done if not each.skipped))


def line(number: int, count: int, result: Result) -> str:
    wrong = [*([result.failed] if result.failed else []), *result.verdict.wrong]
    said = result.skipped or "; ".join(wrong) or "fine"
    again = "" if result.fine or result.skipped else f"   again: {result.command}"
    return f"{number}/{count} {result.scenario} seed {result.seed} {result.seconds:g} s: {said}{again}"


def read(log: Path) -> Iterator[Result]:
    for text in log.read_bytes().splitlines() if log.exists() else ():
        yield msgspec.json.decode(text, type=Result)


if __name__ == "__main__":
    command()
