"""The trace a node writes: whole records only, sealed in turn, and no word of it when the disk is full but one."""

import errno
import logging
import os
import random
from pathlib import Path

import pytest

from gossamer.core.errors import Misuse, SpecError
from gossamer.core.trace import FULL_ONLY, KINDS, Head, Row
from gossamer.live.watching import traces
from gossamer.live.watching.scribe import at_once
from gossamer.live.watching.traces import PULSE_US, SegmentWriter, host
from gossamer.wire.segment import MAGIC, SegmentReader, opening, records, seal

HEAD = Head("net", 7, name="node-7", incarnation=1000, host="here", offset_us=5)


class Clock:
    def __init__(self) -> None:
        self.now_us = 1_000_000

    def __call__(self) -> int:
        return self.now_us


def writer(folder: Path, head: Head = HEAD, **limits: int) -> tuple[SegmentWriter, Clock]:
    clock = Clock()
    return SegmentWriter(folder, head, now_us=clock, sealer=None, do=at_once, **limits), clock


def read(path: Path) -> tuple[list[Row], str | None]:
    reader = SegmentReader(path)
    rows = [row for record in reader for row in record]
    return rows, reader.problem


def rows_below(folder: Path) -> list[Row]:
    return sorted((row for path in folder.iterdir() for row in read(path)[0]), key=lambda row: row.seq)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def some(segment: SegmentWriter, count: int, at_us: int = 0) -> None:
    for i in range(count):
        segment.row("deliver", at_us + i, 9, ".a", 3, 1, i, 2, 64)


# Writing


def test_rows_of_a_turn_are_in_the_file_when_the_turn_is_over(tmp_path: Path) -> None:
    segment, _ = writer(tmp_path)
    segment.row("start", 5)
    segment.row("deliver", 6, 9, ".a", 3, 1, 4, 2, 64, "redelivered")
    assert names(tmp_path) == []
    segment.tick()
    assert names(tmp_path) == ["node-7-1000-0.open"]
    rows, problem = read(tmp_path / "node-7-1000-0.open")
    assert rows == [Row(0, 5, "start"), Row(1, 6, "deliver", 9, ".a", 3, 1, 4, 2, 64, "redelivered")]
    assert problem is None
    segment.close()
    assert names(tmp_path) == ["node-7-1000-0.segment"]


def test_the_head_travels_with_the_file(tmp_path: Path) -> None:
    segment, _ = writer(tmp_path)
    segment.row("start", 5)
    segment.close()
    reader = SegmentReader(tmp_path / "node-7-1000-0.segment")
    assert list(reader) == [[Row(0, 5, "start")]]
    assert reader.head == HEAD


def test_a_turn_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[int] = []
    real = os.write

    def write(file: int, data: bytes) -> int:
        writes.append(len(data))
        return real(file, data)

    monkeypatch.setattr(os, "write", write)
    segment, _ = writer(tmp_path)
    for _turn in range(3):
        some(segment, 10)
        segment.tick()
    segment.tick()
    assert len(writes) == 3
    segment.close()


def test_a_segment_is_sealed_when_it_is_large_or_old(tmp_path: Path) -> None:
    segment, clock = writer(tmp_path, segment_bytes=500, age_us=10_000_000)
    for _turn in range(2):  # large
        some(segment, 40)
        segment.tick()
    some(segment, 1)
    segment.tick()
    clock.now_us += 10_000_000  # old
    some(segment, 1)
    segment.tick()
    some(segment, 1)
    segment.tick()
    assert names(tmp_path) == ["node-7-1000-0.segment", "node-7-1000-1.segment", "node-7-1000-2.segment",
                               "node-7-1000-3.open"]  # fmt: skip
    segment.close()
    assert [row.seq for row in rows_below(tmp_path)] == list(range(83))


def test_very_many_rows_of_one_turn_do_not_wait_for_its_end_and_fit_into_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "ROWS_MAX", 1000)
    monkeypatch.setattr("gossamer.wire.segment.ROWS_MAX", 400)
    segment, _ = writer(tmp_path)
    some(segment, 1500)
    path = tmp_path / "node-7-1000-0.open"
    assert [len(record) for record in SegmentReader(path)] == [400, 400, 200]
    segment.close()
    assert [row.seq for row in rows_below(tmp_path)] == list(range(1500))


