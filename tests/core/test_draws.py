"""Draws: the same numbers on ints, arrays and compiled; uniform; independent of whatever else is drawn.

The statistical tests use fixed seeds, so they pass always or never. Each threshold is one that fair draws would exceed
with a probability of one in a million (ALARM).
"""

from collections.abc import Callable
from itertools import permutations, product
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2

from gossamer.core import draws
from gossamer.core.draws import MASK, chance, distinct, draw, fold, largest, lower_pick, mix, unit, upper_pick
from gossamer.core.ids import EventId

Words: TypeAlias = NDArray[np.uint64]

ALARM = 1e-6
EDGES = [0, 1, 2, 3, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]
WORDS = st.integers(0, MASK) | st.sampled_from(EDGES)
GOLDEN_KEY = 0x668B18B5131A1FA9


def test_mix_keeps_its_golden_values() -> None:
    assert [f"{mix(z):016x}" for z in (1, 2, MASK)] == ["5692161d100b05e5", "dbd238973a2b148a", "b4d055fcf2cbbd7b"]


@pytest.mark.parametrize(
    ("key", "word", "folded", "drawn", "share"),
    [
        (0, 0, 0x8209B480FAED1B10, 0x0000000000000000, 0.0),
        (0, 1, 0x2D0F28C7E7E786B2, 0xE220A8397B1DCDAF, 0.8833108082136426),
        (1, 0, 0x8B2FAAB3724AC25B, 0x5692161D100B05E5, 0.3381666012719897),
        (1, 2, 0xD11F5A75F7215B2A, 0xBEEB8DA1658EEC67, 0.7457817572627011),
        (2, 1, 0xFB3867150874E9F3, 0x975835DE1C9756CE, 0.5911897341980794),
        (0x0123456789ABCDEF, 7, 0xD2EEF81244E57A33, 0xB8FC5B1060708C05, 0.7226006426794261),
        (MASK, MASK, 0x48416938EF0DCF6F, 0xDE0A564CBCD060C4, 0.8673452317569299),
    ],
)
def test_fold_draw_and_chance_keep_their_golden_values(
    key: int, word: int, folded: int, drawn: int, share: float
) -> None:
    assert (fold(key, word), draw(key, word), chance(key, word)) == (folded, drawn, share)


def test_keys_picks_and_event_words_keep_their_golden_values() -> None:
    assert fold(fold(fold(1, 2), 3), 4) == GOLDEN_KEY
    assert EventId(1, 2, 3).word() == 0xBE96B0CBD3968F54
    assert distinct(GOLDEN_KEY, 6, 3) == [3, 0, 4]
    assert distinct(GOLDEN_KEY, 10, 9) == [5, 0, 7, 3, 1, 4, 6, 8, 2]
    assert distinct(GOLDEN_KEY, 1000, 5) == [586, 0, 789, 306, 765]
    assert distinct(GOLDEN_KEY, 2**32 - 1, 3) == [2517156526, 466952, 3391544930]
    assert largest(GOLDEN_KEY, [10, 20, 30]) == 30


def test_no_reason_for_a_draw_is_given_twice() -> None:
    reasons = [
        value for name, value in vars(draws).items() if name.isupper() and isinstance(value, int) and value < 256
    ]
    assert len(reasons) >= 16
    assert len(set(reasons)) == len(reasons)


# -- one source, three ways to run it ---------------------------------------------------------------------------

ONE_WORD = {"mix": mix, "unit": unit}
TWO_WORDS = {"fold": fold, "draw": draw, "chance": chance}
PICKS = {"upper_pick": upper_pick, "lower_pick": lower_pick}


@pytest.fixture(scope="module")
def fast() -> dict[str, Any]:
    """Draws as kernels see them, each behind a door: only compiled code can call them."""
    import numba

    from gossamer.fast.compile import namespace_of

    def door(function: Any) -> Any:
        return numba.njit(lambda *words: function(*words))

    inside = namespace_of("gossamer.protocols.camcast.kernel")
    return {name: door(each) if hasattr(each, "py_func") else each for name, each in inside.items()}


def pairs(seconds: list[int]) -> list[tuple[int, int]]:
    scattered = [mix(number) for number in range(1, 200)]
    return [(first, second) for first in [*EDGES, *scattered] for second in seconds]


@pytest.mark.parametrize("name", [*ONE_WORD, *TWO_WORDS, *PICKS])
def test_ints_arrays_and_compiled_code_draw_the_same_numbers(name: str, fast: dict[str, Any]) -> None:
    function: Callable[..., Any] = {**ONE_WORD, **TWO_WORDS, **PICKS}[name]
    given = pairs([1, 2, 3, 1000, 2**31, 2**32 - 1] if name in PICKS else EDGES)
    columns = np.array(given, np.uint64).T
    if name in ONE_WORD:
        given, columns = [(first,) for first, _ in given], columns[:1]  # type: ignore[misc]
    plain = [function(*row) for row in given]
    assert function(*columns).tolist() == plain
    assert [fast[name](*map(np.uint64, row)) for row in given] == plain


