"""gossamer simulate: one run, told as a story."""

import os

import click
import msgspec
from rich.console import Console
from rich.table import Table

from gossamer.cli.choosing import choosing, chosen, one_point
from gossamer.lab.grid import Point, points
from gossamer.lab.story import Story, tell

BAR = 40


@click.command("simulate", epilog="Example: gossamer simulate camcast/fig15 --set faults.fraction=0.3 --run 7")
@click.argument("spec")
@choosing
@click.option("--case", help="Which of the experiment's cases to run.")
@click.option("--run", default=0, show_default=True, type=click.IntRange(0), help="Which of the seeded runs.")
@click.option("--json", "as_json", is_flag=True, help="The story as JSON.")
def command(
    spec: str,
    settings: tuple[str, ...],
    seed: int | None,
    engine: str | None,
    case: str | None,
    run: int,
    as_json: bool,
) -> None:
    """One run of an experiment: rounds, who got the event, messages, parasites.

    SPEC is a path to an experiment file or the name of a shipped one (see `gossamer experiments`).
    """
    raw, source = chosen(spec, settings, seed=seed, engine=engine)
    alone, first = one_point(raw, case)
    (point,) = points(alone, source)
    story = tell(point, run, source, threads=os.cpu_count() or 1)
    if as_json:
        click.echo(msgspec.json.encode(story).decode())
    else:
        render(Console(), point, story, run, first)


def render(console: Console, point: Point, story: Story, run: int, first: dict[str, object]) -> None:
    spec = point.spec
    processes = sum(outcome.size for outcome in story.outcomes)
    console.print(f"[bold]{spec.experiment.name}[/]: {spec.experiment.about}" if spec.experiment.about else "")
    console.print(
        f"{spec.experiment.protocol} · {processes:,} processes · run {run} · seed {story.outcomes[0].seed}", style="dim"
    )
    if first:
        at = ", ".join(f"{field} = {value}" for field, value in first.items())
        console.print(f"at the first swept values: {at} (choose others with --set)", style="dim")
    console.print(rounds_table(story))
    console.print(result_table(story))
    closing(console, story)


def rounds_table(story: Story) -> Table:
    table = Table(title="Who heard of the event, round by round", title_justify="left")
    table.add_column("round", justify="right")
    for group in story.groups:
        table.add_column(group, justify="right")
    table.add_column("new in all")
    most = max((sum(heard) for heard in story.rounds), default=1)
    for number, heard in enumerate(story.rounds):
        bar = "█" * max(1, round(BAR * sum(heard) / most))
        table.add_row(str(number), *(f"{count:,}" if count else "·" for count in heard), f"{bar} {sum(heard):,}")
    return table


def result_table(story: Story) -> Table:
    table = Table(title="What it took", title_justify="left")
    for column in ("topic", "processes", "live", "reached", "messages inside", "upward", "parasites"):
        table.add_column(column, justify="left" if column == "topic" else "right")
    for each in story.outcomes:
        share = f"{each.reached:,} ({each.reached / each.live:.1%})" if each.live else "–"
        sent_up = f"{each.sent_up:,}" if each.climbs else "–"
        table.add_row(
            each.group,
            f"{each.size:,}",
            f"{each.live:,}",
            share,
            f"{each.sent_intra:,}",
            sent_up,
            f"{each.parasites:,}",
        )
    return table


def closing(console: Console, story: Story) -> None:
    messages = sum(each.sent_intra + each.sent_up for each in story.outcomes)
    parasites = sum(each.parasites for each in story.outcomes)
    unwanted = (
        "nobody received what it did not want"
        if parasites == 0
        else f"{parasites:,} copies reached processes that did not want them"
    )
    console.print(f"{messages:,} messages in {max(len(story.rounds) - 1, 0)} rounds; {unwanted}.")
