"""Tables of one's own on Spark: a row (node, topic) for each subscription, CSV or Parquet, a file or a folder of them.

Rows that say no pair, or one that was said before, are set aside with the reason, the file and the row; none is lost.
"""

import os
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j has no types
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType, StringType, StructField, StructType

from gossamer.core.errors import Misuse
from gossamer.lab.studies.overlay.pairs import AGAIN, BLANKS, GARBLED, MALFORMED, NO_LETTER, NO_NODE, NO_TOPIC
from gossamer.pipeline.background import cause
from gossamer.pipeline.places import Entry, Place, literally

Kind: TypeAlias = Literal["csv", "parquet"]

ENDINGS: dict[str, Kind] = {".csv": "csv", ".tsv": "csv", ".csv.gz": "csv", ".parquet": "parquet", ".pq": "parquet"}
BROKEN = "_broken_line"
"Where Spark puts a line of CSV that does not fit the header."
GOOD, BAD = "good=true", "good=false"
"Folders of rows that were judged, as Spark calls them."
NAMES_SHOWN = 12


class Table(NamedTuple):
    """Where the pairs are to be found."""

    place: Place
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
    bad: DataFrame | None
    """file, row (counted from 1, below the header), reason, node, topic, rest (other columns, or the line as it was).
    None: there is no such row."""


def find_table(place: Place, node: str = "node", topic: str = "topic") -> Table:
    """The table at a place, as far as its name and its size tell; refused without starting Spark if there is none."""
    if not place.exists():
        raise Misuse(f"there is no {place}: name a CSV or Parquet file of pairs (node, topic)")
    if node == topic:
        raise Misuse(f"node and topic cannot both be in the column {node!r}")
    folder = place.is_folder()
    files = [*visible_files(place)] if folder else [each for each in place.parent.entries() if each.name == place.name]
    endings = sorted({ending_of(each.name) for each in files if ending_of(each.name) or not folder})
    if len(endings) > 1:
        raise Misuse(
            f"{place} has files of several kinds ({', '.join(endings)}): name one of them, or a folder of one kind"
        )
    if not endings:
        raise Misuse(f"there is no CSV or Parquet file in {place}")
    if endings[0] not in ENDINGS:
        raise Misuse(f"{place} is neither CSV nor Parquet by its name: call it .csv, .tsv or .parquet")
    size = sum(each.size for each in files if ending_of(each.name))
    if not size:
        raise Misuse(f"{place} is empty: it needs a header and a row (node, topic) for each subscription")
    return Table(place, ENDINGS[endings[0]], endings[0], size, node, topic)


def visible_files(folder: Place) -> Iterator[Entry]:
    """Those that Spark would look at."""
    for entry in folder.entries():
        if not entry.name.startswith((".", "_")):
            yield from visible_files(folder / entry.name) if entry.folder else (entry,)


def ending_of(name: str) -> str:
    name = name.lower()
    return next((each for each in sorted(ENDINGS, key=len, reverse=True) if name.endswith(each)), "")


def sort_rows(spark: SparkSession, table: Table, desk: Place) -> Sorted:
    """Every row of the table, good or bad, in one job; `desk` takes them."""
    try:
        rows = read_rows(spark, table)
        own = F.when(F.col("reason").isNotNull(), F.col("row"))  # else all that lack a node would meet in one task
        first = Window.partitionBy("node", "topic", own).orderBy("file", "block", "row")
        again = F.when((F.row_number().over(first) > 1) & F.col("reason").isNull(), AGAIN)
        judged = rows.withColumn("reason", F.coalesce("reason", again)).withColumn("good", F.col("reason").isNull())
        judged.write.partitionBy("good").mode("overwrite").parquet(desk.uri)
    except (PySparkException, Py4JError) as problem:
        raise Misuse(f"{table.place} cannot be read as {name_of(table)}: {what_spark_says(problem)}") from None
    there = {entry.name for entry in desk.entries()}
    kept = spark.read.schema(rows.schema)
    good = kept.parquet(literally(desk / GOOD)) if GOOD in there else spark.createDataFrame([], rows.schema)
    if BAD not in there:
        return Sorted(good.select("node", "topic"), None)
    bad = kept.parquet(literally(desk / BAD))
    bad = number_rows(good, bad) if table.kind == "csv" else bad.drop("block")
    return Sorted(good.select("node", "topic"), bad)