@settings(max_examples=300)
@given(WORDS, WORDS)
def test_every_number_drawn_fits_64_bits_and_every_share_is_below_one(key: int, word: int) -> None:
    assert 0 <= fold(key, word) <= MASK
    assert 0 <= draw(key, word) <= MASK
    assert 0.0 <= chance(key, word) < 1.0


@given(WORDS, st.integers(1, 2**32 - 1))
def test_a_pick_is_below_its_bound(z: int, n: int) -> None:
    assert 0 <= upper_pick(z, n) < n
    assert 0 <= lower_pick(z, n) < n


@given(st.integers(), st.integers())
def test_numbers_wider_than_64_bits_and_negative_ones_are_folded_like_their_lowest_64_bits(key: int, word: int) -> None:
    assert fold(key, word) == fold(key & MASK, word & MASK)
    assert draw(key, word) == draw(key & MASK, word & MASK)


# -- distinct ---------------------------------------------------------------------------------------------------


@given(WORDS, st.integers(0, 200), st.integers(0, 220))
def test_distinct_gives_that_many_different_numbers_below_n_or_all_there_are(key: int, n: int, k: int) -> None:
    picked = distinct(key, n, k)
    assert len(picked) == len(set(picked)) == min(n, k)
    assert all(0 <= each < n for each in picked)
    if k >= n:
        assert picked == list(range(n))


@given(WORDS, st.integers(1, 10_000), st.integers(0, 30))
def test_asking_for_more_only_adds_to_the_same_picks(key: int, n: int, k: int) -> None:
    if k + 1 < n:
        assert distinct(key, n, k + 1)[:k] == distinct(key, n, k)


def test_the_compiled_walk_picks_what_the_plain_one_does(fast: dict[str, Any]) -> None:
    picked, stamps, serial = np.zeros(3000, np.int64), np.zeros(fast["STAMPS"], np.int32), 0
    for n in (1, 2, 3, 4, 6, 10, 33, 100, 999, 1023, 1024, 1025, 2047, 5000, 10**6, 10**8, 2**31, 2**32 - 1):
        for k in sorted({0, 1, 2, 3, 5, 11, 40, min(n - 1, 200), min(n, 200), min(n + 1, 200)}):
            for key in (0, 1, MASK, *(mix(each) for each in range(1, 9))):
                serial += 1
                count = fast["distinct_into"](np.uint64(key), n, k, picked, stamps, serial)
                assert picked[:count].tolist() == distinct(key, n, k), (key, n, k)


@settings(max_examples=200)
@given(key=WORDS, n=st.integers(1, 3000), k=st.integers(0, 60))
def test_the_compiled_walk_agrees_on_any_key(fast: dict[str, Any], key: int, n: int, k: int) -> None:
    picked, stamps = np.zeros(60, np.int64), np.zeros(fast["STAMPS"], np.int32)
    count = fast["distinct_into"](np.uint64(key), n, k, picked, stamps, 1)
    assert picked[:count].tolist() == distinct(key, n, k)


@given(WORDS, st.lists(WORDS, min_size=1, max_size=20, unique=True), st.randoms(use_true_random=False))
def test_a_choice_by_largest_draw_does_not_depend_on_the_order_of_the_candidates(
    key: int, candidates: list[int], shuffler: Any
) -> None:
    chosen = largest(key, candidates)
    shuffler.shuffle(candidates)
    assert largest(key, candidates) == chosen


# -- statistics -------------------------------------------------------------------------------------------------

MANY = 1 << 19


def assert_uniform(cells: Any, how_many: int) -> None:
    """Pearson's chi² of cell numbers against equal shares; false alarms: ALARM."""
    seen = np.bincount(np.asarray(cells, np.int64), minlength=how_many)
    assert len(seen) == how_many
    expected = seen.sum() / how_many
    assert expected >= 20, "too few draws for the test to mean anything"
    statistic = float(((seen - expected) ** 2).sum() / expected)
    low, high = chi2.isf([1 - ALARM / 2, ALARM / 2], how_many - 1)
    assert low < statistic < high, f"chi² {statistic:.1f} outside {low:.1f} … {high:.1f}"


def assert_independent(one: Any, other: Any, n: int = 32) -> None:
    """Pairs of picks fill an n × n square evenly, whichever halves of the two draws they are made of."""
    for left in (upper_pick, lower_pick):
        for right in (upper_pick, lower_pick):
            assert_uniform(left(one, n).astype(np.int64) * n + right(other, n).astype(np.int64), n * n)


def counted(how_many: int = MANY) -> Words:
    return np.arange(how_many, dtype=np.uint64)


def key_of(seed: Any, why: Any, event: Any, who: Any) -> Any:
    return fold(fold(fold(seed, why), event), who)


