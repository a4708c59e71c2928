"""gossamer demo: the main job, small. A real network on this machine, disturbed, then audited."""

import asyncio
import contextlib
import logging
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
from msgspec.structs import replace
from rich.console import Console
from rich.markup import escape

from gossamer.cli.audit import EXIT_CODES, audit_with_progress
from gossamer.cli.console import SafeConsole
from gossamer.cli.demo_network import DemoNetwork
from gossamer.cli.demo_plan import FULL, QUICK, Plan, draw_plan
from gossamer.cli.demo_screen import Screen, show_verdict
from gossamer.cli.demo_story import Happened, Story
from gossamer.cli.numbers import Real
from gossamer.cli.on_spark import Where, starting_spark
from gossamer.cli.terminal import say_json
from gossamer.core.errors import Misuse
from gossamer.pipeline.audit_case import opened
from gossamer.web.audit import write_report
from gossamer.web.report import Section, Table

NETWORK, STORY = "network", "demo.json"
"A folder below --out, and the file in it that says it is ours: what happened, and to whom."


@click.command("demo", epilog="Example: gossamer demo --out out/demo")
@click.option(
    "--out", default="out/demo", show_default=True, type=click.Path(path_type=Path), help="Folder to write to."
)
@click.option("--seed", default=1, show_default=True, help="Who publishes and who is killed is drawn from this.")
@click.option("--events", type=click.IntRange(10, 10_000), help="How many are published.  [default: 400]")
@click.option(
    "--loss",
    default=0.1,
    show_default=True,
    type=Real(0, 0.5),
    help="The share of events and messages that each node loses on purpose.",
)
@click.option("--quick", is_flag=True, help="Nine processes and 40 events instead.")
@click.option("--json", "as_json", is_flag=True, help="The verdict as JSON.")
def command(out: Path, seed: int, events: int | None, loss: float, quick: bool, as_json: bool) -> None:
    """A network of 30 processes on this machine, in three levels, with keys of its own. Every link loses a tenth of
    what it carries. Events are published at the bottom; half way a fifth of the processes is killed, two come late, one
    comes back. The audit says who got what.

    Writes report.html, verdict.json and tables below --out. Exit code 0: the promise holds; 1: it does not.
    """
    plan = draw_plan(QUICK, 2, events or 40, 10.0, seed) if quick else draw_plan(FULL, 4, events or 400, 24.0, seed)
    plan = replace(plan, loss=loss)
    folder = fresh_folder(out)
    console = SafeConsole(stderr=as_json)
    console.print(f"[bold]Gossamer demo[/]: {len(plan.nodes)} processes on this machine, {plan.events} events.\n")
    with stopped_like_interrupted():
        write_story(folder, plan, [])
        with Screen(console) as screen:
            # Closing its end of a process that was killed, asyncio may find it reaped already, and warns: it meant to.
            logging.getLogger("asyncio").setLevel(logging.ERROR)
            happened = asyncio.run(Story(plan, DemoNetwork(folder, loss, seed), screen).perform())
        write_story(folder, plan, happened)
        with opened(folder / "traces", out) as case, starting_spark(console, Where(brief=case.brief)) as spark:
            verdict = audit_with_progress(console, spark, case)
    again = f"gossamer demo --seed {seed} --events {plan.events} --loss {loss:g}{' --quick' if quick else ''}"
    write_report(out, verdict, again, "Gossamer: demo", [story_section(plan, happened)])
    if as_json:
        say_json(verdict)
    else:
        show_verdict(console, verdict, out)
        show_ways_on(console, out)
    sys.exit(EXIT_CODES[verdict.result])


@contextlib.contextmanager
def stopped_like_interrupted() -> Iterator[None]:
    """SIGTERM ends it as Ctrl-C does: everything is cleared away, the terminal too."""

    def stop(number: int, _: object) -> None:
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a shell's script
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def fresh_folder(out: Path) -> Path:
    """Where the network lives: made anew, in place of a former demo's."""
    if out.exists() and not out.is_dir():
        raise Misuse(f"--out {out} is a file: name a folder")
    folder = out / NETWORK
    if folder.exists():
        if not (folder / STORY).exists():
            raise Misuse(f"{folder} is not of a demo's making: give another --out")
        shutil.rmtree(folder)
        shutil.rmtree(out / "rows", ignore_errors=True)  # the audit's, made from the traces that are gone
    folder.mkdir(parents=True)
    return folder


def write_story(folder: Path, plan: Plan, happened: list[Happened]) -> None:
    story = msgspec.json.encode({"plan": plan, "happened": happened})
    (folder / STORY).write_bytes(msgspec.json.format(story, indent=1) + b"\n")


def story_section(plan: Plan, happened: list[Happened]) -> Section:
    levels = ", ".join(f"{level.size} on `{level.topic}`" for level in plan.levels)
    text = f"{len(plan.nodes)} processes on one machine, over TLS, with keys made for this run: {levels}."
    text += f" Each lost {100 * plan.loss:g} % of all it heard, on purpose." if plan.loss else ""
    table = Table(("second", "what happened"), [(each.at_s, each.what) for each in happened])
    return Section("What was done to the network", text, table=table)


def show_ways_on(console: Console, out: Path) -> None:
    ways = {
        "the whole report": out / "report.html",
        "what each node said": out / NETWORK / "nodes/*/log",
        "a node of your own": "gossamer node --name mine --subscribe .news",
        "the same, simulated": "gossamer simulate demo/crashes",
    }
    for what, where in ways.items():
        console.print(f"{what:<20} [bold]{escape(str(where))}[/]", highlight=False, soft_wrap=True)
