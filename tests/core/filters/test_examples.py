"""Examples are wanted by their filter, are found for nearly every filter, and never contradict a covering."""

from core.filters.worlds import pairs, text
from gossamer.core.filters import parse
from gossamer.core.filters.examples import example, may_cover


def test_an_example_matches_and_whatever_covers_matches_it_too() -> None:
    found = settled = 0
    for one, other in pairs(seed=11, count=2000, depth=3):
        wide, narrow = parse(text(one)), parse(text(other))
        attributes = example(narrow)
        if attributes is not None:
            found += 1
            assert narrow.matches(attributes)
        covers = wide.covers(narrow)
        assert may_cover(wide, narrow) or not covers
        settled += covers or not may_cover(wide, narrow)
    assert found > 1500
    assert settled > 1500


def test_nothing_is_no_example() -> None:
    assert example(parse("false")) is None
    assert example(parse("true")) == {}
    assert example(parse('a contains "x" and a endswith "yz"')) is not None
    assert example(parse("a > 1 and a < 1.5 and not exists(b)")) is not None
