"""Rows that may be told twice are found by what is known of their segments."""

import pytest

pytest.importorskip("pyspark")

from gossamer.core.trace import Head
from gossamer.pipeline.audit_told import told_twice
from gossamer.pipeline.traces import Converted, Numbers


def held(file: str, first: int, last: int, node: int = 1, rising: bool = True) -> Converted:
    return Converted(file, last - first + 1, Head("net", node), None, Numbers(first, last, rising))


def test_segments_of_a_life_that_follow_each_other_hold_each_row_once() -> None:
    assert told_twice([held("b", 10, 19), held("a", 0, 9), held("c", 25, 30), held("other", 0, 30, node=2)]) == set()
    assert (
        told_twice([Converted("empty", 0, Head("net", 1)), Converted("foreign", problem="none"), held("a", 0, 9)])
        == set()
    )


def test_of_segments_that_overlap_all_are_looked_at() -> None:
    assert told_twice([held("a", 0, 9), held("copy", 0, 9), held("b", 10, 19)]) == {"a", "copy"}
    assert told_twice([held("torn", 0, 4), held("whole", 0, 9)]) == {"torn", "whole"}
    assert told_twice([held("long", 0, 100), held("b", 10, 20), held("c", 50, 60)]) == {"long", "b", "c"}
    assert told_twice([held("a", 0, 10), held("b", 5, 20), held("c", 8, 9), held("d", 21, 30)]) == {"a", "b", "c"}


def test_one_that_repeats_a_row_itself_is_looked_at_too() -> None:
    assert told_twice([held("odd", 0, 9, rising=False), held("b", 10, 19)]) == {"odd"}
