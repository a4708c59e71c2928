"""Tables of one's own on Spark: a row (node, topic) for each subscription, CSV or Parquet, a file or a folder of them.

Rows that say no pair, or one that was said before, are set aside with the reason, the file and the row; none is lost.
"""

import os
import re
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j has no types
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType, StringType, StructField, StructType

from gossamer.core.errors import Misuse
from gossamer.pipeline.background import cause
from gossamer.pipeline.desk import Desk
from gossamer.pipeline.traces import as_it_is

Kind: TypeAlias = Literal["csv", "parquet"]

ENDINGS: dict[str, Kind] = {".csv": "csv", ".tsv": "csv", ".csv.gz": "csv", ".parquet": "parquet", ".pq": "parquet"}
MALFORMED, GARBLED, NO_NODE, NO_TOPIC, AGAIN = (
    "not as many fields as the header",
    "not UTF-8",
    "no node",
    "no topic",
    "the pair was there before",
)
"Why a row is set aside."
BROKEN = "_broken_line"
"Where Spark puts a line of CSV that does not fit the header."
NO_LETTER = "\ufffd"
"What Spark reads where bytes are no letter. Two names might become one."
NAMES_SHOWN = 12


class Table(NamedTuple):
    """Where the pairs are to be found."""

    path: Path
    kind: Kind
    ending: str
    bytes: int
    node: str = "node"
    "The column that says the node."
    topic: str = "topic"


class Sorted(NamedTuple):
    """What became of the rows."""

    good: DataFrame
    "node, topic: every pair once."
    bad: DataFrame
    "file, row (counted from 1, below the header), reason, node, topic, rest (other columns, or the line as it was)."


def find_table(path: Path, node: str = "node", topic: str = "topic") -> Table:
    """The table at a path, as far as its name and its first bytes tell; refused without starting Spark if there is
    none."""
    if not path.exists():
        raise Misuse(f"there is no {path}: name a CSV or Parquet file of pairs (node, topic)")
    if node == topic:
        raise Misuse(f"node and topic cannot both be in the column {node!r}")
    files = [path] if path.is_file() else [each for each in sorted(path.rglob("*")) if counts(each, path)]
    endings = sorted({ending_of(each) for each in files if ending_of(each) or each == path})
    if len(endings) > 1:
        raise Misuse(
            f"{path} has files of several kinds ({', '.join(endings)}): name one of them, or a folder of one kind"
        )
    if not endings:
        raise Misuse(f"there is no CSV or Parquet file in {path}")
    if endings[0] not in ENDINGS:
        raise Misuse(f"{path} is neither CSV nor Parquet by its name: call it .csv, .tsv or .parquet")
    size = sum(each.stat().st_size for each in files if ending_of(each))
    if not size:
        raise Misuse(f"{path} is empty: it needs a header and a row (node, topic) for each subscription")
    return Table(path, ENDINGS[endings[0]], endings[0], size, node, topic)


def counts(file: Path, folder: Path) -> bool:
    """Whether Spark would look at it."""
    hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    return file.is_file() and not hidden


def ending_of(file: Path) -> str:
    name = file.name.lower()
    return next((each for each in sorted(ENDINGS, key=len, reverse=True) if name.endswith(each)), "")


def sort_rows(spark: SparkSession, table: Table, desk: Desk) -> Sorted:
    """Every row of the table, good or bad."""
    try:
        rows = desk.settle(read_rows(spark, table), "rows")
    except (PySparkException, Py4JError) as problem:
        raise Misuse(f"{table.path} cannot be read as {name_of(table)}: {what_spark_says(problem)}") from None
    rows = number_rows(rows) if table.kind == "csv" else rows
    first = Window.partitionBy("node", "topic").orderBy("file", "row")
    again = F.when(F.row_number().over(first) > 1, AGAIN)
    fine = rows.where("reason is null").withColumn("reason", again)
    judged = desk.settle(fine.unionByName(rows.where("reason is not null")), "judged")
    return Sorted(judged.where("reason is null").select("node", "topic"), judged.where("reason is not null"))


def read_rows(spark: SparkSession, table: Table) -> DataFrame:
    """file, row, reason (null: it is fine so far), node, topic, rest; and for CSV the block a row is from."""
    path = as_it_is(table.path.absolute())
    if table.kind == "parquet":
        frame = spark.read.options(**of_its_kind(table)).parquet(path)
        check_columns(table, frame.schema)
        row, broken = F.col("_metadata.row_index") + 1, F.lit(None).cast("string")
        more = []
    else:
        frame = read_csv(spark, table, path)
        row, broken = F.monotonically_increasing_id(), F.col(BROKEN)
        more = [F.col("_metadata.file_block_start").alias("block")]
    node, topic = (said(F.col(quoted(name))) for name in (table.node, table.topic))
    others = [F.col(quoted(name)) for name in frame.columns if name not in (table.node, table.topic, BROKEN)]
    rest = F.to_json(F.struct(*others), {"ignoreNullFields": "false"}) if others else F.lit(None).cast("string")
    garbled = node.contains(NO_LETTER) | topic.contains(NO_LETTER) if table.kind == "csv" else F.lit(False)
    reason = F.when(broken.isNotNull(), MALFORMED).when(node.isNull(), NO_NODE).when(topic.isNull(), NO_TOPIC)
    reason = reason.when(garbled, GARBLED)
    return frame.select(
        F.col("_metadata.file_name").alias("file"), row.alias("row"), reason.alias("reason"),
        node.alias("node"), topic.alias("topic"), F.coalesce(broken, rest).alias("rest"), *more,
    )  # fmt: skip


