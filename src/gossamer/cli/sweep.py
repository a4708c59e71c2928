"""gossamer sweep: every point and run, on Spark."""

from pathlib import Path

import click

from gossamer.cli.choosing import choosing, chosen
from gossamer.cli.console import SafeConsole
from gossamer.cli.running import exit_if_failed, print_summary, starting_spark, sweep_with_progress, write_report
from gossamer.cli.setting_aside import tell_set_aside
from gossamer.cli.terminal import say_json
from gossamer.lab.grid import points
from gossamer.lab.plan import estimate
from gossamer.pipeline.summary import write_csv
from gossamer.pipeline.sweep import finished_trials, outcomes_folder


@click.command("sweep", epilog="Example: gossamer sweep camcast/fig15 --out out --master 'local[2]'")
@click.argument("spec")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for outcomes, summary and report.")
@click.option("--master", help="Spark master; default local[*].")
@click.option("--runs", type=click.IntRange(1), help="Override the file's number of runs.")
@choosing
@click.option("--dry-run", is_flag=True, help="Say what it would take, and stop.")
@click.option("--json", "as_json", is_flag=True, help="The summary as JSON.")
def command(
    spec: str,
    out: Path,
    master: str | None,
    runs: int | None,
    settings: tuple[str, ...],
    seed: int | None,
    engine: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """The whole grid of an experiment, every run of it. Can be stopped and started again: finished trials are kept.

    Writes outcomes/*.parquet, summary.csv, report.html and the experiment's figures below --out.
    On a cluster --out must be a folder all workers share.
    """
    console = SafeConsole(stderr=as_json)
    raw, source = chosen(spec, settings, seed=seed, engine=engine, runs=runs)
    made = points(raw, source)
    folder = outcomes_folder(out, make=not dry_run)
    tell_set_aside(console, made, None if dry_run else out)
    if dry_run:
        told = estimate(made, finished_trials(folder))
        if as_json:
            say_json(told)
            return
        console.print(
            f"{told.points} points, {told.trials:,} trials ({told.finished:,} already finished), "
            f"about {told.cpu_s:,.0f} CPU seconds, {told.memory_bytes / 1e6:,.0f} MB for the largest trial."
        )
        return
    with starting_spark(console, master) as spark:
        by_point, failed = sweep_with_progress(console, spark, {source: made}, folder)
    lines = [line for each in by_point for line in each]
    write_csv(out / "summary.csv", lines)
    report = write_report(out, made, source, lines)
    if as_json:
        say_json(lines)
    else:
        print_summary(console, lines, made)
        console.print(f"Summary: {out / 'summary.csv'} · report: {report}")
    exit_if_failed(failed)
