"""Who was there, and what it wanted, when: lives of nodes, and the spells during which they were interested in a topic.

A life begins with a `start` row and ends with `stop`. Without a `stop` the node fell silent, and nothing is known of it
after its last row.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

GRACE_US = 2_000_000
"""Nobody is blamed for what happens so soon after a change: an event is expected where the topic was subscribed to for
so long before it was published, and until so long after."""

LIFE = ("run", "node", "life", "part")
EVENT = ("publisher", "incarnation", "sequence")


def is_kind(*kinds: str) -> Column:
    return F.col("kind").isin(*kinds)


def sum_rows(told: DataFrame) -> DataFrame:
    """One row per life, kind and topic of its rows: how many, when, how many bytes. Whoever asks about all rows is
    answered from here: they are gone through once. `noticed` marks gaps in a publisher's events, and not those that a
    reader was told of."""
    return told.groupBy(
        *LIFE, "name", "host", "level", "kind", "topic", F.when(is_kind("gap"), is_noticed()).alias("noticed")
    ).agg(
        F.count("*").alias("rows"),
        F.min("at_us").alias("first_us"),
        F.max("at_us").alias("last_us"),
        F.max("seq").alias("last_seq"),
        F.sum(F.coalesce("bytes", F.lit(0))).alias("bytes"),
    )


def merge_sums(sums: DataFrame) -> DataFrame:
    """Sums of different rows as those of all of them."""
    return sums.groupBy(*LIFE, "name", "host", "level", "kind", "topic", "noticed").agg(
        F.sum("rows").alias("rows"),
        F.min("first_us").alias("first_us"),
        F.max("last_us").alias("last_us"),
        F.max("last_seq").alias("last_seq"),
        F.sum("bytes").alias("bytes"),
    )


def keep_standing(told: DataFrame) -> DataFrame:
    """Of these rows those that say who wants what, as `find_interests` needs them: of a life's publications on a topic
    one that is as early as any."""
    published = is_kind("publish") & F.col("topic").isNotNull()
    first = Window.partitionBy(*LIFE, "topic").orderBy("at_us", "seq")
    earliest = told.where(published).withColumn("nth", F.row_number().over(first)).where("nth = 1").drop("nth")
    role = is_kind("relay") & F.col("publisher").isNull()
    return told.where(is_kind("subscribe", "unsubscribe") | role).unionByName(earliest)


def is_noticed() -> Column:
    """A gap in a publisher's events, and not one that a reader was told of."""
    counted = F.coalesce("detail", F.lit("")) != "uncounted"
    return is_kind("gap") & F.col("publisher").isNotNull() & counted


def list_lives(sums: DataFrame) -> DataFrame:
    """One row per life: born_us, ended_us, how it ended, whether the node came back after it, rows lost: those that
    must be there by their numbers."""
    stopped, crashed = (F.min(F.when(is_kind(kind), F.col("first_us"))) for kind in ("stop", "crash"))
    lives = sums.groupBy(*LIFE).agg(
        F.max("name").alias("name"),
        F.max("host").alias("host"),
        F.min("first_us").alias("born_us"),
        F.coalesce(F.least(stopped, crashed), F.max("last_us")).alias("ended_us"),
        F.when(crashed <= F.coalesce(stopped, crashed), "crashed")
        .when(stopped.isNotNull(), "stopped")
        .otherwise("silent")
        .alias("ended"),
        F.every(F.col("level").isin("full", "journal")).alias("full"),
        F.sum("rows").alias("rows"),
        F.max("last_seq").alias("last_seq"),
    )
    order = Window.partitionBy("run", "node").orderBy("life", "part")
    before = F.lag("last_seq", default=-1).over(Window.partitionBy("run", "node", "life").orderBy("part"))
    return lives.withColumns(
        {"returned": F.lead("part").over(order).isNotNull(), "lost_rows": F.col("last_seq") - before - F.col("rows")}
    ).drop("last_seq")


def first_time(kind: str) -> Column:
    return F.min(F.when(is_kind(kind), F.col("at_us")))


