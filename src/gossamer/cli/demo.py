"""gossamer demo: the main job, small."""

from pathlib import Path

import click
from rich.console import Console

from gossamer.cli.running import exit_if_failed, print_summary, starting_spark, sweep_with_progress, write_report
from gossamer.cli.simulate import closing, rounds_table
from gossamer.lab.book import ALL
from gossamer.lab.grid import points
from gossamer.lab.spec import read
from gossamer.lab.story import tell
from gossamer.pipeline.summary import write_csv
from gossamer.pipeline.sweep import outcomes_folder

EXPERIMENT = "demo/crashes"


@click.command("demo", epilog="Example: gossamer demo --out out/demo")
@click.option(
    "--out", default="out/demo", show_default=True, type=click.Path(path_type=Path), help="Folder to write to."
)
def command(out: Path) -> None:
    """A three-level network under crashes, simulated on embedded Spark: a table here, plots in report.html."""
    console = Console()
    folder = outcomes_folder(out)
    made = points(*read(EXPERIMENT))
    head = made[0].spec.experiment
    console.print(f"[bold]Gossamer demo[/]: {head.about}\n")
    story = tell(made[0], 0, EXPERIMENT)
    console.print(rounds_table(story))
    closing(console, story)
    console.print(f"\nNow {sum(point.spec.experiment.runs for point in made):,} such runs on embedded Spark …")
    with starting_spark(console) as spark:
        by_point, failed = sweep_with_progress(console, spark, {EXPERIMENT: made}, folder)
    exit_if_failed(failed)
    lines = [line for each in by_point for line in each]
    write_csv(out / "summary.csv", lines)
    print_summary(console, lines, made)
    report = write_report(out, made, EXPERIMENT, lines)
    parasites = sum(line.max for line in lines if line.group == ALL and line.metric == "parasites")
    runs = sum(line.runs for line in lines if line.group == ALL and line.metric == "parasites")
    console.print(
        f"Parasites in {runs:,} runs: [bold]{parasites:,.0f}[/]. No process received an event it did not want."
    )
    console.print(f"Report with plots: [bold]{report}[/]")
    console.print("Next: gossamer experiments · gossamer simulate camcast/fig15 · gossamer reproduce camcast --out out")
