"""From outcomes to a summary: one row per point, group and metric. All in JVM expressions."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from gossamer.core.intervals import T95, Z95, t95_of_many
from gossamer.lab.book import ALL, Line
from gossamer.lab.grid import Point
from gossamer.lab.metrics import OF_EVENTS, OF_RUNS
from gossamer.lab.rows import Measure, Outcome
from gossamer.lab.trial import point_id
from gossamer.pipeline.outcomes import Outcomes, Record, hold_a_run_twice
from gossamer.pipeline.places import literally
from gossamer.pipeline.schemas import spark_schema

CLIMB = "@"
"Between a point's id and the chance its events climb with, where the events of a run differ in that."


ONCE: dict[type[Struct], tuple[str, ...]] = {
    Outcome: ("trial", "event", "group", "error"),
    Measure: ("trial", "group", "metric", "error"),
}
"What tells the rows of a trial apart: a trial that was run twice counts once."


def read_outcomes(
    spark: SparkSession, outcomes: Outcomes, points: Sequence[Point], row: type[Struct] = Outcome
) -> DataFrame:
    """The outcomes of exactly these points and runs, each once, whatever else the folder holds."""
    runs: dict[str, int] = {}
    for point in points:
        runs[point_id(point)] = max(runs.get(point_id(point), 0), point.spec.experiment.runs)
    records = [
        each for each in outcomes.records() if each.row == row.__name__ and not runs.keys().isdisjoint(each.runs)
    ]
    if not records:
        return spark.createDataFrame([], spark_schema(row)).withColumn("id", F.lit(""))
    rows = spark.read.schema(spark_schema(row)).parquet(*(literally(outcomes.wave(each.wave)) for each in records))
    chosen = rows.withColumn("id", F.substring_index("trial", "-", 1))
    if not all(hold_only(each, runs) for each in records):
        wanted = spark.createDataFrame(list(runs.items()), "id string, runs long")
        chosen = chosen.join(F.broadcast(wanted), "id").where(F.col("run") < F.col("runs")).drop("runs")
    if hold_a_run_twice(records):
        chosen = chosen.dropDuplicates([*ONCE[row]])
    return chosen.withColumn("id", F.concat_ws(CLIMB, "id", "climb")) if row is Outcome else chosen


def hold_only(record: Record, runs: Mapping[str, int]) -> bool:
    """Whether a wave has no other runs than these."""
    return all(end <= runs.get(point, 0) for point, spans in record.runs.items() for _, end in spans)


def failed_trials(outcomes: DataFrame) -> DataFrame:
    """Trials that never succeeded, with their first error and the command that shows it."""
    return (
        outcomes.groupBy("trial")
        .agg(F.min("error").alias("error"), F.min("command").alias("command"), F.count("group").alias("rows"))
        .where("rows = 0")
    )


def measures_of(outcomes: DataFrame, row: type[Struct]) -> DataFrame:
    """(id, trial, group, metric, value), whatever kind of rows a study leaves."""
    if row is Outcome:
        return measures_by_community(outcomes).unionByName(measures_overall(outcomes))
    return outcomes.where("error is null").select("id", "trial", "group", "metric", "value")


def measures_by_community(outcomes: DataFrame) -> DataFrame:
    """One row per trial, event, community and metric."""
    reached, live = F.col("reached"), F.col("live")
    useful = reached - F.col("home").cast("long")
    values = {
        "reception": F.when(live > 0, reached / live),
        "reliability": F.when(live > 0, (reached == live).cast("double")),
        "climbed": F.when(F.col("climbs"), (F.col("sent_up") > 0).cast("double")),
        "crossed": F.when(F.col("climbs"), (F.col("arrived_up") > 0).cast("double")),
        "sent_intra": F.col("sent_intra"),
        "sent_up": F.when(F.col("climbs"), F.col("sent_up")),
        "arrived_up": F.when(F.col("climbs"), F.col("arrived_up")),
        "arrived": F.col("arrived"),
        "efficiency": F.when(F.col("arrived") > 0, useful / F.col("arrived")),
        "parasites": F.col("parasites"),
        "rounds_last": F.col("rounds_last"),
        "memory": F.col("memory"),
        "load_spread": F.col("load_spread"),
        "live": live,
    }
    return melted(outcomes.where("error is null"), values, F.col("group"))


def measures_overall(outcomes: DataFrame) -> DataFrame:
    """The same for the whole system: a row per trial, event and metric."""
    totals = (
        outcomes.where("error is null")
        .groupBy("id", "trial", "event")
        .agg(
            F.sum(F.col("sent_intra") + F.col("sent_up")).alias("messages"),
            F.sum("parasites").alias("parasites"),
            F.max("rounds_last").alias("rounds_last"),
        )
    )
    return melted(totals, {name: F.col(name) for name in ("messages", "parasites", "rounds_last")}, F.lit(ALL))


def melted(rows: DataFrame, values: dict[str, Column], group: Column) -> DataFrame:
    """(id, trial, group, metric, value), without the values that do not apply."""
    pairs = F.array(
        *(F.struct(F.lit(name).alias("metric"), value.cast("double").alias("value")) for name, value in values.items())
    )
    return (
        rows.select("id", "trial", group.alias("group"), F.explode(pairs).alias("pair"))
        .select("id", "trial", "group", "pair.metric", "pair.value")
        .where("value is not null")
    )


def half_width(metric: Column, mean: Column, deviation: Column, runs: Column, either: Column) -> Column:
    """Half of the 95 % confidence interval of the mean: Wilson's for what is 0 or 1, as it is honest near both.
    `either`: every value is."""
    spread = mean * (1 - mean) / runs + Z95**2 / (4 * runs * runs)
    wilson = F.lit(Z95) * F.sqrt(F.greatest(spread, F.lit(0.0))) / (1 + Z95**2 / runs)
    yes_or_no = metric.isin(*sorted(OF_EVENTS)) | (metric.isin(*sorted(OF_RUNS)) & either)
    return F.when(yes_or_no, wilson).otherwise(students(deviation, runs))


def students(deviation: Column, values: Column) -> Column:
    """Student's interval, for what may have any value; 0 if there is one value only."""
    table = F.array(*map(F.lit, T95))
    few = F.element_at(table, F.greatest(values - 1, F.lit(1)).cast("int"))
    t95 = F.when(values <= len(T95) + 1, few).otherwise(t95_of_many(values.cast("double")))
    return F.coalesce(F.nanvl(t95 * deviation / F.sqrt(values), F.lit(None)), F.lit(0.0))


