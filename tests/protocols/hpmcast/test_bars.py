"""What the paper claims of hpmcast, measured: 22³ participants, three levels, R = 3, F = 2, nothing lost."""

from functools import cache
from statistics import fmean
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.fast.hpmcast import run
from gossamer.protocols.hpmcast.experiment.results import HierarchyResult
from gossamer.protocols.hpmcast.experiment.setting import HierarchySetting
from gossamer.protocols.hpmcast.params import Params

A, R = 22, 3
SEEDS = range(20)
INTERESTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0)


@cache
def measured(interest: float, **params: Any) -> list[HierarchyResult]:
    return run(HierarchySetting.regular(A, 3, interest=interest, params=Params(**params)), SEEDS)


def delivery(interest: float, **params: Any) -> float:
    return fmean(result.delivery for result in measured(interest, **params))


def spurious(interest: float, **params: Any) -> float:
    results = measured(interest, **params)
    return sum(each.spurious_count for each in results) / max(1, sum(each.uninterested for each in results))


def test_delivery_rises_with_interest() -> None:
    found = [delivery(interest) for interest in INTERESTS]
    assert found == sorted(found)
    assert found[0] < 0.35
    assert min(found[INTERESTS.index(0.3) :]) > 0.985


def test_a_floor_repairs_it_at_a_price() -> None:
    assert delivery(0.01, audience_floor=8) > 0.98
    assert spurious(0.01, audience_floor=8) > 2 * spurious(0.01)


def test_telling_a_few_at_once_repairs_it_for_nothing() -> None:
    assert delivery(0.01, direct=4) > 0.995
    assert spurious(0.01, direct=4) < 1.02 * spurious(0.01)
    assert spurious(0.01, direct=4) < 0.5 * spurious(0.01, audience_floor=8)
    few, many = (
        fmean(each.messages for each in measured(0.01, **how)) for how in ({"direct": 4}, {"audience_floor": 8})
    )
    assert few < 0.5 * many


def test_it_does_so_under_loss_and_crashes_too() -> None:
    params = Params(direct=4, expected_loss=0.1)
    setting = HierarchySetting.regular(A, 3, interest=0.01, params=params, loss=0.1)
    assert fmean(result.delivery for result in run(setting, SEEDS)) > 0.99
    assert fmean(result.delivery for result in run(replace(setting, crashed=0.05), SEEDS)) > 0.95


@pytest.mark.parametrize("interest", INTERESTS)
def test_no_more_than_the_delegates_get_what_they_do_not_want(interest: float) -> None:
    assert spurious(interest) <= 1.02 * R / A


def test_pmcast_bothers_nobody() -> None:
    for interest in (0.01, 0.1, 0.5):
        assert not any(result.spurious_count for result in measured(interest, variant="pmcast"))
        assert delivery(interest, variant="pmcast") > 0.95


def test_rfpbcast_reaches_everybody_whoever_is_interested() -> None:
    for interest in (0.01, 0.5):
        assert delivery(interest, variant="rfpbcast") > 0.999
    sent = [[result.messages for result in measured(interest, variant="rfpbcast")] for interest in (0.01, 0.5)]
    assert sent[0] == sent[1]


def test_a_participant_knows_few_others() -> None:
    assert measured(0.3)[0].view_size == R * A * 2 + A
    assert measured(0.01, variant="pmcast")[0].view_size == A**3


def test_higher_levels_carry_more() -> None:
    load = [sum(column) for column in zip(*(result.load for result in measured(0.3)))]
    ranks = measured(0.3)[0].ranks
    assert ranks == (A**2 * (A - R), R * A * (A - 1), R * A)
    each = [heard / there for heard, there in zip(load, ranks)]
    assert each == sorted(each)


def test_an_estimate_costs_a_tenth_of_the_matching() -> None:
    matched = [fmean(result.matches for result in measured(0.3, estimated=how)) for how in (False, True)]
    assert matched[1] < 0.1 * matched[0]
    assert delivery(0.3, estimated=True) > 0.95


def test_a_reliable_medium_at_the_top_saves_whole_subsystems() -> None:
    lossy = HierarchySetting.regular(A, 3, interest=0.3, loss=0.4)
    better = replace(lossy, attempts=5)
    plain, sure = (fmean(result.delivery for result in run(each, range(40))) for each in (lossy, better))
    assert sure > plain


def test_a_million_participants_in_one_run() -> None:
    (result,) = run(HierarchySetting.regular(100, 3, interest=0.3), [1])
    assert result.participants == 1_000_000
    assert result.delivery > 0.98
    assert result.view_size == 700


@pytest.mark.slow
def test_ten_million_participants_in_one_run() -> None:
    (result,) = run(HierarchySetting.regular(216, 3, interest=0.3), [1])
    assert result.participants == 10_077_696
    assert result.delivery > 0.99