def read_rows(spark: SparkSession, table: Table) -> DataFrame:
    """file, row, reason (null: it is fine so far), node, topic, rest, and the block a row is from. In CSV, rows are
    counted within their block, from anywhere."""
    path = literally(table.place)
    if table.kind == "parquet":
        frame = spark.read.options(**of_its_kind(table)).parquet(path)
        check_columns(table, frame.schema)
        row, broken = F.col("_metadata.row_index") + 1, F.lit(None).cast("string")
        block = F.lit(0).cast("long")
    else:
        frame = read_csv(spark, table, path)
        row, broken = F.monotonically_increasing_id(), F.col(BROKEN)
        block = F.col("_metadata.file_block_start")
    node, topic = (said(F.col(quoted(name))) for name in (table.node, table.topic))
    others = [F.col(quoted(name)) for name in frame.columns if name not in (table.node, table.topic, BROKEN)]
    rest = F.to_json(F.struct(*others), {"ignoreNullFields": "false"}) if others else F.lit(None).cast("string")
    garbled = node.contains(NO_LETTER) | topic.contains(NO_LETTER) if table.kind == "csv" else F.lit(False)
    reason = F.when(broken.isNotNull(), MALFORMED).when(node.isNull(), NO_NODE).when(topic.isNull(), NO_TOPIC)
    reason = reason.when(garbled, GARBLED)
    return frame.select(
        F.col("_metadata.file_name").alias("file"), row.alias("row"), reason.alias("reason"),
        node.alias("node"), topic.alias("topic"), F.coalesce(broken, rest).alias("rest"), block.alias("block"),
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
    return {"pathGlobFilter": f"*{either}"} if table.place.is_folder() else {}


def check_columns(table: Table, schema: StructType) -> None:
    for option, name in (("--node", table.node), ("--topic", table.topic)):
        if name not in schema.names:
            there = [shortened(each) for each in schema.names[:NAMES_SHOWN]]
            more = f" and {len(schema) - NAMES_SHOWN} more" if len(schema) > NAMES_SHOWN else ""
            has = f"it has {', '.join(there)}{more}; name yours with {option}" if there else "it has none at all"
            raise Misuse(f"{table.place} has no column {name!r}: {has}")
        kind = schema[name].dataType
        if not isinstance(kind, (StringType, IntegralType)):
            raise Misuse(
                f"the column {name!r} of {table.place} is of type {kind.simpleString()}: names are text or whole "
                "numbers"
            )


def shortened(name: str) -> str:
    printable = "".join(letter if letter.isprintable() else NO_LETTER for letter in name)
    return repr(printable if len(printable) <= 30 else f"{printable[:29]}…")


def quoted(name: str) -> str:
    """A column's name that Spark does not take for a path into a struct."""
    return "`" + name.replace("`", "``") + "`"


def said(column: Column) -> Column:
    """As text without the blanks around it; nothing but blanks is nothing."""
    text = F.btrim(column.cast("string"), F.lit(BLANKS))
    return F.when(text != "", text)


def number_rows(good: DataFrame, bad: DataFrame) -> DataFrame:
    """CSV is read in blocks, and Spark counts rows within them: bad ones get the number they have in their file."""
    blocks = good.unionByName(bad).groupBy("file", "block").agg(F.count("*").alias("rows"), F.min("row").alias("first"))
    before = Window.partitionBy("file").orderBy("block").rowsBetween(Window.unboundedPreceding, -1)
    blocks = blocks.withColumn("before", F.coalesce(F.sum("rows").over(before), F.lit(0))).drop("rows")
    numbered = bad.join(F.broadcast(blocks), ["file", "block"])
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