def averaged_per_run(measures: DataFrame) -> DataFrame:
    """One value per run: the events of one run share its views and faults, so they are no independent samples."""
    return measures.groupBy("id", "trial", "group", "metric").agg(F.avg("value").alias("value"))


def summarised(measures: DataFrame) -> DataFrame:
    """Means, intervals and percentiles over runs."""
    grouped = measures.groupBy("id", "group", "metric").agg(
        F.avg("value").alias("mean"),
        F.stddev_samp("value").alias("deviation"),
        F.percentile("value", F.lit(0.5)).alias("p50"),
        F.percentile("value", F.lit(0.99)).alias("p99"),
        F.max("value").alias("max"),
        F.count("value").alias("runs"),
        F.bool_and(F.col("value").isin(0.0, 1.0)).alias("either"),
    )
    ci95 = half_width(*map(F.col, ("metric", "mean", "deviation", "runs", "either")))
    return grouped.withColumn("ci95", ci95).drop("deviation", "either")


def summarise(
    spark: SparkSession, kept: Outcomes, points: Sequence[Point]
) -> tuple[list[list[Line]], list[tuple[str, str]]]:
    """For each point its summary lines, and (error, command) of each trial that failed."""
    before = kept.records()
    try:
        return _summarise(spark, kept, points)
    except PySparkException:
        if kept.records() == before:
            raise
        return _summarise(spark, kept, points)  # another sweep into this folder has put waves together meanwhile


def _summarise(
    spark: SparkSession, kept: Outcomes, points: Sequence[Point]
) -> tuple[list[list[Line]], list[tuple[str, str]]]:
    by_id: dict[str, list[tuple[float | None, dict[str, Any]]]] = {}
    failed: list[tuple[str, str]] = []
    for row in dict.fromkeys(point.spec.row for point in points):
        alike = [point for point in points if point.spec.row is row]
        outcomes = read_outcomes(spark, kept, alike, row)
        for said in summarised(averaged_per_run(measures_of(outcomes, row))).collect():
            line = said.asDict()
            identity, _, climb = line.pop("id").partition(CLIMB)
            by_id.setdefault(identity, []).append((float(climb) if climb else None, line))
        if any(record.failed for record in kept.records()):
            failed += [(said["error"], said["command"]) for said in failed_trials(outcomes).collect()]
    for lines in by_id.values():
        lines.sort(key=lambda each: (each[0] or 0.0, each[1]["group"], each[1]["metric"]))
    told = [[_line(point, *each) for each in by_id.get(point_id(point), [])] for point in points]
    return told, sorted(failed)


def _line(point: Point, climb: float | None, said: dict[str, Any]) -> Line:
    return Line(point=point.swept if climb is None else {**point.swept, "publish.climb": climb}, **said)


def write_csv(path: Path, lines: Sequence[Line]) -> None:
    """summary.csv, numbers with 9 significant digits; renamed into place when whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = path.with_name(f".{path.name}")
    with kept.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(Line.__struct_fields__)
        for line in lines:
            said = msgspec.structs.asdict(line)
            point = msgspec.json.encode(said.pop("point"), order="sorted").decode()
            table.writerow([point, *(nine_digits(each) if isinstance(each, float) else each for each in said.values())])
    kept.rename(path)


def nine_digits(value: float) -> str:
    """Rounded twice: a mean's last bits depend on the order in which Spark added, and decide where a 5 is cut off."""
    return f"{float(f'{value:.12g}'):.9g}"
