"""The paper's figures, as far as they are numbers: mean degrees, connected topics, bounds."""

from typing import Any

import numpy as np
import pytest

from gossamer.fast import measures
from gossamer.fast.spidercast import build
from gossamer.protocols.spidercast.experiment.setting import Overlay, OverlaySetting
from gossamer.protocols.spidercast.experiment.workload import Workload
from gossamer.protocols.spidercast.params import Params

PRINTED = {1000: 10.81, 2000: 10.11, 4000: 9.53, 6000: 9.24, 8000: 9.08, 10000: 8.95}
"Figure 12: SpiderCast's mean degree by the number of nodes."
SIMILARITY = {(10, 0): 10.08, (9, 1): 10.22, (8, 2): 10.20, (7, 3): 10.21, (20, 0): 20.04}
WITHIN = 0.02
large = pytest.mark.slow


def built(
    nodes: int, seed: int, work: dict[str, Any] | None = None, **params: Any
) -> tuple[Overlay, measures.Measures]:
    interests = Workload(nodes=nodes, **(work or {})).interests(seed)
    overlay = build(OverlaySetting(interests=interests, params=Params(**params)), seed)
    found = measures.measure(interests.starts, interests.topics, interests.topic_count, overlay.links, exact_up_to=-1)
    assert (overlay.at_rest, overlay.one_sided, overlay.over_limit) == (True, 0, 0)
    return overlay, found


def mean_degree(nodes: int, seeds: int = 3, **how: Any) -> float:
    return float(np.mean([built(nodes, seed, **how)[1].degree_mean for seed in range(1, seeds + 1)]))


@pytest.mark.parametrize(
    "nodes", [1000, 2000, *(pytest.param(each, marks=large) for each in (4000, 6000, 8000, 10000))]
)
def test_the_mean_degree_is_the_printed_one_and_every_topic_is_connected(nodes: int) -> None:
    degrees = []
    for seed in (1, 2, 3):
        _, found = built(nodes, seed)
        assert (found.topics_populated, found.topics_partitioned, found.components) == (100, 0, 100)
        degrees.append(found.degree_mean)
    assert np.mean(degrees) == pytest.approx(PRINTED[nodes], rel=WITHIN)


@pytest.mark.parametrize("nodes", [1000, pytest.param(4000, marks=large)])
@pytest.mark.parametrize("links", SIMILARITY)
def test_similar_neighbours_cost_as_many_links_and_do_not_connect(links: tuple[int, int], nodes: int) -> None:
    how: dict[str, Any] = {"selection": "similarity", "greedy": links[0], "random": links[1]}
    degrees = []
    for seed in (1, 2, 3):
        _, found = built(nodes, seed, **how)
        assert found.components > 100
        degrees.append(found.degree_mean)
    assert np.mean(degrees) == pytest.approx(SIMILARITY[links], rel=WITHIN)


def test_the_more_nodes_the_more_parts_similar_neighbours_leave() -> None:
    few, many = (built(nodes, 1, selection="similarity", greedy=9, random=1)[1] for nodes in (1000, 3000))
    assert many.components > few.components


@pytest.mark.parametrize("nodes", [1000, pytest.param(10000, marks=large)])
def test_a_ring_per_topic_takes_more_links(nodes: int) -> None:
    ring = mean_degree(nodes, 1, selection="ring")
    assert 1.45 <= ring / PRINTED[nodes] <= 1.82


@pytest.mark.parametrize("popularity", ["rss", "zipf", "nyse", "uniform"])
def test_the_degree_is_below_twelve_and_falls_with_the_number_of_nodes(popularity: str) -> None:
    small, big = (mean_degree(nodes, 1, work={"popularity": popularity}) for nodes in (1000, 3000))
    assert 12 > small > big


@large
def test_more_subscriptions_raise_the_degree_and_then_lower_it() -> None:
    ten, twenty, forty = (mean_degree(10000, 1, work={"subscriptions": (each, each)}) for each in (10, 20, 40))
    assert ten < twenty > forty


@pytest.mark.parametrize("nodes", [4000, 8000])
def test_to_know_one_in_twenty_is_enough(nodes: int) -> None:
    _, found = built(nodes, 1, view=0.05)
    assert (found.topics_partitioned, found.topics_populated) == (0, 100)


def test_random_links_connect_what_is_too_much_alike_and_nodes_that_adapt_find_that_out() -> None:
    alike = {"popularity": "zipf", "exponent": 4.0}
    assert built(2000, 1, alike)[1].topics_partitioned > 0
    assert built(2000, 1, alike, random=1)[1].topics_partitioned == 0
    overlay, found = built(2000, 1, alike, adaptive=True)
    assert found.topics_partitioned == 0
    assert (overlay.kinds & 2).any()
    feeds, _ = built(1000, 1, adaptive=True)
    assert not (feeds.kinds & 2).any()
