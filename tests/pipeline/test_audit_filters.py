"""Attributes that are sealed, damaged or not told, filters that are none, and what may not be found on any disk."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")

from msgspec.structs import replace

from gossamer.core.ids import EventId
from gossamer.core.trace import Head, Row
from gossamer.live.keys.auditing import AuditKey, FileSealer, keys_of_files
from gossamer.pipeline.audit_filters import indexes_of, is_odd, matched, opened
from gossamer.pipeline.traces import CUT, as_kept
from gossamer.wire import values
from pipeline.audited import Audited

pytestmark = pytest.mark.spark

EVENT = EventId(3, 7, 12)


def test_sealed_attributes_judge_filters_for_who_has_the_key(audited: Audited) -> None:
    counts = {"events": 2, "promised": 2, "expected": 2, "delivered": 1, "missing": 1, "broken": 1, "parasites": 1}
    assert audited.counts("sealed") == counts | {"found": 1}
    assert {row["values"] for row in audited.table("events", "sealed")} == {"told"}


def test_without_the_key_what_depends_on_them_stays_in_doubt_and_is_counted(audited: Audited) -> None:
    assert audited.counts("locked") == {"events": 2, "promised": 2, "in_doubt": 4, "unmatched": 4}
    (row,) = audited.table("per_topic", "locked")
    assert (row["locked"], row["damaged"], row["untold"]) == (2, 0, 0)


def test_what_was_opened_is_on_no_disk(audited: Audited) -> None:
    looked = 0
    for path in audited.out.rglob("*.parquet"):
        if path.is_file():
            assert "SECRET" not in str(pq.read_table(path, columns=opaque(path)).to_pylist()), path
            looked += 1
    assert looked > 20
    for path in audited.out.glob("*.*"):
        assert path.is_dir() or b"SECRET" not in path.read_bytes(), path


def opaque(path: Path) -> list[str]:
    """All columns but the one that tells subscriptions: filters are no secret of a publisher's."""
    return [name for name in pq.read_schema(path).names if name != "detail"]


def test_attributes_are_known_or_it_is_said_why_not() -> None:
    key, other = AuditKey.new(), AuditKey.new()
    sealer = FileSealer(key.public)
    data = values.encoded({"k": 1})
    assert data is not None
    head = Head("net", 1, values="sealed", sealed_to=sealer.sealed_to, sealed_by=sealer.sealed_by)
    row = Row(4, 5, "publish", attributes=sealer.seal(4, EVENT, data))
    sealed = values.kept(head, row)
    opens, fails = keys_of_files([key], [head]), keys_of_files([other], [head])
    assert opened(sealed, EVENT, opens) == ("told", {"k": 1})
    assert opened(sealed, EVENT, fails) == ("locked", None)
    assert opened(sealed, EVENT, None) == ("locked", None)
    assert opened(sealed, EventId(3, 7, 13), opens) == ("damaged", None)
    assert opened(None, EVENT, opens) == ("untold", None)
    plain = Head("net", 1, values="plain")
    assert opened(values.kept(plain, replace(row, attributes=data)), EVENT, None) == ("told", {"k": 1})
    assert opened(values.kept(plain, replace(row, attributes=b"rubbish")), EVENT, None) == ("damaged", None)


def test_an_event_is_held_against_all_filters_of_its_topic_and_those_above() -> None:
    texts = [(".x", "k == 1"), (".", "k >= 1"), (".x.y", "k == 1"), (".x", "n != n"), (".x", "k == 2")]
    texts += [(".x", '@topic == ".x" and @publisher == 3 and k == 1'), (".x", "@published > 1")]
    asked = [(number, topic, text) for number, (topic, text) in enumerate(texts) if not is_odd(text)]
    batch = pa.RecordBatch.from_pydict(
        {
            "publisher": [3, 3, 3],
            "incarnation": [7, 7, 7],
            "sequence": [1, 2, 3],
            "topic": [".x", ".x", ".y"],
            "attributes": [kept({"k": 1}), kept({"k": float("nan")}), None],
            "above": [[".", ".x"], [".", ".x"], [".", ".y"]],
        }
    )
    found = matched(batch, indexes_of(b"a", asked), None)
    assert found.column("matching").to_pylist() == [[1, 0, 5], [], []]
    assert found.column("values").to_pylist() == ["told", "told", "untold"]


def kept(attributes: dict[str, object]) -> bytes | None:
    data = values.encoded(attributes)  # type: ignore[arg-type]
    return values.kept(Head("net", 1, values="plain"), Row(0, 0, "publish", attributes=data))


def test_a_filter_that_an_older_node_may_have_cut_is_nobody_s() -> None:
    whole = "k == 1 or " * 60 + "k == 12"
    assert not is_odd(whole)
    cut = whole[: CUT - 4] + "== 1"
    asked, left = Row(0, 0, "subscribe", topic=".x", detail=cut), Row(1, 0, "unsubscribe", topic=".x", detail=cut)
    old, new = Head("net", 1), Head("net", 1, values="off")
    assert is_odd(as_kept(old, asked).detail or "")
    assert as_kept(old, asked).detail == as_kept(old, left).detail
    assert as_kept(new, asked).detail == cut


def test_whatever_stands_in_a_trace_the_audit_ends_and_counts_it(audited: Audited) -> None:
    (row,) = audited.table("per_topic", "rubbish")
    assert (row["events"], row["expected"], row["missing"]) == (4, 1, 1)
    assert (row["damaged"], row["locked"], row["untold"]) == (3, 0, 0)
    assert (row["in_doubt"], row["unmatched"]) == (3, 3)
    assert audited.verdict.odd_filters >= 2
