"""What the audit tells people: tables by topic, community, node, event and life, and one of all that went wrong.

What only the level `full` writes down (messages, bytes, efficiency) is empty where it is not known, never 0.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gossamer.pipeline.audit_lives import EVENT, is_kind
from gossamer.pipeline.audit_pairs import KEY, PAIR
from gossamer.pipeline.audit_times import count_times, percentiles, points_of

ALL = "all"
"What a curve over all topics is called; topics begin with a dot."
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
FLAGS = ("expected", "delivered", "missing", "in_doubt")
REPEATED = ("duplicates", "redelivered")
UNWANTED = ("parasites", "declared", "found", "strays", "relays")
UNTOLD = ("untold", "locked", "damaged")
"States of attributes by which no filter can be judged."


def count(flag: str) -> Column:
    return F.count(F.when(F.col(flag), True)).alias(flag)


def sums(*names: str) -> list[Column]:
    return [F.sum(name).alias(name) for name in names]


def count_hops() -> list[Column]:
    """Of first copies of others' events."""
    return [F.sum("hops").alias("hops"), F.count("hops").alias("hopped"), F.max("hops").alias("hops_max")]


def taken_hops() -> list[Column]:
    """Nothing where there are none."""
    return [F.try_divide(F.sum("hops"), F.sum("hopped")).alias("hops_mean"), F.max("hops_max").alias("hops_max")]


def known_by_all(value: Column, full: Column) -> Column:
    """A number that only the level `full` gives, where everyone kept to it."""
    return F.when(full, F.coalesce(value, F.lit(0)))


def by_event(judged: DataFrame) -> DataFrame:
    """One row per event; `heard` if another node than its publisher has it."""
    return judged.groupBy(*KEY, "topic", "published_us", "promised", "values").agg(
        F.coalesce(F.bool_or(F.col("has") & (F.col("node") != F.col("publisher"))), F.lit(False)).alias("heard"),
        *map(count, [*FLAGS, "unmatched"]),
        *sums(*REPEATED),
        F.max("latency_us").alias("latency_us_max"),
        F.count(F.when(F.col("latency_us") < 0, True)).alias("negative_latencies"),
        *count_hops(),
    )


def by_member(judged: DataFrame) -> DataFrame:
    """One row per node and community it should have events in, or may have."""
    members = judged.where("node is not null").groupBy("run", "node", "community")
    return members.agg(*map(count, FLAGS), *sums(*REPEATED), *count_hops())


def by_receiver(arrivals: DataFrame) -> DataFrame:
    """One row per node, topic and community in which something came that is worth a word."""
    useful = (F.col("received") > 0) & (F.col("node") != F.col("publisher"))
    return arrivals.groupBy("run", "node", "topic", "community").agg(
        count("parasite").alias("parasites"),
        count("declared"),
        count("found"),
        count("stray").alias("strays"),
        count("relay").alias("relays"),
        F.sum("received").alias("copies"),
        F.count(F.when(useful, True)).alias("useful"),
    )


def by_topic(
    events: DataFrame, delivered: DataFrame, received: DataFrame, sends: DataFrame, full: DataFrame
) -> DataFrame:
    """One row per run and topic of events."""
    promised, unheard = F.col("promised"), ~F.col("promised") & ~F.col("heard")
    pairs = events.groupBy("run", "topic").agg(
        F.count("*").alias("events"),
        count("promised"),
        *sums(*FLAGS, "unmatched"),
        F.sum(F.when(promised, F.col("missing")).otherwise(0)).alias("broken"),
        *sums(*REPEATED),
        F.max("latency_us_max").alias("latency_us_max"),
        *sums("negative_latencies"),
        *taken_hops(),
        F.count(F.when(unheard, True)).alias("unheard"),
        F.sum(F.when(unheard, F.col("missing")).otherwise(0)).alias("missing_unheard"),
        *(F.count(F.when(F.col("values") == state, True)).alias(state) for state in UNTOLD),
    )
    took = delivered.groupBy("run", "topic").agg(*percentiles("latency_us", PERCENTILES))
    return (
        pairs.join(took, ["run", "topic"], "left")
        .join(unwanted_by(received, "topic"), ["run", "topic"], "full_outer")
        .join(full, "run", "left")
        .join(sends, ["run", "topic"], "left")
        .withColumns({name: known_by_all(F.col(name), F.col("full")) for name in ("messages", "bytes")})
        .drop("full")
        .fillna(0, [name for name in pairs.columns if not name.startswith(("latency", "hops"))])
        .fillna(0, [*UNWANTED])
    )


