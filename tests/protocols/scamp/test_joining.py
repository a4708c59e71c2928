"""What views look like after joins, renewals and departures."""

import math
import statistics

import pytest

from gossamer.core.machine import SECOND_US
from gossamer.protocols.scamp.params import Params
from gossamer.protocols.search.params import Params as SearchParams
from gossamer.sim.town import Town
from protocols.towns import camcast, components, scamp, views

NEVER = 100_000 * SECOND_US
JOINS_ONLY = {
    "lease_us": NEVER,
    "first_lease_us": NEVER,
    "beat_every_us": NEVER // 100,
    "isolated_us": NEVER,
    "size_every_us": NEVER // 100,
    "epoch_us": NEVER,
}
"Nothing but joins happens: views are what SCAMP's arithmetic makes of them."


def joined(n: int, seed: int, *, gateway: bool = False, **changes: int) -> Town:
    """n nodes that join one after the other, through random members or all through the first."""
    search = SearchParams(answers=1 if gateway else 5)  # a gateway names itself, and nobody else
    town = camcast(seed, scamp=Params(**{**JOINS_ONLY, **changes}), search=search)
    for peer in range(n):
        town.start(peer, ".", contacts=[0] if gateway and peer else None)
        town.run(0.5)
    town.run(2)
    return town


def mean_view(town: Town) -> float:
    return statistics.mean(len(view) for view in views(town, ".").values())


def views_by_arithmetic(n: int, c: int) -> float:
    """Each join adds the contact's view, c copies and the newcomer's own contact: the mean is (c + 1)(H_n - 1)."""
    return (c + 1) * sum(1 / i for i in range(2, n + 1))


@pytest.mark.parametrize("c", [0, 1, 2])
def test_views_grow_to_c_plus_1_times_ln_n(c: int) -> None:
    n = 120
    mean = statistics.mean(mean_view(joined(n, seed, extra_copies=c)) for seed in (1, 2))
    assert mean == pytest.approx(views_by_arithmetic(n, c), rel=0.25)
    assert mean == pytest.approx((c + 1) * math.log(n), rel=0.4)


def test_indirection_makes_a_single_gateway_harmless() -> None:
    n = 150
    walked = joined(n, 1, gateway=True)
    assert mean_view(walked) == pytest.approx(views_by_arithmetic(n, 1), rel=0.25)
    assert max(map(len, views(walked, ".").values())) < 4 * math.log(n) * 2


def test_without_indirection_a_gateway_skews_views_far_beyond_ln_n() -> None:
    """Every newcomer takes the gateway for its contact, whose view, the largest, is copied each time."""
    n = 60
    plain, walked = joined(n, 1, gateway=True, indirection=0), joined(n, 1, gateway=True)
    assert mean_view(plain) > 2 * mean_view(walked)
    assert len(scamp(plain, 0).views["."].holders) == n - 1
    assert len(scamp(walked, 0).views["."].holders) < n / 4


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_joins_leave_one_connected_graph_in_which_nobody_holds_itself(seed: int) -> None:
    town = joined(80, seed)
    assert components(views(town, ".")) == 1
    assert all(peer not in scamp(town, peer).about(".") for peer in range(80))
    assert all(scamp(town, peer).ready(".") for peer in range(80))


def test_those_who_are_held_know_by_whom() -> None:
    town = joined(40, 4)
    for peer, view in views(town, ".").items():
        for other in view:
            assert peer in scamp(town, other).views["."].holders


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_leaving_with_replacement_keeps_the_rest_connected(seed: int) -> None:
    town = joined(80, seed)
    before = mean_view(town)
    for peer in range(0, 80, 2):
        town.leave(peer)
        town.run(0.2)
    left = views(town, ".")
    assert components(left) == 1
    assert not any(other % 2 == 0 for view in left.values() for other in view)
    assert mean_view(town) > before / 2


def test_everybody_starting_at_once_ends_in_one_community() -> None:
    for seed in range(5):
        town = camcast(seed)
        for peer in range(40):
            town.start(peer, ".")
        town.run(15)
        assert components(views(town, ".")) == 1, seed
        assert {scamp(town, peer).size(".") for peer in range(40)} == {40}


def test_renewals_hold_the_mean_view_where_it_should_be() -> None:
    """Over eight leases. The newcomer's rule, repeated at each renewal, would add c every time."""
    second = SECOND_US
    params = Params(lease_us=20 * second, first_lease_us=20 * second, size_every_us=second)
    town = camcast(1, scamp=params)
    for peer in range(40):
        town.start(peer, ".")
        town.run(0.05)
    means = []
    for _ in range(8):
        town.run(20)
        means.append(mean_view(town))
    wanted = 2 * math.log(40)
    assert all(0.7 * wanted < mean < 1.9 * wanted for mean in means), means
    assert means[-1] < 1.3 * statistics.mean(means)


@pytest.mark.parametrize(
    ("n", "seeds"),
    [
        (27, 3),
        pytest.param(79, 3, marks=pytest.mark.slow),
        pytest.param(84, 3, marks=pytest.mark.slow),
        pytest.param(300, 2, marks=pytest.mark.slow),
        pytest.param(1000, 1, marks=pytest.mark.slow),
    ],
)
def test_over_a_lease_views_average_ln_n_and_stay_connected_even_without_copies_to_spare(n: int, seeds: int) -> None:
    """c = 0, who joins waits for the one before. Right after many renewals at once views are larger, at the end of
    leases smaller: so the mean is taken over a whole lease."""
    means = []
    for seed in range(1, seeds + 1):
        town = camcast(seed, scamp=Params(extra_copies=0))
        for peer in range(n):
            town.start(peer, ".")
            town.seconds_until(lambda town=town, peer=peer: scamp(town, peer).ready("."), 30, 0.02)
        town.run(60)
        for _ in range(10):
            town.run(6)
            means.append(mean_view(town))
            assert components(views(town, ".")) == 1
    assert statistics.mean(means) == pytest.approx(math.log(n), rel=0.1)
