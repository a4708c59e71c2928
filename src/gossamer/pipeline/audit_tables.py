"""What the audit tells people: tables by topic, community, node, event and life, and one of all that went wrong.

What only the level `full` writes down (messages, bytes, efficiency) is empty where it is not known, never 0.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gossamer.pipeline.audit_lives import EVENT, is_kind
from gossamer.pipeline.audit_pairs import KEY, PAIR
from gossamer.pipeline.audit_recovery import is_noticed

ALL = "all"
"What a curve over all topics is called; topics begin with a dot."
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


UNTOLD = ("untold", "locked", "damaged")
"States of attributes by which no filter can be judged."


def count(flag: str) -> Column:
    return F.count(F.when(F.col(flag), True)).alias(flag)


def taken_hops() -> list[Column]:
    """By first copies of others' events; nothing where there are none."""
    return [F.avg("hops").alias("hops_mean"), F.max("hops").alias("hops_max")]


def known_by_all(value: Column, full: Column) -> Column:
    """A number that only the level `full` gives, where everyone kept to it."""
    return F.when(full, F.coalesce(value, F.lit(0)))


def by_topic(judged: DataFrame, arrivals: DataFrame, sends: DataFrame, full: DataFrame) -> DataFrame:
    """One row per run and topic of events."""
    latencies = [F.percentile("latency_us", F.lit(share)).alias(f"latency_us_{p}") for p, share in PERCENTILES.items()]
    pairs = judged.groupBy("run", "topic").agg(
        F.count_distinct(*EVENT).alias("events"),
        F.count_distinct(*(F.when(F.col("promised"), F.col(name)) for name in EVENT)).alias("promised"),
        *(count(flag) for flag in ("expected", "delivered", "missing", "in_doubt", "unmatched")),
        F.count(F.when(F.col("missing") & F.col("promised"), True)).alias("broken"),
        F.sum("duplicates").alias("duplicates"),
        F.sum("redelivered").alias("redelivered"),
        *latencies,
        F.max("latency_us").alias("latency_us_max"),
        F.count(F.when(F.col("latency_us") < 0, True)).alias("negative_latencies"),
        *taken_hops(),
    )
    return (
        pairs.join(sum_unheard(judged), ["run", "topic"], "left")
        .join(unwanted_by(arrivals, "topic"), ["run", "topic"], "full_outer")
        .join(full, "run", "left")
        .join(sends, ["run", "topic"], "left")
        .withColumns({name: known_by_all(F.col(name), F.col("full")) for name in ("messages", "bytes")})
        .drop("full")
        .fillna(0, [name for name in pairs.columns if not name.startswith(("latency", "hops"))])
        .fillna(0, ["unheard", "missing_unheard", *UNTOLD, "parasites", "declared", "found", "strays", "relays"])
    )


def sum_unheard(judged: DataFrame) -> DataFrame:
    """Events whose publisher was killed for good before anybody else had them, and what is missing of those; and events
    that filters ask for and whose attributes are not known."""
    unheard = ~F.col("promised") & ~F.col("heard")
    return (
        by_event(judged)
        .groupBy("run", "topic")
        .agg(
            F.count(F.when(unheard, True)).alias("unheard"),
            F.sum(F.when(unheard, F.col("missing")).otherwise(0)).alias("missing_unheard"),
            *(F.count(F.when(F.col("values") == state, True)).alias(state) for state in UNTOLD),
        )
    )


def by_community(judged: DataFrame, arrivals: DataFrame) -> DataFrame:
    """One row per run and community: what its members should have had and have, and how many of the copies that came
    to them were of use. Efficiency is CAMCAST's (§6.2.2): useful copies by all copies received."""
    pairs = judged.where("community is not null").groupBy("run", "community")
    expected = pairs.agg(
        F.count_distinct("node").alias("members"),
        *(count(flag) for flag in ("expected", "delivered", "missing", "in_doubt")),
    )
    useful = (F.col("received") > 0) & (F.col("node") != F.col("publisher"))
    copies = (
        arrivals.where("community is not null")
        .groupBy("run", "community")
        .agg(F.sum("received").alias("copies"), F.count(F.when(useful, True)).alias("useful"))
        .where("copies > 0")
        .withColumn("efficiency", F.col("useful") / F.col("copies"))
    )
    return expected.join(copies, ["run", "community"], "full_outer")


