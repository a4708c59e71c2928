"""Settings of experiments, and what seeds make of them: trees, subscriptions, publications, links that vanish."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from gossamer.core.errors import Misuse
from gossamer.protocols.recovery.experiment.setting import EpidemicSetting
from gossamer.protocols.recovery.experiment.topology import Edge, edges, half, happenings, neighbours, reconfigurations
from gossamer.protocols.recovery.experiment.workload import workload

STEADY = EpidemicSetting(dispatchers=20, patterns=10, rate=100.0, seconds=10.0)


def is_tree(links: list[Edge], dispatchers: int, degree: int) -> bool:
    beside = neighbours(links, dispatchers)
    whole = half(beside, 0) == list(range(dispatchers))
    return len(links) == dispatchers - 1 and whole and max(len(each) for each in beside) <= degree


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"dispatchers": 0}, "dispatchers must be"),
        ({"degree": 1}, "degree must be 2"),
        ({"degree": 61}, "degree must be"),
        ({"loss": 1.0}, "less than 1"),
        ({"loss": -0.1}, "loss is a probability"),
        ({"burst": 0.5}, "burst is a number of messages"),
        ({"burst": 3.0, "loss": 0.6}, "at most 0.5"),
        ({"loss_share": 0.0}, "loss_share"),
        ({"loss_period_s": 1.0, "loss": 0.6}, "raise loss_share"),
        ({"loss_period_s": 1.0, "burst": 2.0}, "not both"),
        ({"loss_period_s": -1.0}, "must not be negative"),
        ({"latency_us": 0}, "latency_us"),
        ({"reconfigure_every_s": 1.0, "repair_s": 0.0}, "repair_s must be more than 0"),
        ({"patterns": 0}, "patterns must be"),
        ({"subscriptions": 71}, "subscriptions must be"),
        ({"patterns_per_event": 0}, "patterns_per_event must be"),
        ({"rate": -1.0}, "rate must not be negative"),
        ({"seconds": 0.0}, "seconds must be more than 0"),
        ({"measure_from": 9.0, "measure_to": 5.0}, "in this order"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(changed: dict[str, Any], complaint: str) -> None:
    with pytest.raises(Misuse, match=complaint):
        EpidemicSetting(**changed)


# Trees


@pytest.mark.parametrize("shape", ["balanced", "random"])
@pytest.mark.parametrize(("dispatchers", "degree"), [(1, 2), (2, 1), (3, 2), (50, 2), (100, 3), (100, 4), (101, 60)])
def test_a_tree_joins_everybody_and_nobody_has_too_many_neighbours(shape: Any, dispatchers: int, degree: int) -> None:
    setting = EpidemicSetting(dispatchers=dispatchers, degree=degree, tree=shape)
    assert is_tree(edges(setting, 7), dispatchers, degree)


def test_a_balanced_tree_is_filled_row_by_row() -> None:
    links = edges(EpidemicSetting(dispatchers=12, degree=3), 1)
    assert links == [(0, 1), (0, 2), (0, 3), (1, 4), (1, 5), (2, 6), (2, 7), (3, 8), (3, 9), (4, 10), (4, 11)]


def test_seeds_grow_different_random_trees() -> None:
    setting = EpidemicSetting(dispatchers=30, tree="random")
    assert edges(setting, 1) == edges(setting, 1)
    assert len({tuple(edges(setting, seed)) for seed in range(20)}) == 20


# Subscriptions and publications


def test_everybody_subscribes_to_as_many_different_patterns_each_as_likely() -> None:
    setting = EpidemicSetting(dispatchers=2000, patterns=10, subscriptions=3)
    subscribed = setting.subscribed(3)
    assert all(len(set(mine)) == 3 and mine == sorted(mine) for mine in subscribed)
    share = Counter(pattern for mine in subscribed for pattern in mine)
    assert all(abs(share[pattern] - 600) < 5 * (2000 * 0.3 * 0.7) ** 0.5 for pattern in range(10))


def test_publications_are_a_poisson_process_at_each_dispatcher() -> None:
    published = workload(STEADY, 5)
    assert (np.diff(published.at_us) >= 0).all()
    counts = np.bincount(published.source, minlength=20)
    assert abs(counts.sum() - 20_000) < 5 * 20_000**0.5
    assert 300 < counts.var() < 2500  # 1000 for a Poisson process
    for source in (0, 19):
        mine = published.source == source
        assert published.sequence[mine].tolist() == list(range(1, mine.sum() + 1))
        gaps = np.diff(published.at_us[mine]) / 10_000
        assert abs(gaps.mean() - 1) < 0.2
        assert abs(gaps.std() - 1) < 0.2


def test_an_event_matches_one_to_k_different_patterns_each_number_and_each_pattern_as_likely() -> None:
    patterns = workload(STEADY, 5).patterns
    matched = patterns >= 0
    numbers = np.bincount(matched.sum(axis=1), minlength=4)
    assert numbers[0] == 0
    assert (np.abs(numbers[1:] - len(patterns) / 3) < 5 * (len(patterns) * 2 / 9) ** 0.5).all()
    assert all(len(set(row[row >= 0])) == (row >= 0).sum() for row in patterns)
    assert (np.diff(np.where(matched, patterns, 10), axis=1) >= 0).all()
    share = np.bincount(patterns[matched], minlength=10) / len(patterns)
    assert np.allclose(share, 0.2, atol=0.02)


def test_every_pair_of_patterns_is_as_likely() -> None:
    setting = EpidemicSetting(dispatchers=20, patterns=4, patterns_per_event=2, rate=300.0, seconds=10.0)
    patterns = workload(setting, 1).patterns
    both = patterns[(patterns >= 0).all(axis=1)]
    pairs = Counter(map(tuple, both.tolist()))
    assert set(pairs) == {(a, b) for a in range(4) for b in range(a + 1, 4)}
    assert all(abs(count - len(both) / 6) < 5 * (len(both) * 5 / 36) ** 0.5 for count in pairs.values())


def test_nothing_is_published_where_the_rate_is_nothing() -> None:
    assert len(workload(EpidemicSetting(rate=0.0), 1).at_us) == 0


def test_a_storm_loses_as_much_on_average() -> None:
    setting = EpidemicSetting(loss=0.1, loss_period_s=0.5, loss_share=0.2)
    each = [setting.loss_at(now_us) for now_us in range(0, 2_000_000, 1000)]
    assert set(each) == {0.0, 0.5}
    assert np.mean(each) == pytest.approx(0.1)


# Links that vanish


@pytest.mark.parametrize("every_s", [0.3, 0.1, 0.02])
@pytest.mark.parametrize("shape", ["balanced", "random"])
def test_a_tree_stays_a_tree_whatever_vanishes(every_s: float, shape: Any) -> None:
    setting = EpidemicSetting(
        dispatchers=15, degree=3, tree=shape, seconds=3.0, measure_to=3.0, reconfigure_every_s=every_s
    )
    links, down = edges(setting, 2), list[Edge]()
    changes = happenings(setting, 2)
    assert len(reconfigurations(setting, 2)) == len(range(round(every_s * 1e6), 3_000_000, round(every_s * 1e6)))
    for when_us, vanishes, change in changes:
        assert change.up_us - change.down_us == 100_000
        assert when_us == (change.down_us if vanishes else change.up_us)
        if vanishes:
            assert change.old in links
            assert change.old not in down
            down.append(change.old)
        else:
            down.remove(change.old)
            links[links.index(change.old)] = change.new
        assert is_tree(links, 15, 3)
    assert not down


def test_where_everything_is_broken_nothing_more_can_vanish() -> None:
    window = {"seconds": 1.0, "measure_from": 0.0, "measure_to": 1.0}
    setting = EpidemicSetting(dispatchers=3, degree=2, reconfigure_every_s=0.01, repair_s=0.5, **window)
    assert len(reconfigurations(setting, 1)) == 4
