"""gossamer sweep: every point and run, on Spark."""

import click

from gossamer.cli.choosing import choosing, chosen
from gossamer.cli.console import SafeConsole
from gossamer.cli.on_spark import PlaceType, Where, on_spark, spark_when_needed
from gossamer.cli.running import exit_if_failed, print_summary, sweep_with_progress, write_report
from gossamer.cli.setting_aside import tell_set_aside
from gossamer.cli.terminal import say_json
from gossamer.lab.grid import points
from gossamer.lab.plan import estimate
from gossamer.pipeline.outcomes import finished_runs, outcomes_in
from gossamer.pipeline.places import Place
from gossamer.pipeline.summary import write_csv

BRIEF_S = 60.0
"Of work: for less a JVM does not become any faster."


@click.command("sweep", epilog="Example: gossamer sweep camcast/fig15 --out out --master 'local[2]'")
@click.argument("spec")
@click.option(
    "--out", required=True, type=PlaceType(), help="Folder for outcomes, summary and report: a path or a URI."
)
@on_spark
@click.option("--runs", type=click.IntRange(1), help="Override the file's number of runs.")
@choosing
@click.option("--dry-run", is_flag=True, help="Say what it would take, and stop.")
@click.option("--json", "as_json", is_flag=True, help="The summary as JSON.")
def command(
    spec: str,
    out: Place,
    where: Where,
    runs: int | None,
    settings: tuple[str, ...],
    seed: int | None,
    engine: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """The whole grid of an experiment, every run of it. Can be stopped and started again: finished trials are kept.

    Writes outcomes/, summary.csv, report.html and the experiment's figures below --out. SPEC and --out may be URIs that
    Spark's Hadoop knows, like hdfs://host/folder; on a cluster a folder of this machine must be one all workers share.
    """
    console = SafeConsole(stderr=as_json)
    with spark_when_needed(console, where) as spark:
        raw, source = chosen(spec, settings, seed=seed, engine=engine, runs=runs)
        made = points(raw, source)
        outcomes = outcomes_in(out, make=not dry_run)
        tell_set_aside(console, made, None if dry_run else out)
        if dry_run:
            told = estimate(made, finished_runs(outcomes.records()))
            if as_json:
                say_json(told)
                return
            console.print(
                f"{told.points} points, {told.trials:,} trials ({told.finished:,} already finished), "
                f"about {told.cpu_s:,.0f} CPU seconds, {told.memory_bytes / 1e6:,.0f} MB for the largest trial."
            )
            return
        where.brief = estimate(made, finished_runs(outcomes.records())).cpu_s <= BRIEF_S
        by_point, failed = sweep_with_progress(console, spark(), {source: made}, outcomes)
        lines = [line for each in by_point for line in each]
        with out.filled() as folder:
            write_csv(folder / "summary.csv", lines)
            write_report(folder, made, source, lines, out.name)
    if as_json:
        say_json(lines)
    else:
        print_summary(console, lines, made)
        console.print(f"Summary: {out / 'summary.csv'} · report: {out / 'report.html'}")
    exit_if_failed(failed)
