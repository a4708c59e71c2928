"""gossamer replay: journals given to fresh machines, every effect compared."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from msgspec import Struct
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from gossamer.cli.console import SafeConsole
from gossamer.cli.terminal import say, say_json
from gossamer.core.errors import Misuse
from gossamer.sim.replay import Life, Replayed, Skipped, Step, find_lives, replay
from gossamer.wire.journal import software

LETTERS = 400
"Of a given or an effect; --json has all of it."
EFFECTS = 20
HINT = 'a node writes one if its settings say trace.level = "journal" and trace.folder'


@click.command("replay", epilog="Example: gossamer replay traces/ --node node-7")
@click.argument("journals", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--node", "node_name", metavar="NAME", help="Only the journals of this node.")
@click.option("--until", type=click.IntRange(1), metavar="N", help="Stop after step N, and show it.")
@click.option("--json", "as_json", is_flag=True, help="What was found as JSON, effects in full.")
def command(journals: tuple[Path, ...], node_name: str | None, until: int | None, as_json: bool) -> None:
    """Give the journals of live nodes to fresh machines, step by step, and compare every effect.

    JOURNALS are files, or folders that are searched. Exit code: 0 all effects are the same, 1 some are not.
    """
    lives, skipped = find(journals, node_name)
    told = replay_all(lives, until, SafeConsole(stderr=True))
    skipped += [each.skipped for each in told if each.skipped is not None]
    tell_skipped(skipped)
    if not any(each.steps for each in told):
        raise Misuse("nothing could be replayed: a life is replayed from its first file on")
    if as_json:
        say_json(as_data(told, skipped, shown=until is not None))
    else:
        render(SafeConsole(), told, shown=until is not None)
    if any(each.divergences for each in told):
        sys.exit(1)


def find(journals: Sequence[Path], node_name: str | None) -> tuple[list[Life], list[Skipped]]:
    for path in journals:
        if not path.exists():
            raise Misuse(f"{path} does not exist: name journals, or a folder with some")
    lives, skipped = find_lives(journals)
    if not lives:
        tell_skipped(skipped)
        raise Misuse(f"there is no journal in {', '.join(map(str, journals))}: {HINT}")
    if node_name is not None:
        names = ", ".join(dict.fromkeys(life.name for life in lives))
        lives = [life for life in lives if life.name == node_name]
        if not lives:
            raise Misuse(f"there is no journal of {node_name}: there are some of {names}")
    return lives, skipped


def replay_all(lives: Sequence[Life], until: int | None, console: Console) -> list[Replayed]:
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("replaying", total=sum(life.bytes for life in lives))
        told = []
        for life in lives:
            progress.update(bar, description=escape(f"replaying {life.name}"))
            told.append(replay(life, until, lambda read: progress.advance(bar, read)))
        return told


def tell_skipped(skipped: Sequence[Skipped]) -> None:
    for each in skipped:
        say(f"gossamer: {each.file}: {each.why}", err=True)


# -- for people -------------------------------------------------------------------------------------------------------


def render(console: Console, told: Sequence[Replayed], shown: bool) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("node", "started", "steps", "divergences"):
        table.add_column(column, justify="left" if column in ("node", "started") else "right", no_wrap=True)
    for each in told:
        table.add_row(escape(each.name), when(each.incarnation)[:19], f"{each.steps:,}", f"{each.divergences:,}")
    console.print(table)
    for each in told:
        if each.first is not None:
            tell_step(each, each.first, "diverges; what came after may only follow from it")
        if each.raised:
            many = "1 step" if each.raised == 1 else f"{each.raised:,} steps"
            say(f"{each.name}: {many} raised then and raised the same now\n")
        if shown and each.last is not None and each.last != each.first:
            tell_step(each, each.last, "is the last one replayed")
    say(verdict(told))


def tell_step(each: Replayed, step: Step, what: str) -> None:
    say(f"{each.name}: step {step.number:,} at {when(step.at_us)} {what}")
    say(f"  given  {cropped(step.given)}")
    say(f"  then   {answer(step.then, step.then_error)}")
    say(f"  now    {answer(None if step.error else len(step.effects), step.error)}")
    for effect in step.effects[:EFFECTS]:
        say(f"         {cropped(effect)}")
    if len(step.effects) > EFFECTS:
        say(f"         and {len(step.effects) - EFFECTS} more: see them with --json")
    say()


def answer(effects: int | None, error: str) -> str:
    if effects is None:
        return f"it raised {error}"
    return "1 effect" if effects == 1 else f"{effects or 'no'} effects"


def verdict(told: Sequence[Replayed]) -> str:
    steps, divergences = sum(each.steps for each in told), sum(each.divergences for each in told)
    many = f"{steps:,} steps of {len(told):,} {'life' if len(told) == 1 else 'lives'} replayed"
    if divergences:
        many += f": {divergences:,} {'differs' if divergences == 1 else 'differ'}."
    else:
        many += ": every effect is the same."
    wanting = {each.written_by for each in told if each.divergences or each.skipped}
    others = ", ".join(sorted(wanting - {software()}))
    return f"{many} It was written by Gossamer {others}, this is {software()}." if others else many


def when(at_us: int) -> str:
    try:
        return datetime.fromtimestamp(at_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    except (ValueError, OverflowError, OSError):
        return f"{at_us} µs"


def cropped(what: Struct) -> str:
    said = repr(what)
    return said if len(said) <= LETTERS else f"{said[:LETTERS]}…"


# -- for programs -----------------------------------------------------------------------------------------------------


def as_data(told: Sequence[Replayed], skipped: Sequence[Skipped], shown: bool) -> dict[str, Any]:
    return {
        "steps": sum(each.steps for each in told),
        "divergences": sum(each.divergences for each in told),
        "identical": not any(each.divergences for each in told),
        "lives": [life_data(each, shown) for each in told],
        "skipped": list(skipped),
    }


def life_data(each: Replayed, shown: bool) -> dict[str, Any]:
    last = {"last": step_data(each.last)} if shown else {}
    return {
        "name": each.name,
        "node": each.node,
        "incarnation": each.incarnation,
        "written_by": each.written_by,
        "steps": each.steps,
        "divergences": each.divergences,
        "raised": each.raised,
        "first": step_data(each.first),
        **last,
    }


def step_data(step: Step | None) -> dict[str, Any] | None:
    if step is None:
        return None
    return {
        "step": step.number,
        "at_us": step.at_us,
        "given": named(step.given),
        "then": {"effects": step.then, "error": step.then_error},
        "now": {"effects": [named(effect) for effect in step.effects], "error": step.error},
    }


def named(what: Struct) -> dict[str, Any]:
    """Fields, with the name of the class: timers and effects have none of their own."""
    fields = {name: getattr(what, name) for name in what.__struct_fields__}
    inner = {name: named(value) for name, value in fields.items() if name in ("timer", "message", "params")}
    return {"is": type(what).__name__, **fields, **inner}
