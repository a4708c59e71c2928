"""Where a long calculation puts things down: frames worked out once and read from then on, and tables as CSV files."""

import csv
import shutil
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from msgspec.structs import astuple
from pyspark.sql import Column, DataFrame, SparkSession

from gossamer.pipeline.traces import as_it_is

AS_IT_IS = {"escape": '"', "emptyValue": "", "ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}
"How Spark writes CSV that every other program reads."
TEXTS = ("run", "name", "publisher", "via", "seen_at", "file", "host", "event", "topic")
"Columns that may hold a word that looks like a number."
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

    def write_csv(self, path: Path, table: DataFrame, order: Sequence[str | Column]) -> None:
        """One file, in order, written by a task of Spark: however long it is, the driver never holds it."""
        parts = self.folder / path.name
        whole = table.coalesce(1) if self.one_task else table.repartition(1)
        ordered = whole.sortWithinPartitions(*order)
        ordered.write.mode("overwrite").options(header="true", **AS_IT_IS).csv(str(parts))
        written = sorted(parts.glob("part-*.csv"))
        if written:
            written[0].replace(path)
        else:  # Spark leaves out the file of a table it knows to be empty
            write_lines(path, [table.columns])


def in_one_task(spark: SparkSession) -> SparkSession:
    """A session of the same Spark, with settings of its own, for what is too small to be worth a plan."""
    own = spark.newSession()
    for key, value in ONE_TASK.items():
        own.conf.set(key, value)
    return own


def write_rows(path: Path, kind: type[Struct], rows: Iterable[Struct]) -> None:
    write_lines(path, [kind.__struct_fields__, *map(astuple, rows)])


def write_lines(path: Path, lines: Iterable[Sequence[Any]]) -> None:
    draft = path.with_name(f".{path.name}")
    with draft.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)
    draft.replace(path)


def read_csv(path: Path, most: int | None = None) -> list[dict[str, Any]]:
    """Rows of such a file, the first so many; numbers as numbers, nothing as None, what a person named as text."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = islice(csv.DictReader(file), most)
        return [{column: value_of(column, text) for column, text in row.items()} for row in rows]


def value_of(column: str, text: str) -> Any:
    if not text:
        return None
    if column in TEXTS:
        return text
    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