def by_community(members: DataFrame, received: DataFrame) -> DataFrame:
    """One row per run and community: what its members should have had and have, and how many of the copies that came
    to them were of use. Efficiency is CAMCAST's (§6.2.2): useful copies by all copies received."""
    pairs = members.where("community is not null").groupBy("run", "community")
    copies = (
        received.where("community is not null")
        .groupBy("run", "community")
        .agg(*sums("copies", "useful"))
        .where("copies > 0")
        .withColumn("efficiency", F.col("useful") / F.col("copies"))
    )
    return pairs.agg(F.count("*").alias("members"), *sums(*FLAGS)).join(copies, ["run", "community"], "full_outer")


def unwanted_by(received: DataFrame, *keys: str) -> DataFrame:
    return received.groupBy("run", *keys).agg(*sums(*UNWANTED))


def by_node(told: DataFrame, lives: DataFrame, members: DataFrame, received: DataFrame) -> DataFrame:
    """One row per run and node; `told` are its rows, summed up."""

    def rows(*kinds: str) -> Column:
        return F.coalesce(F.sum(F.when(is_kind(*kinds), F.col("rows"))), F.lit(0))

    def size(kind: str) -> Column:
        return F.sum(F.when(is_kind(kind), F.col("bytes")))

    def gaps(noticed: bool) -> Column:
        return F.coalesce(F.sum(F.when(F.col("noticed") == noticed, F.col("rows"))), F.lit(0))

    did = told.groupBy("run", "node").agg(
        rows("publish").alias("published"),
        rows("reject").alias("refused"),
        gaps(True).alias("gaps"),
        gaps(False).alias("gaps_told"),
        rows("recover").alias("recovered"),
        rows("send").alias("messages_sent"),
        size("send").alias("bytes_sent"),
        rows("receive").alias("messages_received"),
        size("receive").alias("bytes_received"),
    )
    lived = lives.groupBy("run", "node").agg(
        F.max("name").alias("name"),
        F.count("*").alias("lives"),
        F.count(F.when(F.col("ended") != "stopped", True)).alias("silenced"),
        F.sum("lost_rows").alias("lost_rows"),
        F.bool_and("full").alias("full"),
    )
    got = members.groupBy("run", "node").agg(*sums(*FLAGS, *REPEATED), *taken_hops())
    traffic = [f"{what}_{way}" for what in ("messages", "bytes") for way in ("sent", "received")]
    joined = (
        lived.join(did, ["run", "node"])
        .join(got, ["run", "node"], "left")
        .join(unwanted_by(received, "node"), ["run", "node"], "left")
        .withColumns({name: known_by_all(F.col(name), F.col("full")) for name in traffic})
        .drop("full")
    )
    return joined.fillna(0, [name for name in joined.columns if name not in (*traffic, "hops_mean", "hops_max")])


def sum_sends(told: DataFrame, events: DataFrame) -> DataFrame:
    """Messages and bytes per topic, of those messages that are about one."""
    by_event = (
        told.where(is_kind("send"))
        .groupBy(*KEY, "topic")
        .agg(F.count("*").alias("messages"), F.sum(F.coalesce("bytes", F.lit(0))).alias("bytes"))
    )
    known = events.select(*KEY, F.col("topic").alias("event_topic"))
    return (
        by_event.join(known, [*KEY], "left")
        .withColumn("topic", F.coalesce("event_topic", "topic"))
        .where("topic is not null")
        .groupBy("run", "topic")
        .agg(F.sum("messages").alias("messages"), F.sum("bytes").alias("bytes"))
    )