def find_interests(told: DataFrame, lives: DataFrame) -> DataFrame:
    """One row per spell of a node's interest in a topic, and why: it subscribes until it unsubscribes, to everything or
    to what is `filtered` on the way (the detail tells how); publishes, from its first event on; or relays, by a role
    declared in a row about no event. None outlasts the node's life. `text` is the filter's."""
    return (
        find_subscribed(told)
        .union(find_lasting(told))
        .groupBy(*LIFE, "wide", "why", "text", "until_us")
        .agg(F.min("at_us").alias("from_us"))
        .join(lives.select(*LIFE, "ended_us"), [*LIFE])
        .withColumn("to_us", F.least("until_us", "ended_us"))
        .where("from_us <= to_us")
        .select("run", "node", "wide", "why", "text", "from_us", "to_us")
    )


def find_subscribed(told: DataFrame) -> DataFrame:
    """Subscriptions, each until it is given up."""
    asked = told.where(is_kind("subscribe", "unsubscribe") & F.col("topic").isNotNull())
    # From the last row backwards: Spark carries the least so far along. Forwards it would begin anew at every row.
    later = Window.partitionBy(*LIFE, "topic", "detail").orderBy(F.desc("seq"))
    given_up = first_time("unsubscribe").over(later.rowsBetween(Window.unboundedPreceding, -1))
    why = F.when(F.col("detail").isNotNull(), "filtered").otherwise("subscribe")
    return (
        asked.withColumn("until_us", given_up)
        .where(is_kind("subscribe"))
        .select(
            *LIFE, F.col("topic").alias("wide"), why.alias("why"), F.col("detail").alias("text"), "until_us", "at_us"
        )
    )


def find_lasting(told: DataFrame) -> DataFrame:
    """What is not given up before a life ends: a publisher's interest, a declared role."""
    role = is_kind("relay") & F.col("publisher").isNull()
    wide = F.when(role, F.coalesce("topic", F.lit("."))).otherwise(F.col("topic"))
    never, nothing = F.lit(None).cast("long"), F.lit(None).cast("string")
    return (
        told.where((is_kind("publish") & F.col("topic").isNotNull()) | role)
        .groupBy(*LIFE, wide.alias("wide"), F.col("kind").alias("why"), nothing.alias("text"), never.alias("until_us"))
        .agg(F.min("at_us").alias("at_us"))
    )


def names_that_include(topic: Column) -> Column:
    """The topic and every topic above it: the one place that knows what includes what."""
    parts = F.split(F.substring(topic, 2, 1000), r"\.")
    upwards = F.transform(
        F.sequence(F.lit(1), F.size(parts)),
        lambda depth: F.concat(F.lit("."), F.array_join(F.slice(parts, 1, depth), ".")),
    )
    return F.when(topic == ".", F.array(F.lit("."))).otherwise(F.concat(F.array(F.lit(".")), upwards))


def spread_over_topics(interests: DataFrame, topics: DataFrame) -> DataFrame:
    """Spells of interest in each of these topics (run, topic), by whatever topic above it they come about."""
    above = topics.distinct().withColumn("wide", F.explode(names_that_include(F.col("topic"))))
    return interests.join(above, ["run", "wide"])


def merge_spells(interests: DataFrame) -> DataFrame:
    """Subscriptions as spells that do not touch: a node that holds two at once has given up none when it ends one.
    Those with a filter stand apart, each by its own: which events they are about differs from event to event."""
    alike = ("run", "node", "topic", "why", "filter", "odd")
    order = Window.partitionBy(*alike).orderBy("from_us", "to_us")
    so_far = F.max("to_us").over(order.rowsBetween(Window.unboundedPreceding, -1))
    fresh = F.coalesce(F.col("from_us") > so_far, F.lit(True)).cast("int")
    return (
        interests.where("why in ('subscribe', 'filtered')")
        .withColumn("fresh", fresh)
        .withColumn("spell", F.sum("fresh").over(order))
        .groupBy(*alike, "spell")
        .agg(
            F.min("from_us").alias("from_us"),
            F.max("to_us").alias("to_us"),
            nearest(F.col("wide")).alias("community"),
        )
        .drop("spell")
    )


def nearest(wide: Column) -> Column:
    """Of topics that include one and the same, the lowest: all are beginnings of its name, so it is the longest."""
    return F.max_by(wide, F.length(wide))
