"""gossamer audit: who should have had what, who had it, who got it unasked."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gossamer.cli.console import SafeConsole
from gossamer.cli.follow import Showing, follow
from gossamer.cli.keys import read_passphrase
from gossamer.cli.on_spark import Where, on_spark, starting_spark, step_by_step
from gossamer.cli.terminal import say_json
from gossamer.core.errors import Misuse
from gossamer.core.trace import Head
from gossamer.live.keys.auditing import AuditKey, keys_of_files
from gossamer.pipeline.audit import STEPS, Unlock, audit_case
from gossamer.pipeline.audit_case import Case, following_in, opened
from gossamer.pipeline.audit_verdict import Result, Verdict
from gossamer.pipeline.results import read_table
from gossamer.pipeline.session import Session
from gossamer.web.audit import doubts, sentence, write_report
from gossamer.wire.values import Opener

FIRST = 5
"Missing deliveries named in the terminal."
COLOURS: dict[Result, str] = {"holds": "green", "broken": "red", "nothing to judge": "yellow"}
EXIT_CODES: dict[Result, int] = {"holds": 0, "broken": 1, "nothing to judge": 3}
COUNTS = {
    **{name: name for name in ("events", "expected", "delivered", "missing", "parasites")},
    "in_doubt": "doubt",
    "duplicates": "twice",
}
DEADLINE_S = 30.0
WIDE = 100
"Columns of a terminal that has room for the median latency too."


@click.command("audit", epilog="Example: gossamer audit traces --out out/audit")
@click.argument("traces", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder for verdict, tables and report; default TRACES/audit."
)
@click.option(
    "--key",
    "keys",
    type=click.Path(path_type=Path),
    multiple=True,
    help="audit.key of `gossamer keys audit`: opens attributes, to judge filters (repeatable).",
)
@click.option("--passphrase-file", type=click.Path(path_type=Path), help="Opens --key, if it is encrypted.")
@click.option(
    "--follow", "following", is_flag=True, help="The verdict while the network runs, until every node stopped."
)
@click.option("--for", "for_s", type=click.FloatRange(min=0), metavar="SECONDS", help="How long to --follow at most.")
@click.option(
    "--deadline",
    "deadline_s",
    type=click.FloatRange(min=1),
    metavar="SECONDS",
    help="With --follow: when what has not come is missing, and who says nothing is silent; default 30.",
)
@on_spark
@click.option("--json", "as_json", is_flag=True, help="The verdict as JSON.")
def command(
    traces: Path,
    out: Path | None,
    keys: tuple[Path, ...],
    passphrase_file: Path | None,
    following: bool,
    for_s: float | None,
    deadline_s: float | None,
    where: Where,
    as_json: bool,
) -> None:
    """Whether every subscriber got every event, and who got one unasked: from the traces of all nodes, on Spark.

    TRACES is the folder the nodes write to, with the segments of killed nodes and of several runs as they are. Writes
    verdict.json, tables and report.html to --out. Exit code 0 if the promise holds, 1 if it does not, 3 if there was
    nothing to judge: no trace that could be read, or no delivery that was owed.

    With --follow it reads on as traces grow, and ends with Ctrl-C, after --for, or when every node has stopped or is
    silent; the next one goes on from there.
    """
    console = SafeConsole(stderr=as_json)
    out = out or traces / "audit"
    unlock = Unlocking(keys, passphrase_file) if keys else None
    if following:
        showing = Showing(console, out, f"gossamer audit {traces.name} --follow --out {out.name}", as_json)
        with following_in(traces, out), starting_spark(console, where) as spark:
            seen = follow(spark, traces, out, deadline_s or DEADLINE_S, for_s, unlock, showing)
            if not seen.over:
                sys.exit(EXIT_CODES[seen.result])
    elif for_s is not None or deadline_s is not None:
        raise Misuse("--for and --deadline say how to --follow: give that too, or neither of them")
    with opened(traces, out) as case:
        where.brief = case.brief
        with starting_spark(console, where) as spark:
            verdict = audit_with_progress(console, spark, case, unlock)
    if unlock is not None and unlock.unfit:
        console.print(unlock.unfit, style="yellow", highlight=False)
    page = write_report(out, verdict, f"gossamer audit {traces.name} --out {out.name}")
    if as_json:
        say_json(verdict)
    else:
        print_verdict(console, out, verdict, page)
    sys.exit(EXIT_CODES[verdict.result])


class Unlocking:
    """What keys that audit make of the segments' heads. The keys stay in this process: tasks get those of the files."""

    def __init__(self, keys: Sequence[Path], passphrase_file: Path | None) -> None:
        passphrase = read_passphrase(passphrase_file)
        self.audits = [AuditKey.read(path, passphrase) for path in keys]
        self.unfit = ""
        "What to say of keys that open nothing here."

    def __call__(self, heads: Sequence[Head]) -> Opener:
        sealed_to = {head.sealed_to.hex() for head in heads if head.values == "sealed"}
        if not sealed_to.intersection(each.short.hex() for each in self.audits):
            named = f"sealed to {', '.join(sorted(sealed_to))}" if sealed_to else "not sealed"
            given = ", ".join(each.short.hex() for each in self.audits)
            self.unfit = f"The key given ({given}) opens none of these traces: they are {named}."
        return keys_of_files(self.audits, heads)