def repeated_deliveries(judged: DataFrame) -> DataFrame:
    """One row per event and node that delivered it more than once without saying so."""
    return judged.where("duplicates > 0").select(*PAIR, "topic", "times", "redelivered", "first_us")


def names_of(lives: DataFrame) -> DataFrame:
    return lives.groupBy("run", "node").agg(F.max("name").alias("name"))


def with_name(table: DataFrame, names: DataFrame, number: str, name: str) -> DataFrame:
    """The same with a node's name in place of its number, where a trace tells it."""
    known = names.select("run", F.col("node").alias(number), F.col("name").alias("_name"))
    said = F.coalesce("_name", F.col(number).cast("string"))
    named = table.join(known, ["run", number], "left").withColumn("_name", said)
    return named.drop(number).withColumnRenamed("_name", name)


def named(table: DataFrame, names: DataFrame, columns: str) -> DataFrame:
    """These columns, after the run, the event as one word and its publisher's name; `name` is the node's."""
    word = table.withColumn("event", F.concat_ws("-", *EVENT))
    if "node" in table.columns:
        word = with_name(word, names, "node", "name")
    return with_name(word, names, "publisher", "publisher").select("run", "event", "publisher", *columns.split())


def name_events(table: DataFrame, names: DataFrame) -> DataFrame:
    counts = "values expected delivered missing in_doubt unmatched duplicates latency_us_max hops_max"
    return named(table, names, f"topic published_us promised heard {counts}")


def name_missing(table: DataFrame, names: DataFrame) -> DataFrame:
    """`seen_after_us` counts from the publication."""
    seen = table.select("*", "seen.how", "seen.at", "seen.at_us", "seen.hops").drop("seen")
    seen = with_name(seen.withColumn("seen_after_us", F.col("at_us") - F.col("published_us")), names, "at", "seen_at")
    seen = seen.withColumnsRenamed({"how": "seen_how", "hops": "seen_hops"})
    place = "seen_how seen_at seen_after_us seen_hops had members"
    return named(seen, names, f"name topic community published_us promised {place}")


def name_parasites(table: DataFrame, names: DataFrame) -> DataFrame:
    return named(
        with_name(table, names, "via", "via"), names, "name topic stray declared found copies bytes first_us via"
    )


def name_duplicates(table: DataFrame, names: DataFrame) -> DataFrame:
    return named(table, names, "name topic times redelivered first_us")


def count_deliveries(judged: DataFrame) -> DataFrame:
    """How many deliveries took how many hops, and how long."""
    return count_times(judged.where("has"), "latency_us", "hops")


def draw_curves(events: DataFrame, judged: DataFrame, delivered: DataFrame, lives: DataFrame, bin_us: int) -> DataFrame:
    """What the figures show, as (figure, series, x, y): latencies by share of deliveries, how many took how many hops,
    and how many there were in each bin of time since their run began."""
    began = F.broadcast(lives.groupBy("run").agg(F.min("born_us").alias("began_us")))
    happened = judged.where("has").select("run", F.lit("deliveries").alias("series"), F.col("first_us").alias("at_us"))
    published = events.select("run", F.lit("publications"), F.col("published_us"))
    binned = F.floor((F.col("at_us") - F.col("began_us")) / bin_us) * F.lit(bin_us / 1e6)
    times = happened.union(published).join(began, "run").groupBy("series", binned.cast("double").alias("x")).count()
    hops = delivered.where("hops is not null").groupBy("topic", "hops").agg(F.sum("count").alias("count"))
    curves = [
        points_of(delivered, ALL).select(F.lit("latency"), "*"),
        hops.select(F.lit("hops"), "topic", F.col("hops").cast("double"), F.col("count").cast("double")),
        times.select(F.lit("timeline"), "series", "x", F.col("count").cast("double")),
    ]
    return curves[0].union(curves[1]).union(curves[2]).toDF("figure", "series", "x", "y")
