"""How many to tell and how many crash: plain numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parts.sampling import crashed, fanout


def test_a_first_receiver_tells_the_floor_of_ln_n_plus_c() -> None:
    assert fanout(1000, 5.0) == 11
    assert fanout(100, 5.0) == 9
    assert fanout(1000, 5.1) == 12
    assert fanout(1000, -1.5) == 5


@pytest.mark.parametrize(
    ("size", "extra", "told"), [(0, 5.0, 0), (1, 5.0, 0), (2, 5.0, 1), (10, 50.0, 9), (10, -9.0, 0)]
)
def test_nobody_tells_itself_or_more_than_there_are_or_fewer_than_none(size: int, extra: float, told: int) -> None:
    assert fanout(size, extra) == told


@given(st.integers(0, 10**8), st.floats(-20, 50))
def test_fanout_is_a_number_of_others_and_never_more_than_the_formula(size: int, extra: float) -> None:
    assert 0 <= fanout(size, extra) <= max(0, size - 1)
    assert fanout(size, extra) <= max(0.0, math.log(max(size, 1)) + extra)


def test_exactly_the_rounded_share_of_a_community_is_crashed() -> None:
    assert [crashed(10, fraction) for fraction in (0.0, 0.1, 0.24, 0.26, 0.3, 1.0)] == [0, 1, 2, 3, 3, 10]
    assert crashed(1000, 0.7) == 700
    assert crashed(0, 0.5) == 0
