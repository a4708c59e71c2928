"""gossamer overlay: an overlay for one's own subscriptions, and what it is like."""

import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Shown

from gossamer.cli.console import SafeConsole
from gossamer.cli.on_spark import PlaceType, Where, on_spark, spark_when_needed, step_by_step
from gossamer.cli.terminal import say_json
from gossamer.core.errors import Misuse
from gossamer.core.reading import table
from gossamer.lab.studies.overlay.tables import params_of
from gossamer.lab.studies.overlay.tables import workload_of as read_workload
from gossamer.pipeline.overlay import (
    BYTES_FOR_ONE_TASK,
    STEPS,
    Say,
    check_out,
    overlay_from_table,
    overlay_from_workload,
)
from gossamer.pipeline.overlay_summary import Summary
from gossamer.pipeline.places import Place
from gossamer.pipeline.results import read_table
from gossamer.pipeline.session import Session
from gossamer.pipeline.subscriptions import find_table
from gossamer.protocols.spidercast.experiment.workload import Workload
from gossamer.web.overlay import at_least, sentence, write_report

Work: TypeAlias = Callable[[Session, Path, Say], Summary]
"Takes a folder of this machine too: what is put there is where results go in the end."
FIRST = 5
"Partitioned topics and rows set aside that are named in the terminal."


