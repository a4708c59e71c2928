"""Growing traces are read record by record, each once, whatever happens to their files in between."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa

from gossamer.core.trace import Head, Row
from gossamer.pipeline.follow_source import HEAD, MORE, PROBLEM, SHARE_BYTES, SIGNS, Offset, TraceStream
from gossamer.pipeline.traces import SCHEMA
from gossamer.wire.segment import opening, records

HEADED = Head("net", 7, name="a", incarnation=1)


class Reading:
    """A stream of one folder, batch by batch."""

    def __init__(self, folder: Path, **options: str) -> None:
        self.folder, self.options = folder, {"traces": str(folder), "out": str(folder / "audit"), **options}
        self.at: Offset = self.stream().initialOffset()

    def stream(self) -> TraceStream:
        return TraceStream(self.options)

    def between(self, start: Offset, end: Offset) -> list[dict[str, Any]]:
        stream = self.stream()
        batches = [rows for piece in stream.partitions(start, end) for rows in stream.read(piece)]
        return pa.Table.from_batches(batches, SCHEMA).to_pylist()

    def batch(self) -> list[dict[str, Any]]:
        start, self.at = self.at, self.stream().latestOffset(self.at)
        found = self.between(start, self.at)
        assert found == self.between(start, self.at)  # whoever is killed reads the same again
        return found

    def numbers(self) -> list[int]:
        return [row["seq"] for row in self.batch() if row["kind"] not in SIGNS]

    def signs(self) -> list[tuple[str, Any]]:
        return [
            (row["kind"], row["bytes"] if row["kind"] == MORE else row["detail"])
            for row in self.batch()
            if row["kind"] in (MORE, PROBLEM)
        ]


def record(*numbers: int) -> bytes:
    return records([Row(number, 5 + number, "alive") for number in numbers])


def add(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_what_is_written_meanwhile_is_read_once_also_when_its_file_is_sealed_and_another_begun(tmp_path: Path) -> None:
    reading, path = Reading(tmp_path), tmp_path / "a-1-0.open"
    add(path, opening(HEADED) + record(0) + record(1, 2))
    assert [row["kind"] for row in reading.batch()] == [*["alive"] * 3, HEAD, MORE]
    assert reading.batch() == []
    add(path, record(3))
    path.rename(path.with_suffix(".segment"))
    add(tmp_path / "a-1-1.open", opening(HEADED) + record(4))
    assert reading.numbers() == [3, 4]
    (tmp_path / "a-1-0.segment").unlink()  # pruned
    assert reading.numbers() == []
    add(tmp_path / "a-1-1.open", record(5))
    assert reading.numbers() == [5]


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_record_half_written_is_read_when_it_is_whole(tmp_path: Path, cut: int) -> None:
    reading, path, data = Reading(tmp_path), tmp_path / "a-1-0.open", opening(HEADED) + record(0) + record(1)
    add(path, data[:-cut])
    first = reading.numbers()
    assert first in ([], [0])
    add(path, data[-cut:])
    assert [*first, *reading.numbers()] == [0, 1]


def test_a_damaged_record_is_passed_over_and_after_two_in_a_row_the_rest_is(tmp_path: Path) -> None:
    reading, path, bad = Reading(tmp_path), tmp_path / "a-1-0.open", record(9)[:-1] + b"\xff"
    add(path, opening(HEADED) + record(0) + bad)
    assert reading.numbers() == [0]
    add(path, record(1) + bad)
    assert reading.numbers() == [1]
    add(path, bad + record(2))
    assert [kind for kind, _ in reading.signs()] == [MORE, PROBLEM]
    add(path, record(3))
    assert reading.numbers() == []


def test_no_file_is_read_ahead_of_the_others(tmp_path: Path) -> None:
    reading, many = Reading(tmp_path, bytes="1"), [record(n) for n in range(SHARE_BYTES // 10)]
    for name in "ab":
        add(tmp_path / f"{name}-1-0.open", opening(HEADED) + b"".join(many))
    found, rounds = [0], 0
    assert reading.signs() == [(MORE, 1), (MORE, 1)]
    while found:
        found, rounds = reading.numbers(), rounds + 1
    assert reading.at["read"] == {f"{name}-1-0": str((tmp_path / f"{name}-1-0.open").stat().st_size) for name in "ab"}
    assert rounds > 1


def test_a_segment_that_cannot_be_read_is_named_once_and_so_is_one_that_is_gone(
    tmp_path: Path,
) -> None:
    reading = Reading(tmp_path)
    add(tmp_path / "new-1-0.segment", opening(Head("net", 7, version=99)) + record(0))
    assert ["newer version" in said for _, said in reading.signs()] == [True]
    add(tmp_path / "new-1-0.segment", record(1))
    assert reading.batch() == []
    start = reading.at
    add(tmp_path / "a-1-0.open", opening(HEADED) + record(0))
    end = reading.stream().latestOffset(start)
    (tmp_path / "a-1-0.open").unlink()
    assert [row["kind"] for row in reading.between(start, end)] == [PROBLEM]


def test_that_nothing_comes_is_a_batch_too(tmp_path: Path) -> None:
    add(tmp_path / "a-1-0.open", opening(HEADED) + record(0))
    stream = TraceStream({"traces": str(tmp_path), "out": str(tmp_path / "audit"), "beat_s": "0"})
    first = stream.latestOffset(stream.initialOffset())
    second = stream.latestOffset(first)
    assert (first["read"], first["beat"], second["beat"]) == (second["read"], 0, 1)
    assert stream.partitions(first, second) == []
