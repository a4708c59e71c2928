"""Which rows the steps of a machine leave in the trace."""

from pathlib import Path

import pytest

from gossamer.core.errors import Misuse
from gossamer.core.events import Event
from gossamer.core.ids import EventId
from gossamer.core.machine import Deliver, Effect, Given, Missing, Note, Publish, Started
from gossamer.core.patterns import Pattern
from gossamer.core.trace import Head, Row, Values
from gossamer.live.config.config import Config
from gossamer.live.config.tables import TraceConfig
from gossamer.live.keys.auditing import AuditKey
from gossamer.live.watching.recorder import Recorder, values_told
from gossamer.live.watching.scribe import at_once
from gossamer.live.watching.traces import SegmentWriter
from gossamer.wire import values
from gossamer.wire.segment import SegmentReader

EVENT = EventId(3, 7, 12)
STARTED = Started()


def rows_of(folder: Path, *effects: Effect, given: Given = STARTED, told: Values = "off") -> list[Row]:
    recorder = Recorder(
        SegmentWriter(folder, Head("net", 1, values=told), now_us=lambda: 0, sealer=None, do=at_once), None
    )
    recorder.effects(5, given, list(effects))
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


def test_a_publication_tells_its_attributes_where_that_is_wanted(tmp_path: Path) -> None:
    first = Event(EVENT, ".a", b"four", {"k": 1}, published_us=4)
    second = Event(EventId(3, 7, 13), ".a", b"five", {"k": 2, "@published": 9}, published_us=5)
    notes = [Note("publish", each.id, topic=".a") for each in (first, second)]
    given = Publish(first, more=(second,))
    told = rows_of(tmp_path / "plain", *notes, given=given, told="plain")
    assert [values.decoded(row.attributes or b"") for row in told] == [
        {"k": 1, "@published": 4},
        {"k": 2, "@published": 5},
    ]
    silent = rows_of(tmp_path / "off", *notes, given=given)
    assert [row.attributes for row in silent] == [None, None]


def test_attributes_that_cannot_be_written_cost_nothing_but_themselves(tmp_path: Path) -> None:
    event = Event(EVENT, ".a", b"", {"half": "\ud800"})
    (row,) = rows_of(tmp_path, Note("publish", EVENT, topic=".a"), given=Publish(event), told="plain")
    assert (row.sequence, row.attributes) == (12, None)


def test_a_filter_is_told_whole_and_what_a_peer_says_is_not(tmp_path: Path) -> None:
    long = "k == '" + "x" * 8000 + "'"
    told = rows_of(
        tmp_path,
        Note("subscribe", topic=".a", detail=long),
        Note("unsubscribe", topic=".a", detail=long),
        Note("reject", peer=1, detail=long),
    )
    assert [row.detail for row in told] == [long, long, long[:500]]


def test_attributes_are_sealed_where_there_is_a_key_to_seal_to(tmp_path: Path) -> None:
    public = tmp_path / "audit.pub"
    AuditKey.new().write_public(public)

    def of(**trace: object) -> Values:
        return values_told(Config(name="a", trace=TraceConfig(folder=tmp_path, **trace)))[0]  # type: ignore[arg-type]

    assert of() == "off"
    assert of(audit_key=public) == "sealed"
    assert of(values="plain", audit_key=public) == "plain"
    assert of(values="off", audit_key=public) == "off"
    with pytest.raises(Misuse, match=r'trace.values is "sealed", and no key is there .*`gossamer keys audit`'):
        of(values="sealed")
    with pytest.raises(Misuse, match="is missing"):
        of(audit_key=tmp_path / "nowhere")
    among = values_told(Config(name="a", keys=tmp_path, trace=TraceConfig(folder=tmp_path)))
    assert among[0] == "sealed"