def test_a_quiet_node_says_that_it_is_alive(tmp_path: Path) -> None:
    segment, clock = writer(tmp_path)
    some(segment, 1)
    for _second in range(3):
        segment.tick()
        clock.now_us += PULSE_US
    segment.close()
    assert [row.kind for row in rows_below(tmp_path)] == ["deliver", "alive", "alive", "alive"]


def test_a_name_that_would_leave_the_folder_is_replaced_by_the_number(tmp_path: Path) -> None:
    segment, _ = writer(tmp_path, Head("net", 7, name="../../x", incarnation=1))
    some(segment, 1)
    segment.close()
    assert names(tmp_path) == ["7-1-0.segment"]


def test_two_lives_of_one_incarnation_do_not_write_over_each_other(tmp_path: Path) -> None:
    for _life in range(2):
        segment, _ = writer(tmp_path)
        some(segment, 1)
        segment.tick()
        if _life:
            segment.close()
        else:
            segment._file.seal()
    assert names(tmp_path) == ["node-7-1000-0.segment", "node-7-1000-1.segment"]


def test_a_row_that_cannot_be_written_costs_only_itself(tmp_path: Path) -> None:
    segment, _ = writer(tmp_path)
    segment.row("start", 1)
    segment.row("reject", 2, detail="half a letter: \ud800")
    segment.row("reject", 3, sequence=2**70)
    segment.row("reject", 4, detail="x" * 10_000)
    segment.close()
    assert [(row.seq, len(row.detail or "")) for row in rows_below(tmp_path)] == [(0, 0), (3, traces.DETAIL_MAX)]


def test_nodes_of_one_machine_name_it_alike() -> None:
    assert host() == host() != ""


# Levels


@pytest.mark.parametrize(
    ("level", "kept"),
    [("off", set()), ("deliveries", set(KINDS) - FULL_ONLY), ("full", set(KINDS)), ("journal", set(KINDS))],
)
def test_a_level_keeps_its_kinds_and_counts_without_gaps(tmp_path: Path, level: traces.Level, kept: set[str]) -> None:
    folder = tmp_path / "traces"
    segment, _ = writer(folder, Head("net", 7, level=level))
    for kind in KINDS:
        segment.row(kind, 1)  # type: ignore[arg-type]
    segment.close()
    assert folder.exists() == (level != "off")
    rows = rows_below(folder) if folder.exists() else []
    assert {row.kind for row in rows} == kept
    assert [row.seq for row in rows] == list(range(len(kept)))


def test_another_level_begins_another_segment_whose_head_says_so(tmp_path: Path) -> None:
    segment, _ = writer(tmp_path)
    segment.row("send", 1)
    segment.row("start", 1)
    segment.keep("full")
    segment.keep("full")
    segment.row("send", 2)
    segment.keep("off")
    segment.row("stop", 3)
    segment.close()
    assert [(row.seq, row.kind) for row in rows_below(tmp_path)] == [(0, "start"), (1, "send")]
    reader = SegmentReader(tmp_path / "node-7-1000-1.segment")
    list(reader)
    assert reader.head.level == "full"


# Disks


def full_disk(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """A disk that takes so many bytes of the next write."""
    real = os.write

    def write(file: int, data: bytes) -> int:
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(file, data[:room])

    monkeypatch.setattr(os, "write", write)


@pytest.mark.parametrize("room", [0, 30])
@pytest.mark.parametrize("before", [0, 5])
def test_a_full_disk_is_told_once_and_the_node_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, room: int, before: int
) -> None:
    segment, clock = writer(tmp_path)
    some(segment, before)
    segment.tick()
    with monkeypatch.context() as full, caplog.at_level(logging.INFO, "gossamer.traces"):
        full_disk(full, room)
        for _turn in range(5):
            some(segment, 3)
            segment.tick()
            clock.now_us += traces.AGAIN_US // 2
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "No space left on device): the node goes on without" in caplog.text
    assert segment.rows_lost == 15
    clock.now_us += traces.AGAIN_US
    with caplog.at_level(logging.INFO, "gossamer.traces"):
        some(segment, 3)
        segment.close()
    assert caplog.messages[1:] == [f"traces are written to {tmp_path} again; 15 rows are lost so far"]
    assert [row.seq for row in rows_below(tmp_path)] == [*range(before), *range(before + 15, before + 18)]
    assert names(tmp_path) == ["node-7-1000-0.segment"]
    assert segment.rows_written == before + 3


