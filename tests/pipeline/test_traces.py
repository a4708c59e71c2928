"""Segments become Parquet once, whole or torn; what cannot be read is named and harms nobody else."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

import pyarrow.parquet as pq

from gossamer.core.errors import Misuse
from gossamer.core.trace import Head, Row
from gossamer.live.watching.scribe import at_once
from gossamer.live.watching.traces import SegmentWriter
from gossamer.pipeline import traces
from gossamer.pipeline.traces import (
    SCHEMA,
    Converted,
    Numbers,
    Source,
    convert,
    convert_segments,
    find_segments,
    not_a_segment,
    read_rows,
)
from gossamer.wire.segment import MAGIC, opening, records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

HEAD = Head("net", 7, name="node-7", incarnation=1000, level="full", host="here", offset_us=5)
ROW = Row(0, 5, "deliver", 9, ".a", 3, 1, 4, 2, 64, "redelivered")


def segment(path: Path, *rows: Row, head: Head = HEAD, more: bytes = b"") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(opening(head) + b"".join(records([row]) for row in rows) + more)
    return path


def source(path: Path) -> Source:
    return Source(path.name, str(path), path.stat().st_size)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# One segment


def test_a_row_becomes_a_row_with_what_the_head_says(tmp_path: Path) -> None:
    path, store = segment(tmp_path / "a-1-0.segment", ROW, Row(1, 6, "stop")), tmp_path / "store"
    store.mkdir()
    assert convert(source(path), store) == Converted("a-1-0.segment", 2, HEAD, None, Numbers(0, 1))
    (name,) = files(store)
    table = pq.read_table(store / name)
    assert table.schema.equals(SCHEMA)
    assert table.to_pylist()[0] == {
        "run": "net",
        "node": 7,
        "name": "node-7",
        "life": 1000,
        "level": "full",
        "host": "here",
        "seq": 0,
        "at_us": 5,
        "kind": "deliver",
        "peer": 9,
        "topic": ".a",
        "publisher": 3,
        "incarnation": 1,
        "sequence": 4,
        "hops": 2,
        "bytes": 64,
        "detail": "redelivered",
        "attributes": None,
    }
    assert table.to_pylist()[1]["topic"] is None


def test_a_torn_segment_gives_what_is_whole(tmp_path: Path) -> None:
    path = segment(tmp_path / "a-1-0.open", ROW, more=records([ROW])[:-3])
    told = convert(source(path), tmp_path)
    assert (told.rows, told.head) == (1, HEAD)
    assert told.problem is not None
    assert told.problem.startswith("torn: ")


def test_a_flipped_bit_costs_one_record(tmp_path: Path) -> None:
    path = segment(tmp_path / "a-1-0.segment", Row(0, 1, "start"), Row(1, 2, "alive"), Row(2, 3, "stop"))
    flipped = bytearray(path.read_bytes())
    flipped[-len(records([Row(2, 3, "stop")])) - 1] ^= 1
    path.write_bytes(flipped)
    told = convert(source(path), tmp_path)
    assert told.rows == 2
    assert str(told.problem).endswith("a record is left out")


def test_numbers_no_column_can_hold_cost_only_their_row(tmp_path: Path) -> None:
    beyond = Row(1, 6, "reject", sequence=2**64 - 1)
    for row in (beyond, Row(1, 2**60, "stop"), Row(1, 6, "receive", bytes=-(2**63)), Row(1, 6, "deliver", hops=2**62)):
        told = convert(source(segment(tmp_path / "a-1-0.segment", ROW, row)), tmp_path)
        assert (told.rows, told.problem) == (1, "1 rows hold numbers that cannot be and are left out")


def test_the_numbers_of_a_segment_tell_whether_a_row_is_there_twice(tmp_path: Path) -> None:
    def numbers(*given: int) -> Numbers:
        rows = [Row(number, 5, "start" if number % 2 else "alive") for number in given]
        return convert(source(segment(tmp_path / "a-1-0.segment", *rows)), tmp_path).numbers

    assert numbers(3, 4, 7) == Numbers(3, 7, True, (3, 7))
    assert numbers(4, 3) == Numbers(3, 4, False, (3,))
    assert numbers(3, 3) == Numbers(3, 3, False, (3, 3))
    assert numbers(-1, 0) == Numbers(-1, 0, False, (-1,))
    assert numbers() == Numbers()


def test_a_segment_without_rows_is_a_table_without_rows(tmp_path: Path) -> None:
    told = convert(source(segment(tmp_path / "a-1-0.open")), tmp_path)
    assert told == Converted("a-1-0.open", 0, HEAD)
    (name,) = [name for name in files(tmp_path) if name.endswith(".parquet")]
    assert pq.read_table(tmp_path / name).num_rows == 0


def test_what_has_no_head_or_too_new_a_one_is_named(tmp_path: Path) -> None:
    bare = tmp_path / "bare.segment"
    bare.write_bytes(MAGIC + b"\0")
    newer = segment(tmp_path / "newer.segment", ROW, head=Head("net", 7, version=99))
    for path, says in ((bare, "without a head"), (newer, "newer version")):
        told = convert(source(path), tmp_path)
        assert told.head is None
        assert says in str(told.problem)
    assert files(tmp_path) == ["bare.segment", "newer.segment"]


def test_a_file_that_vanishes_meanwhile_is_named(tmp_path: Path) -> None:
    told = convert(Source("gone.segment", str(tmp_path / "gone.segment"), 10), tmp_path)
    assert told.head is None
    assert "No such file" in str(told.problem)


# A folder


def test_segments_are_found_at_any_depth_and_other_files_are_named(tmp_path: Path) -> None:
    segment(tmp_path / "b" / "node-1-0.segment", ROW)
    segment(tmp_path / "node-2-0.open", ROW)
    segment(tmp_path / "twice-0.open", ROW)
    segment(tmp_path / "twice-0.segment", ROW)
    segment(tmp_path / "out" / "rows" / "ours.segment", ROW)
    (tmp_path / ".hidden").touch()
    (tmp_path / "node-2-0.journal").touch()
    (tmp_path / "node.log").touch()
    (tmp_path / "empty.open").touch()
    found, foreign = find_segments(tmp_path, tmp_path / "out")
    assert [each.file for each in found] == ["b/node-1-0.segment", "node-2-0.open", "twice-0.segment"]
    assert [(each.file, each.why) for each in foreign] == [
        ("empty.open", "not a trace segment by its first bytes"),
        ("node.log", "not a trace segment by its name"),
        ("twice-0.open", "there is a sealed one of the same name"),
    ]


def test_a_name_that_cannot_be_printed_is_not_followed(tmp_path: Path) -> None:
    assert not_a_segment(tmp_path / "two\nlines.segment") == "its name has letters that cannot be printed"
    assert not_a_segment(tmp_path / "half \udc80.segment") == "its name has letters that cannot be printed"


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="nowhere is not a folder: name the one that the nodes write their traces to"):
        find_segments(tmp_path / "nowhere", tmp_path)


def test_a_store_that_cannot_be_made_is_named(spark: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Misuse, match=r"cannot make the folder .*file.*: Not a directory"):
        convert_segments(spark, [], tmp_path / "file" / "rows")


@pytest.mark.parametrize("here_bytes", [0, traces.HERE_BYTES])
def test_each_segment_is_converted_once_and_one_that_grows_again(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here_bytes: int
) -> None:
    monkeypatch.setattr("gossamer.pipeline.traces.HERE_BYTES", here_bytes)  # 0: by Spark's workers
    folder, store = tmp_path / "traces [all]", tmp_path / "store {1}"
    writer = SegmentWriter(folder, HEAD, now_us=lambda: 0, sealer=None, do=at_once)
    writer.row("start", 1)
    writer.tick()
    segment(folder / "other" / "x-1-0.segment", ROW, head=Head("another run", 8, incarnation=2))
    segment(folder / "torn-1-0.open", ROW, head=Head("net", 9), more=b"\x09\0\0\0\x01")

    def go() -> tuple[list[Converted], list[str]]:
        found, _ = find_segments(folder, store)
        told = convert_segments(spark, found, store)
        rows = read_rows(spark, found, store).select("run", "name", "life", "seq", "kind").collect()
        return told, sorted(" ".join(map(str, row)) for row in rows)

    told, rows = go()
    assert [(each.file, each.rows, each.problem) for each in told] == [
        ("node-7-1000-0.open", 1, None),
        ("other/x-1-0.segment", 1, None),
        ("torn-1-0.open", 1, "torn: 5 bytes after the last whole record are left out"),
    ]
    assert rows == ["another run 8 2 0 deliver", "net 9 0 0 deliver", "net node-7 1000 0 start"]

    kept = {path: path.stat().st_mtime_ns for path in store.iterdir()}
    writer.row("stop", 2)
    writer.close()
    told, rows = go()
    assert [(each.file, each.rows) for each in told] == [
        ("node-7-1000-0.segment", 2),
        ("other/x-1-0.segment", 1),
        ("torn-1-0.open", 1),
    ]
    assert rows == [
        "another run 8 2 0 deliver",
        "net 9 0 0 deliver",
        "net node-7 1000 0 start",
        "net node-7 1000 1 stop",
    ]
    still = {path: path.stat().st_mtime_ns for path in store.iterdir()}
    assert len(still) == 3
    assert len(still.items() & kept.items()) == 2  # and the third took the place of a shorter one

    (folder / "torn-1-0.open").unlink()
    assert go()[1] == [row for row in rows if not row.startswith("net 9")]