def unwanted_by(arrivals: DataFrame, *keys: str) -> DataFrame:
    return arrivals.groupBy("run", *keys).agg(
        count("parasite").alias("parasites"),
        count("declared"),
        count("found"),
        count("stray").alias("strays"),
        count("relay").alias("relays"),
    )


def by_node(told: DataFrame, lives: DataFrame, judged: DataFrame, arrivals: DataFrame) -> DataFrame:
    """One row per run and node."""
    size = F.coalesce("bytes", F.lit(0))
    did = told.groupBy("run", "node").agg(
        F.count(F.when(is_kind("publish"), True)).alias("published"),
        F.count(F.when(is_kind("reject"), True)).alias("refused"),
        F.count(F.when(is_noticed(), True)).alias("gaps"),
        F.count(F.when(is_kind("gap") & ~is_noticed(), True)).alias("gaps_told"),
        F.count(F.when(is_kind("recover"), True)).alias("recovered"),
        F.count(F.when(is_kind("send"), True)).alias("messages_sent"),
        F.sum(F.when(is_kind("send"), size)).alias("bytes_sent"),
        F.count(F.when(is_kind("receive"), True)).alias("messages_received"),
        F.sum(F.when(is_kind("receive"), size)).alias("bytes_received"),
    )
    lived = lives.groupBy("run", "node").agg(
        F.max("name").alias("name"),
        F.count("*").alias("lives"),
        F.count(F.when(F.col("ended") != "stopped", True)).alias("silenced"),
        F.sum("lost_rows").alias("lost_rows"),
        F.bool_and("full").alias("full"),
    )
    got = (
        judged.where("node is not null")
        .groupBy("run", "node")
        .agg(
            *(count(flag) for flag in ("expected", "delivered", "missing", "in_doubt")),
            F.sum("duplicates").alias("duplicates"),
            F.sum("redelivered").alias("redelivered"),
            *taken_hops(),
        )
    )
    traffic = [f"{what}_{way}" for what in ("messages", "bytes") for way in ("sent", "received")]
    joined = (
        lived.join(did, ["run", "node"])
        .join(got, ["run", "node"], "left")
        .join(unwanted_by(arrivals, "node"), ["run", "node"], "left")
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


def by_event(judged: DataFrame) -> DataFrame:
    """One row per event; `heard` if another node than its publisher has it."""
    return judged.groupBy(*KEY, "topic", "published_us", "promised", "values").agg(
        F.coalesce(F.bool_or(F.col("has") & (F.col("node") != F.col("publisher"))), F.lit(False)).alias("heard"),
        *(count(flag) for flag in ("expected", "delivered", "missing", "in_doubt", "unmatched")),
        F.sum("duplicates").alias("duplicates"),
        F.max("latency_us").alias("latency_us_max"),
        F.max("hops").alias("hops_max"),
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


SHARES = [*(percent / 100 for percent in range(100)), 0.995, 0.999, 1.0]


def draw_curves(judged: DataFrame, lives: DataFrame, bin_us: int) -> DataFrame:
    """What the figures show, as (figure, series, x, y): latencies by share of deliveries, how many took how many hops,
    and how many there were in each bin of time since their run began."""
    taken = judged.where("latency_us is not null").rollup("topic")
    latencies = taken.agg(F.percentile("latency_us", F.lit(SHARES)).alias("xs")).select(
        F.coalesce("topic", F.lit(ALL)).alias("series"), F.posexplode("xs").alias("at", "x")
    )
    share = F.element_at(F.lit(SHARES), F.col("at") + 1)
    hops = judged.where("has and hops is not null").groupBy("topic", "hops").count()
    began = lives.groupBy("run").agg(F.min("born_us").alias("began_us"))
    happened = judged.where("has").select("run", F.lit("deliveries").alias("series"), F.col("first_us").alias("at_us"))
    published = judged.select(*KEY, F.col("published_us").alias("at_us")).distinct()
    happened = happened.union(published.select("run", F.lit("publications"), "at_us")).join(began, "run")
    binned = F.floor((F.col("at_us") - F.col("began_us")) / bin_us) * F.lit(bin_us / 1e6)
    times = happened.groupBy("series", binned.alias("x")).count()
    curves = [
        latencies.select(F.lit("latency"), "series", "x", share),
        hops.select(F.lit("hops"), "topic", F.col("hops").cast("double"), F.col("count").cast("double")),
        times.select(F.lit("timeline"), "series", F.col("x").cast("double"), F.col("count").cast("double")),
    ]
    return curves[0].union(curves[1]).union(curves[2]).toDF("figure", "series", "x", "y")
