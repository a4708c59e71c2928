import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.errors import Misuse
from gossamer.protocols.scamp import rules
from gossamer.protocols.scamp.params import Params


def test_a_copy_is_kept_with_one_chance_in_one_plus_the_view() -> None:
    kept = sum(rules.keeps(i / 1000, 9) for i in range(1000))
    assert kept == 100


@given(st.lists(st.integers(0, 30), unique=True), st.lists(st.integers(0, 30), unique=True), st.integers(0, 4))
def test_nobody_is_named_as_heir_to_itself(holders: list[int], view: list[int], extra: int) -> None:
    told = rules.farewell(holders, view, extra)
    assert [holder for holder, _ in told] == holders
    assert all(heir is None or (heir != holder and heir in view) for holder, heir in told)
    assert sum(heir is not None for _, heir in told) <= max(0, len(holders) - extra - 1)


@pytest.mark.parametrize(
    "wrong",
    [{"extra_copies": -1}, {"lease_us": 0}, {"view_max": 0}, {"isolated_us": 1}, {"epoch_us": 1}, {"tries": 0}],
)
def test_impossible_parameters_are_refused_in_one_sentence(wrong: dict[str, int]) -> None:
    with pytest.raises(Misuse, match="must"):
        Params(**wrong)


def test_views_should_have_c_plus_1_ln_n_entries_but_not_more_than_there_are_others() -> None:
    assert [round(rules.wanted(size, 1), 1) for size in (1, 2, 3, 5, 1000)] == [1, 1, 2, 3.2, 13.8]


def test_a_renewal_asks_for_so_many_that_those_of_two_leases_are_as_many_as_should_be() -> None:
    asked = [rules.renewal_copies(1000, 0, i / 1000) for i in range(1000)]
    assert sum(asked) / 1000 == pytest.approx(rules.wanted(1000, 0) * rules.RENEWED_AT, abs=0.001)
    assert rules.renewal_copies(1, 0, 0.0) == 1
    assert sum(rules.renewed_after(i / 1000) for i in range(1000)) / 1000 == pytest.approx(rules.RENEWED_AT, abs=0.001)


def test_a_walk_steps_back_from_nodes_better_known_than_the_last_in_proportion() -> None:
    assert sum(rules.steps_back(i / 1000, 5, 20) for i in range(1000)) == 750
    assert not any(rules.steps_back(i / 1000, 20, 5) or rules.steps_back(i / 1000, 0, 5) for i in range(1000))
