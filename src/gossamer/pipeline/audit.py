"""The audit: from the traces of a run to a verdict. Who should have had which event, who had it, who got one unasked.

Every number is a JVM expression over data frames: see the `audit_…` files, which go from rows to lives, spells of
interest, pairs of event and node, arrivals, what was lost and found again, tables.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from gossamer.core.errors import Misuse
from gossamer.core.trace import Head
from gossamer.pipeline import audit_clocks as clocks
from gossamer.pipeline import audit_tables as tables
from gossamer.pipeline.audit_arrivals import gather_interests, list_parasites, weigh_arrivals
from gossamer.pipeline.audit_filters import list_filters, match_events, number_filters
from gossamer.pipeline.audit_lives import find_interests, list_lives, merge_spells, put_in_order, spread_over_topics
from gossamer.pipeline.audit_pairs import (
    KEY,
    collect_deliveries,
    judge,
    list_events,
    locate_missing,
    pair_with_subscribers,
)
from gossamer.pipeline.audit_recovery import by_gap_topic, draw_recovery, list_gaps, list_recovered
from gossamer.pipeline.audit_verdict import Verdict, conclude
from gossamer.pipeline.desk import Desk, in_one_task
from gossamer.pipeline.results import read_table, write_rows
from gossamer.pipeline.traces import Skipped, Source, convert_segments, find_segments, read_rows
from gossamer.wire.values import Opener

Say = Callable[[str], None]
Unlock = Callable[[Sequence[Head]], Opener]

STEPS = ("segments", "clocks", "lives", "interests", "deliveries", "tables", "missing", "curves")
"What an audit is busy with, in order, as it says itself."
BINS = 60
"Bars of the figure of deliveries over time."
ROWS_FOR_ONE_TASK = 100_000
"""Up to so many, one task does it all: no join needs a shuffle, and it is over before Spark would have compiled plans
for more. Measured: about even at 300,000."""


class Frames(NamedTuple):
    """What the tables are made from."""

    told: DataFrame
    lives: DataFrame
    events: DataFrame
    judged: DataFrame
    arrivals: DataFrame
    gaps: DataFrame
    recovered: DataFrame
    names: DataFrame
    odd_filters: int


def audit_folder(
    spark: SparkSession, traces: Path, out: Path, say: Say = lambda step: None, unlock: Unlock | None = None
) -> Verdict:
    """Audits all runs whose traces lie below a folder. Writes verdict.json and the tables to `out`, and keeps the
    rows there as Parquet, so that the next audit converts only what is new. `say` hears each of STEPS as it begins;
    `unlock` makes of the segments' heads what opens the attributes that are sealed in them."""
    found, foreign = check_folders(traces, out)
    say("segments")
    converted = convert_segments(spark, found, out / "rows")
    (out / "verdict.json").unlink(missing_ok=True)  # an audit that fails leaves none, rather than the last one's
    skipped = [*foreign, *(Skipped(each.file, each.problem) for each in converted if each.problem)]
    write_rows(out, "skipped", Skipped, skipped)
    small = sum(each.rows for each in converted) <= ROWS_FOR_ONE_TASK
    say("clocks")
    rows = read_rows(in_one_task(spark) if small else spark, found, out / "rows")
    heads = [each.head for each in converted if each.head]
    rows, said = set_clocks(rows, heads)
    odd = audit_rows(rows, out, small, say, None if unlock is None else unlock(heads))
    verdict = conclude(out, said, converted, foreign, odd)
    (out / "verdict.json").write_bytes(msgspec.json.format(msgspec.json.encode(verdict), indent=1) + b"\n")
    return verdict


def audit_rows(
    rows: DataFrame, out: Path, small: bool, say: Say = lambda step: None, opener: Opener | None = None
) -> int:
    """The tables of an audit, from rows of traces by one clock; `small`: by one task. How many filters are none."""
    with Desk(out / ".halfway", small) as desk:
        frames = make_frames(desk, rows, say, opener)
        write_tables(desk, frames, out, say)
        return frames.odd_filters


def check_folders(traces: Path, out: Path) -> tuple[list[Source], list[Skipped]]:
    """The segments there are to audit, and other files; refused if there are none, or `out` is no folder."""
    if out.exists() and not out.is_dir():
        raise Misuse(f"--out {out} is a file: name a folder")
    found, foreign = find_segments(traces, out)
    if not found:
        raise Misuse(f"there are no traces below {traces}: name the folder that the nodes write their traces to")
    return found, foreign


