"""What a tree delivers by itself, against a walk over every pair of a small one."""

from itertools import product

import numpy as np
import pytest

from gossamer.protocols.recovery.experiment.setting import EpidemicSetting
from gossamer.protocols.recovery.experiment.topology import edges
from gossamer.protocols.recovery.experiment.workload import workload
from gossamer.protocols.recovery.theory import applies, distances, readers, unaided

SMALL = EpidemicSetting(
    dispatchers=12, degree=3, loss=0.2, patterns=9, subscriptions=2, patterns_per_event=3, rate=20.0, seconds=3.0,
    measure_from=1.0, measure_to=2.0,
)  # fmt: skip


def test_distances_count_links_both_ways() -> None:
    far = distances([(0, 1), (1, 2), (1, 3), (3, 4)], 5)
    assert far.tolist() == [[0, 1, 2, 2, 3], [1, 0, 1, 1, 2], [2, 1, 0, 2, 3], [2, 1, 2, 0, 1], [3, 2, 3, 1, 0]]


def test_readers_are_those_who_subscribed_to_any_pattern_of_an_event_of_the_window() -> None:
    sources, wanted = readers(SMALL, 5)
    published, mine = workload(SMALL, 5), SMALL.subscribed(5)
    inside = np.flatnonzero((published.at_us >= 1_000_000) & (published.at_us < 2_000_000))
    assert len(inside) > 100
    assert sources.tolist() == published.source[inside].tolist()
    for row, event in enumerate(inside):
        matched = {int(each) for each in published.patterns[event] if each >= 0}
        assert wanted[row].tolist() == [bool(matched & set(mine[who])) for who in range(12)]


@pytest.mark.parametrize("tree", ["balanced", "random"])
def test_a_pair_is_delivered_as_often_as_every_link_between_them_holds(tree: str) -> None:
    setting = EpidemicSetting(**{**{name: getattr(SMALL, name) for name in SMALL.__struct_fields__}, "tree": tree})
    far = distances(edges(setting, 3), 12)
    sources, wanted = readers(setting, 3)
    pairs = [(sources[row], who) for row, who in product(range(len(sources)), range(12)) if wanted[row, who]]
    expected = sum(0.8 ** far[source, who] for source, who in pairs) / len(pairs)
    assert unaided(setting, sources, wanted, 3) == pytest.approx(expected, rel=1e-12)


def test_where_nothing_is_expected_nothing_is_missing() -> None:
    quiet = EpidemicSetting(dispatchers=3, degree=2, rate=0.0, seconds=1.0, measure_from=0.0, measure_to=1.0)
    assert unaided(quiet, *readers(quiet, 1), 1) == 1.0


def test_it_holds_for_independent_loss_on_a_tree_that_stays() -> None:
    assert applies(SMALL)
    assert not applies(EpidemicSetting(burst=3.0))
    assert not applies(EpidemicSetting(loss_period_s=2.0))
    assert not applies(EpidemicSetting(reconfigure_every_s=1.0))
