"""Matching: what a filter says about an event, against its meaning written down a second time."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.filters.worlds import WORLD, Tree, meets, text, trees
from gossamer.core.filters import parse


@given(trees)
def test_a_filter_matches_what_its_meaning_says(tree: Tree) -> None:
    made = parse(text(tree))
    assert [made.matches(event) for event in WORLD] == [meets(tree, event) for event in WORLD]


@pytest.mark.parametrize(
    ("text", "value", "matches"),
    [
        ("x == 9007199254740993", 9007199254740992.0, False),
        ("x > 9007199254740992", 9007199254740993, True),
        ("x == 9007199254740992.0", 9007199254740992, True),
        ("x < 1e308", 10**400, False),
        ("x > 1e308", 10**400, True),
        ("x > 1e308", math.inf, True),
        ("x == 1", True, False),
        ("x in (0, 1)", True, False),
        ("x", 1, False),
        ("x == true", True, True),
        ("x == 1", 1.0, True),
        ("x == 1", "1", False),
        ("x == '1'", 1, False),
        ("x != 1", "1", False),
        ("not x == 1", "1", True),
        ("x not in (1, 2)", "1", False),
        ("x not in (1, 2)", 3, True),
        ("x > 1", None, False),
        ("has x", None, False),
        ("has x", [1], False),
        ("has x", 0, True),
        ("has x", "", True),
        ("not has x", [1], True),
        ("x is number", 1, True),
        ("x is number", True, False),
        ("x is text", "", True),
        ("x is bool", False, True),
        ("x > 'a'", "b", True),
        ("x > 'a'", 5, False),
        ("x startswith 'ab'", "abc", True),
        ("x contains 'b'", 5, False),
    ],
)
def test_types_are_kept_apart_and_numbers_are_exact(text: str, value: Any, matches: bool) -> None:
    assert parse(text).matches({"x": value}) is matches


@pytest.mark.parametrize(
    "text", ["x == 1", "x != 1", "x < 1", "x > 1", "has x", "x is number", "0 < x < 1", "x in (1, 2)"]
)
def test_nan_counts_as_missing(text: str) -> None:
    assert not parse(text).matches({"x": math.nan})
    assert parse(f"not {text}").matches({"x": math.nan})


class Odd:
    """Not a value at all, and unkind to those who ask."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    __lt__ = __gt__ = __le__ = __ge__ = __eq__


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.binary(max_size=2),
    st.lists(st.integers(), max_size=2), st.builds(Odd),
)  # fmt: skip


@given(trees, st.dictionaries(st.sampled_from(["x", "y"]), VALUES))
def test_whatever_an_event_carries_matching_never_raises(tree: Tree, attributes: dict[str, Any]) -> None:
    usual = {name: value for name, value in attributes.items() if type(value) in (bool, int, float, str)}
    assert parse(text(tree)).matches(attributes) is parse(text(tree)).matches(usual)