@click.command("overlay", epilog="Example: gossamer overlay subscriptions.parquet --out overlay/")
@click.argument("subscriptions", required=False, type=PlaceType())
@click.option("--out", required=True, type=PlaceType(), help="Folder for links, tables and report: a path or a URI.")
@click.option("--node", default="node", show_default=True, help="The column that says the node.")
@click.option("--topic", default="topic", show_default=True, help="The column that says the topic.")
@click.option("--workload", metavar="TABLE", help="Generate pairs instead, e.g. '{nodes = 2000000, topics = 100}'.")
@click.option("--greedy", type=int, help="K_g: neighbours for each topic, chosen to serve many; default 3.")
@click.option("--random", type=int, help="K_r: neighbours for each topic, chosen by chance; default 0.")
@click.option("--margin", type=int, help="Neighbours accepted beyond what a node needs; default 5.")
@click.option("--adaptive/--no-adaptive", default=None, help="Let each node choose its own K_r; default no.")
@click.option(
    "--view", help="Whom a node knows: full, a share (0.05) or so many (500); default full up to 10,000 nodes."
)
@click.option("--selection", help="coverage, similarity, random or ring; default coverage.")
@click.option("--rendezvous/--no-rendezvous", default=None, help="Homes for rare topics; default with partial views.")
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Of what is left to chance."
)
@on_spark
@click.option("--json", "as_json", is_flag=True, help="The summary as JSON.")
def command(
    subscriptions: Place | None, out: Place, node: str, topic: str, workload: str | None, seed: int, where: Where,
    as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Few links that keep the subscribers of every topic together: built from pairs of node and topic, on Spark.

    SUBSCRIPTIONS is a CSV or Parquet file, or a folder of one kind, with a row for each subscription. Rows that cannot
    be used are named and kept in quarantine/. Writes links.parquet, degrees.parquet, components.csv, summary.csv,
    summary.json and report.html to --out. Exit code 1 if some topic is partitioned.
    """
    console = SafeConsole(stderr=as_json)
    asked = chosen(options)
    with spark_when_needed(console, where) as spark:
        work = work_on(subscriptions, workload, node, topic, out, asked, seed)
        where.brief = subscriptions is not None and find_table(subscriptions, node, topic).bytes <= BYTES_FOR_ONE_TASK
        session = spark()
        source = subscriptions.name if subscriptions else f"--workload '{workload}'"
        with out.filled() as folder:
            summary = step_by_step(console, session, "overlay", STEPS, lambda say: work(session, folder, say))
            write_report(folder, summary, f"gossamer overlay {source} --out {out.name}")
            split = [row for row in read_table(folder, "components", FIRST) if row["components"] > 1]
    if as_json:
        say_json(summary)
    else:
        print_summary(console, out, summary, split)
    sys.exit(0 if summary.connected else 1)


def chosen(options: dict[str, Any]) -> dict[str, Any]:
    """The parameters that were asked for, refused at once if there are none like that."""
    asked = {name: value for name, value in options.items() if value is not None}
    if "view" in asked:
        asked["view"] = view_of(asked["view"])
    try:
        params_of(asked)
    except Misuse as wrong:
        raise Misuse(str(wrong).replace("params.", "--")) from None
    return asked


def view_of(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def work_on(
    subscriptions: Place | None,
    workload: str | None,
    node: str,
    topic: str,
    out: Place,
    asked: dict[str, Any],
    seed: int,
) -> Work:
    """What there is to do, once Spark is there."""
    if (subscriptions is None) == (workload is None):
        raise Misuse("name a table of subscriptions, or generate one with --workload: one of the two")
    if subscriptions is not None:
        table = find_table(subscriptions, node, topic)
        check_out(out, subscriptions)
        return lambda spark, folder, say: overlay_from_table(spark, table, out, folder, asked, seed, say)
    drawn = workload_of(workload or "")
    check_out(out, None)
    return lambda spark, folder, say: overlay_from_workload(spark, drawn, out, folder, asked, seed, say)


def workload_of(text: str) -> Workload:
    """The table of an experiment file."""
    try:
        said = table(tomllib.loads(f"workload = {text}")["workload"], "--workload")
    except tomllib.TOMLDecodeError:
        raise Misuse(f"--workload {text}: write a table as in TOML, like {{nodes = 2000000, topics = 100}}") from None
    if "file" in said:
        raise Misuse("--workload generates pairs: name a file without it, gossamer overlay FILE")
    return read_workload(said).drawn()


def print_summary(console: Console, out: Place, summary: Summary, split: Sequence[Mapping[str, Any]]) -> None:
    table = Shown(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for name, value in numbers(summary):
        table.add_row(f"[dim]{name}[/]", escape(value))
    console.print(table)
    console.print(f"[bold {'green' if summary.connected else 'red'}]{sentence(summary)}[/]")
    for row in split:
        parts = f"{row['components']:,} parts, the largest of {row['largest']:,} of {row['subscribers']:,} subscribers"
        console.print(f"  {row['topic']} is in {parts}", markup=False, highlight=False)
    if summary.topics_partitioned > len(split):
        more = summary.topics_partitioned - len(split)
        console.print(f"  … and {more:,} more in {out / 'components.csv'}", highlight=False, markup=False)
    print_set_aside(console, out, summary)
    console.print(
        f"Report with plots: [bold]{escape(str(out / 'report.html'))}[/] · links: {escape(str(out / 'links.parquet'))}",
        highlight=False,
    )


def print_set_aside(console: Console, out: Place, summary: Summary) -> None:
    count = sum(summary.set_aside.values())
    if not count:
        return
    reasons = ", ".join(f"{reason} ({many:,})" for reason, many in summary.set_aside.items())
    console.print(f"[yellow]{count:,} of {summary.rows:,} rows were set aside:[/] {reasons}", highlight=False)
    for each in summary.examples:
        console.print(f"  {each.file}, row {each.row:,}: {each.reason}", markup=False, highlight=False)
    if count > len(summary.examples):
        console.print(f"  … all are in {out / 'quarantine'}", markup=False, highlight=False)
    if summary.nodes_left_out:
        console.print(f"  nodes left out, as they have no other row: {summary.nodes_left_out:,}", highlight=False)


def numbers(summary: Summary) -> list[tuple[str, str]]:
    return [
        ("nodes", f"{summary.nodes:,}"),
        ("topics", f"{summary.topics_populated:,}"),
        ("subscriptions", f"{summary.subscriptions:,}"),
        ("links", f"{summary.links:,}"),
        ("neighbours", f"{summary.degree_mean:,.2f} on average, {summary.degree_max:,} at most"),
        ("topics per link", f"{summary.topics_per_link:,.2f}"),
        ("longest way", f"{at_least(summary.diameter_topic_max, summary.diameter_topic_exact)} inside a topic, "
                        f"{at_least(summary.diameter_overlay, summary.diameter_overlay_exact)} in the whole overlay"),
    ]  # fmt: skip
