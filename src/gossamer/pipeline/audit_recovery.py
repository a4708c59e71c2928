"""What was lost on the way and found again: gaps that nodes noticed, events that came by recovery, and how long after.

A `gap` row that names a publisher tells which of that publisher's events of a topic did not come, by numbers that count
events of the topic (`first-last` in its detail) and not by ids; where it tells `uncounted` nobody counts them, and it
is no gap. A `recover` row names an event that was asked for and came, and in its detail the microseconds since its
absence was noticed. Between the two lies what came late by itself.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gossamer.pipeline.audit_lives import is_kind, is_noticed, names_that_include, nearest
from gossamer.pipeline.audit_pairs import KEY, PAIR
from gossamer.pipeline.audit_times import count_times, percentiles, points_of

STREAM = ("run", "node", "publisher", "incarnation")
"Whose events a node noticed the absence of."
FOUND_AFTER = {"p50": 0.5, "p99": 0.99}


def list_gaps(told: DataFrame) -> DataFrame:
    """One row per gap a node noticed: `topic` is the one it subscribes to, `lost` how many events (none: not told)."""
    ends = [F.regexp_extract("detail", r"^(\d{1,18})-(\d{1,18})$", group) for group in (1, 2)]
    first, last = (end.try_cast("bigint") for end in ends)
    return told.where(is_noticed()).select(*STREAM, "topic", "at_us", (last - first + 1).alias("lost"))


def list_recovered(told: DataFrame, events: DataFrame) -> DataFrame:
    """One row per event and node it came to by recovery, and how long after its absence was noticed there."""
    return (
        told.where(is_kind("recover") & F.col("sequence").isNotNull())
        .groupBy(*PAIR)
        .agg(
            F.min("topic").alias("said"),
            F.min("at_us").alias("at_us"),
            F.min(F.col("detail").try_cast("bigint")).alias("after_us"),
        )
        .join(events.select(*KEY, F.col("topic").alias("event_topic")), [*KEY], "left")
        .withColumn("topic", F.coalesce("event_topic", "said"))
        .drop("said", "event_topic")
    )


def find_noticed(pairs: DataFrame, gaps: DataFrame) -> DataFrame:
    """The same pairs of event and node with `noticed`: the topic under which the node noticed a gap in the publisher's
    events, if it did."""
    known = gaps.select(*STREAM, F.col("topic").alias("wide")).distinct()
    above = pairs.select(*PAIR, F.explode(names_that_include(F.col("topic"))).alias("wide"))
    found = above.join(known, [*STREAM, "wide"]).groupBy(*PAIR).agg(nearest(F.col("wide")).alias("noticed"))
    return pairs.join(found, [*PAIR], "left")


def count_recovered(recovered: DataFrame, gaps: DataFrame) -> DataFrame:
    """How many came by recovery, by the topic under which they were noticed to be missing, or their own, and by how
    long after that."""
    noticed = find_noticed(recovered, gaps).withColumn("topic", F.coalesce("noticed", "topic"))
    return count_times(noticed, "after_us")


def by_gap_topic(gaps: DataFrame, counted: DataFrame, judged: DataFrame) -> DataFrame:
    """One row per run and topic under which something was noticed to be missing, or came by recovery: gaps, events lost
    in them, recovered, and `unfilled`, still missing at a node that had noticed a gap of their publisher."""
    noticed = gaps.groupBy("run", "topic").agg(F.count("*").alias("gaps"), F.sum("lost").alias("lost"))
    came = counted.groupBy("run", "topic").agg(
        F.sum("count").alias("recovered"),
        *percentiles("after_us", FOUND_AFTER),
        F.max("longest").alias("after_us_max"),
    )
    never = (
        find_noticed(judged.where("missing").select(*PAIR, "topic"), gaps)
        .where("noticed is not null")
        .groupBy("run", F.col("noticed").alias("topic"))
        .agg(F.count("*").alias("unfilled"))
    )
    table = noticed.join(came, ["run", "topic"], "full_outer").join(never, ["run", "topic"], "full_outer")
    counts = ["gaps", "lost", "recovered", "unfilled"]
    by_itself = F.greatest(F.col("lost") - F.col("recovered") - F.col("unfilled"), F.lit(0))
    return table.where("topic is not null").fillna(0, counts).withColumn("came_late", by_itself)


def draw_recovery(
    gaps: DataFrame, recovered: DataFrame, counted: DataFrame, lives: DataFrame, bin_us: int, overall: str
) -> DataFrame:
    """What the figures show, as (figure, series, x, y): how soon events were found again, by share of them; and how
    many were noticed to be missing, and found, in each bin of time since their run began."""
    soon = points_of(counted, overall).select(F.lit("recovery"), "*")
    began = lives.groupBy("run").agg(F.min("born_us").alias("began_us"))
    lost = gaps.select("run", F.lit("noticed to be missing").alias("series"), "at_us", F.coalesce("lost", F.lit(1)))
    found = recovered.select("run", F.lit("recovered"), "at_us", F.lit(1).cast("bigint"))
    binned = F.floor((F.col("at_us") - F.col("began_us")) / bin_us) * F.lit(bin_us / 1e6)
    times = (
        lost.union(found)
        .toDF("run", "series", "at_us", "count")
        .join(began, "run")
        .groupBy("series", binned.cast("double").alias("x"))
        .agg(F.sum("count").cast("double").alias("y"))
        .select(F.lit("found again"), "series", "x", "y")
    )
    return soon.union(times).toDF("figure", "series", "x", "y")
