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

from gossamer.core.trace import Head
from gossamer.pipeline import audit_clocks as clocks
from gossamer.pipeline import audit_tables as tables
from gossamer.pipeline.audit_arrivals import gather_interests, list_parasites, weigh_arrivals
from gossamer.pipeline.audit_case import Case, opened
from gossamer.pipeline.audit_filters import list_filters, match_events, number_filters
from gossamer.pipeline.audit_lives import find_interests, list_lives, merge_spells, spread_over_topics, sum_rows
from gossamer.pipeline.audit_pairs import (
    KEY,
    collect_deliveries,
    judge,
    list_events,
    locate_missing,
    pair_with_subscribers,
)
from gossamer.pipeline.audit_recovery import by_gap_topic, count_recovered, draw_recovery, list_gaps, list_recovered
from gossamer.pipeline.audit_told import naming_damage, read_told
from gossamer.pipeline.audit_verdict import Verdict, conclude
from gossamer.pipeline.desk import Desk, in_one_task, still_active, with_settings
from gossamer.pipeline.results import read_columns, write_rows
from gossamer.pipeline.traces import Skipped, convert_segments
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
ROWS_PER_PART = 1_000_000
"Rows that a task of a shuffle gets: what it sorts and counts of them stays in memory."
MANY_TASKS = {"spark.sql.requireAllClusterKeysForCoPartition": "false"}
"What lies together by event need not be moved to be joined by event and node."


class Frames(NamedTuple):
    """What the tables are made from."""

    told: DataFrame
    sums: DataFrame
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
    with opened(traces, out) as case:
        return audit_case(spark, case, say, unlock)


def audit_case(spark: SparkSession, case: Case, say: Say = lambda step: None, unlock: Unlock | None = None) -> Verdict:
    """The same, of traces that were found already. One that was killed half way goes on with the step it was in."""
    out, store = case.out, case.out / "rows"
    say("segments")
    converted = convert_segments(spark, case.found, store)
    (out / "verdict.json").unlink(missing_ok=True)  # an audit that fails leaves none, rather than the last one's
    skipped = [*case.foreign, *(Skipped(each.file, each.problem) for each in converted if each.problem)]
    write_rows(out, "skipped", Skipped, skipped)
    rows, heads = sum(each.rows for each in converted), [each.head for each in converted if each.head]
    own, opener = session_for(spark, rows), None if unlock is None else unlock(heads)
    desk = Desk(out / ".halfway", rows <= ROWS_FOR_ONE_TASK, case.digest(opener))
    with naming_damage(case.found, store), still_active(spark), desk:
        say("clocks")
        told = read_told(desk, own, case.found, converted, store)
        told, said = set_clocks(desk, told, heads)
        odd = audit_told(desk, told, out, say, opener)
    verdict = conclude(out, said, converted, case.foreign, odd)
    (out / "verdict.json").write_bytes(msgspec.json.format(msgspec.json.encode(verdict), indent=1) + b"\n")
    return verdict


def audit_told(
    desk: Desk, told: DataFrame, out: Path, say: Say = lambda step: None, opener: Opener | None = None
) -> int:
    """The tables of an audit, from rows of traces by one clock, each there once. How many filters are none."""
    frames = make_frames(desk, told, say, opener)
    write_tables(desk, frames, out, say)
    return frames.odd_filters


