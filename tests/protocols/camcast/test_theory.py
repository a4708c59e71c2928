"""CAMCAST in formulas: the papers' numbers and identities, and brute force wherever a formula is called exact."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.parts.sampling import fanout
from gossamer.protocols.camcast import comparisons, theory

PAPER = (10, 100, 1000)
CHANCES = st.floats(0.01, 0.99)

always_alike = settings(derandomize=True, database=None, deadline=None, max_examples=40)


@st.composite
def climbing(draw: st.DrawFn) -> tuple[int, float, int, float, float]:
    """size, electors, links, targets, success"""
    links = draw(st.integers(1, 6))
    return draw(st.integers(1, 500)), draw(st.floats(0.1, 20)), links, draw(st.floats(0.1, links)), draw(CHANCES)


def binomial(n: int, p: float) -> list[float]:
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


# Climbing


@pytest.mark.parametrize("size", [1, 2, 5, 12])
@pytest.mark.parametrize(("links", "targets", "success"), [(3, 1, 0.85), (1, 1, 0.5), (4, 2, 1.0), (5, 5, 0.3)])
def test_the_exact_climb_is_the_sum_over_electors_and_targets(
    size: int, links: int, targets: int, success: float
) -> None:
    stays = sum(
        p_chosen * p_told * (1 - success) ** told
        for chosen, p_chosen in enumerate(binomial(size, min(1, 5 / size)))
        for told, p_told in enumerate(binomial(chosen * links, targets / links))
    )
    assert theory.climb(size, 5, links, targets, success) == pytest.approx(1 - stays, abs=1e-12)


@always_alike
@given(climbing())
def test_the_paper_never_underestimates_a_climb(case: tuple[int, float, int, float, float]) -> None:
    assert theory.climb_paper(*case) >= theory.climb(*case) - 1e-12


def test_the_paper_is_right_when_nothing_about_a_climb_is_random_but_the_loss() -> None:
    assert theory.climb_paper(4, 4, 2, 2, 0.3) == pytest.approx(theory.climb(4, 4, 2, 2, 0.3))


@pytest.mark.parametrize(("size", "never"), [(20, 0.0209), (7, 0.0075), (1000, 0.0295)])
def test_now_and_then_no_upward_message_is_even_sent(size: int, never: float) -> None:
    assert 1 - theory.climb_sent(size, 5, 3, 1) == pytest.approx(never, abs=5e-5)


@always_alike
@given(climbing())
def test_an_event_climbs_no_oftener_than_it_is_sent_up(case: tuple[int, float, int, float, float]) -> None:
    assert theory.climb(*case) <= theory.climb_sent(*case[:-1]) + 1e-12


def test_more_links_for_the_same_targets_make_a_climb_less_likely_which_the_paper_does_not_see() -> None:
    exact = [theory.climb(100, 5, links, 1, 0.85) for links in (1, 2, 3, 10)]
    assert exact == sorted(exact, reverse=True)
    assert len({theory.climb_paper(100, 5, links, 1, 0.85) for links in (1, 2, 3, 10)}) == 1


def test_a_climb_stays_precise_among_a_hundred_million() -> None:
    limit = -math.expm1(-5 * (1 - (1 - 0.85 / 3) ** 3))
    assert theory.climb(10**8, 5, 3, 1, 0.85) == pytest.approx(limit, rel=1e-7)


def test_a_community_that_was_not_reached_never_climbs() -> None:
    assert theory.climb(10, 10, 1, 1, 1.0, reached=0.0) == 0.0
    assert theory.climb(10, 10, 1, 1, 1.0, upper_alive=0.0) == 0.0


def test_climbing_over_fixed_links_is_the_mean_over_all_tables() -> None:
    tables = [sum(peer < 2 for peer in table) for table in itertools.combinations(range(4), 2)]
    elected, told = 1.5 / 2, 0.5 * 0.7

    def missed(live: int) -> float:
        return 1 - elected * (1 - (1 - told) ** live)

    own = np.mean([missed(one) * missed(other) for one in tables for other in tables])
    same = np.mean([missed(one) * missed(one) for one in tables])
    case = (2, 1.5, 2, 1, 0.7, 4, 2)
    assert theory.climb_stillborn(*case) == pytest.approx(1 - own)
    assert theory.climb_stillborn(*case, shared=True) == pytest.approx(1 - same)


@always_alike
@given(climbing(), st.integers(1, 40), st.data())
def test_links_that_die_together_climb_least_and_distinct_links_most(
    case: tuple[int, float, int, float, float], above: int, data: st.DataObject
) -> None:
    upper_size = case[2] + above
    live = data.draw(st.integers(0, upper_size))
    own = theory.climb_stillborn(*case, upper_size, live)
    assert theory.climb_stillborn(*case, upper_size, live, shared=True) <= own + 1e-12
    assert theory.climb(*case, upper_alive=live / upper_size) <= own + 1e-12


@always_alike
@given(climbing())
def test_links_to_a_community_alive_are_all_alike(case: tuple[int, float, int, float, float]) -> None:
    for shared in (False, True):
        assert theory.climb_stillborn(*case, 50, 50, shared=shared) == pytest.approx(theory.climb(*case))


# Reach


def final_reach(size: int, live: int, targets: tuple[tuple[int, ...], ...]) -> int:
    informed, new = {0}, [0]
    while new:
        heard = set(targets[new.pop()]) - informed
        heard = {peer for peer in heard if peer < live}
        informed |= heard
        new += sorted(heard)
    return len(informed)


@pytest.mark.parametrize(("size", "live", "degree"), [(4, 4, 1), (4, 3, 1), (4, 4, 2), (4, 3, 2), (3, 2, 2)])
def test_the_law_of_reach_is_that_of_all_pictures_drawn_by_hand(size: int, live: int, degree: int) -> None:
    success = 0.6
    choices = []
    for me in range(live):
        picks = list(itertools.combinations([peer for peer in range(size) if peer != me], degree))
        choices.append([
            (tuple(itertools.compress(pick, kept)), math.prod(success if k else 1 - success for k in kept) / len(picks))
            for pick in picks
            for kept in itertools.product((0, 1), repeat=degree)
        ])  # fmt: skip
    law = [0.0] * (live + 1)
    for drawn in itertools.product(*choices):
        law[final_reach(size, live, tuple(t for t, _ in drawn))] += math.prod(p for _, p in drawn)
    assert theory.reach_distribution(size, degree, success, live) == pytest.approx(law)


@always_alike
@given(st.integers(2, 40), st.integers(0, 12), st.floats(0, 1), st.data())
def test_the_law_of_reach_sums_to_one_and_knows_its_seeds(
    size: int, degree: int, success: float, data: st.DataObject
) -> None:
    live = data.draw(st.integers(1, size))
    seeds = data.draw(st.integers(1, live))
    law = theory.reach_distribution(size, min(degree, size - 1), success, live, seeds)
    assert law.sum() == pytest.approx(1)
    assert law.min() >= 0
    assert not law[:seeds].any()


def test_telling_everybody_without_loss_reaches_everybody() -> None:
    for reached in (theory.all_reached, theory.all_reached_exact, theory.share_reached):
        assert reached(9, 8, 1.0, 9) == pytest.approx(1, abs=1e-9)


def test_a_process_alone_has_reached_everybody() -> None:
    for reached in (theory.all_reached, theory.all_reached_exact, theory.share_reached):
        assert reached(1, 0, 0.5, 1) == reached(5, 3, 0.5, 1) == 1.0


@pytest.mark.parametrize(
    ("size", "live", "extra", "success"),
    [(1000, 1000, 5, 0.85), (100, 100, 5, 0.85), (10, 10, 5, 0.85), (300, 300, 2, 0.85), (1000, 500, 5, 0.85)],
)
def test_the_approximations_of_reach_are_close_to_the_exact_law(
    size: int, live: int, extra: float, success: float
) -> None:
    case = (size, fanout(size, extra), success, live)
    law = theory.reach_distribution(*case)
    assert theory.all_reached(*case) == pytest.approx(law[live], abs=0.004)
    assert theory.share_reached(*case) == pytest.approx(law @ np.arange(live + 1) / live, abs=0.0002)


@pytest.mark.parametrize(("size", "live", "extra", "success"), [(100, 30, 5, 0.85), (10, 5, 5, 0.85), (20, 12, 2, 0.7)])
def test_among_few_or_mostly_dead_the_approximations_are_off_by_hundredths(
    size: int, live: int, extra: float, success: float
) -> None:
    case = (size, fanout(size, extra), success, live)
    law = theory.reach_distribution(*case)
    assert theory.all_reached(*case) == pytest.approx(law[live], abs=0.04)
    assert theory.share_reached(*case) == pytest.approx(law @ np.arange(live + 1) / live, abs=0.025)


def test_without_loss_and_rounding_a_large_community_follows_the_paper() -> None:
    size, told = 10**7, 18
    extra = told - math.log(size)
    assert theory.all_reached(size, told, 1.0, size) == pytest.approx(theory.all_reached_paper(extra), abs=1e-4)


def test_loss_and_rounding_cost_a_thousand_processes_seven_points_of_the_papers_reliability() -> None:
    assert theory.all_reached_paper(5) == pytest.approx(0.9933, abs=1e-4)
    assert theory.all_reached_exact(1000, fanout(1000, 5), 0.85, 1000) == pytest.approx(0.9202, abs=1e-4)


def test_an_event_whose_first_messages_are_lost_dies_out() -> None:
    assert theory.dies_out(100, 0, 1.0, 100) == 1.0
    assert theory.dies_out(100, 5, 1.0, 100) == 0.0
    assert theory.dies_out(100, 2, 0.4, 100) == pytest.approx(1, abs=1e-6)
    rho = theory.dies_out(100, 2, 0.75, 100)
    assert rho == pytest.approx((0.25 + 0.75 * rho) ** 2)
    assert rho == pytest.approx(1 / 9)


# Hierarchies


def test_one_community_is_as_reliable_as_its_gossip() -> None:
    assert theory.reliability([50], 3, 5, 3, 1, 0.9) == theory.all_reached(50, fanout(50, 3), 0.9, 50)


def test_a_single_community_pays_for_a_climb_in_the_paper() -> None:
    paper = theory.reliability_paper([50], 3, 5, 3, 1, 0.9)
    assert paper == pytest.approx(theory.all_reached_paper(3) * theory.climb_paper(50, 5, 3, 1, 0.9))


def test_the_paper_is_optimistic_about_its_own_experiment() -> None:
    paper = theory.reliability_paper(PAPER, 5, 5, 3, 1, 0.85)
    ours = theory.reliability(PAPER, 5, 5, 3, 1, 0.85, inside=theory.all_reached_exact)
    assert paper == pytest.approx(0.9798, abs=5e-4)
    spreads, climbs = 0.9995 * 0.9660 * 0.9202, 0.9596 * 0.9577
    assert ours == pytest.approx(spreads * climbs, abs=5e-4)


def test_a_hierarchy_with_a_dead_community_delivers_nothing() -> None:
    assert theory.reliability([1, 100], 5, 5, 3, 1, 0.85, crashed_share=1.0) == 0.0


def spread(rng: random.Random, size: int, live: int, told: int, success: float, informed: set[int]) -> set[int]:
    informed, new = set(informed), sorted(informed)
    while new:
        me = new.pop()
        picks = rng.sample([peer for peer in range(size) if peer != me], told)
        heard = {peer for peer in picks if peer < live and rng.random() < success} - informed
        informed |= heard
        new += sorted(heard)
    return informed


def test_a_simulated_hierarchy_is_about_as_reliable_as_the_formula_and_not_less() -> None:
    rng, runs, complete = random.Random(11), 1500, 0
    (upper, lower), (upper_live, lower_live) = (10, 20), (8, 16)
    for _ in range(runs):
        below = spread(rng, lower, lower_live, fanout(lower, 4), 0.9, {0})
        entries = {
            peer
            for _me in sorted(below)
            if rng.random() < 4 / lower
            for peer in rng.sample(range(upper), 3)
            if rng.random() < 2 / 3 * 0.9 and peer < upper_live
        }
        above = spread(rng, upper, upper_live, fanout(upper, 4), 0.9, entries)
        complete += len(below) == lower_live and len(above) == upper_live
    formula = theory.reliability([upper, lower], 4, 4, 3, 2, 0.9, 0.2, inside=theory.all_reached_exact)
    noise = math.sqrt(formula * (1 - formula) / runs)
    assert -3 * noise < complete / runs - formula < 0.02 + 3 * noise


# Latency


def test_a_single_community_beats_its_own_best_case_only_in_the_papers_average() -> None:
    assert theory.latency_average_paper([100]) < theory.latency_best([100])
    assert theory.latency_average([100]) == theory.latency_best([100]) == theory.latency_worst([100])


@always_alike
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=6), st.floats(0, 3))
def test_the_average_latency_lies_between_best_and_worst(sizes: list[int], constant: float) -> None:
    best, worst = theory.latency_best(sizes, constant), theory.latency_worst(sizes, constant)
    assert best - 1e-9 <= theory.latency_average(sizes, constant) <= worst + 1e-9


@always_alike
@given(st.lists(st.integers(16, 10**6), min_size=1, max_size=6))
def test_from_sixteen_processes_on_the_largest_community_bounds_the_latency(sizes: list[int]) -> None:
    levels, slowest = len(sizes), theory.rounds(max(sizes))
    assert theory.latency_best(sizes) <= levels - 1 + slowest + 1e-9
    assert theory.latency_worst(sizes) <= levels * slowest + levels - 1 + 1e-9
    assert theory.latency_average_paper(sizes) <= levels * (slowest / 2 + 1)


def test_a_small_community_may_take_more_rounds_than_a_larger_one() -> None:
    assert theory.rounds(5) > theory.rounds(15)
    assert [theory.rounds(size) for size in (1, 2, 3)] == [0, 1, 2]


@pytest.mark.parametrize(("sizes", "printed"), [(PAPER, 8.91), ([100] * 3, 8.83), ([100] * 5, 13.08)])
def test_the_average_latency_is_within_a_round_of_table_1(sizes: list[int], printed: float) -> None:
    assert theory.latency_average(sizes) == pytest.approx(printed, abs=1)


# Messages and memory


@pytest.mark.parametrize(
    ("population", "interested", "printed"), [(1110, 10, 11216), (300, 100, 1699), (500, 100, 3739)]
)
def test_parasites_of_broadcast_are_those_of_table_2(population: int, interested: int, printed: int) -> None:
    assert comparisons.broadcast_parasites(population, interested, 5, 0.85) == pytest.approx(printed, rel=0.005)


def test_parasites_are_counted_pair_by_pair() -> None:
    population, interested = 12, 5
    pairs = sum(to >= interested for me in range(population) for to in range(population) if to != me)
    told = fanout(population, 1)
    expected = told * 0.7 * pairs / (population - 1)
    assert comparisons.broadcast_parasites(population, interested, 1, 0.7) == pytest.approx(expected)


def test_the_bottom_climbs_and_the_root_does_not() -> None:
    inside = sum(size * fanout(size, 5) for size in PAPER)
    assert comparisons.total_messages(PAPER, 5, 5, 3, 1) == pytest.approx(inside + 5 + 5)
    assert comparisons.total_messages([40], 5, 5, 3, 1) == comparisons.gossip_messages(40, 5)


def test_the_printed_total_climbs_from_the_root_and_not_from_the_bottom() -> None:
    sizes = [2, 100]
    inside = sum(comparisons.gossip_messages_paper(size, 5) for size in sizes)
    assert comparisons.total_messages_paper(sizes, 5, 5, 3, 1, 0.85) == pytest.approx(inside + 2 * 0.85)
    assert comparisons.total_messages(sizes, 5, 5, 3, 1) == pytest.approx(2 * 1 + 100 * 9 + 5)


@always_alike
@given(st.lists(st.integers(3, 10**6), min_size=1, max_size=6), st.floats(0, 9), st.floats(0, 99), st.integers(1, 9))
def test_both_bounds_hold_from_three_processes_on(sizes: list[int], extra: float, electors: float, links: int) -> None:
    bound = comparisons.total_messages_bound(sizes, extra, links) * (1 + 1e-12)
    assert comparisons.total_messages(sizes, extra, electors, links, links) <= bound
    assert comparisons.total_messages_paper(sizes, extra, electors, links, links, 1.0) <= bound
    assert bound <= comparisons.total_messages_loose_bound(sizes, extra, links) * (1 + 1e-11)


def test_communities_of_two_break_the_bound() -> None:
    sizes = [2] * 10
    assert comparisons.total_messages_paper(sizes, 0, 2, 3, 3, 1.0) > comparisons.total_messages_bound(sizes, 0, 3)


def test_upward_messages_arrive_as_often_as_transmissions_succeed() -> None:
    assert theory.upward_sent(1000, 5, 3, 1) == pytest.approx(5)
    assert theory.upward_sent(3, 5, 3, 2) == pytest.approx(6)
    assert comparisons.upward_received(1000, 5, 3, 1, 0.85) == pytest.approx(4.25)


def test_a_hierarchy_without_levels_is_a_broadcast() -> None:
    assert comparisons.multicast_messages([300], 5) == comparisons.broadcast_messages(300, 5)
    assert comparisons.multicast_memory([300], 5) == comparisons.broadcast_memory(300, 5)
    assert comparisons.memory(300, 5, 3, root=True) == comparisons.broadcast_memory(300, 5)
    assert comparisons.multicast_reliability(1, 5) == comparisons.broadcast_reliability(5)


def test_hierarchical_broadcast_sends_to_every_entry_it_keeps() -> None:
    kept = comparisons.hierarchical_memory(10, 30, 4, 5)
    assert kept == pytest.approx(math.log(300) + 9)
    assert comparisons.hierarchical_messages(10, 30, 4, 5) == pytest.approx(300 * kept)


def test_tables_of_damulticast_are_larger_by_their_factor() -> None:
    assert comparisons.memory_damulticast(1000, 3, 3) == pytest.approx(4 * math.log(1000) + 3)
    assert comparisons.memory_damulticast(10, 3, 3, root=True) == pytest.approx(4 * math.log(10))


@always_alike
@given(st.lists(st.integers(2, 10**6), min_size=2, max_size=6), st.floats(0, 9), st.integers(1, 9))
def test_a_leaf_never_keeps_less_than_with_multicast_and_a_root_always_does(
    sizes: list[int], extra: float, links: int
) -> None:
    assert not comparisons.smaller_than_multicast(sizes, len(sizes) - 1, extra, links)
    assert comparisons.smaller_than_multicast(sizes, 0, extra, links)


def test_in_between_the_links_must_be_fewer_than_the_entries_below() -> None:
    assert comparisons.smaller_than_multicast(PAPER, 1, 5, 11)
    assert not comparisons.smaller_than_multicast(PAPER, 1, 5, 12)


def test_with_the_settings_of_its_implementation_camcast_keeps_more_than_hierarchical_broadcast() -> None:
    assert comparisons.memory(28, 0, 4) > comparisons.hierarchical_memory(3, 28, 0, 0)


# As reliable as the others

LEVELS = st.integers(2, 8)
SURE = st.floats(0.5, 0.999999)
TERMS = st.integers(1, 60)


@always_alike
@given(TERMS, LEVELS, SURE, st.floats(0.001, 0.999), st.booleans())
def test_the_matching_extra_put_back_gives_the_reliability_of_the_baseline(
    terms: int, levels: int, climb: float, part: float, literal: bool
) -> None:
    climbs = levels if literal else levels - 1
    low, high = comparisons.matching_range(terms, levels, climb, climbs)
    extra = low + part * (high - low)
    own = comparisons.matching_extra(terms, extra, levels, climb, climbs)
    assert own >= -1e-9
    ours = theory.all_reached_paper(own) ** levels * climb**climbs
    assert ours == pytest.approx(math.exp(-terms * math.exp(-extra)), rel=1e-9)


@always_alike
@given(TERMS, LEVELS, SURE)
def test_the_range_of_matches_ends_at_zero_and_at_infinity(terms: int, levels: int, climb: float) -> None:
    low, high = comparisons.matching_range(terms, levels, climb)
    assert comparisons.matching_extra(terms, low, levels, climb) == pytest.approx(0, abs=1e-9)
    assert comparisons.matching_extra(terms, high + 1e-6, levels, climb) == math.inf
    assert comparisons.matching_extra(terms, high - 1e-6, levels, climb) > comparisons.matching_extra(
        terms, high - 1e-3, levels, climb
    )


@always_alike
@given(LEVELS, SURE, st.integers(1, 50))
def test_counting_a_climb_per_level_gives_the_printed_ranges(levels: int, climb: float, groups: int) -> None:
    log = math.log(climb)
    printed = {
        1: (-math.log(levels * (1 - log)), -math.log(-levels * log)),
        levels: (-math.log(1 - log), -math.log(-log)),
        groups + 1: (-math.log(levels * (1 - log) / (groups + 1)), -math.log(-levels * log / (groups + 1))),
    }
    for terms, ends in printed.items():
        assert comparisons.matching_range(terms, levels, climb, levels) == pytest.approx(ends)


@always_alike
@given(LEVELS, st.floats(0.9999, 0.999999), st.floats(0, 5), st.integers(1, 50), st.integers(3, 1000))
def test_counting_a_climb_per_level_gives_the_printed_bounds_on_links(
    levels: int, climb: float, extra: float, groups: int, size: int
) -> None:
    grown, population = math.exp(extra) * math.log(climb), 10 * levels * size
    broadcast = comparisons.links_below_broadcast(population, size, extra, levels, climb, levels)
    multicast = comparisons.links_below_multicast(size, extra, levels, climb, levels)
    hierarchical = comparisons.links_below_hierarchical(groups, size, size, extra, levels, climb, levels)
    assert broadcast == pytest.approx(
        math.log(population) + math.log(1 + levels * grown) - math.log(size) - math.log(levels)
    )
    assert multicast == pytest.approx((levels - 1) * (math.log(size) + extra) + math.log(1 + grown))
    assert hierarchical == pytest.approx(
        extra + math.log(groups) + math.log(groups + 1 + levels * grown) - math.log(levels), abs=1e-9
    )


@always_alike
@given(LEVELS, SURE, st.floats(0, 9), st.integers(1, 10**6))
def test_a_chain_of_equal_communities_never_keeps_less_than_broadcast(
    levels: int, climb: float, extra: float, size: int
) -> None:
    assert comparisons.links_below_broadcast(levels * size, size, extra, levels, climb) <= 1e-9


def test_groups_larger_than_communities_leave_room_for_more_links() -> None:
    same = comparisons.links_below_hierarchical(10, 50, 50, 3, 3, 0.999)
    assert comparisons.links_below_hierarchical(10, 100, 50, 3, 3, 0.999) == pytest.approx(same + math.log(2))


def test_climbs_that_never_fail_match_any_baseline_with_its_own_extra() -> None:
    assert comparisons.matching_range(3, 3, 1.0)[1] == math.inf
    assert comparisons.matching_extra(3, 5, 3, 1.0) == pytest.approx(5)


def test_climbs_that_always_fail_match_nothing() -> None:
    assert comparisons.matching_extra(3, 5, 3, 0.0) == math.inf
    assert comparisons.links_below_multicast(100, 5, 3, 0.0) == -math.inf


def test_hierarchical_broadcast_has_a_term_per_group_and_one_between() -> None:
    assert comparisons.hierarchical_reliability(7, 4, 4) == pytest.approx(comparisons.broadcast_reliability(4) ** 8)


def test_with_the_papers_settings_camcast_cannot_match_the_papers_baselines() -> None:
    climb = theory.climb(1000, 5, 3, 1, 0.85)
    assert comparisons.matching_range(3, 3, climb)[1] < 5
    assert comparisons.matching_extra(3, 5, 3, climb) == math.inf
