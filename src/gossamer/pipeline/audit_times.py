"""How long things took, by share of them: percentiles of times that are rounded to four digits, so that whoever counts
them meets some tens of thousands of different ones, and not as many as there are deliveries.

Rounded by a twentieth of a percent at most. Unlike a sketch that picks some of the values, the answer does not depend
on who counted which of them first: one task and many say the same.
"""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

DIGITS = 4
SHARES = [*(percent / 100 for percent in range(100)), 0.995, 0.999]
"Of what a figure shows; the last, all of them, is the longest, which is not rounded."


def rounded(us: str) -> Column:
    """To so many digits, whatever the sign."""
    digits = F.floor(F.log10(F.greatest(F.abs(F.col(us)), F.lit(1))))
    unit = F.pow(F.lit(10.0), F.greatest(digits - (DIGITS - 1), F.lit(0)))
    return F.round(F.col(us) / unit) * unit


def count_times(taken: DataFrame, us: str, *keys: str) -> DataFrame:
    """How many took how long, in each group; `longest` is not rounded."""
    counted = taken.groupBy("run", "topic", *keys, rounded(us).alias("us"))
    return counted.agg(F.count("*").alias("count"), F.max(us).alias("longest"))


def percentiles(us: str, wanted: Mapping[str, float]) -> list[Column]:
    """Of counted times, a column for each; between two neighbours where it falls there."""
    return [F.percentile("us", F.lit(share), F.col("count")).alias(f"{us}_{name}") for name, share in wanted.items()]


def points_of(counted: DataFrame, overall: str) -> DataFrame:
    """Of each topic and of all, as (series, x, y): within x microseconds, so many of them."""
    shares = F.lit([*SHARES, 1.0])
    xs = F.concat(F.percentile("us", F.lit(SHARES), F.col("count")), F.array(F.max("longest").cast("double")))
    return (
        counted.where("us is not null")
        .rollup("topic")
        .agg(xs.alias("xs"))
        .where("xs is not null")
        .select(F.coalesce("topic", F.lit(overall)).alias("series"), F.posexplode("xs").alias("at", "x"))
        .select("series", "x", F.element_at(shares, F.col("at") + 1).alias("y"))
    )
