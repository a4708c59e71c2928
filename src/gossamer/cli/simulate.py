"""gossamer simulate: one run, told as a story."""

from pathlib import Path

import click
from msgspec import Struct
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gossamer.cli.choosing import choosing, chosen, one_point
from gossamer.cli.console import SafeConsole
from gossamer.cli.setting_aside import tell_set_aside
from gossamer.cli.terminal import say_json
from gossamer.lab.grid import Point, points
from gossamer.lab.metrics import is_percent
from gossamer.lab.rows import Measure
from gossamer.lab.studies.communities.story import Story, tell
from gossamer.lab.studies.communities.tables import Communities
from gossamer.lab.studies.comparison.metrics import METRICS as OF_COMPARISONS
from gossamer.lab.studies.comparison.tables import Comparisons
from gossamer.lab.studies.epidemic.tables import METRICS as OF_RECOVERY
from gossamer.lab.studies.epidemic.tables import Epidemic
from gossamer.lab.studies.hierarchy.metrics import METRICS as OF_HIERARCHIES
from gossamer.lab.studies.hierarchy.tables import Hierarchies
from gossamer.lab.studies.overlay.metrics import METRICS as OF_OVERLAYS
from gossamer.lab.studies.overlay.tables import Overlays
from gossamer.lab.tracing import write_traces
from gossamer.lab.trial import run_trials

BAR = 40
MEANINGS: dict[type[Struct], dict[str, str]] = {
    Comparisons: OF_COMPARISONS,
    Epidemic: OF_RECOVERY,
    Hierarchies: OF_HIERARCHIES,
    Overlays: OF_OVERLAYS,
}
"By kind of study: the same word may mean different things."


@click.command("simulate", epilog="Example: gossamer simulate camcast/fig15 --set faults.fraction=0.3 --run 7")
@click.argument("spec")
@choosing
@click.option("--case", help="Which of the experiment's cases to run.")
@click.option("--run", default=0, show_default=True, type=click.IntRange(0), help="Which of the seeded runs.")
@click.option(
    "--trace", type=click.Path(path_type=Path), help="Writes a world's traces to this folder, for gossamer audit."
)
@click.option("--json", "as_json", is_flag=True, help="The story as JSON.")
def command(
    spec: str,
    settings: tuple[str, ...],
    seed: int | None,
    engine: str | None,
    case: str | None,
    run: int,
    trace: Path | None,
    as_json: bool,
) -> None:
    """One run of an experiment: rounds, who got the event, messages, parasites; of recovery,
    what was found again; of an overlay, its degrees, components and diameters; of hpmcast, what
    each level bore; of several designs compared, what each took.

    SPEC is a path to an experiment file or the name of a shipped one (see `gossamer experiments`).
    """
    raw, source = chosen(spec, settings, seed=seed, engine=engine)
    alone, first = one_point(raw, case)
    (point,) = points(alone, source)
    console = SafeConsole(stderr=as_json)
    tell_set_aside(console, [point])
    with console.status("running (the first run of a kernel also compiles it) …"):
        if trace is not None:
            write_traces(point, run, trace)  # first: what cannot be traced is said at once
        told = told_of(point, run, source)
    if as_json:
        say_json(told)
    else:
        render(console, point, told, run, first)
        if trace is not None:
            console.print(
                f"Traces: [bold]{escape(str(trace))}[/] · gossamer audit {escape(str(trace))}", highlight=False
            )


class Told(Struct, frozen=True):
    """One run without rounds: its numbers."""

    outcomes: tuple[Measure, ...]


def told_of(point: Point, run: int, source: str) -> Story | Told:
    if isinstance(point.spec, Communities):
        return tell(point, run, source)
    return Told(tuple(run_trials(point, [run], source)))


def render(console: Console, point: Point, told: Story | Told, run: int, first: dict[str, object]) -> None:
    head = point.spec.experiment
    console.print(f"[bold]{head.name}[/]: {head.about}" if head.about else "")
    console.print(
        f"{head.protocol} · {point.spec.population()} · run {run} · seed {told.outcomes[0].seed}", style="dim"
    )
    if first:
        at = ", ".join(f"{field} = {value}" for field, value in first.items())
        console.print(f"at the first swept values: {at} (choose others with --set)", style="dim")
    if isinstance(told, Story):
        console.print(rounds_table(told))
        console.print(result_table(told))
        closing(console, told)
    else:
        console.print(numbers_table(told, MEANINGS[type(point.spec)]))


def numbers_table(told: Told, meanings: dict[str, str]) -> Table:
    table = Table(title="What was measured", title_justify="left")
    table.add_column("metric", no_wrap=True)
    table.add_column("value", justify="right")
    table.add_column("what it is")
    for each in told.outcomes:
        shown = f"{each.value:.2%}" if is_percent(each.metric) else f"{each.value:,.6g}"
        table.add_row(each.metric, shown, meanings[each.metric])
    return table


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
