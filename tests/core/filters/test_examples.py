"""Examples are wanted by their filter, are found for nearly every filter, and never contradict a covering."""

from core.filters.worlds import pairs, text
from gossamer.core.filters import parse
from gossamer.core.filters.examples import example, may_cover


def test_an_example_matches_and_whatever_covers_matches_it_too() -> None:
    wanted = found = compared = settled = 0
    for one, other in pairs(seed=11, count=1000, depth=3):
        wide, narrow = parse(text(one)), parse(text(other))
        attributes = example(narrow)
        if narrow.text != "false":
            wanted += 1
            found += attributes is not None
        if attributes is not None:
            assert narrow.matches(attributes)
        if wide.covers(narrow):
            assert may_cover(wide, narrow)
        else:
            compared += 1
            settled += not may_cover(wide, narrow)
    assert found > 0.9 * wanted
    assert settled > 0.4 * compared


def test_nothing_is_no_example() -> None:
    assert example(parse("false")) is None
    assert example(parse("true")) == {}
    assert example(parse('a contains "x" and a endswith "yz"')) is not None
    assert example(parse("a > 1 and a < 1.5")) is not None
