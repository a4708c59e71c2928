"""Dispatchers that find each other, come and go: the tree is whole again soon, and nothing is lost or doubled."""

import pytest

from gossamer.core.ids import EventId, Peer
from parts.trees import tree_of
from protocols.dispatch.towns import LIVE, TOPIC, DispatchTown


def missed(town: DispatchTown) -> list[tuple[Peer, EventId]]:
    """Who stayed and did not get what it wants."""
    return [(peer, event) for peer, event in town.missing() if peer in town.stayers]


def test_a_hundred_dispatchers_make_one_tree_and_stay_in_it() -> None:
    town = DispatchTown(100, seed=1)
    assert town.at_rest(10) <= 5
    town.run(2)
    before = town.circles.changes
    town.run(3)
    assert town.circles.changes == before
    assert len({tree_of(node).stands[TOPIC].rank[:2] for node in town.world.machines.values()}) == 1


def test_a_hundred_dispatchers_are_at_rest_within_10_seconds_after_churn() -> None:
    town = DispatchTown(100, seed=2)
    town.at_rest(10)
    town.churn(15)
    town.run(15)
    assert town.at_rest(20) <= 10


@pytest.mark.slow
@pytest.mark.parametrize("loss", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(5))
def test_the_same_after_a_minute_with_every_seed_and_on_lossy_links(seed: int, loss: float) -> None:
    town = DispatchTown(100, seed, loss)
    assert town.at_rest(20) <= 15
    town.churn(60)
    town.run(60)
    assert town.at_rest(20) <= 10


@pytest.mark.parametrize("recovers", [True, False])
def test_events_flow_through_churn_and_with_recovery_none_is_lost_or_doubled(recovers: bool) -> None:
    town = DispatchTown(24, seed=3, recovery=LIVE if recovers else None)
    town.run(6)
    town.churn(12, per_minute=3.0)
    town.publish_for(12, every=0.1)
    town.run(12)
    assert town.at_rest(20) <= 10
    town.run(40 if recovers else 5)  # a publisher's first event, lost, shows in no gap: digests find it, by and by
    assert len(town.chronicle.fates) == 120
    assert bool(missed(town)) != recovers


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "loss"), [(1, 0.0), (2, 0.0), (3, 0.0), (4, 0.1)])
def test_a_hundred_dispatchers_at_20_per_cent_churn_a_minute_lose_and_double_nothing(seed: int, loss: float) -> None:
    town = DispatchTown(100, seed, loss, recovery=LIVE)
    assert town.at_rest(20) <= 15
    town.run(10)
    town.churn(60)
    town.publish_for(60, every=0.1)
    town.run(60)
    assert town.at_rest(20) <= 10
    town.run(60)  # as above: digests find what shows in no gap
    assert len(town.chronicle.fates) == 600
    assert missed(town) == []
