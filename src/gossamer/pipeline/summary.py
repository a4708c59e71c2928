"""From outcomes to a summary: one row per point, community and metric. All in JVM expressions."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from gossamer.lab.grid import Point
from gossamer.lab.trial import Outcome, point_id
from gossamer.pipeline.schemas import spark_schema

Z95 = 1.959963984540054
SHARES = ("reliability", "climbed")
"Metrics that are 0 or 1 in a run: their interval is Wilson's, which is honest near 0 and 1."
ALL = "all"
"The group of figures about the whole system."


class Line(Struct, frozen=True):
    """One row of summary.csv."""

    point: dict[str, Any]
    group: str
    metric: str
    mean: float
    ci95: float
    p50: float
    p99: float
    max: float
    runs: int


def read_outcomes(spark: SparkSession, folder: Path, points: Sequence[Point]) -> DataFrame:
    """The outcomes of exactly these points and runs, each once, whatever else the folder holds."""
    plan = [(point_id(point), point.spec.experiment.runs, point.name) for point in points]
    wanted = spark.createDataFrame(plan, "id string, runs long, name string")
    rows = spark.read.schema(spark_schema(Outcome)).parquet(str(folder))
    return (
        rows.withColumn("id", F.substring_index("trial", "-", 1))
        .join(F.broadcast(wanted), "id")
        .where(F.col("run") < F.col("runs"))
        .withColumn("point", F.col("name"))
        .drop("id", "runs", "name")
        .dropDuplicates(["point", "trial", "event", "group", "error"])
    )


def failed_trials(outcomes: DataFrame) -> DataFrame:
    """Trials that never succeeded, with their first error and the command that shows it."""
    return (
        outcomes.groupBy("trial")
        .agg(F.min("error").alias("error"), F.min("command").alias("command"), F.count("group").alias("rows"))
        .where("rows = 0")
    )


def measures_by_community(outcomes: DataFrame) -> DataFrame:
    """One row per trial, event, community and metric."""
    reached, live = F.col("reached"), F.col("live")
    useful = reached - F.col("home").cast("long")
    values = {
        "reception": F.when(live > 0, reached / live),
        "reliability": F.when(live > 0, (reached == live).cast("double")),
        "climbed": F.when(F.col("climbs"), (F.col("sent_up") > 0).cast("double")),
        "sent_intra": F.col("sent_intra"),
        "sent_up": F.when(F.col("climbs"), F.col("sent_up")),
        "arrived_up": F.when(F.col("climbs"), F.col("arrived_up")),
        "arrived": F.col("arrived"),
        "efficiency": F.when(F.col("arrived") > 0, useful / F.col("arrived")),
        "parasites": F.col("parasites"),
        "rounds_last": F.col("rounds_last"),
        "memory": F.col("memory"),
        "live": live,
    }
    return melted(outcomes.where("error is null"), values, F.col("group"))


def measures_overall(outcomes: DataFrame) -> DataFrame:
    """The same for the whole system: a row per trial, event and metric."""
    totals = (
        outcomes.where("error is null")
        .groupBy("point", "trial", "event")
        .agg(
            F.sum(F.col("sent_intra") + F.col("sent_up")).alias("messages"),
            F.sum("parasites").alias("parasites"),
            F.max("rounds_last").alias("rounds_last"),
        )
    )
    return melted(totals, {name: F.col(name) for name in ("messages", "parasites", "rounds_last")}, F.lit(ALL))


def melted(rows: DataFrame, values: dict[str, Column], group: Column) -> DataFrame:
    """(point, group, metric, value), without the values that do not apply."""
    pairs = F.array(
        *(F.struct(F.lit(name).alias("metric"), value.cast("double").alias("value")) for name, value in values.items())
    )
    return (
        rows.select("point", group.alias("group"), F.explode(pairs).alias("pair"))
        .select("point", "group", "pair.metric", "pair.value")
        .where("value is not null")
    )


def half_width(metric: Column, mean: Column, deviation: Column, runs: Column) -> Column:
    """Half of the 95 % confidence interval of the mean."""
    normal = F.lit(Z95) * deviation / F.sqrt(runs)
    spread = mean * (1 - mean) / runs + Z95**2 / (4 * runs * runs)
    wilson = F.lit(Z95) * F.sqrt(F.greatest(spread, F.lit(0.0))) / (1 + Z95**2 / runs)
    return F.when(metric.isin(*SHARES), wilson).otherwise(F.coalesce(F.nanvl(normal, F.lit(None)), F.lit(0.0)))


def summarised(measures: DataFrame) -> DataFrame:
    """Means, intervals and percentiles over runs."""
    grouped = measures.groupBy("point", "group", "metric").agg(
        F.avg("value").alias("mean"),
        F.stddev_samp("value").alias("deviation"),
        F.percentile("value", F.lit(0.5)).alias("p50"),
        F.percentile("value", F.lit(0.99)).alias("p99"),
        F.max("value").alias("max"),
        F.count("value").alias("runs"),
    )
    ci95 = half_width(F.col("metric"), F.col("mean"), F.col("deviation"), F.col("runs"))
    return grouped.withColumn("ci95", ci95).select(*Line.__struct_fields__)


def summarise(spark: SparkSession, folder: Path, points: Sequence[Point]) -> tuple[list[Line], list[tuple[str, str]]]:
    """The summary of a sweep, in the points' order, and (error, command) of each trial that failed."""
    outcomes = read_outcomes(spark, folder, points).cache()
    measures = measures_by_community(outcomes).unionByName(measures_overall(outcomes))
    order = {point.name: position for position, point in enumerate(points)}
    rows = sorted(summarised(measures).collect(), key=lambda row: (order[row["point"]], row["group"], row["metric"]))
    failed = sorted((row["error"], row["command"]) for row in failed_trials(outcomes).collect())
    outcomes.unpersist()
    return [Line(**{**row.asDict(), "point": msgspec.json.decode(row["point"])}) for row in rows], failed


def write_csv(path: Path, lines: Sequence[Line]) -> None:
    """summary.csv, numbers with 9 significant digits; renamed into place when whole."""
    kept = path.with_name(f".{path.name}")
    with kept.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(Line.__struct_fields__)
        for line in lines:
            said = msgspec.structs.asdict(line)
            point = msgspec.json.encode(said.pop("point"), order="sorted").decode()
            table.writerow([point, *(f"{each:.9g}" if isinstance(each, float) else each for each in said.values())])
    kept.rename(path)
