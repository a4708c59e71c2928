"""gossamer simulate: one run, told as a story."""

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
    console = Console(stderr=as_json)
    with console.status("running (the first run of a kernel also compiles it) …"):
        story = tell(point, run, source)
    if as_json:
        click.echo(msgspec.json.encode(story).decode())
    else:
        render(console, point, story, run, first)


def render(console: Console, point: Point, story: Story, run: int, first: dict[str, object]) -> None:
    spec = point.spec
    processes = point.spec.setting().processes
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
    """Sums over the run's events."""
    table = Table(title="What it took", title_justify="left")
    for column in ("topic", "processes", "live", "reached", "messages inside", "upward", "parasites"):
        table.add_column(column, justify="left" if column == "topic" else "right")
    for group in story.groups:
        events = [each for each in story.outcomes if each.group == group]
        live, reached = sum(each.live for each in events), sum(each.reached for each in events)
        table.add_row(
            group,
            f"{events[0].size:,}",
            f"{live:,}",
            f"{reached:,} ({reached / live:.1%})" if live else "–",
            f"{sum(each.sent_intra for each in events):,}",
            f"{sum(each.sent_up for each in events):,}" if events[0].climbs else "–",
            f"{sum(each.parasites for each in events):,}",
        )
    return table


def closing(console: Console, story: Story) -> None:
    messages = sum(each.sent_intra + each.sent_up for each in story.outcomes)
    parasites = sum(each.parasites for each in story.outcomes)
    unwanted = f"{parasites:,} copies reached processes that did not want them"
    events = len({each.event for each in story.outcomes})
    for_events = "" if events == 1 else f" for {events} events"
    console.print(
        f"{messages:,} messages{for_events}, {max(len(story.rounds) - 1, 0)} rounds; "
        f"{unwanted if parasites else 'nobody received what it did not want'}."
    )