def test_a_folder_that_is_taken_away_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "traces"
    segment, _ = writer(folder)
    folder.rmdir()
    some(segment, 1)
    segment.close()
    assert len(rows_below(folder)) == 1


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Misuse, match=r"cannot make the folder for traces .*file.*: .*; name another, or set the level"):
        writer(tmp_path / "file" / "traces")
    writer(tmp_path / "file" / "traces", Head("net", 7, level="off"))


# Reading what was not written whole


def three_records(folder: Path) -> bytes:
    return opening(HEAD) + b"".join(records([Row(i, i, "deliver", sequence=i)]) for i in range(3))


def test_a_segment_cut_anywhere_gives_its_whole_records(tmp_path: Path) -> None:
    whole, path = three_records(tmp_path), tmp_path / "cut.open"
    start = len(opening(HEAD))
    size = (len(whole) - start) // 3
    for cut in range(start, len(whole) + 1):
        path.write_bytes(whole[:cut])
        rows, problem = read(path)
        assert [row.seq for row in rows] == list(range((cut - start) // size))
        left = (cut - start) % size
        assert problem == (f"torn: {left} bytes after the last whole record are left out" if left else None)


def test_a_flipped_bit_in_a_record_costs_that_record(tmp_path: Path) -> None:
    whole, path = bytearray(three_records(tmp_path)), tmp_path / "flipped.segment"
    size = (len(whole) - len(opening(HEAD))) // 3
    at = len(opening(HEAD)) + size
    whole[at + size - 1] ^= 4
    path.write_bytes(whole)
    rows, problem = read(path)
    assert [row.seq for row in rows] == [0, 2]
    assert problem == f"damaged at byte {at}: a record is left out"


def test_whatever_happens_to_the_bytes_reading_ends_and_makes_nothing_up(tmp_path: Path) -> None:
    whole, path, draw = three_records(tmp_path), tmp_path / "wild.segment", random.Random(7)
    genuine = [Row(i, i, "deliver", sequence=i) for i in range(3)]
    for _try in range(2000):
        wild = bytearray(whole)
        for _flip in range(draw.randint(1, 3)):
            wild[draw.randrange(len(wild))] = draw.randrange(256)
        path.write_bytes(wild)
        try:
            rows, problem = read(path)
        except SpecError:
            continue
        assert all(row in genuine for row in rows)
        assert len(rows) == 3 or problem


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "x.segment is not a trace segment"),
        (b"PAR1 something else", "x.segment is not a trace segment"),
        (MAGIC, "x.segment is a trace segment without a head"),
        (MAGIC + seal(b"\x93\x01\x02\x03"), "x.segment is a trace segment without a head"),
        (
            opening(Head("net", 1, version=99)),
            "x.segment was written by a newer version (traces 99): upgrade to read it",
        ),
    ],
)
def test_what_is_no_segment_is_refused_in_one_sentence(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "x.segment").write_bytes(content)
    with pytest.raises(SpecError) as refused:
        read(tmp_path / "x.segment")
    assert str(refused.value) == says


def test_a_tail_of_zeros_as_power_loss_leaves_is_damage_not_rows(tmp_path: Path) -> None:
    path = tmp_path / "zeros.open"
    path.write_bytes(three_records(tmp_path) + bytes(4096))
    rows, problem = read(path)
    assert len(rows) == 3
    assert problem == f"damaged at byte {len(three_records(tmp_path))}: the rest is left out"


def test_a_record_of_something_else_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "odd.segment"
    path.write_bytes(opening(HEAD) + seal(b"\xa5hello") + records([Row(1, 1, "stop")]))
    rows, problem = read(path)
    assert rows == [Row(1, 1, "stop")]
    assert problem is not None
    assert problem.startswith("a record holds no rows")
