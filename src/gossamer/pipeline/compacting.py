"""Few, large files: small waves of a sweep are put together into one."""

import math
from collections.abc import Sequence

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from gossamer.lab.rows import Measure, Outcome
from gossamer.pipeline.outcomes import Outcomes, Record, Spans, finished_runs, new_name, parts, spans_of
from gossamer.pipeline.places import literally
from gossamer.pipeline.schemas import spark_schema

WAVES_MAX = 16
"Small waves there may be side by side."
FILES_MAX = 64
LARGE = 64 * 2**20
"Bytes of a file that is large enough."
ROWS = {kind.__name__: kind for kind in (Outcome, Measure)}
COMPRESSION = "zstd"


def compact(spark: SparkSession, outcomes: Outcomes) -> None:
    """Puts small waves together where there are many. Whoever is killed in the midst of it leaves the old ones, or the
    old ones and the new one, which says whose rows it holds."""
    records = outcomes.records()
    for old in {name for record in records for name in record.replaces}:
        outcomes.forget(old)  # whoever put them together was stopped before
    for row in ROWS:
        small = [each for each in records if each.row == row and each.bytes < LARGE * len(each.files)]
        if len(small) > WAVES_MAX or sum(len(each.files) for each in small) > FILES_MAX:
            try:
                outcomes.keep(put_together(spark, outcomes, small))
            except PySparkException:
                if all(outcomes.wave(each.wave).exists() for each in small):
                    raise
                return  # another sweep into this folder is doing so
            for each in small:
                outcomes.forget(each.wave)


def put_together(spark: SparkSession, outcomes: Outcomes, small: Sequence[Record]) -> Record:
    name, row, size = new_name(), small[0].row, sum(each.bytes for each in small)
    rows = spark.read.schema(spark_schema(ROWS[row])).parquet(*(literally(outcomes.wave(each.wave)) for each in small))
    place = outcomes.wave(name)
    rows.coalesce(math.ceil(size / LARGE)).write.option("compression", COMPRESSION).parquet(place.uri)
    return Record(
        wave=name,
        row=row,
        trials=sum(each.trials for each in small),
        runs=runs_of(small),
        failed=failures_of(small),
        files=parts(place),
        replaces=tuple(each.wave for each in small),
    )


def runs_of(records: Sequence[Record]) -> dict[str, Spans]:
    runs: dict[str, set[int]] = {}
    for record in records:
        for point, spans in record.runs.items():
            for start, end in spans:
                runs.setdefault(point, set()).update(range(start, end))
    return {point: spans_of(sorted(each)) for point, each in runs.items()}


def failures_of(records: Sequence[Record]) -> dict[str, list[int]]:
    """Runs that failed in some wave and succeeded in none."""
    done, failed = finished_runs(records), dict[str, set[int]]()
    for record in records:
        for point, runs in record.failed.items():
            failed.setdefault(point, set()).update(set(runs) - done.get(point, set()))
    return {point: sorted(runs) for point, runs in failed.items() if runs}
