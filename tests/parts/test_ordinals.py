"""Ordinals behave as plain sets of numbers do, whatever is added and removed."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gossamer.parts.ordinals import Ordinals

STRETCHES = st.lists(st.tuples(st.integers(-2, 40), st.integers(-2, 40)), max_size=12)


def numbers(stretches: list[tuple[int, int]] | Ordinals) -> set[int]:
    return {each for first, last in stretches for each in range(first, last + 1) if each >= 1}


def in_order(made: Ordinals) -> bool:
    """Stretches follow each other, and never meet."""
    ends = [*made]
    return all(first <= last for first, last in ends) and all(
        before[1] + 1 < after[0] for before, after in pairwise(ends)
    )


@given(STRETCHES, STRETCHES)
def test_ordinals_are_what_was_added_and_not_removed(
    added: list[tuple[int, int]], removed: list[tuple[int, int]]
) -> None:
    made = Ordinals(added)
    assert in_order(made)
    assert numbers(made) == numbers(added)
    left = made.without(removed)
    assert in_order(left)
    assert numbers(left) == numbers(added) - numbers(removed)
    assert left == Ordinals([(each, each) for each in sorted(numbers(left))])


@given(STRETCHES, STRETCHES, st.integers(0, 30))
def test_questions_are_answered_as_a_set_would(
    some: list[tuple[int, int]], others: list[tuple[int, int]], n: int
) -> None:
    made, plain = Ordinals(some), numbers(some)
    assert made.count == len(plain)
    assert (made.floor, made.top) == (min(plain, default=1) - 1, max(plain, default=0))
    assert [each for each in range(-1, 45) if each in made] == sorted(plain)
    assert numbers(made.within(Ordinals(others))) == plain & numbers(others)
    assert numbers(made.with_all(others)) == plain | numbers(others)
    assert numbers(made.between(5, 20)) == {each for each in plain if 5 <= each <= 20}
    assert numbers(made.lowest(n)) == {*sorted(plain)[:n]}
    assert numbers(made.holes()) == {*range(min(plain, default=1), max(plain, default=0))} - plain
    assert [made.at(each) for each in range(len(plain))] == sorted(plain)
    assert all(map(in_order, (made.holes(), made.lowest(n), made.within(Ordinals(others)))))


@given(STRETCHES, st.integers(1, 4))
def test_few_stretches_hold_all_of_many(some: list[tuple[int, int]], most: int) -> None:
    made = Ordinals(some)
    rough, joined = made.rough(most), made.copy()
    joined.join(most)
    for fewer in (rough, joined):
        assert in_order(fewer)
        assert len(fewer) <= max(most, 0) or len(made) <= most
        assert numbers(made) <= numbers(fewer)
        assert (fewer.floor, fewer.top) == (made.floor, made.top)
    assert rough.count <= joined.count


def test_no_number_is_too_large() -> None:
    made = Ordinals([(1, 2**63), (2**64, 2**64)])
    made.remove(10, 2**62)
    assert [*made] == [(1, 9), (2**62 + 1, 2**63), (2**64, 2**64)]
    assert made.count == 9 + 2**62 + 1
