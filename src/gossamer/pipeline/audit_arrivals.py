"""Where bytes of events arrived, wanted or not: by the traces' own subscriptions and publications, not only by what the
node says of itself."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gossamer.pipeline.audit_lives import GRACE_US, is_kind, nearest
from gossamer.pipeline.audit_pairs import KEY, PAIR

BYTES = ("receive", "deliver", "duplicate", "recover", "parasite", "relay")
"Kinds of rows that a node can only write about an event whose bytes it has."


def gather_interests(interests: DataFrame) -> DataFrame:
    """One row per node and topic: the spells in which it `reads` all events of the topic; in which it `asks` for those
    that match a filter; in which it `wants` their bytes, since it reads them or publishes on the topic or above; those
    in which it `relays` them by a role it declared; and the community it is a member of for that."""
    spell = F.struct("from_us", "to_us")
    asking = F.struct("filter", "odd", "from_us", "to_us")
    why = F.col("why")
    return interests.groupBy("run", "node", "topic").agg(
        F.collect_list(F.when(why == "subscribe", spell)).alias("reads"),
        F.collect_list(F.when(why == "filtered", asking)).alias("asks"),
        F.collect_list(F.when(why.isin("subscribe", "publish"), spell)).alias("wants"),
        F.collect_list(F.when(why == "relay", spell)).alias("relays"),
        nearest(F.when(why != "relay", F.col("wide"))).alias("community"),
    )


def within(spells: str, margin_us: int = 0) -> Column:
    """Whether the row's time lies in one of these spells; no spells at all: it does not."""
    return F.coalesce(F.exists(spells, lambda each: is_time_of(each, margin_us)), F.lit(False))


def asked_for(margin_us: int = 0) -> Column:
    """Whether a filter asks for the event, or may do so as far as is known."""
    told = F.coalesce(F.col("values") == "told", F.lit(False))

    def asks(each: Column) -> Column:
        matches = F.coalesce(F.array_contains("matching", each.filter), F.lit(False))
        return is_time_of(each, margin_us) & (each.odd | ~told | matches)

    return F.coalesce(F.exists("asks", asks), F.lit(False))


def is_time_of(spell: Column, margin_us: int) -> Column:
    at = F.col("at_us")
    return (spell.from_us - margin_us <= at) & (at <= spell.to_us + margin_us)


def weigh_arrivals(told: DataFrame, events: DataFrame, gathered: DataFrame) -> DataFrame:
    """One row per event and node its bytes came to: `parasite` where nobody wants them, `stray` where somebody did
    until GRACE_US ago or does within GRACE_US, `relay` where it is only carried, by a declared role. A node's own word
    for a parasite is believed (`declared`); `found` are those its other rows give away. Where all that is known is
    that a node has what it wants, there is no row."""
    known = events.select(*KEY, F.col("topic").alias("event_topic"), "timed", "matching", "values")
    arrived = told.where(is_kind(*BYTES) & F.col("publisher").isNotNull())
    judged = (
        arrived.join(known, [*KEY], "left")
        .withColumn("topic", F.coalesce("event_topic", "topic"))
        .where("topic is not null")
        .join(gathered, ["run", "node", "topic"], "left")
        .withColumn("verdict", verdict_on_row())
        .where((F.col("verdict") != "wanted") | is_kind("receive"))  # of most there is nothing more to say
    )
    says = is_kind("parasite")
    received, other = is_kind("receive"), ~is_kind("receive", "duplicate")
    unwanted = F.col("verdict") != "wanted"
    return judged.groupBy(*PAIR, "topic").agg(
        F.max("community").alias("community"),
        F.bool_or(F.col("verdict") == "parasite").alias("parasite"),
        F.bool_or((F.col("verdict") == "parasite") & says).alias("declared"),
        F.bool_or((F.col("verdict") == "parasite") & ~says).alias("found"),
        F.bool_or(F.col("verdict") == "stray").alias("stray"),
        F.bool_or(F.col("verdict") == "relay").alias("relay"),
        F.count(F.when(received, True)).alias("received"),
        F.greatest(F.count(F.when(received & unwanted, True)), F.count(F.when(other & unwanted, True))).alias("copies"),
        F.greatest(
            F.sum(F.when(received & unwanted, F.col("bytes"))), F.sum(F.when(other & unwanted, F.col("bytes")))
        ).alias("bytes"),
        F.min(F.when(unwanted, F.col("at_us"))).alias("first_us"),
        F.max(F.when(unwanted, F.col("peer"))).alias("via"),
    )


def verdict_on_row() -> Column:
    """A delivery is for who subscribes: neither publishing nor a role excuses it. Bytes are for members, too."""
    deliver, believed = is_kind("deliver"), is_kind("parasite")

    def wanted(margin_us: int = 0) -> Column:
        member = F.when(deliver, within("reads", margin_us)).otherwise(within("wants", margin_us))
        return member | asked_for(margin_us)

    return (
        F.when(within("relays") & (is_kind("relay") | ~wanted()) & ~deliver, "relay")
        .when(wanted() & ~believed, "wanted")
        .when(wanted(GRACE_US) & ~wanted(), "stray")
        .otherwise("parasite")
    )


def list_parasites(arrivals: DataFrame) -> DataFrame:
    """The arrivals nobody asked for, relays left out."""
    return arrivals.where("parasite or stray")