def set_clocks(rows: DataFrame, heads: Sequence[Head]) -> tuple[DataFrame, str]:
    """The rows by one clock per run as far as that can be known, and in words how far that is."""
    within = clocks.align_within_hosts(heads)
    rows = clocks.shift_times(rows, within)
    hosts = {(head.run, head.host) for head in heads}
    more = len(hosts) - len({head.run for head in heads})
    if not more:
        return rows, "one host: one clock"
    delays = list[clocks.Delay]()
    if any(head.level in ("full", "journal") for head in heads):
        delays = [clocks.Delay(*row) for row in clocks.find_least_delays(rows).collect()]
    between, unknown = clocks.shift_between_hosts(heads, delays)
    if not unknown:
        said = f"{len(hosts)} hosts: offsets estimated from the quickest copies both ways"
    elif unknown < more:
        said = f"{len(hosts)} hosts: offsets estimated, but for {unknown} that are assumed to agree"
    else:
        said = f"{len(hosts)} hosts assumed to agree: traces at level full let their offsets be estimated"
    return clocks.shift_times(rows, between), said


def make_frames(desk: Desk, rows: DataFrame, say: Say, opener: Opener | None = None) -> Frames:
    """From rows to who should have what, and what came where; each step is settled before the next."""
    say("lives")
    told = desk.settle(put_in_order(rows), "told")
    lives = desk.settle(list_lives(told), "lives")
    say("interests")
    topics = told.where("topic is not null").select("run", "topic")
    filters = list_filters(told)
    found = number_filters(find_interests(told, lives), filters)
    interests = desk.settle(spread_over_topics(found, topics), "interests")
    published = list_events(told, lives)
    events = desk.settle(
        match_events(desk.spread(published, *KEY) if filters else published, filters, opener), "events"
    )
    say("deliveries")
    spells = desk.spread(merge_spells(interests), "node")
    pairs = pair_with_subscribers(desk.spread(events, *KEY), spells, bool(filters))
    judged = desk.settle(judge(events.drop("matching"), pairs, collect_deliveries(told)), "judged")
    arrivals = desk.settle(weigh_arrivals(told, events, gather_interests(interests)), "arrivals")
    gaps = desk.settle(list_gaps(told), "gaps")
    recovered = desk.settle(list_recovered(told, events), "recovered")
    odd = sum(each.odd for each in filters)
    return Frames(told, lives, events, judged, arrivals, gaps, recovered, tables.names_of(lives), odd)


def write_tables(desk: Desk, frames: Frames, out: Path, say: Say) -> None:
    """Each as Parquet, and its first rows as CSV."""
    told, lives, events, judged, arrivals, gaps, recovered, names, _ = frames
    full = lives.groupBy("run").agg(F.bool_and("full").alias("full"))

    def write(name: str, table: DataFrame, order: str, columns: str = "*") -> None:
        desk.write_table(out, name, table.select(*columns.split()), order.split())

    say("tables")
    write(
        "lives", lives, "run name life", "run name node life part born_us ended_us ended returned host rows lost_rows"
    )
    write("per_topic", tables.by_topic(judged, arrivals, tables.sum_sends(told, events), full), "run topic")
    write("per_community", tables.by_community(judged, arrivals), "run community")
    write("per_node", tables.by_node(told, lives, judged, arrivals), "run name")
    write("events", tables.name_events(tables.by_event(judged), names), "run published_us event")
    write("recovery", by_gap_topic(gaps, recovered, judged), "run topic")
    say("missing")
    write("missing", tables.name_missing(locate_missing(judged, told), names), "run published_us event name")
    write("parasites", tables.name_parasites(list_parasites(arrivals), names), "run first_us event name")
    write("duplicates", tables.name_duplicates(tables.repeated_deliveries(judged), names), "run first_us event name")
    say("curves")
    bin = bin_us(out)
    found = draw_recovery(gaps, recovered, lives, bin, tables.SHARES, tables.ALL)
    write("curves", tables.draw_curves(judged, lives, bin).union(found), "figure series x y")


def bin_us(out: Path) -> int:
    """How long a bar of the figure over time lasts: the longest run has BINS of them."""
    began, ended = dict[str, int](), dict[str, int]()
    for life in read_table(out, "lives"):
        began[life["run"]] = min(life["born_us"], began.get(life["run"], life["born_us"]))
        ended[life["run"]] = max(life["ended_us"], ended.get(life["run"], life["ended_us"]))
    return max([1, *(-(-(ended[run] - began[run] + 1) // BINS) for run in began)])
