"""How hpmcast decides, in numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.protocols.hpmcast import rules


def test_rounds_are_those_of_the_paper() -> None:
    expected = math.log(66) * (1 / math.log(3) + 1 / 2)
    assert rules.rounds(66, 1.0, 2, 1.0) == pytest.approx(expected, rel=1e-12)
    assert rules.rounds_whole(66, 1.0, 2, 1.0) == math.ceil(expected) == 6


@given(st.integers(1, 10_000))
def test_a_lone_interested_participant_gets_no_rounds(size: int) -> None:
    assert rules.rounds_whole(size, 1 / size, 2, 1.0) == 0


@given(st.integers(1, 10_000), st.floats(0, 1), st.integers(1, 9), st.floats(1e-4, 1))
def test_rounds_are_never_negative(size: int, prob: float, fanout: int, arriving: float) -> None:
    assert rules.rounds(size, prob, fanout, arriving) >= 0


@given(st.integers(3, 10_000), st.floats(0.01, 0.99))
def test_loss_takes_more_rounds(size: int, arriving: float) -> None:
    assert rules.rounds(size, 1.0, 2, arriving) > rules.rounds(size, 1.0, 2, 1.0)


def test_an_audience_is_padded_where_it_is_small_and_not_where_there_is_none() -> None:
    assert [rules.padding(audience, 8, 22) for audience in (0, 1, 7, 8, 9)] == [0, 8, 8, 0, 0]
    assert rules.padding(1, 8, 5) == 5


def test_few_and_those_on_a_small_lan_are_told_at_once() -> None:
    assert rules.at_once(3, 4, 66, direct=4, lan=0)
    assert not rules.at_once(3, 5, 66, direct=4, lan=100)
    assert rules.at_once(1, 20, 22, direct=4, lan=22)


@pytest.mark.parametrize(("loss", "copies"), [(0.0, 1), (0.01, 1), (0.05, 2), (0.1, 2), (0.3, 4)])
def test_what_is_told_at_once_is_repeated_until_hardly_all_copies_are_lost(loss: float, copies: int) -> None:
    assert rules.copies(loss) == copies
    assert loss**copies <= rules.MISSED + 1e-12


@given(st.floats(0, 0.3), st.integers(1, 20))
def test_an_estimate_solves_the_equation_for_the_level_above(share: float, lines: int) -> None:
    above = 1 - (1 - share) ** lines
    assert rules.estimate(above, lines) == pytest.approx(share, abs=1e-9)


def test_a_look_moves_an_estimate_to_what_is_seen() -> None:
    assert rules.refined(0.4, 0, 0) == 0.4
    assert rules.refined(0.0, 3, 3) == 0.75
    assert rules.refined(1.0, 0, 3) == 0.25


def test_every_round_of_every_level_is_another_number() -> None:
    assert len({rules.turn(level, number) for level in range(1, 9) for number in range(5000)}) == 8 * 5000