def session_for(spark: SparkSession, rows: int) -> SparkSession:
    """With settings for an audit of so many rows."""
    if rows <= ROWS_FOR_ONE_TASK:
        return in_one_task(spark)
    parts = max(int(spark.conf.get("spark.sql.shuffle.partitions") or 1), -(-rows // ROWS_PER_PART))
    return with_settings(spark, MANY_TASKS | {"spark.sql.shuffle.partitions": str(parts)})


def set_clocks(desk: Desk, rows: DataFrame, heads: Sequence[Head]) -> tuple[DataFrame, str]:
    """The rows by one clock per run as far as that can be known, and in words how far that is."""
    within = clocks.align_within_hosts(heads)
    rows = clocks.shift_times(rows, within)
    hosts = {(head.run, head.host) for head in heads}
    more = len(hosts) - len({head.run for head in heads})
    if not more:
        return rows, "one host: one clock"
    delays = list[clocks.Delay]()
    if any(head.level in ("full", "journal") for head in heads):
        delays = [clocks.Delay(*row) for row in desk.settle(clocks.find_least_delays(rows), "delays").collect()]
    between, unknown = clocks.shift_between_hosts(heads, delays)
    if not unknown:
        said = f"{len(hosts)} hosts: offsets estimated from the quickest copies both ways"
    elif unknown < more:
        said = f"{len(hosts)} hosts: offsets estimated, but for {unknown} that are assumed to agree"
    else:
        said = f"{len(hosts)} hosts assumed to agree: traces at level full let their offsets be estimated"
    return clocks.shift_times(rows, between), said


def make_frames(
    desk: Desk,
    told: DataFrame,
    say: Say,
    opener: Opener | None = None,
    sums: DataFrame | None = None,
    standing: DataFrame | None = None,
) -> Frames:
    """From rows to who should have what, and what came where; each step is settled before the next. Where `told` are
    the rows about some events only, `sums` sums up all rows there are, and `standing` says who wants what."""
    say("lives")
    sums = desk.settle(sum_rows(told), "sums") if sums is None else sums
    standing = told if standing is None else standing
    lives = desk.settle(list_lives(sums), "lives")
    say("interests")
    topics, filters = sums.where("topic is not null").select("run", "topic"), list_filters(standing)
    found = number_filters(find_interests(standing, lives), filters)
    interests = desk.settle(spread_over_topics(found, topics), "interests")
    published = list_events(told, lives)
    events = desk.settle(
        match_events(desk.spread(published, *KEY) if filters else published, filters, opener), "events"
    )
    say("deliveries")
    spells = desk.spread(merge_spells(interests), "node")
    pairs = pair_with_subscribers(desk.spread(events, *KEY), spells, bool(filters))
    delivered = collect_deliveries(desk.spread(told.where("kind = 'deliver'"), *KEY))
    judged = desk.settle(judge(events.drop("matching"), pairs, delivered), "judged")
    arrivals = desk.settle(weigh_arrivals(told, events, gather_interests(interests)), "arrivals")
    gaps = desk.settle(list_gaps(told), "gaps")
    recovered = desk.settle(list_recovered(told, events), "recovered")
    names, odd = tables.names_of(lives), sum(each.odd for each in filters)
    return Frames(told, sums, lives, events, judged, arrivals, gaps, recovered, names, odd)


def write_tables(desk: Desk, frames: Frames, out: Path, say: Say) -> None:
    """Each as Parquet, and its first rows as CSV. What several are made from is summed up once."""
    told, sums, lives, events, judged, arrivals, gaps, recovered, names, _ = frames
    full = lives.groupBy("run").agg(F.bool_and("full").alias("full"))

    def write(name: str, table: DataFrame, order: str, columns: str = "*") -> None:
        desk.write_table(out, name, table.select(*columns.split()), order.split())

    say("tables")
    of_events = desk.settle(tables.by_event(judged), "of_events")
    of_members = desk.settle(tables.by_member(judged), "of_members")
    received = desk.settle(tables.by_receiver(arrivals), "received")
    took = desk.settle(tables.count_deliveries(judged), "took")
    found = desk.settle(count_recovered(recovered, gaps), "found")
    write(
        "lives", lives, "run name life", "run name node life part born_us ended_us ended returned host rows lost_rows"
    )
    sends = tables.sum_sends(told, events)
    write("per_topic", tables.by_topic(of_events, took, received, sends, full), "run topic")
    write("per_community", tables.by_community(of_members, received), "run community")
    write("per_node", tables.by_node(sums, lives, of_members, received), "run name")
    write("events", tables.name_events(of_events, names), "run published_us event")
    write("recovery", by_gap_topic(gaps, found, judged), "run topic")
    say("missing")
    write("missing", tables.name_missing(locate_missing(judged, told), names), "run published_us event name")
    write("parasites", tables.name_parasites(list_parasites(arrivals), names), "run first_us event name")
    write("duplicates", tables.name_duplicates(tables.repeated_deliveries(judged), names), "run first_us event name")
    say("curves")
    bin = bin_us(out)
    drawn = draw_recovery(gaps, recovered, found, lives, bin, tables.ALL)
    curves = tables.draw_curves(of_events, judged, took, lives, bin).union(drawn)
    write("curves", curves, "figure series x y")


def bin_us(out: Path) -> int:
    """How long a bar of the figure over time lasts: the longest run has BINS of them."""
    lives = read_columns(out, "lives", "run", "born_us", "ended_us")
    runs = lives.group_by("run").aggregate([("born_us", "min"), ("ended_us", "max")])
    spans = zip(runs["born_us_min"].to_pylist(), runs["ended_us_max"].to_pylist(), strict=True)
    return max([1, *(int(-(-(ended - began + 1) // BINS)) for began, ended in spans)])
