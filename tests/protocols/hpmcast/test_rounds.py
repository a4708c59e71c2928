"""How many rounds an event gets: T where it is fixed, as many as a reliability needs, or as many as ROUNDS says."""

from statistics import fmean
from typing import Any

import pytest

from gossamer.core.errors import Misuse
from gossamer.core.machine import Publish, Received
from gossamer.fast.hpmcast import run
from gossamer.protocols.hpmcast import rules
from gossamer.protocols.hpmcast.experiment.setting import HierarchySetting
from gossamer.protocols.hpmcast.params import Params
from protocols.hpmcast.test_levels import EVENT, gossip, node, until_it_rests

# T, as Figures 1 and 2 have it


@pytest.mark.parametrize("variant", ["pmcast", "rfpbcast"])
@pytest.mark.parametrize("wanted", [range(16), range(8), [15]])
def test_a_publisher_gossips_for_t_rounds_whoever_wants_it(variant: Any, wanted: Any) -> None:
    machine = node(0, wanted, branching=(16,), variant=variant, rounds=5, fanout=15)
    machine.step(Publish(EVENT), 0)
    assert [message.rounds for _, message in until_it_rests(machine)] == [1, 2, 3, 4, 5]


def test_who_hears_of_it_gossips_for_the_rounds_that_are_left() -> None:
    machine = node(1, range(16), branching=(16,), variant="pmcast", rounds=5)
    machine.step(Received(0, gossip(1, 1.0, rounds=3)), 50_000)
    assert [message.rounds for _, message in until_it_rests(machine)] == [4, 5]


def test_only_those_that_are_picked_and_want_it_are_told() -> None:
    machine = node(0, [3, 4], branching=(16,), variant="pmcast", rounds=40)
    machine.step(Publish(EVENT), 0)
    assert {peer for peers, _ in until_it_rests(machine) for peer in peers} == {3, 4}


def test_nobody_asks_how_many_want_an_event_whose_rounds_are_fixed() -> None:
    setting = HierarchySetting.regular(60, 1, interest=0.3, params=Params(variant="pmcast", rounds=9))
    results = run(setting, range(20))
    assert {result.matches for result in results} == {0}
    assert {result.steps for result in results} == {9}
    assert all(result.matches_picked > 0 for result in results)


def test_rounds_that_are_fixed_reach_few_of_a_small_audience() -> None:
    reached = {}
    for interest in (0.5, 0.1):
        params = Params(variant="pmcast", rounds=21)
        setting = HierarchySetting.regular(22, 3, interest=interest, params=params)
        reached[interest] = fmean(each.delivery for each in run(setting, range(20)))
    assert reached[0.5] > 0.99
    assert reached[0.1] < 0.5


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"rounds": 5}, "rounds can be fixed for pmcast and rfpbcast; hpmcast works them out, level by level"),
        ({"rounds": -1, "variant": "pmcast"}, "rounds must be 0 to 1,073,741,824"),
        *(
            ({"rounds": 5, "variant": "pmcast", **asking}, "with rounds fixed nobody asks how many want an event: ")
            for asking in ({"audience_floor": 4}, {"direct": 4}, {"lan": 4}, {"estimated": True}, {"reliability": 0.9})
        ),
        ({"reliability": 1.0}, "reliability is a share: 0 to 0.9999"),
        ({"reliability": -0.1}, "reliability is a share: 0 to 0.9999"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Misuse, match=sentence):
        Params(**said)


# A reliability (5.4.1, footnote 10)


def test_a_lone_reader_gets_as_many_rounds_as_it_takes_to_be_picked() -> None:
    """Of 22, two are picked in a round: it is missed by all rounds with (19/21)^t."""
    rounds = rules.rounds_for(22, 1 / 22, 2, 1.0, 0.99)
    assert (19 / 21) ** rounds <= 0.01 < (19 / 21) ** (rounds - 1)


def test_more_reliability_takes_more_rounds_and_more_loss_does_too() -> None:
    by_share = [rules.rounds_for(66, 0.2, 2, 1.0, share) for share in (0.5, 0.9, 0.99, 0.999)]
    by_loss = [rules.rounds_for(66, 0.2, 2, arriving, 0.99) for arriving in (1.0, 0.7, 0.3)]
    assert by_share == sorted(set(by_share))
    assert by_loss == sorted(set(by_loss))


def test_rounds_have_an_end_whatever_is_asked_for() -> None:
    assert rules.rounds_for(1, 1.0, 2, 1.0, 0.99) == 0
    assert rules.rounds_for(10**6, 1e-300, 1, 0.01, 0.9999) == rules.ROUNDS_MAX
    assert rules.limit(22, 0.0, 2, 1.0, 0, 0.99) == 0


@pytest.mark.parametrize("interest", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("share", [0.8, 0.95, 0.99])
def test_a_group_is_reached_about_as_surely_as_was_asked_for(interest: float, share: float) -> None:
    """The epidemic of means runs ahead of a true one: what is missed may be some times what was allowed, not more."""
    params = Params(variant="pmcast", reliability=share)
    results = run(HierarchySetting.regular(50, 1, interest=interest, params=params), range(400))
    reached = sum(each.delivered for each in results) / sum(each.interested for each in results)
    assert 1 - reached < 3 * (1 - share)


def test_with_a_reliability_few_are_reached_as_surely_as_many() -> None:
    few, plain = (
        fmean(each.delivery for each in run(HierarchySetting.regular(22, 3, interest=0.01, params=params), range(10)))
        for params in (Params(reliability=0.99), Params())
    )
    assert plain < 0.35
    assert few > 0.97