def read_csv(spark: SparkSession, table: Table, path: str) -> DataFrame:
    """All columns as text; a line that has more or fewer of them is kept whole beside them."""
    options = {
        "header": "true", "sep": "\t" if table.ending == ".tsv" else ",", "escape": '"', "columnPruning": "false",
        "ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true", **of_its_kind(table),
    }  # fmt: skip
    header = spark.read.options(**options).csv(path).schema
    check_columns(table, header)
    fields = [StructField(name, StringType()) for name in header.names]
    schema = StructType([*fields, StructField(BROKEN, StringType())])
    # Where files of a folder have other headers, Spark says so instead of taking one column for another.
    options |= {"enforceSchema": "false", "mode": "PERMISSIVE", "columnNameOfCorruptRecord": BROKEN}
    return spark.read.options(**options).schema(schema).csv(path)


def of_its_kind(table: Table) -> dict[str, str]:
    """Of a folder, Spark is to read only these files."""
    either = "".join(f"[{letter}{letter.upper()}]" if letter.isalpha() else letter for letter in table.ending)
    return {"pathGlobFilter": f"*{either}"} if table.path.is_dir() else {}


def check_columns(table: Table, schema: StructType) -> None:
    for option, name in (("--node", table.node), ("--topic", table.topic)):
        if name not in schema.names:
            there = [shortened(each) for each in schema.names[:NAMES_SHOWN]]
            more = f" and {len(schema) - NAMES_SHOWN} more" if len(schema) > NAMES_SHOWN else ""
            has = f"it has {', '.join(there)}{more}; name yours with {option}" if there else "it has none at all"
            raise Misuse(f"{table.path} has no column {name!r}: {has}")
        kind = schema[name].dataType
        if not isinstance(kind, (StringType, IntegralType)):
            raise Misuse(
                f"the column {name!r} of {table.path} is of type {kind.simpleString()}: names are text or whole numbers"
            )


def shortened(name: str) -> str:
    printable = "".join(letter if letter.isprintable() else NO_LETTER for letter in name)
    return repr(printable if len(printable) <= 30 else f"{printable[:29]}…")


def quoted(name: str) -> str:
    """A column's name that Spark does not take for a path into a struct."""
    return "`" + name.replace("`", "``") + "`"


def said(column: Column) -> Column:
    """As text; nothing but blanks is nothing."""
    text = column.cast("string")
    return F.when(F.trim(text) != "", text)


def number_rows(rows: DataFrame) -> DataFrame:
    """CSV is read in blocks, and Spark counts rows within them: each file's are numbered through."""
    blocks = rows.groupBy("file", "block").agg(F.count("*").alias("rows"), F.min("row").alias("first"))
    before = Window.partitionBy("file").orderBy("block").rowsBetween(Window.unboundedPreceding, -1)
    blocks = blocks.withColumn("before", F.coalesce(F.sum("rows").over(before), F.lit(0))).drop("rows")
    numbered = rows.join(F.broadcast(blocks), ["file", "block"])
    return numbered.withColumn("row", F.col("row") - F.col("first") + F.col("before") + 1).drop(
        "first", "before", "block"
    )


def name_of(table: Table) -> str:
    return {"csv": "CSV", "parquet": "Parquet"}[table.kind]


def what_spark_says(problem: Exception) -> str:
    """In a few words: Spark says it with a stack trace, and the path once more."""
    text = str(problem)
    if "header does not conform" in text:
        return "its files have different headers"
    for known, words in KNOWN.items():
        if known in text:
            return words
    return re.sub(r"\s+", " ", cause(text))[:200]


KNOWN = {
    "is not a Parquet file": "it is not a Parquet file, or not a whole one",
    "CANNOT_READ_FILE_FOOTER": "it is not a Parquet file, or not a whole one",
    "FAILED_READ_FILE": "it is damaged, or its files do not fit together",
    "CANNOT_MERGE": "its files have different columns",
    "UNABLE_TO_INFER_SCHEMA": "there is nothing in it",
    "Permission denied": os.strerror(13),
}
"What Spark means by what it says."
