"""gossamer reproduce: a paper's tables, figures and claims, run again and judged."""

from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.table import Table as Shown

from gossamer import __version__
from gossamer.cli.console import SafeConsole
from gossamer.cli.on_spark import PlaceType, Where, on_spark, spark_when_needed
from gossamer.cli.running import exit_if_failed, experiment_section, sweep_with_progress
from gossamer.cli.terminal import say_json
from gossamer.lab import figures
from gossamer.lab.book import Book, Line
from gossamer.lab.claims import Claim, by_group
from gossamer.lab.grid import Point, points
from gossamer.lab.papers import NAMES, Paper, paper
from gossamer.lab.spec import read
from gossamer.pipeline.outcomes import outcomes_in
from gossamer.pipeline.places import Place
from gossamer.pipeline.summary import write_csv
from gossamer.web import report
from gossamer.web.report import Section, Table

COLOURS = {"reproduced": "green", "differs": "yellow", "cannot be compared": "dim"}


@click.command("reproduce", epilog="Example: gossamer reproduce camcast --out out")
@click.argument("name", metavar="{damulticast,camcast,epidemic,spidercast,hpmcast,comparison,all}")
@click.option("--out", required=True, type=PlaceType(), help="Folder for claims, figures and report: a path or a URI.")
@on_spark
@click.option("--runs", type=click.IntRange(2), help="Runs per point; default: as the files say.")
@click.option("--json", "as_json", is_flag=True, help="The claims as JSON.")
def command(name: str, out: Place, where: Where, runs: int | None, as_json: bool) -> None:
    """Every table, figure and headline claim of a paper, in minutes.

    Writes claims.json (a verdict per claim), summary.csv per experiment, figures and report.html below --out/NAME.
    Can be stopped and started again: finished trials are kept.
    """
    console = SafeConsole(stderr=as_json)
    asked = [paper(each) for each in (NAMES if name == "all" else (name,))]
    judged: list[Claim] = []
    with spark_when_needed(console, where) as spark:
        kept = {each.name: outcomes_in(out / each.name) for each in asked}
        for each in asked:
            made = {exp: _points(exp, runs) for exp in each.experiments}
            by_point, failed = sweep_with_progress(console, spark(), made, kept[each.name])
            exit_if_failed(failed)
            with (out / each.name).filled() as folder:
                claims = conclude(each, made, by_point, folder, out.name)
            judged += claims
            print_claims(console, each, claims, out / each.name)
    if as_json:
        say_json(judged)


def _points(experiment: str, runs: int | None) -> list[Point]:
    raw, source = read(experiment)
    if runs is not None:
        raw["experiment"]["runs"] = runs
    return points(raw, source)


def conclude(
    each: Paper, made: dict[str, list[Point]], by_point: list[list[Line]], out: Path, into: str
) -> list[Claim]:
    """From summaries to claims.json, figures and report.html."""
    rest = iter(by_point)
    lines = {exp: [line for _ in of_one for line in next(rest)] for exp, of_one in made.items()}
    book = Book(lines)
    claims = each.claims(book)
    sections = [
        Section(group, "Counted by themselves, not among the claims above.", claims=of_group, apart=True)
        if group
        else Section("Claims", "Each number or statement of the paper, beside ours.", claims=of_group)
        for group, of_group in by_group(claims).items()
    ]
    for part in each.analysis(book):
        table = Table(part.columns, part.rows) if part.rows else None
        sections.append(Section(part.title, part.text, figures=part.figures, table=table))
    for exp, of_one in made.items():
        write_csv(out / "summaries" / f"{exp.rpartition('/')[2]}.csv", lines[exp])
        sections.append(experiment_section(of_one, lines[exp], title=exp))
    for section in sections:
        for figure in section.figures:
            figures.save(figure, out / "figures")
    (out / "claims.json").write_bytes(msgspec.json.format(msgspec.json.encode(claims), indent=1))
    runs = [point.spec.experiment.runs for of_one in made.values() for point in of_one]
    facts = [
        ("runs per point", " to ".join(f"{count:,}" for count in sorted({min(runs), max(runs)}))),
        ("trials", f"{sum(runs):,}"),
        ("version", __version__),
        ("command", f"gossamer reproduce {each.name} --out {into}"),
    ]
    report.write(out / "report.html", f"Reproducing {each.title}", each.lead, facts, sections)
    return claims


def print_claims(console: Console, each: Paper, claims: list[Claim], out: Place) -> None:
    table = Shown(title=each.title, title_justify="left")
    for column in ("claim", "ours", "verdict"):
        table.add_column(column)
    for claim in claims:
        table.add_row(claim.id, claim.ours, f"[{COLOURS[claim.verdict]}]{claim.verdict}[/]")
    console.print(table)
    for group, of_group in by_group(claims).items():
        counts = [f"{sum(c.verdict == verdict for c in of_group)} {verdict}" for verdict in COLOURS]
        console.print(f"{group and f'{group}, counted apart: '}{' · '.join(counts)}.")
    console.print(f"Reasons and plots: {out / 'report.html'}")
