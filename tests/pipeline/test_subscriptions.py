"""Tables of one's own: what cannot be used is refused in a sentence, or set aside row by row; nothing is lost."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq

from gossamer.core.errors import Misuse
from gossamer.lab.studies.overlay.pairs import AGAIN, GARBLED, MALFORMED, NO_NODE, NO_TOPIC
from gossamer.pipeline.desk import in_one_task
from gossamer.pipeline.places import place_at
from gossamer.pipeline.subscriptions import Table, find_table, read_rows, sort_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def rows_of(frame: "DataFrame", *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.select(*columns).collect())


# Without Spark


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("none.csv", None, "there is no none.csv: name a CSV or Parquet file of pairs"),
        ("pairs.txt", "node,topic\na,b\n", "pairs.txt is neither CSV nor Parquet by its name: call it .csv"),
        ("empty.csv", "", "empty.csv is empty: it needs a header and a row"),
        ("empty.parquet", "", "empty.parquet is empty"),
    ],
)
def test_what_is_no_table_is_refused(
    name: str, content: str | None, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path(name).write_text(content)
    with pytest.raises(Misuse, match=says):
        find_table(place_at(name))


def test_a_folder_has_files_of_one_kind(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="there is no CSV or Parquet file in"):
        find_table(place_at(tmp_path))
    (tmp_path / "a.csv").write_text("node,topic\na,b\n")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "readme.txt").write_text("not a table")
    assert find_table(place_at(tmp_path)) == Table(place_at(tmp_path), "csv", ".csv", 15)
    (tmp_path / "b.parquet").write_text("PAR1")
    with pytest.raises(Misuse, match=r"files of several kinds \(\.csv, \.parquet\): name one of them"):
        find_table(place_at(tmp_path))


def test_a_column_is_not_both(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="node and topic cannot both be in the column 'x'"):
        find_table(place_at(tmp_path), "x", "x")


# With Spark

CSV = {
    "a.csv": 'node, topic,since\nann,news,1\n"b, c","say ""x""",2\n,news,3\n'
    "ann,,4\n\nann,news,5\n  ,art,6\nann , art,7\n",
    "b.CSV": "node,topic,since\nann,news,8\nlone\nx,y,z,more\nann,tea,9\nJosé,tea,10\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("od[d] n*me") / "table"
    folder.mkdir()
    for name, text in CSV.items():
        (folder / name).write_text(text, encoding="latin-1")
    return folder


def test_rows_of_csv_files_are_good_or_named_with_file_row_and_reason(
    spark: "SparkSession", folder: Path, tmp_path: Path
) -> None:
    good, bad = sort_rows(in_one_task(spark), find_table(place_at(folder)), place_at(tmp_path / "desk"))
    assert rows_of(good, "node", "topic") == [
        ("ann", "art"), ("ann", "news"), ("ann", "tea"), ("b, c", 'say "x"'),
    ]  # fmt: skip
    assert [tuple(row) for row in bad.select(*NAMED).orderBy("file", "row").collect()] == [
        ("a.csv", 3, NO_NODE, None, "news", '{"since":"3"}'),
        ("a.csv", 4, NO_TOPIC, "ann", None, '{"since":"4"}'),
        ("a.csv", 5, AGAIN, "ann", "news", '{"since":"5"}'),
        ("a.csv", 6, NO_NODE, None, "art", '{"since":"6"}'),
        ("b.CSV", 1, AGAIN, "ann", "news", '{"since":"8"}'),
        ("b.CSV", 2, MALFORMED, "lone", None, "lone"),
        ("b.CSV", 3, MALFORMED, "x", "y", "x,y,z,more"),
        ("b.CSV", 5, GARBLED, "Jos\ufffd", "tea", '{"since":"10"}'),
    ]


NAMED = ("file", "row", "reason", "node", "topic", "rest")


def test_rows_are_numbered_through_the_blocks_that_a_large_file_is_read_in(
    spark: "SparkSession", tmp_path: Path
) -> None:
    words = [f"node-{i},topic-{i % 7}" if i % 50 else f",row-{i}" for i in range(1, 1001)]
    (tmp_path / "long.csv").write_text("\n".join(["node,topic", *words]))
    small = spark.newSession()
    small.conf.set("spark.sql.files.maxPartitionBytes", "4096")
    small.conf.set("spark.sql.files.openCostInBytes", "0")
    table = find_table(place_at(tmp_path / "long.csv"))
    assert read_rows(small, table).rdd.getNumPartitions() > 2
    good, bad = sort_rows(small, table, place_at(tmp_path / "desk"))
    assert rows_of(bad, "row", "topic") == [(i, f"row-{i}") for i in range(50, 1001, 50)]
    assert good.count() == 980


def test_columns_of_parquet_can_have_other_names_and_hold_numbers(spark: "SparkSession", tmp_path: Path) -> None:
    table = pa.table({"user.id": [3, 20, None, 3], "feed": ["a", "b", "c", "a"], "kept": [[1], [2], [3], [4]]})
    pq.write_table(table, tmp_path / "pairs.parquet")
    found = find_table(place_at(tmp_path / "pairs.parquet"), "user.id", "feed")
    good, bad = sort_rows(in_one_task(spark), found, place_at(tmp_path / "desk"))
    assert rows_of(good, "node", "topic") == [("20", "b"), ("3", "a")]
    assert rows_of(bad, "row", "reason", "rest") == [(3, NO_NODE, '{"kept":[3]}'), (4, AGAIN, '{"kept":[4]}')]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("other.csv", "user,feed\na,b\n", r"has no column 'node': it has 'user', 'feed'; name yours with --node"),
        ("half.csv", "node,feed\na,b\n", r"has no column 'topic': it has 'node', 'feed'; name yours with --topic"),
        (
            "noise.parquet",
            "no Parquet at all",
            "cannot be read as Parquet: it is not a Parquet file, or not a whole one",
        ),
        (
            "real.parquet",
            pa.table({"node": [1.5], "topic": ["a"]}),
            "'node' of .* is of type double: names are text or",
        ),
        ("heads", {"a.csv": "node,topic\na,b\n", "b.csv": "topic,node\nb,a\n"}, "its files have different headers"),
    ],
)
def test_a_table_without_pairs_is_refused(
    name: str, content: Any, says: str, spark: "SparkSession", tmp_path: Path
) -> None:
    path = tmp_path / name
    match content:
        case str():
            path.write_text(content)
        case dict():
            path.mkdir()
            for file, text in content.items():
                (path / file).write_text(text)
        case _:
            pq.write_table(content, path)
    with pytest.raises(Misuse, match=says) as refused:
        sort_rows(in_one_task(spark), find_table(place_at(path)), place_at(tmp_path / "desk"))
    assert "\n" not in str(refused.value)
