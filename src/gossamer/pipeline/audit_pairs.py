"""Each event and each node that should have it, may have it, or has it; and where the missing ones were last seen."""

from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F

from gossamer.pipeline.audit_lives import EVENT, GRACE_US, LIFE, is_kind

REDELIVERED = "redelivered"
"How the detail of a delivery begins that a reader had been given before and had not acknowledged."

KEY = ("run", *EVENT)
PAIR = (*KEY, "node")


def list_events(told: DataFrame, lives: DataFrame) -> DataFrame:
    """One row per event: its topic, when it was published, whether that is known for sure (`timed`), and whether the
    network owes it to its subscribers (`promised`): its publisher survived, or came back. Attributes are believed of
    its publisher only.

    An event whose publication nobody wrote down, as its publisher was killed within the same turn, or keeps no trace,
    counts from its first delivery on and is not promised."""
    published = is_kind("publish")
    survived = (F.col("ended") == "stopped") | (F.col("ended_us") >= F.col("at_us") + GRACE_US)
    from_a_former_life = (F.col("node") == F.col("publisher")) & (F.col("life") > F.col("incarnation"))
    own = published & (F.col("node") == F.col("publisher")) & F.col("attributes").isNotNull()
    first = published & ~from_a_former_life  # when it was offered once more says nothing about when it was published
    at = F.col("at_us")
    named = told.where(" and ".join(f"{name} is not null" for name in EVENT))
    told_of = named.where(published).join(lives.select(*LIFE, "ended", "ended_us", "returned"), [*LIFE])
    # There are many deliveries, and of each event and topic only the first counts.
    heard_of = named.where(is_kind("deliver")).groupBy(*KEY, "topic", "kind").agg(F.min("at_us").alias("at_us"))
    return (
        told_of.unionByName(heard_of, allowMissingColumns=True)
        .groupBy(*KEY)
        .agg(
            F.coalesce(F.min(F.when(published, F.col("topic"))), F.min("topic")).alias("topic"),
            F.coalesce(F.min(F.when(first, at)), F.min(F.when(published, at)), F.min(at)).alias("published_us"),
            F.bool_or(first).alias("timed"),
            F.bool_or(published & (survived | F.col("returned"))).alias("promised"),
            F.min_by(F.when(own, F.col("attributes")), F.when(own, F.struct("at_us", "life", "seq"))).alias(
                "attributes"
            ),
        )
        .where("topic is not null")
    )


def pair_with_subscribers(events: DataFrame, spells: DataFrame, filtered: bool) -> DataFrame:
    """One row per event and node that was subscribed around its publication: `expected` if for all of the time from
    GRACE_US before to GRACE_US after, else in doubt. `filtered`: some ask for a part; of an event that matches they
    expect the same, and one of which nobody knows whether it does is `unmatched`, unless it is expected anyway."""
    early, late = F.col("published_us") - GRACE_US, F.col("published_us") + GRACE_US
    around = (F.col("from_us") <= late) & (F.col("to_us") >= early)
    whole = F.col("sure") & (F.col("from_us") <= early) & (F.col("to_us") >= late)
    pairs = pair_with_spells(events, spells, filtered).where(around)
    if not filtered:
        return pairs.groupBy(*PAIR).agg(
            F.bool_or(whole).alias("expected"), F.max("community").alias("community"), F.lit(False).alias("unmatched")
        )
    part = F.when(F.col("sure") & ~whole, F.struct("from_us", "to_us"))
    together = F.aggregate(
        F.sort_array("parts"),
        early,
        lambda reach, each: F.when(each.from_us <= reach, F.greatest(reach, each.to_us)).otherwise(reach),
    )
    return (
        pairs.groupBy(*PAIR, "published_us")
        .agg(
            F.bool_or(whole).alias("whole"),
            F.collect_list(part).alias("parts"),
            F.max("community").alias("community"),
            F.bool_or(~F.col("sure")).alias("unsure"),
        )
        .withColumn("expected", F.col("whole") | (together >= late))
        .select(*PAIR, "expected", "community", (F.col("unsure") & ~F.col("expected")).alias("unmatched"))
    )


def pair_with_spells(events: DataFrame, spells: DataFrame, filtered: bool) -> DataFrame:
    """Each event with every subscription that is about it; not `sure` are those of which nobody can tell that."""
    about = [*KEY, "topic", "published_us"]
    whom, sure = ["node", "from_us", "to_us", "community"], F.lit(True).alias("sure")
    plain = events.join(spells.where("filter is null"), ["run", "topic"]).select(*about, *whom, sure)
    if not filtered:
        return plain
    asking = spells.where("filter is not null")
    known = events.where("values = 'told'")
    unknown = events.where("values is null or values <> 'told'")
    matching = known.select(*about, F.explode("matching").alias("filter")).join(asking, ["run", "topic", "filter"])
    unsure = unknown.join(asking, ["run", "topic"]).unionByName(
        known.join(asking.where("odd"), ["run", "topic"]), allowMissingColumns=True
    )
    return plain.union(matching.select(*about, *whom, sure)).union(
        unsure.select(*about, *whom, F.lit(False).alias("sure"))
    )


