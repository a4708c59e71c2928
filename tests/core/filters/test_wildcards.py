"""Patterns with wildcards: asked letter by letter, and nothing that takes long."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.filters.worlds import is_like
from counting import lines_run
from gossamer.core.filters import parse, wildcards
from gossamer.core.filters.wildcards import MANY, ONE, apart, matcher, overlaps, wild, within

PATTERNS = st.text("ab_%", max_size=6)
TEXTS = ["".join(letters) for length in range(6) for letters in itertools.product("ab", repeat=length)]


def fitting(pattern: str) -> set[str]:
    return {text for text in TEXTS if is_like(pattern, text)}


@given(PATTERNS, PATTERNS)
def test_what_is_told_of_two_patterns_is_so_of_all_texts(one: str, other: str) -> None:
    first, second = wild(one), wild(other)
    assert {text for text in TEXTS if matcher(first)(text)} == fitting(one)
    assert wild(wildcards.plain(first)) == first
    assert wildcards.tidy(first) == first
    if within(first, second):
        assert fitting(one) <= fitting(other)
    if apart(first, second):
        assert not fitting(one) & fitting(other)


def test_what_is_told_is_nearly_all_there_is_to_tell() -> None:
    draws = random.Random(5)
    covered = seen = separate = told = 0
    for _ in range(3_000):
        one, other = ("".join(draws.choices("ab_%", k=draws.randrange(1, 5))) for _ in range(2))
        first, second = wild(one), wild(other)
        covered += fitting(one) <= fitting(other)
        seen += within(first, second)
        separate += not fitting(one) & fitting(other)
        told += apart(first, second)
    print(covered, seen, separate, told)
    assert seen >= 0.9 * covered
    assert told >= 0.9 * separate


@pytest.mark.parametrize(("start", "end", "may"), [("ab", "ba", True), ("ab", "cd", False), ("", "a", False)])
def test_a_start_and_an_end_may_overlap(start: str, end: str, may: bool) -> None:
    assert overlaps(start, end) is may


@given(st.text("ab_", min_size=17, max_size=24), st.text("ab", max_size=40), st.integers(0, 5))
def test_long_pieces_are_found_where_they_first_stand(pattern: str, text: str, start: int) -> None:
    piece = pattern.replace("_", ONE)
    found = wildcards._find(piece)(text, start, len(text))
    places = [at for at in range(start, len(text) - len(piece) + 1) if is_like(pattern, text[at : at + len(piece)])]
    assert found == (places[0] if places else -1)


def test_a_hostile_pattern_takes_no_longer_than_its_text_is_long() -> None:
    def steps(length: int) -> int:
        hostile = parse.__wrapped__('x like "%' + "a_" * 300 + "%b%" * 300 + 'c"')
        assert not hostile.matches({"x": "a" * length})
        return lines_run(lambda: hostile.matches({"x": "a" * length + "c"}))

    assert steps(8_000) <= 9 * steps(1_000)


def test_wildcards_are_no_letters() -> None:
    assert not parse('x like "a_"').matches({"x": "a" + MANY})
    assert parse('x contains "\\ud801"').matches({"x": MANY})
    assert not parse('x like "%a_%"').covers(parse('x contains "a\\ud801"'))
