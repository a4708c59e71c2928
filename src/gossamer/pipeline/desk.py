"""Where a long calculation puts things down: frames worked out once and read from then on, until they are tables. One
that was killed finds them there, and goes on with the first that is missing."""

import contextlib
import shutil
from collections.abc import Iterator, Sequence
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
ABOUT = "about"
"The file that says of what the rest was calculated."
WHOLE = "_SUCCESS"
"The file that Spark puts beside those it has finished."


class Desk:
    """A folder for as long as a block. With `one_task` everything stays in one partition: little of it is not worth
    a shuffle. With `about`, a block that fails leaves it as it is, and what the next one that is about the same finds
    there it need not do again; it must ask for the same things by the same names."""

    def __init__(self, folder: Path, one_task: bool, about: str = "") -> None:
        self.folder, self.one_task, self.about = folder, one_task, f"{about} {one_task}" if about else ""

    def __enter__(self) -> "Desk":
        told = self.folder / ABOUT
        if not self.about or not told.exists() or told.read_text() != self.about:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            told.write_text(self.about)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None or not self.about:
            shutil.rmtree(self.folder, ignore_errors=True)

    def settle(self, frame: DataFrame, name: str) -> DataFrame:
        """The same frame, worked out. Spark can remember one too, but drags along how it came about, and looks all that
        over again for every table made from it."""
        if not (self.folder / name / WHOLE).exists():
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
        made, done = self.folder / f"{name}.table", self.folder / f"{name}.done"
        if done.exists() and (out / f"{name}.parquet").exists():
            return
        if not (made / WHOLE).exists():
            ordered = table.coalesce(1).sortWithinPartitions(*order) if self.one_task else table.orderBy(*order)
            ordered.write.mode("overwrite").parquet(str(made))
        put_in_place(made, out, name, table.columns)
        done.touch()


def in_one_task(spark: SparkSession) -> SparkSession:
    """A session of the same Spark, with settings of its own, for what is too small to be worth a plan."""
    return with_settings(spark, ONE_TASK)


@contextlib.contextmanager
def still_active(spark: SparkSession) -> Iterator[None]:
    """A session of our own becomes the thread's active one when it makes a frame of Python's rows, and Spark looks data
    sources up in that. Afterwards it is this one, as before."""
    try:
        yield
    finally:
        spark.createDataFrame([], "nothing int")


def with_settings(spark: SparkSession, settings: dict[str, str]) -> SparkSession:
    own = spark.newSession()
    for key, value in settings.items():
        own.conf.set(key, value)
    return own
