"""Trace rows: declared once, small on disk, the same after a round trip."""

from typing import get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.machine import Note
from gossamer.core.trace import FULL_ONLY, KINDS, Head, Row

KINDS_OF_THE_DESIGN = (
    "subscribe unsubscribe publish send receive deliver duplicate parasite "
    "relay reject gap recover drop crash start stop alive"
)
COLUMNS_OF_THE_DESIGN = "seq at_us kind peer topic publisher incarnation sequence hops bytes detail attributes"

NUMBERS = st.none() | st.integers(0, 2**64 - 1)
ROWS = st.builds(
    Row,
    seq=st.integers(0, 2**63 - 1),
    at_us=st.integers(0, 2**63 - 1),
    kind=st.sampled_from(KINDS),
    peer=NUMBERS,
    topic=st.none() | st.text(),
    publisher=NUMBERS,
    incarnation=NUMBERS,
    sequence=NUMBERS,
    hops=NUMBERS,
    bytes=NUMBERS,
    detail=st.none() | st.text(),
)


def test_kinds_and_columns_are_those_of_the_design() -> None:
    assert " ".join(KINDS) == KINDS_OF_THE_DESIGN
    assert " ".join(Row.__struct_fields__) == COLUMNS_OF_THE_DESIGN
    assert Head.__struct_fields__[:3] == ("run", "node", "version")


def test_machines_note_only_kinds_that_have_a_row() -> None:
    assert get_type_hints(Note)["kind"] == get_type_hints(Row)["kind"]
    assert set(KINDS) > FULL_ONLY


@given(ROWS)
def test_a_row_survives_msgpack(row: Row) -> None:
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(row), type=Row) == row


@given(st.lists(ROWS, max_size=10))
def test_the_rows_of_one_tick_travel_as_one_record(rows: list[Row]) -> None:
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(rows), type=list[Row]) == rows


def test_a_row_does_not_repeat_the_names_of_its_columns() -> None:
    assert len(msgspec.msgpack.encode(Row(1, 2, "start"))) < 24


def test_a_row_with_columns_yet_to_be_invented_can_be_read() -> None:
    longer = [*msgspec.to_builtins(Row(1, 2, "start")), "a later version's column"]
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(longer), type=Row) == Row(1, 2, "start")


def test_a_row_of_no_known_kind_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode([1, 2, "sneeze"]), type=Row)


def test_the_head_says_run_node_and_version() -> None:
    head = Head("a run", 7)
    assert head.version >= 1
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(head), type=Head) == head
