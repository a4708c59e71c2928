"""Counts drawn as one are those one gets who draws for each."""

import math

import numpy as np
import pytest

from gossamer.fast.dividing import binomial_chances, dice, divided, hypergeometric, split_chances, survivors

SIGMAS = 4.0


def test_the_same_key_draws_the_same() -> None:
    having = np.array([0, 5, 0, 40])
    one, other = (divided(having, 6, [7, 3], dice(9)) for _ in range(2))
    assert [part.tolist() for part in one] == [part.tolist() for part in other]


def test_no_target_is_lost_and_none_has_more_than_there_are() -> None:
    throw = dice(1)
    for _ in range(200):
        having = throw.multinomial(60, np.full(9, 1 / 9))
        sizes = [3, 1, 4, 2]
        parts = divided(having, sizes[0], sizes[1:], throw)
        assert sum(int(part @ np.arange(9)) for part in parts) == int(having @ np.arange(9))
        for size, part in zip(sizes, parts, strict=True):
            assert part.sum() == having.sum()
            assert not part[size + 1 :].any()


def test_a_sender_divides_its_targets_as_a_draw_without_replacement_does() -> None:
    first, others, told, senders = 5, [4, 8], 6, 60_000
    having = np.zeros(told + 1, np.int64)
    having[told] = senders
    parts = divided(having, first, others, dice(3))
    for size, part in zip([first, *others], parts, strict=True):
        for h, count in enumerate(part):
            law = math.comb(size, h) * math.comb(17 - size, told - h) / math.comb(17, told)
            assert abs(count - senders * law) <= SIGMAS * math.sqrt(senders * law * (1 - law)) + 1e-9


def test_where_all_are_told_nothing_is_drawn() -> None:
    having = np.zeros(12, np.int64)
    having[11] = 8
    parts = divided(having, 4, [5, 2], dice(4))
    assert [int(part.argmax()) for part in parts] == [4, 5, 2]


@pytest.mark.parametrize("reach", [0.0, 0.3, 1.0])
def test_messages_survive_one_by_one(reach: float) -> None:
    left = survivors(50_000, 4, reach, dice(5))
    assert left.sum() == 50_000
    for h, law in enumerate(binomial_chances(4, reach)):
        assert abs(left[h] - 50_000 * law) <= SIGMAS * math.sqrt(50_000 * law * (1 - law)) + 1e-9


def test_chances_of_large_numbers_still_add_up() -> None:
    chances = split_chances(4_000_000, 2_000_000_000, 40)
    assert np.allclose(chances.sum(axis=1), 1.0, atol=1e-12)
    assert np.allclose(chances @ np.arange(41), np.arange(41) * 4_000_000 / 2_004_000_000, rtol=1e-9)


@pytest.mark.parametrize(("drawn", "here", "elsewhere"), [(3, 4, 5), (7, 2, 8), (0, 3, 3), (9, 4, 5), (5, 9, 0)])
def test_a_small_hypergeometric_is_exact(drawn: int, here: int, elsewhere: int) -> None:
    throw, times = dice(6), 4_000
    found = np.bincount([hypergeometric(drawn, here, elsewhere, throw) for _ in range(times)], minlength=drawn + 1)
    for h, count in enumerate(found):
        law = math.comb(here, h) * math.comb(elsewhere, drawn - h) / math.comb(here + elsewhere, drawn)
        assert abs(count - times * law) <= SIGMAS * math.sqrt(times * law * (1 - law)) + 1e-9


def test_a_hypergeometric_of_thousands_of_millions_has_its_mean_and_spread() -> None:
    throw = dice(7)
    drawn, here, elsewhere = 300_000_000, 4_000_000, 2_000_000_000
    whole = here + elsewhere
    found = np.array([hypergeometric(drawn, here, elsewhere, throw) for _ in range(200)], float)
    mean, spread = drawn * here / whole, math.sqrt(drawn * here / whole * elsewhere / whole * (whole - drawn) / whole)
    assert abs(found.mean() - mean) < SIGMAS * spread / 14
    assert 0.85 < found.std() / spread < 1.15