def audit_with_progress(console: Console, spark: Session, case: Case, unlock: Unlock | None = None) -> Verdict:
    return step_by_step(console, spark, "audit", STEPS, lambda say: audit_case(spark, case, say, unlock))


def print_verdict(console: Console, out: Path, verdict: Verdict, page: Path) -> None:
    console.print(topic_table(console, out, verdict))
    console.print(f"[bold {COLOURS[verdict.result]}]{sentence(verdict)}[/]")
    for row in read_table(out, "skipped", FIRST) if not verdict.nodes else ():
        console.print(f"  {row['file']}: {row['why']}", markup=False, highlight=False)
    for row in read_table(out, "missing", FIRST):
        event = f"event {row['event'].rpartition('-')[2]} of {row['publisher']}"
        place = f"last {row['seen_how']}, at {row['seen_at']}"
        console.print(f"  {row['name']} lacks {event} ({row['topic']}): {place}", markup=False, highlight=False)
    if verdict.missing > FIRST:
        console.print(f"  … and {verdict.missing - FIRST:,} more in {out / 'missing.parquet'}", highlight=False)
    for doubt in doubts(verdict):
        console.print(f"  {doubt}", highlight=False)
    console.print(f"  {asides(verdict)}", style="dim", highlight=False)
    console.print(
        f"Report with plots: [bold]{escape(str(page))}[/] · tables: {escape(str(out))}/*.parquet, *.csv",
        highlight=False,
    )


def topic_table(console: Console, out: Path, verdict: Verdict) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    heads = [*(["run"] if verdict.runs > 1 else []), "topic"]
    times = {"latency_us_p50": "p50 ms"} if console.width >= WIDE else {}
    times |= {"latency_us_p99": "p99 ms"}
    for head in (*heads, *COUNTS.values(), *times.values()):
        table.add_column(head, justify="left" if head in heads else "right", no_wrap=True)
    for row in read_table(out, "per_topic"):
        said = ["–" if row[key] is None else f"{row[key] / 1e3:,.1f}" for key in times]
        table.add_row(*(escape(row[head]) for head in heads), *(f"{row[name]:,}" for name in COUNTS), *said)
    return table


def asides(verdict: Verdict) -> str:
    """What else there is to know, in a line."""
    said = [f"{verdict.nodes:,} nodes", f"{verdict.lives:,} lives", f"{verdict.silenced:,} without a stop"]
    more = [
        (verdict.events - verdict.promised, "events not promised"),
        (verdict.unheard, "of them heard by nobody"),
        (verdict.gaps, "gaps noticed"),
        (verdict.recovered, "recovered"),
        (verdict.unfilled, "noticed and never found"),
        (verdict.strays, "strays"),
        (verdict.relays, "relayed"),
        (verdict.redelivered, "redelivered"),
        (verdict.refused, "refused"),
        (verdict.negative_latencies, "negative latencies"),
        (verdict.lost_rows, "rows lost"),
        (verdict.torn, "segments torn"),
        (verdict.skipped, "files skipped"),
    ]
    return " · ".join([*said, *(f"{what}: {count:,}" for count, what in more if count), verdict.clocks])
