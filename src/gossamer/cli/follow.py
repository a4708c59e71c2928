"""gossamer audit --follow: the verdict while the network runs, in a table that refreshes, in lines, or as JSON."""

import contextlib
import time
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live as Screen
from rich.table import Table
from rich.text import Text

from gossamer.cli.terminal import say_json
from gossamer.pipeline.audit import Unlock
from gossamer.pipeline.follow_alerts import last_alerts
from gossamer.pipeline.follow_query import Live, Seen, followed
from gossamer.pipeline.session import Session
from gossamer.web.follow import so_far, write_page

LOOK_S = 0.2
LINE_S = 10.0
"Lines are so far apart at least, where they are not one per change."
ALERTS_SHOWN = 8
ALERTS_ON_PAGE = 100
COUNTS = {
    **{name: name for name in ("events", "expected", "delivered", "missing", "parasites")},
    "in_doubt": "doubt",
    "duplicates": "twice",
}


class Showing:
    """What is said of a network that is followed, in whichever way."""

    def __init__(self, console: Console, out: Path, command: str, as_json: bool) -> None:
        self.console, self.out, self.command, self.as_json = console, out, command, as_json
        self.screen = Screen(console=console, auto_refresh=False) if console.is_terminal and not as_json else None
        self.told_at = -LINE_S
        self.waiting: Seen | None = None
        "What would be a line, if the last one were not so short a time ago."

    def change(self, seen: Seen) -> None:
        alerts = last_alerts(self.out, ALERTS_ON_PAGE)
        write_page(self.out, seen, alerts, self.command)
        if self.as_json:
            say_json(seen)
        elif self.screen is not None:
            self.screen.update(Group(table_of(seen), *map(Text, words(seen, alerts))), refresh=True)
        else:
            self.waiting = seen
            self.line()

    def line(self, at_once: bool = False) -> None:
        if self.waiting is not None and (at_once or time.monotonic() - self.told_at >= LINE_S):
            words = f"{so_far(self.waiting)} {asides(self.waiting)}"
            self.console.print(words, markup=False, highlight=False, soft_wrap=True)
            self.told_at, self.waiting = time.monotonic(), None

    def end(self, seen: Seen) -> None:
        """The page stays as it is."""
        self.line(at_once=True)
        write_page(self.out, seen, last_alerts(self.out, ALERTS_ON_PAGE), self.command, going_on=False)


def follow(
    spark: Session,
    traces: Path,
    out: Path,
    deadline_s: float,
    for_s: float | None,
    unlock: Unlock | None,
    showing: Showing,
) -> Seen:
    """The last word: after Ctrl-C, `for_s` seconds, or when all is over."""
    end = time.monotonic() + for_s if for_s is not None else None
    with (
        showing.screen or contextlib.nullcontext(),
        followed(spark, traces, out, int(deadline_s * 1e6), unlock) as live,
    ):
        with contextlib.suppress(KeyboardInterrupt):
            watch(live, end, showing)
        if seen := live.look():
            showing.change(seen)
        last = live.now()
    showing.end(last)
    return last


def watch(live: Live, end: float | None, showing: Showing) -> None:
    while not live.over and (end is None or time.monotonic() < end):
        if seen := live.look():
            showing.change(seen)
        showing.line()
        time.sleep(LOOK_S)


def table_of(seen: Seen) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    heads = [*(["run"] if len({row["run"] for row in seen.topics}) > 1 else []), "topic"]
    for head in (*heads, *COUNTS.values(), "p99 ms"):
        table.add_column(head, justify="left" if head in heads else "right", no_wrap=True)
    for row in seen.topics:
        p99 = "–" if row["latency_us_p99"] is None else f"{row['latency_us_p99'] / 1e3:,.1f}"
        table.add_row(*(Text(str(row[head])) for head in heads), *(f"{row[name]:,}" for name in COUNTS), p99)
    return table


def words(seen: Seen, alerts: list[dict[str, Any]]) -> list[str]:
    return [f"{so_far(seen)} {asides(seen)}", *(f"  {alert_of(row)}" for row in alerts[:ALERTS_SHOWN])]


def asides(seen: Seen) -> str:
    said = [f"{seen.nodes:,} nodes", f"{seen.open:,} events still open"]
    said += [f"{len(seen.silent):,} silent"] if seen.silent else []
    said += [f"{len(seen.behind):,} not read to the end"] if seen.behind else []
    said += [f"left out: {seen.problems[0]}"] if seen.problems else []
    return f"({' · '.join(said)})"


def alert_of(row: dict[str, Any]) -> str:
    about = f": event {number_of(row)} of {row['publisher']} ({row['topic']})" if row["event"] else ""
    return f"{row['kind']} {row['state']}: {row['name']}{about}"


def number_of(row: dict[str, Any]) -> str:
    return str(row["event"]).rpartition("-")[2]
