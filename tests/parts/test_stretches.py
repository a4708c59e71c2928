"""Stretches say the same as a set of numbers, in fewer words."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gossamer.parts.stretches import Stretches

PAIRS = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 5)).map(lambda pair: (pair[0], sum(pair))), max_size=30)


@given(PAIRS, st.integers(0, 50))
def test_they_hold_what_was_added_and_nothing_else(pairs: list[tuple[int, int]], floor: int) -> None:
    numbers = {number for first, last in pairs for number in range(first, last + 1)}
    stretches = Stretches(pairs)
    assert {number for number in range(60) if number in stretches} == numbers
    assert stretches.top == max(numbers, default=0)
    listed = list(stretches)
    assert all(one[1] + 1 < two[0] for one, two in pairwise(listed)), "neighbours are one"
    stretches.forget_up_to(floor)
    assert {number for number in range(60) if number in stretches} == {each for each in numbers if each > floor}


def test_the_lowest_can_be_forgotten() -> None:
    stretches = Stretches([(1, 2), (5, 9)])
    stretches.forget_lowest()
    assert list(stretches) == [(5, 9)]
