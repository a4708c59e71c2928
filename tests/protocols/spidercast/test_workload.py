"""Generated interests: who wants what, by popularity."""

from typing import Any

import numpy as np
import pytest

from gossamer.core.errors import Misuse
from gossamer.protocols.spidercast.experiment.setting import InterestArrays
from gossamer.protocols.spidercast.experiment.workload import Workload


def test_every_node_has_its_number_of_different_topics_in_ascending_order() -> None:
    interests = Workload(nodes=300, topics=40, subscriptions=(3, 17)).interests(5)
    sizes = np.diff(interests.starts)
    assert (sizes.min(), sizes.max(), interests.nodes) == (3, 17, 300)
    for node in range(interests.nodes):
        chosen = interests.of(node)
        assert chosen == sorted(set(chosen))


@pytest.mark.parametrize("popularity", ["rss", "zipf", "nyse", "uniform"])
def test_the_first_topic_is_drawn_by_popularity(popularity: Any) -> None:
    workload = Workload(nodes=40_000, topics=10, popularity=popularity, subscriptions=(1, 1))
    counts = np.bincount(workload.interests(1).topics, minlength=10)
    expected = workload.shares() * workload.nodes
    assert float(((counts - expected) ** 2 / expected).sum()) < 27.9  # chi² of 9 degrees of freedom, 0.1 %


def test_further_topics_are_drawn_from_those_that_are_left() -> None:
    """Two of three, by 1, 1/2, 1/3: the chance of each pair is that of its two orders."""
    p = Workload(topics=3, popularity="zipf", subscriptions=(2, 2)).shares()
    interests = Workload(nodes=40_000, topics=3, popularity="zipf", subscriptions=(2, 2)).interests(2)
    missing = 3 - interests.topics.reshape(-1, 2).sum(axis=1)
    counts = np.bincount(missing, minlength=3) / interests.nodes
    for out in range(3):
        a, b = (each for each in range(3) if each != out)
        assert counts[out] == pytest.approx(p[a] * p[b] * (1 / (1 - p[a]) + 1 / (1 - p[b])), abs=0.01)


@pytest.mark.parametrize("topics", [10, 37, 100, 1000])
def test_stocks_the_first_tenth_gets_its_share(topics: int) -> None:
    shares = Workload(topics=topics, popularity="nyse", subscriptions=(1, 1)).shares()
    assert shares[: round(topics / 10)].sum() == pytest.approx(0.55)
    assert np.allclose(shares[1:] / shares[:-1], shares[1] / shares[0])


def test_news_feeds_are_zipf_with_one_half() -> None:
    assert np.allclose(Workload().shares(), Workload(popularity="zipf", exponent=0.5).shares())


def test_any_part_of_the_nodes_can_be_drawn_on_its_own() -> None:
    workload = Workload(nodes=500, topics=30, subscriptions=(2, 9), correlated=0.4)
    whole = workload.interests(3)
    counts, topics = workload.part(3, 100, 230)
    assert np.array_equal(counts, np.diff(whole.starts)[100:230])
    assert np.array_equal(topics, whole.topics[whole.starts[100] : whole.starts[230]])


def test_whoever_comes_back_has_other_interests_but_the_same_seed_has_the_same() -> None:
    workload = Workload(nodes=200)
    first, again, later = (workload.part(7, 0, 200, life=life)[1] for life in (0, 0, 1))
    assert np.array_equal(first, again)
    assert np.mean(first != later) > 0.5
    assert not np.array_equal(first, workload.part(8, 0, 200)[1])


def test_correlation_is_what_a_group_has_in_common() -> None:
    def likeness(correlated: float) -> float:
        interests = Workload(nodes=400, topics=200, correlated=correlated, groups=4, popularity="uniform").interests(1)
        wants = np.zeros((400, 200))
        wants[np.repeat(np.arange(400), 10), interests.topics] = 1
        return float((wants @ wants.T).mean())

    assert likeness(0.0) == pytest.approx(0.5, abs=0.1)  # 10 of 200, twice
    assert likeness(0.5) > 1.5
    assert likeness(1.0) > 2.5
    everybody = Workload(nodes=50, correlated=1.0, groups=1).interests(1)
    assert (everybody.topics.reshape(50, 10) == everybody.topics[:10]).all()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"nodes": 0}, "nodes must be"),
        ({"topics": 0}, "topics must be"),
        ({"subscriptions": (5, 3)}, "at least and at most"),
        ({"topics": 5}, "within topics"),
        ({"exponent": float("nan")}, "exponent"),
        ({"correlated": 1.5}, "share"),
        ({"groups": 0}, "groups"),
    ],
)
def test_a_workload_that_cannot_be_says_why(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Misuse, match=sentence):
        Workload(**wrong)


@pytest.mark.parametrize(
    ("starts", "topics", "sentence"),
    [
        ([0, 2], [1, 1], "ascending order"),
        ([0, 2], [3, 1], "ascending order"),
        ([0, 1, 2], [9, 12], "from 0 to 9"),
        ([0, 1], [1, 2], "starts must ascend"),
        ([0, 2, 1, 3], [1, 2, 3], "starts must ascend"),
    ],
)
def test_interests_that_cannot_be_say_why(starts: list[int], topics: list[int], sentence: str) -> None:
    with pytest.raises(Misuse, match=sentence):
        InterestArrays(np.array(starts, np.int64), np.array(topics, np.int32), 10)


def test_nodes_without_interests_are_fine() -> None:
    made = InterestArrays(np.array([0, 0, 2, 2, 4, 4], np.int64), np.array([1, 3, 0, 2], np.int32), 5)
    assert [made.of(node) for node in range(5)] == [[], [1, 3], [], [0, 2], []]
