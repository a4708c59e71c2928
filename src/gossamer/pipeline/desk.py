"""Where a long calculation puts things down: frames worked out once and read from then on, until they are tables."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession

from gossamer.pipeline.results import put_in_place
from gossamer.pipeline.traces import as_it_is

ONE_TASK = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.parquet.compression.codec": "uncompressed",
}
"Settings for what is too small to be worth a plan."


class Desk:
    """A folder for as long as a block. With `one_task` everything stays in one partition: little of it is not worth
    a shuffle."""

    def __init__(self, folder: Path, one_task: bool) -> None:
        self.folder, self.one_task = folder, one_task

    def __enter__(self) -> "Desk":
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def settle(self, frame: DataFrame, name: str) -> DataFrame:
        """The same frame, worked out. Spark can remember one too, but drags along how it came about, and looks all that
        over again for every table made from it."""
        (frame.coalesce(1) if self.one_task else frame).write.mode("overwrite").parquet(str(self.folder / name))
        settled = frame.sparkSession.read.schema(frame.schema).parquet(as_it_is(self.folder / name))
        return settled.coalesce(1) if self.one_task else settled

    def spread(self, frame: DataFrame, *by: str) -> DataFrame:
        """The same frame in as many parts as tasks can work on: Spark goes by how much comes in, and would give what is
        small, but becomes large, to one."""
        if self.one_task:
            return frame
        return frame.repartition(int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1), *by)

    def read_settled(self, name: str) -> pa.Table:
        """A settled frame in this process, which must have room for it."""
        return pa.concat_tables(map(pq.read_table, sorted((self.folder / name).glob("part-*.parquet"))))

    def write_table(self, out: Path, name: str, table: DataFrame, order: Sequence[str | Column]) -> None:
        """A table of the result, in order, written by tasks of Spark: however long it is, the driver never holds it."""
        ordered = table.coalesce(1).sortWithinPartitions(*order) if self.one_task else table.orderBy(*order)
        made = self.folder / f"{name}.table"
        ordered.write.mode("overwrite").parquet(str(made))
        put_in_place(made, out, name, table.columns)


def in_one_task(spark: SparkSession) -> SparkSession:
    """A session of the same Spark, with settings of its own, for what is too small to be worth a plan."""
    own = spark.newSession()
    for key, value in ONE_TASK.items():
        own.conf.set(key, value)
    return own