@pytest.mark.parametrize("n", [2, 7, 97, 4096])
@pytest.mark.parametrize("pick", [upper_pick, lower_pick])
def test_picks_are_uniform_along_a_stream_and_across_every_part_of_the_key(n: int, pick: Callable[..., Any]) -> None:
    each, one = counted(), np.uint64([1])
    assert_uniform(pick(draw(np.uint64([12345]), each), n), n)
    assert_uniform(pick(draw(key_of(each, one, one, one), one), n), n)
    assert_uniform(pick(draw(key_of(one, each, one, one), one), n), n)
    assert_uniform(pick(draw(key_of(one, one, each, one), one), n), n)
    assert_uniform(pick(draw(key_of(one, one, one, each), one), n), n)


def test_chances_are_uniform_down_to_rare_events() -> None:
    shares = chance(np.uint64([99]), counted())
    assert_uniform(shares * 1000, 1000)
    rare = int((shares < 1e-3).sum())
    assert abs(rare - MANY / 1000) < 4.9 * (MANY / 1000) ** 0.5  # 4.9 standard deviations: about ALARM


@pytest.mark.parametrize("apart", [1, 2, 64, 2**32])
def test_draws_are_independent_across_index_seed_why_event_and_who(apart: int) -> None:
    each, shift, one = counted(), np.uint64(apart), np.uint64([1])
    assert_independent(draw(np.uint64([7]), each * 2 * shift), draw(np.uint64([7]), (each * 2 + 1) * shift))
    for place in range(4):
        here = [one, one, one, one]
        here[place] = each
        there = list(here)
        there[place] = each + shift
        assert_independent(key_of(*here), key_of(*there))
        assert_independent(draw(key_of(*here), one), draw(key_of(*there), one))


@pytest.mark.parametrize(("place", "other"), [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
def test_two_parts_of_a_key_that_change_places_give_independent_draws(place: int, other: int) -> None:
    """Seed 3 with reason 5 must not draw as seed 5 with reason 3 does: sweeps use neighbouring seeds."""
    low, high = np.divmod(counted(), np.uint64(1024))
    differ = low != high
    here = [np.uint64([1])] * 4
    there = list(here)
    here[place], here[other] = low[differ], high[differ]
    there[place], there[other] = high[differ], low[differ]
    one, two = key_of(*here), key_of(*there)
    first = low[differ] < high[differ]  # each unordered pair once
    assert_independent(one[first], two[first], 16)
    assert not (one == two).any()


def test_small_words_never_meet_in_one_key() -> None:
    low, high = np.divmod(counted(), np.uint64(1024))
    assert len(np.unique(fold(low, high))) == MANY
    ids = [EventId(*parts) for parts in product(range(20), range(20), range(20))]
    assert len({each.word() for each in ids}) == len(ids)


def test_the_two_halves_of_a_draw_are_independent() -> None:
    z = draw(np.uint64([5]), counted())
    assert_uniform(upper_pick(z, 32).astype(np.int64) * 32 + lower_pick(z, 32).astype(np.int64), 1024)


def test_a_key_is_independent_of_its_own_draws_and_of_narrower_keys() -> None:
    keys = fold(np.uint64([3]), counted())
    for word in (0, 1, 2):
        assert_independent(keys, draw(keys, np.uint64([word])) if word else draw(keys, np.uint64([3])))
        assert_independent(keys, fold(keys, np.uint64([word])))
        for index in (0, 1, 2):
            assert_independent(fold(keys, np.uint64([word])), draw(keys, np.uint64([index])))


def test_ordered_three_of_six_are_uniform_over_their_120_outcomes() -> None:
    outcomes = {outcome: number for number, outcome in enumerate(permutations(range(6), 3))}
    cells = [outcomes[tuple(distinct(fold(17, who), 6, 3))] for who in range(60_000)]  # type: ignore[index]
    assert_uniform(cells, 120)


@pytest.mark.parametrize(("n", "k"), [(50, 11), (7, 6), (1000, 3)])
def test_every_place_among_distinct_picks_is_uniform(n: int, k: int) -> None:
    picked = np.array([distinct(fold(23, who), n, k) for who in range(30_000)])
    for place in range(k):
        assert_uniform(picked[:, place], n)


def test_whom_two_processes_pick_is_independent() -> None:
    firsts = np.array([distinct(fold(29, who), 20, 3)[0] for who in range(40_000)])
    lasts = np.array([distinct(fold(29, who), 20, 3)[2] for who in range(40_000)])
    assert_uniform(firsts[:-1] * 20 + firsts[1:], 400)
    assert_uniform(lasts[:-1] * 20 + firsts[1:], 400)


def test_the_largest_draw_falls_on_each_candidate_equally_often() -> None:
    assert_uniform([largest(fold(31, who), [3, 4, 5, 6, 7]) - 3 for who in range(40_000)], 5)
