"""Covering, merging and condensing, against a world small enough to try everything."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.filters.worlds import Tree, bits, met, pairs, text, trees
from gossamer.core.errors import Misuse
from gossamer.core.filters import EVERYTHING, condense, parse, spans
from gossamer.core.filters.values import Values

COVERED = [
    ("price > 5", "price > 6"),
    ("price > 5", "price == 6"),
    ("price > 5", "6 <= price < 7 and halted"),
    ("a or b", "b"),
    ("has a", "a is text"),
    ("a is text", 'a contains "x"'),
    ("not a == 1", "a == 2"),
    ("not a == 1", 'a == "1"'),
    ("not a == 1", "not has a"),
    ('a contains "b"', 'a contains "abc"'),
    ('a contains "b"', 'a endswith "abc"'),
    ('a contains "b"', 'a startswith "abc"'),
    ('a contains "b"', 'a in ("abc", "b")'),
    ('a endswith "c"', 'a endswith "abc"'),
    ('a startswith "a"', 'a startswith "abc"'),
    ('a > "a"', 'a startswith "abc"'),
    ('not a endswith "c"', 'a endswith "b"'),
    ('not a contains "abc"', 'a is text and not a contains "b"'),
    ('a startswith "a"', 'a like "a_b%"'),
    ('a contains "bc"', 'a like "_%abc_"'),
    ('a endswith "c"', 'a like "a_c"'),
    ('a like "a%_b"', 'a like "a__b"'),
    ('a like "a_%"', 'a startswith "ab"'),
    ('a like "%a_%"', 'a contains "ab"'),
    ('a like "%_b"', 'a endswith "ab"'),
    ('a like "_%"', 'a in ("b", "cd")'),
    ('a ilike "ibm"', 'a == "IBM"'),
    ('a ilike "%b_"', 'a ilike "AB_"'),
    ('a ilike "i%"', 'a startswith "IB"'),
    ('a ilike "%ss%"', 'a contains "ß"'),
    ('a ilike "i%m"', 'a like "I_M"'),
    ('not a like "a_"', 'a like "b%_c"'),
    ('not a like "a_"', 'a startswith "b"'),
    ('not a like "a_"', 'a like "a__%"'),
    ('not a ilike "a_"', 'a startswith "B"'),
    ("a is null or a != 1", "a is null"),
    ("1 <= a < 5", "a between 2 and 4"),
    ('@topic startswith ".a"', '@topic == ".a.b" and x > 5'),
    ("x < 5 and y or x >= 5 or not y", "x is number"),
    ("0 <= x < 6 and y == 1 or 4 <= x < 9 and y == 1", "3 < x < 8 and y == 1"),
    ("true", "false"),
]


@pytest.mark.parametrize(("wide", "narrow"), COVERED)
def test_a_wider_filter_covers_a_narrower_one_and_not_the_reverse(wide: str, narrow: str) -> None:
    assert parse(wide).covers(parse(narrow))
    assert not parse(narrow).covers(parse(wide))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x < 5 or x >= 5", "x is number"),
        ('x contains "a" or not x contains "a"', "true"),
        ("a or not a and b", "a or b"),
    ],
)
def test_filters_that_mean_the_same_cover_each_other(one: str, other: str) -> None:
    assert parse(one).covers(parse(other))
    assert parse(other).covers(parse(one))


def entangled(count: int) -> str:
    return " and ".join(f"(a{number} == 1 or b{number} == 1)" for number in range(count))


def test_a_filter_too_entangled_to_multiply_out_is_still_matched_and_covered() -> None:
    filtered = parse(entangled(20))
    assert not filtered.exact
    assert parse(filtered.text) == filtered
    assert filtered.matches({"ab"[number % 2] + str(number): 1 for number in range(20)})
    assert not filtered.matches({f"a{number}": 1 for number in range(19)})
    assert parse("a0 == 1 or b0 == 1").covers(filtered)
    assert filtered.covers(filtered)
    assert EVERYTHING.covers(filtered)
    assert not filtered.covers(EVERYTHING)
    assert condense([filtered, parse("false")], 8).covers(filtered)


class Tally:
    """What came of many pairs."""

    def __init__(self) -> None:
        self.pairs = self.covered = self.unseen = 0

    def judge(self, one: Tree, other: Tree, size: int) -> None:
        self.pairs += 1
        first, second = parse.__wrapped__(text(one)), parse.__wrapped__(text(other))
        wanted = met(one), met(other)
        assert (bits(first.matches), bits(second.matches)) == wanted
        for wide, narrow, missed in ((first, second, wanted[1] & ~wanted[0]), (second, first, wanted[0] & ~wanted[1])):
            said = wide.covers(narrow)
            assert not (said and missed), f"{wide} does not cover {narrow}"
            self.covered += not missed
            self.unseen += not missed and not said
        merged = first.merge(second, size)
        assert not (wanted[0] | wanted[1]) & ~bits(merged.matches), f"{merged} is narrower than {first} or {second}"
        assert merged.size <= size
        assert parse.__wrapped__(merged.text) == merged


def judged(count: int, depth: int, seed: int) -> Tally:
    tally = Tally()
    for number, (one, other) in enumerate(pairs(seed, count, depth)):
        tally.judge(one, other, size=(1, 2, 3, 5, 8, 16)[number % 6])
    print(
        f"{tally.pairs} pairs, {tally.covered} covered, "
        f"of these {tally.unseen} ({tally.unseen / tally.covered:.2%}) not seen to be"
    )
    return tally


def test_no_answer_is_unsound_and_few_are_incomplete() -> None:
    tally = judged(600, depth=3, seed=1)
    assert tally.covered > 300
    assert tally.unseen <= 0.02 * tally.covered


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_no_answer_is_unsound_among_very_many(depth: int) -> None:
    tally = judged(26_000, depth, seed=100 + depth)
    assert tally.unseen <= 0.02 * tally.covered


@given(st.lists(trees, min_size=1, max_size=30), st.integers(1, 40))
def test_a_condensed_filter_covers_all_it_was_made_of_and_keeps_its_size(given: Sequence[Tree], size: int) -> None:
    filters = [parse(text(tree)) for tree in given]
    whole = condense(filters, size)
    everything = 0
    for tree in given:
        everything |= met(tree)
    assert not everything & ~bits(whole.matches)
    assert whole.size <= size
    assert len(whole.terms) <= max(1, size)
    assert parse(whole.text) == whole


def test_condensing_keeps_what_it_can() -> None:
    stocks = [parse(f'symbol == "S{number}" and {number} <= price < {number + 5}') for number in range(10)]
    assert condense(stocks, 20) == condense(reversed(stocks), 20)
    assert condense(stocks, 30).matches({"symbol": "S3", "price": 4})
    assert not condense(stocks, 30).matches({"symbol": "S3", "price": 9})
    assert not condense(stocks, 11).matches({"symbol": "T", "price": 4})
    assert condense([], 5) == parse("false")
    assert condense([parse("a"), parse("not a")], 5) == EVERYTHING


def test_condensing_very_many_is_no_square_of_work() -> None:
    many = [parse(f'symbol == "S{number % 700}" and {number} <= price < {number + 5}') for number in range(1500)]
    whole = condense(many, 16)
    assert whole.size <= 16
    assert all(whole.covers(each) for each in many)
    assert whole != EVERYTHING


def test_long_texts_are_merged_into_something_that_can_still_be_sent() -> None:
    long = [parse(f'x == "{letter * 4000}"') for letter in "abc"]
    whole = condense(long, 100)
    assert parse(whole.text) == whole
    assert all(whole.covers(each) for each in long)


def test_a_size_of_nothing_is_refused() -> None:
    with pytest.raises(Misuse, match="at least 1"):
        condense([parse("a")], 0)


def built(part: str, joint: str, count: int) -> str:
    return joint.join(part.format(*range(number, number + 9)) for number in range(count))


HARD = {
    "many patterns with wildcards": built('x like "{}%a_b%"', " and ", 300),
    "any of many patterns with wildcards": built('x like "%{}a_b"', " or ", 300),
    "many folded patterns": built('not x ilike "%{}a_b"', " and ", 250),
    "a long pattern": 'x like "%' + "a_" * 4_000 + '%b" and x contains "a"',
    "two long patterns": 'x like "%' + "a_%" * 1_300 + 'b" and not x like "%' + "_a" * 1_900 + 'b%"',
    "many patterns": built('x contains "{}a"', " and ", 370),
    "any of many patterns": built('x contains "{}a"', " or ", 370),
    "any of many flags": built("a{}", " or ", 900),
    "all of many flags": built("a{}", " and ", 900),
    "many pairs": built("(a{} or b{})", " and ", 400),
    "any of many pairs": built("a{} and b{}", " or ", 400),
    "many gaps": built("not {} < x < {}", " and ", 300),
    "long lists": " and ".join(
        f"(a{part} not in ({built('{}', ', ', 100)}) or b{part} != {part})" for part in range(6)
    ),
    "long terms": built('x > {} and y < {} and z contains "{}" and not w endswith "{}" and v in ({}, {})', " or ", 60),
    "a deep tree": built("a{} and (b{} or (", "", 16) + "x" + "))" * 16,
    "a deep tree with leaves": "".join(f"{built(f'c{at}_{{}}', ' and ', 30)} and (b{at} or (" for at in range(16))
    + "x"
    + "))" * 16,
    "not and not": "not " * 2000 + "x",
}


class Work:
    """Counts walks along cuts, the step that all reasoning is made of, and weights: what it would otherwise do most."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done = 0
        for owner, name in ((spans, "combined"), (Values, "within"), (Values, "weight")):
            monkeypatch.setattr(owner, name, self.counted(getattr(owner, name)))

    def counted(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def count(*given: Any) -> Any:
            self.done += 1
            return work(*given)

        return count


@pytest.mark.parametrize("name", HARD)
def test_the_hardest_filters_do_not_blow_up(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch)
    hard = parse.__wrapped__(HARD[name])
    assert parse.__wrapped__(hard.text) == hard
    other = parse("x > 5 and y or a1")
    assert hard.covers(other) is hard.covers(other)
    assert hard.merge(other, 16).covers(other)
    assert hard.merge(hard, 16).covers(hard)
    assert work.done < 500_000