def collect_deliveries(told: DataFrame) -> DataFrame:
    """One row per event and node that delivered it, however often."""
    again = F.coalesce(F.col("detail").startswith(REDELIVERED), F.lit(False))
    return (
        told.where(is_kind("deliver"))
        .groupBy(*PAIR)
        .agg(
            F.min("at_us").alias("first_us"),
            F.min_by("hops", "at_us").alias("hops"),
            F.count(F.when(~again, True)).alias("times"),
            F.count(F.when(again, True)).alias("redelivered"),
        )
    )


def judge(events: DataFrame, pairs: DataFrame, deliveries: DataFrame) -> DataFrame:
    """One row per event and node that should have it, may have it or has it; an event that is nobody's stands alone.
    Of the flags `delivered`, `missing` and `in_doubt` the first two are about expected pairs only, `has` about all."""
    has, expected = F.col("first_us").isNotNull(), F.coalesce("expected", F.lit(False))
    remote = F.col("node") != F.col("publisher")  # a publisher's own copy took no time
    comparable = F.col("timed") & remote & F.col("expected").isNotNull()  # not read from a spool days later
    return (
        pairs.join(deliveries, [*PAIR], "full_outer")
        .join(events, [*KEY], "right")
        .withColumns(
            {
                "has": has,
                "delivered": expected & has,
                "missing": expected & ~has,
                "in_doubt": F.coalesce(~F.col("expected"), F.lit(False)),
                "unmatched": F.coalesce("unmatched", F.lit(False)),
                "expected": expected,
                "duplicates": F.greatest(F.coalesce("times", F.lit(0)) - 1, F.lit(0)),
                "redelivered": F.coalesce("redelivered", F.lit(0)),
                "latency_us": F.when(comparable, F.col("first_us") - F.col("published_us")),
                "hops": F.when(remote, F.col("hops")),
            }
        )
    )


def locate_missing(judged: DataFrame, told: DataFrame) -> DataFrame:
    """One row per missing delivery, with the place where the event was seen last on its way there: at the node itself,
    on the way to it, in its community, anywhere, or only at its publisher. `had` of the `members` of its community
    that should have it do."""
    missing = judged.where("missing").select(*PAIR, "topic", "community", "published_us", "promised")
    wanted = missing.select(*PAIR)
    here = told.where(is_kind("receive", "duplicate", "reject", "gap", "recover", "drop", "parasite"))
    here = here.join(wanted, [*PAIR], "left_semi")
    towards = told.where(is_kind("send")).withColumnsRenamed({"node": "sender", "peer": "node"})
    towards = towards.join(wanted, [*PAIR], "left_semi")
    having = judged.join(missing.select(*KEY).distinct(), [*KEY], "left_semi")
    in_community = having.where("community is not null").groupBy(*KEY, "community")
    return (
        missing.join(
            last_of(here.groupBy(*PAIR), F.concat("kind", F.lit(" there")), F.col("node"), "here"), [*PAIR], "left"
        )
        .join(last_of(towards.groupBy(*PAIR), F.lit("sent to it"), F.col("sender"), "towards"), [*PAIR], "left")
        .join(
            in_community.agg(
                last_delivery("delivered in its community").alias("near"),
                F.count(F.when(F.col("expected"), True)).alias("members"),
                F.count(F.when(F.col("delivered"), True)).alias("had"),
            ),
            [*KEY, "community"],
            "left",
        )
        .join(having.groupBy(*KEY).agg(last_delivery("delivered elsewhere").alias("far")), [*KEY], "left")
        .withColumn("seen", F.coalesce("here", "towards", "near", "far", published()))
        .drop("here", "towards", "near", "far")
    )


def last_of(found: GroupedData, how: Column, where: Column, name: str) -> DataFrame:
    return found.agg(
        F.max_by(sighting(how, where, F.col("at_us"), F.col("hops")), F.struct("at_us", where)).alias(name)
    )


def last_delivery(how: str) -> Column:
    seen = sighting(F.lit(how), F.col("node"), F.col("first_us"), F.col("hops"))
    return F.max_by(F.when(F.col("has"), seen), F.when(F.col("has"), F.struct("first_us", "node")))


def published() -> Column:
    return sighting(F.lit("published"), F.col("publisher"), F.col("published_us"), F.lit(0).cast("long"))


def sighting(how: Column, where: Column, at_us: Column, hops: Column) -> Column:
    return F.struct(how.alias("how"), where.alias("at"), at_us.alias("at_us"), hops.alias("hops"))
