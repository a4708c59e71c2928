"""What peers decide, in numbers."""

from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gossamer.core.draws import fold
from gossamer.protocols.pgrid import rules
from gossamer.protocols.pgrid.places import across, common

BITS = st.text("01", max_size=12)
COUNTS = st.lists(st.integers(0, 30), max_size=6)
KEYS = st.integers(0, 2**64 - 1)
FEW = st.integers(0, 60)


# -- drawing from several heaps ---------------------------------------------------------------------------------------


@given(st.integers(0, 64), COUNTS, KEYS)
def test_parts_are_as_many_as_wanted_and_from_no_heap_more_than_it_has(k: int, counts: list[int], key: int) -> None:
    taken = rules.parts(k, counts, key)
    assert len(taken) == len(counts)
    assert sum(taken) == min(k, sum(counts))
    assert all(0 <= some <= count for some, count in zip(taken, counts, strict=True))


@pytest.mark.parametrize(("k", "counts"), [(3, (10, 20, 5)), (8, (4, 4, 4)), (1, (10, 90)), (5, (2, 0, 6))])
def test_parts_are_hypergeometric(k: int, counts: tuple[int, ...]) -> None:
    rounds, total = 4000, sum(counts)
    drawn = [rules.parts(k, counts, fold(7, number)) for number in range(rounds)]
    for heap, count in enumerate(counts):
        share = count / total
        variance = k * share * (1 - share) * (total - k) / max(1, total - 1)
        mean = sum(taken[heap] for taken in drawn) / rounds
        assert abs(mean - k * share) <= 4 * (variance / rounds) ** 0.5
        spread = sum((taken[heap] - k * share) ** 2 for taken in drawn) / rounds
        assert spread == pytest.approx(variance, rel=0.15, abs=1e-9)


# -- where leaves part ------------------------------------------------------------------------------------------------


@given(st.lists(st.text("01", min_size=8, max_size=8), max_size=20))
def test_the_level_of_parting_is_the_first_at_which_any_two_differ(places: list[str]) -> None:
    level = rules.parting(places)
    if level is None:
        assert len({*places}) <= 1
        return
    assert len({place[:level] for place in places}) == 1
    assert len({place[: level + 1] for place in places}) == 2


@given(st.lists(BITS, max_size=12))
def test_where_there_is_a_level_of_parting_both_halves_have_something(places: list[str]) -> None:
    level = rules.parting(places)
    if level is not None:
        half = places[0][: level + 1]
        inside = [place for place in places if place.startswith(half)]
        beyond = [place for place in places if place.startswith(across(half, level))]
        assert inside
        assert beyond
        assert len(inside) + len(beyond) == len(places)


@given(st.integers(1, 1000), st.integers(1, 1000), st.integers(2, 200), st.integers(1, 20))
def test_the_shares_of_two_halves_are_one_and_neither_is_left_with_too_few(
    mine: int, others: int, replicas: int, replicas_min: int
) -> None:
    one = rules.share(mine, others, replicas, replicas_min)
    other = rules.share(others, mine, replicas, replicas_min)
    assert one + other == pytest.approx(1)
    assert one * replicas >= min(replicas / 2, replicas_min) - 1e-9
    least = min(0.5, replicas_min / replicas)
    if least <= mine / (mine + others) <= 1 - least:
        assert one == pytest.approx(mine / (mine + others))


# -- following others -------------------------------------------------------------------------------------------------


@given(BITS, st.text("01", min_size=1, max_size=10), KEYS)
def test_who_follows_where_nothing_lies_beside_arrives_where_the_other_is(path: str, more: str, key: int) -> None:
    theirs = path + more
    assert rules.descend(path, theirs, lambda half: int(theirs.startswith(half)), key) == theirs


@given(
    BITS, st.text("01", min_size=1, max_size=8), KEYS, st.lists(st.text("01", min_size=24, max_size=24), max_size=30)
)
def test_who_follows_goes_to_a_part_of_its_leaf_that_is_not_empty_or_where_the_other_is(
    path: str, more: str, key: int, tails: list[str]
) -> None:
    theirs, places = path + more, [path + tail for tail in tails]

    def load(half: str) -> int:
        return sum(place.startswith(half) for place in places)

    found = rules.descend(path, theirs, load, key)
    assert found.startswith(path)
    assert len(found) > len(path)
    if found != theirs:
        assert common(found, theirs) == len(found) - 1
        assert load(found)


def test_who_follows_takes_each_half_as_often_as_what_is_in_it() -> None:
    loads = {"0": 10, "1": 30, "10": 10, "11": 20}
    ended = Counter(rules.descend("", "11", loads.__getitem__, fold(3, number)) for number in range(4000))
    assert ended == {half: pytest.approx(count, abs=100) for half, count in (("0", 1000), ("10", 1000), ("11", 2000))}


# -- who is needed where ----------------------------------------------------------------------------------------------


@given(FEW, st.integers(1, 60), FEW, st.integers(1, 60), st.integers(1, 10))
def test_nobody_wants_to_change_places_with_itself_or_back_again(
    load: int, replicas: int, there: int, replicas_there: int, replicas_min: int
) -> None:
    assert not rules.is_better(load, replicas, load, replicas, replicas_min)
    assume(rules.is_better(load, replicas, there, replicas_there, replicas_min))
    if replicas > 1:
        assert not rules.is_better(there, replicas_there + 1, load, replicas - 1, replicas_min)


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 60), st.integers(1, 10))
def test_a_leaf_that_holds_something_is_never_left_by_its_last_peers(
    load: int, there: int, replicas_there: int, replicas_min: int
) -> None:
    for replicas in range(1, replicas_min + 1):
        assert not rules.is_better(load, replicas, there, replicas_there, replicas_min)


@given(st.integers(1, 60), FEW, st.integers(1, 60), st.integers(1, 10))
def test_who_holds_nothing_goes_where_something_is(there: int, replicas: int, others: int, replicas_min: int) -> None:
    assert rules.is_better(0, replicas, there, others, replicas_min)
    assert not rules.is_better(there, others, 0, replicas, replicas_min)


@given(FEW, FEW, st.integers(1, 30), st.integers(1, 10))
def test_a_leaf_divides_only_if_both_halves_have_enough_peers(
    load: int, load_max: int, replicas: int, replicas_min: int
) -> None:
    assert rules.is_full(load, load_max, replicas, replicas_min) == (load > load_max and replicas // 2 >= replicas_min)
