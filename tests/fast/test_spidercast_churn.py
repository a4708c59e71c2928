"""Overlays whose nodes come and go."""

from typing import Any

import numpy as np
import pytest

from gossamer.core.errors import Misuse
from gossamer.fast import measures
from gossamer.fast.spidercast import build
from gossamer.fast.spidercast_churn import run
from gossamer.protocols.spidercast.experiment.churn import COMES, Churn, Churned
from gossamer.protocols.spidercast.experiment.setting import OverlaySetting
from gossamer.protocols.spidercast.experiment.workload import Workload
from gossamer.protocols.spidercast.params import Params


def partitioned(churned: Churned) -> list[int]:
    """Of each snapshot."""
    found = []
    for each in churned.snapshots:
        interests = each.interests
        made = measures.measure(interests.starts, interests.topics, interests.topic_count, each.links, exact_up_to=-1)
        found.append(made.topics_partitioned)
    return found


LONG = [pytest.param(up_s, 1000.0, marks=pytest.mark.slow) for up_s in (100.0, 200.0, 300.0, 400.0, 500.0)]


@pytest.mark.parametrize(("up_s", "seconds"), [(100.0, 200.0), *LONG])
def test_no_topic_is_partitioned_in_any_snapshot(up_s: float, seconds: float) -> None:
    churned = run(Workload(nodes=1250), Params(), Churn(up_s=up_s, seconds=seconds, snapshot_every_s=100.0), 1)
    assert len(churned.snapshots) == seconds / 100
    assert partitioned(churned) == [0] * len(churned.snapshots)
    for each in churned.snapshots:
        assert (each.one_sided, each.over_limit) == (0, 0)
        assert each.interests.nodes == pytest.approx(1000, rel=0.08)
        assert 10 < 2 * len(each.links) / each.interests.nodes < 13


def test_times_up_and_down_are_exponential_and_nodes_take_turns() -> None:
    churn = Churn(up_s=50.0, seconds=2000.0)
    times, who, what = churn.schedule(400, 1)
    assert (np.diff(times) >= 0).all()
    stays: dict[int, list[float]] = {0: [], 1: []}
    for node in range(400):
        own, kinds = times[who == node], what[who == node]
        assert (kinds[1:] != kinds[:-1]).all()
        for kind in (0, 1):
            stays[kind] += np.diff(own)[kinds[:-1] == kind].tolist()
    for kind, mean in ((COMES, 50.0), (0, 12.5)):
        assert np.mean(stays[kind]) == pytest.approx(mean, rel=0.05)
        assert np.std(stays[kind]) == pytest.approx(mean, rel=0.07)
    assert (what[times == 0] == COMES).all()
    assert (times == 0).sum() == pytest.approx(320, abs=40)


def test_the_young_are_not_in_a_snapshot_and_those_who_left_are_not_either() -> None:
    churn = Churn(up_s=20.0, seconds=30.0, snapshot_every_s=10.0, young_s=5.0)
    churned = run(Workload(nodes=200), Params(), churn, 3)
    times, who, what = churn.schedule(200, 3)
    for each in churned.snapshots:
        there: dict[int, float] = {}
        for at, node, kind in zip(times.tolist(), who.tolist(), what.tolist()):
            if at <= each.at_s:
                there = {**there, node: at} if kind == COMES else {n: t for n, t in there.items() if n != node}
        assert each.nodes.tolist() == sorted(node for node, at in there.items() if at < each.at_s - 5.0)
        assert (np.diff(each.interests.starts) == 10).all()
        assert each.links.max() < each.interests.nodes


def test_whoever_comes_back_wants_something_else() -> None:
    workload = Workload(nodes=60)
    churned = run(workload, Params(), Churn(up_s=5.0, seconds=40.0, snapshot_every_s=20.0, young_s=0.0), 2)
    first = workload.interests(2)
    last = churned.snapshots[-1]
    changed = [last.interests.of(i) != first.of(int(node)) for i, node in enumerate(last.nodes)]
    assert np.mean(changed) > 0.8


def test_without_changes_churn_builds_the_overlay_that_stands() -> None:
    """All come at the start and stay: what they link is what any run of theirs links."""
    churned = run(Workload(nodes=150), Params(), Churn(up_s=1e12, down_s=1e-3, seconds=20.0, snapshot_every_s=20.0), 5)
    still = build(OverlaySetting(interests=Workload(nodes=150).interests(5)), 5)
    assert np.array_equal(churned.snapshots[0].links, still.links)
    assert churned.messages == still.messages
    assert (churned.joins, churned.leaves) == (150, 0)
    assert churned.messages_per_change == pytest.approx(sum(still.messages.values()) / 150)


def test_every_farewell_is_a_message() -> None:
    churned = run(Workload(nodes=100), Params(), Churn(up_s=10.0, seconds=30.0, snapshot_every_s=30.0), 1)
    assert churned.leaves > 50
    assert churned.messages["leave"] > 5 * churned.leaves


@pytest.mark.parametrize("wrong", [{"up_s": 0.0}, {"seconds": -1.0}, {"young_s": -1.0}, {"round_s": 1e-9}])
def test_churn_that_cannot_be_says_why(wrong: dict[str, Any]) -> None:
    with pytest.raises(Misuse, match=r"churn must|young_s|rounds"):
        Churn(**wrong)


@pytest.mark.parametrize("params", [{"selection": "ring"}, {"rendezvous": True}])
def test_churn_is_for_neighbours_chosen_from_views(params: dict[str, Any]) -> None:
    with pytest.raises(Misuse, match="churn is for"):
        run(Workload(nodes=10), Params(**params), Churn(), 1)
