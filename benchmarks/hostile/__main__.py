"""`python -m benchmarks.hostile --seconds 60`: what ten hostile clients do to a node, and to an honest one."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from benchmarks.bench import Bar, verdicts, within
from benchmarks.hostile.attacks import ATTACKS
from benchmarks.hostile.run import Result, Use, run
from benchmarks.tables import Table, markdown

SLOWER = 10.0
GROWN_MIB = 30.0
REASONS = {
    "unread_refusals": "refused to a client",
    "refusals": "refused to a client",
    "long_filters": "too many filters",
    "topics": "too many topics of a client",
    "readers": "too many readers",
    "names": "refused to a client",
    "holding": "too many clients",
    "made_up": "refused to a client",
}
"What each attack is refused for; others are only served more slowly."


@click.command(epilog="Example: python -m benchmarks.hostile --seconds 60")
@click.option("--seconds", type=click.FloatRange(2), default=60.0, show_default=True, help="How long they attack.")
@click.option("--only", type=click.Choice(list(ATTACKS)), multiple=True, help="These attacks alone; repeatable.")
def command(seconds: float, only: tuple[str, ...]) -> None:
    """Exits with 1 if the node grew, the honest client had to wait, or a refusal was not counted."""
    with tempfile.TemporaryDirectory() as folder:
        result = run([*(only or ATTACKS)], seconds, Path(folder))
    asked = [*bars(result)]
    for table in (used(result), refused(result), verdicts(asked)):
        click.echo("\n".join(markdown(table)) + "\n")
    sys.exit(any(bar.met is False for bar in asked))


def bars(result: Result, slower: float = SLOWER) -> Iterator[Bar]:
    yield within("times as long the honest client waits for 99 of 100 publications", slower, result.slower, "times")
    yield within("memory of the node, at most since the attack settled", GROWN_MIB, result.grown_mib, "MiB more")
    wanted = {REASONS[each] for each in result.attacks if each in REASONS}
    missing = sorted(wanted - result.refused.keys())
    yield Bar("refusals counted", "each", f"not {', '.join(missing)}" if missing else "each", not missing)
    lost = result.attacked.published - result.attacked.read
    yield Bar("events of the honest client it did not read", "0", f"{max(0, lost - 1)}", lost <= 1)


def used(result: Result) -> Table:
    def row(when: str, use: Use, mib: float) -> list[str]:
        return [when, str(use.published), *(f"{each:.1f}" for each in (use.p50_ms, use.p99_ms, use.max_ms, mib))]

    columns = ["honest client", "published", "p50 ms", "p99 ms", "longest ms", "node MiB"]
    rows = [row("alone", result.quiet, result.before_mib), row("attacked", result.attacked, result.after_mib)]
    return Table(f"{len(result.attacks)} attacks for {result.seconds:g} s", columns, rows)


def refused(result: Result) -> Table:
    return Table("Refused", ["reason", "times"], [[reason, str(times)] for reason, times in result.refused.items()])


if __name__ == "__main__":
    command()
