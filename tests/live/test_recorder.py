"""Which rows the steps of a machine leave in the trace."""

from pathlib import Path

from gossamer.core.events import Event
from gossamer.core.ids import EventId
from gossamer.core.machine import Deliver, Effect, Missing, Note, Started
from gossamer.core.patterns import Pattern
from gossamer.core.trace import Head, Row
from gossamer.live.watching.recorder import Recorder
from gossamer.live.watching.scribe import at_once
from gossamer.live.watching.traces import SegmentWriter
from gossamer.wire.segment import SegmentReader

EVENT = EventId(3, 7, 12)


def rows_of(folder: Path, *effects: Effect) -> list[Row]:
    recorder = Recorder(SegmentWriter(folder, Head("net", 1), now_us=lambda: 0, do=at_once), None)
    recorder.effects(5, Started(), list(effects))
    recorder.close()
    (path,) = folder.iterdir()
    return [row for record in SegmentReader(path) for row in record]


def test_a_gap_is_told_by_its_publisher_s_life_and_the_numbers_of_the_topic(tmp_path: Path) -> None:
    missing = Missing(publisher=3, incarnation=7, pattern=Pattern(".a", "price > 100"), first=4, last=9)
    assert rows_of(tmp_path, missing) == [
        Row(0, 5, "gap", topic=".a", publisher=3, incarnation=7, detail="4-9")
    ]  # fmt: skip


def test_what_was_found_again_is_told_and_delivered(tmp_path: Path) -> None:
    found = Note("recover", event=EVENT, peer=9, topic=".a", detail="1234")
    delivered = Deliver(Event(EVENT, ".a", b"four"), hops=2)
    assert rows_of(tmp_path, delivered, found) == [
        Row(0, 5, "deliver", topic=".a", publisher=3, incarnation=7, sequence=12, hops=2, bytes=4),
        Row(1, 5, "recover", peer=9, topic=".a", publisher=3, incarnation=7, sequence=12, detail="1234"),
    ]
