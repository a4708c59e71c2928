"""The rows an audit goes by: each once, however often its file was copied, with the part of its life it belongs to.

What segments hold was noted as they were converted. So rows are read as they lie there, and only those of segments
that overlap are compared with each other: copies are rare, and to look for them among all rows would cost more than all
that comes after.
"""

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j has no types
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from gossamer.core.errors import SpecError
from gossamer.pipeline.desk import Desk
from gossamer.pipeline.traces import Converted, Source, read_rows

Life = tuple[str, int, int]
"Run, node, incarnation."


def read_told(
    desk: Desk, spark: SparkSession, found: Sequence[Source], converted: Sequence[Converted], store: Path
) -> DataFrame:
    """The rows of these segments."""
    twice = told_twice(converted)
    told = read_rows(spark, [source for source in found if source.file not in twice], store)
    if twice:
        copies = read_rows(spark, [source for source in found if source.file in twice], store)
        told = told.union(desk.settle(each_once(copies), "copies"))
    return number_parts(told, converted)


@contextlib.contextmanager
def naming_damage(found: Iterable[Source], store: Path) -> Iterator[None]:
    """Where Spark fails for a file of rows that cannot be read, the sentence says which it is, and not what Spark says
    of it."""
    try:
        yield
    except (PySparkException, Py4JError):
        for source in found:
            try:
                pq.read_table(store / source.parquet())
            except (OSError, pa.ArrowException):
                named = f"{store / source.parquet()}, made from {source.file}"
                raise SpecError(f"{named}, is damaged: delete it, and run the audit again") from None
        raise


def told_twice(converted: Iterable[Converted]) -> set[str]:
    """Files of which a row may be in another one too, or in the same one again."""
    found = {each.file for each in converted if not each.numbers.rising}
    for _, of_life in groupby(sorted(converted, key=place_in_life), key=life_of):
        reached, by = -1, ""
        for each in of_life:
            if each.rows and each.numbers.first <= reached:
                found |= {each.file, by}
            if each.numbers.last > reached:
                reached, by = each.numbers.last, each.file
    return found


def life_of(each: Converted) -> Life:
    return (each.head.run, each.head.node, each.head.incarnation) if each.head else ("", 0, 0)


def place_in_life(each: Converted) -> tuple[Life, int]:
    return life_of(each), each.numbers.first


def each_once(rows: DataFrame) -> DataFrame:
    order = Window.partitionBy("run", "node", "life").orderBy("seq")
    return rows.withColumn("before", F.lag("seq", default=-1).over(order)).where("before < seq").drop("before")


def number_parts(told: DataFrame, converted: Iterable[Converted]) -> DataFrame:
    """The same rows with `part`, which counts the lives told under one head: a node that writes a new head at each
    start has one in each. What comes before the first start belongs to it."""
    starts: dict[Life, set[int]] = defaultdict(set)
    for each in converted:
        starts[life_of(each)] |= {*each.numbers.starts}
    several = [(*life, sorted(numbers)) for life, numbers in starts.items() if len(numbers) > 1]
    if not several:
        return told.withColumn("part", F.lit(1))
    table = told.sparkSession.createDataFrame(several, "run string, node long, life long, starts array<long>")
    begun = F.size(F.filter(F.coalesce("starts", F.array().cast("array<long>")), lambda start: start <= F.col("seq")))
    joined = told.join(F.broadcast(table), ["run", "node", "life"], "left")
    return joined.withColumn("part", F.greatest(F.lit(1), begun)).drop("starts")
