"""The formulas: what probabilities must keep, they keep; right equations they equal; measurements they predict."""

import math
from collections import Counter
from itertools import combinations, product
from statistics import fmean

import numpy as np
import pytest

from gossamer.fast.hpmcast import run
from gossamer.protocols.hpmcast import rules, shape, theory
from gossamer.protocols.hpmcast.addresses import address_of, branch, view
from gossamer.protocols.hpmcast.experiment.setting import HierarchySetting
from gossamer.protocols.hpmcast.params import Params
from gossamer.protocols.hpmcast.shape import Shape

SHAPES = [Shape(22, 3), Shape(10, 4, 2, 3), Shape(5, 2, 4, 1, 0.8), Shape(64, 1), Shape(4, 6)]


@pytest.mark.parametrize("size", [1, 2, 60, 300])
@pytest.mark.parametrize("outside", [0, 3])
def test_from_every_state_the_chain_goes_somewhere(size: int, outside: int) -> None:
    for chance in (0.0, theory.reach(size, 2, 0.9), 0.5, 1.0):
        moves = theory.matrix(size, chance, outside)
        assert np.abs(moves.sum(axis=1) - 1).max() < 1e-9
        assert not np.tril(moves, -1).any()  # nobody forgets


def test_a_transition_is_a_binomial() -> None:
    n, j, k, q = 12, 3, 7, 1 - theory.reach(12, 2)
    by_hand = math.comb(n - j, k - j) * (1 - q**j) ** (k - j) * q ** (j * (n - k))
    assert theory.matrix(n, 1 - q)[j, k] == pytest.approx(by_hand, rel=1e-12)


def test_whoever_is_picked_for_sure_still_hears_only_what_arrives() -> None:
    """With more picks than there are participants each is picked; a copy is lost as before."""
    assert theory.reach(5, 9, 0.6) == theory.reach_paper(5, 9, 0.6) == 0.6
    assert theory.reach(5, 9) == 1.0
    lossy = HierarchySetting.regular(5, 1, interest=1.0, loss=0.4, params=Params(variant="rfpbcast", fanout=9, hops=1))
    heard = fmean(each.delivery for each in run(lossy, range(2000)))
    first = rules.rounds_whole(5, 1.0, 9, 1.0)  # the publisher alone gossips: nothing is passed on twice
    assert heard == pytest.approx(1 - (1 - theory.reach(5, 9, 0.6)) ** first, abs=0.02)


def test_large_chains_leave_nothing_out_that_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = theory.reach(400, 2, 0.9)
    for outside in (0, 2):
        by_rows = theory.spread(400, chance, 8, 1, outside)
        with monkeypatch.context() as patched:
            patched.setattr(theory, "SMALL", 400)
            whole = theory.spread(400, chance, 8, 1, outside)
        assert np.abs(by_rows - whole).max() < 1e-12
    assert theory.spread(400, chance, 0)[1] == 1.0


def test_the_printed_sum_loses_what_lies_before() -> None:
    chance = theory.reach(50, 2)
    assert theory.spread(50, chance, 4).sum() == pytest.approx(1, abs=1e-12)
    assert theory.spread_paper(50, chance, 2, 4).sum() < 0.999


@pytest.mark.parametrize(("total", "fanout", "outside"), [(1, 3, 0), (5, 2, 1), (40, 1, 2), (60, 7, 0), (60, 90, 1)])
def test_from_every_state_picks_that_differ_lead_somewhere_too(total: int, fanout: int, outside: int) -> None:
    moves = theory.matrix_distinct(total, 61, fanout, 0.9, outside)
    assert np.abs(moves.sum(axis=1) - 1).max() < 1e-9
    assert not np.tril(moves, -1).any()


@pytest.mark.parametrize("outside", [0, 1])
def test_picks_that_differ_are_counted_one_by_one(outside: int) -> None:
    """Of five, three want the event and up to two of them have it: all that two or three tellers can pick."""
    size, fanout, total, having = 5, 2, 3, 2
    tellers = [*range(having), *range(total, total + outside)]
    found: Counter[int] = Counter()
    for picks in product(*(list(combinations([x for x in range(size) if x != me], fanout)) for me in tellers)):
        found[len({*range(having), *(x for pick in picks for x in pick if x < total)})] += 1
    row = theory.matrix_distinct(total, size, fanout, outside=outside)[having]
    assert row.tolist() == pytest.approx([found[count] / found.total() for count in range(total + 1)])


@pytest.mark.parametrize(
    ("size", "fanout", "interest", "loss", "runs"),
    [
        (300, 2, 0.05, 0.0, 800), (300, 2, 0.5, 0.0, 15), (300, 2, 1.0, 0.0, 20), (50, 1, 0.3, 0.0, 2000),
        (50, 3, 0.5, 0.2, 1000), (30, 2, 0.9, 0.4, 1500), (12, 4, 1.0, 0.2, 1500), (500, 4, 0.05, 0.3, 1500),
        (1000, 1, 1.0, 0.0, 5),
    ],
)  # fmt: skip
def test_pmcast_reaches_as_many_as_the_chain_says(
    size: int, fanout: int, interest: float, loss: float, runs: int
) -> None:
    """Within a point, in small systems and in large ones, from a few interested participants to all."""
    params = Params(variant="pmcast", fanout=fanout, expected_loss=loss)
    setting = HierarchySetting.regular(size, 1, interest=interest, loss=loss, params=params)
    found = [each for each in run(setting, range(runs)) if each.interested]
    audiences = Counter(each.interested for each in found)
    predicted = sum(
        count * theory.pmcast_delivery(size, fanout, others, interest, 1 - loss) for others, count in audiences.items()
    )
    assert fmean(each.delivery for each in found) == pytest.approx(predicted / len(found), abs=0.01)


def test_the_printed_chain_is_behind_in_small_systems() -> None:
    """It takes F picks for independent ones."""
    limit = rules.rounds_whole(30, 0.9, 2, 0.6)
    printed = theory.expected(theory.spread(27, theory.reach(30, 2, 0.6), limit))
    assert printed < theory.pmcast_infected(30, 2, 27, 0.6) - 0.3


@pytest.mark.slow
@pytest.mark.parametrize(("interest", "runs"), [(0.02, 200), (0.1, 60), (0.3, 40), (1.0, 20)])
def test_so_it_does_among_ten_thousand(interest: float, runs: int) -> None:
    setting = HierarchySetting.regular(10_000, 1, interest=interest, params=Params(variant="pmcast"))
    wanted = round(10_000 * interest)
    predicted = theory.pmcast_infected(10_000, 2, wanted, outside=1) / wanted
    assert fmean(each.delivery for each in run(setting, range(runs))) == pytest.approx(predicted, abs=0.01)


@pytest.mark.parametrize("made", SHAPES)
def test_views_are_as_large_as_the_equation_says(made: Shape) -> None:
    params = Params(delegates=made.delegates, fanout=made.fanout)
    (result,) = run(HierarchySetting.regular(made.branching, made.levels, params=params), [1])
    assert result.view_size == pytest.approx(made.view_size(), rel=1e-9)
    by_level = sum(made.view(level) for level in range(1, made.levels + 1))
    assert made.view_size() == by_level
    assert shape.view_size(made.size, made.levels, made.delegates) == pytest.approx(by_level, rel=1e-9)
    assert result.ranks == tuple(made.ranks(level) for level in range(1, made.levels + 1))
    assert sum(result.ranks) == made.size


@pytest.mark.parametrize(("size", "fanout", "arriving"), [(100, 2, 1.0), (10_648, 3, 0.9), (2, 1, 0.5)])
def test_rounds_are_what_the_equation_says(size: int, fanout: int, arriving: float) -> None:
    g = fanout * arriving
    printed = math.log(size) * (1 / g + 1 / math.log(g + 1))
    assert shape.rounds(size, fanout, arriving) == pytest.approx(printed, rel=1e-9)
    assert shape.rounds_paper(size, fanout, arriving) == pytest.approx(printed, rel=1e-9)
    assert rules.rounds(size, 0.5, fanout, arriving) == pytest.approx(
        shape.rounds(size * 0.5, fanout * 0.5, arriving), rel=1e-9
    )


def test_rounds_are_never_negative_but_in_print() -> None:
    assert shape.rounds(0.5, 1) == 0 == shape.rounds(1, 1)
    assert shape.rounds_paper(0.5, 1) < 0 == shape.rounds_paper(1, 1)


@pytest.mark.parametrize("made", SHAPES)
def test_depth_costs_no_time_where_everybody_is_interested_by_equation_28(made: Shape) -> None:
    alone = shape.rounds(made.size, made.fanout, made.arriving)
    assert made.rounds_shortened(1.0) == pytest.approx(alone, rel=1e-9)
    assert made.rounds_whole(1.0) >= made.rounds_total(1.0) >= made.rounds_shortened(1.0)


def test_interest_of_a_level_is_that_of_all_it_stands_for() -> None:
    made = Shape(22, 3)
    assert made.interest(1, 0.3) == pytest.approx(0.3)
    assert made.interest(2, 0.01) == pytest.approx(1 - 0.99**22)
    assert made.interest_paper(1, 0.01) == pytest.approx(made.interest(2, 0.01))  # one level off


@pytest.mark.parametrize("made", [each for each in SHAPES if each.delegates <= each.branching])
def test_updates_after_a_failure(made: Shape) -> None:
    assert made.updated() == pytest.approx(made.updated_paper(), rel=1e-12)
    assert 1 <= made.level_mean() <= made.levels


def test_as_many_are_told_of_a_failure_as_are_known() -> None:
    """(35) counts a delegate once, wherever it appears."""
    made = Shape(4, 3, 2)
    addresses = [address_of(number, (4, 4, 4)) for number in range(made.size)]
    for me in addresses:
        views = [view(addresses, branch(me, level), level, 2) for level in (1, 2, 3)]
        known = {peer for lines in views for _, standing in lines for peer in standing}
        assert len(known - {me}) == made.updated_paper()
    assert made.updated() == made.updated_paper()


def test_the_printed_mean_level_is_impossible() -> None:
    assert Shape(22, 3).level_mean_paper() < 0
    first, second = zip(*(Shape(a, levels).level_terms_paper() for a, levels in ((64, 2), (16, 3), (8, 4))))
    assert first[0] > first[-1]  # the text has both rising with depth
    assert second[0] > second[-1]


def test_slopes_are_those_of_the_view_size() -> None:
    for levels in (2.0, 5.0, 9.0):
        ahead, behind = (shape.view_size(10_000, levels + step, 3) for step in (1e-6, -1e-6))
        assert shape.view_slope(10_000, levels, 3) == pytest.approx((ahead - behind) / 2e-6, rel=1e-4)
    log_n = math.log(10_000)
    assert shape.view_slope_paper(10_000, log_n, 3) == pytest.approx(0, abs=1e-9)
    assert shape.view_bend_paper(10_000, log_n, 3) == pytest.approx(3 * math.e / log_n)
    assert shape.view_slope(10_000, shape.best_depth(10_000, 3), 3) == pytest.approx(0, abs=1e-9)
    assert shape.best_depth(10_000, 3) < log_n < 1.1 * shape.best_depth(10_000, 3)


def test_the_chain_of_levels_agrees_with_the_product() -> None:
    made = Shape(6, 3, 2, 2)
    states = theory.entities_infected(made, 1, 1.0)
    assert states.sum() == pytest.approx(1, abs=1e-9)
    assert theory.expected(states) / made.size == pytest.approx(theory.delivery_from_means(made, 1.0), rel=1e-9)
    assert theory.infected_paper(made, 1.0) == pytest.approx(theory.expected(states), rel=1e-9)


def test_the_printed_product_counts_a_parents_interest_twice() -> None:
    made = Shape(22, 3)
    assert theory.infected_paper(made, 0.01) / (made.size * 0.01) < 0.5 * theory.delivery_from_means(made, 0.01)


@pytest.mark.parametrize(
    ("made", "interest"),
    [(Shape(22, 3), 0.01), (Shape(22, 3), 0.05), (Shape(22, 3), 0.3), (Shape(10, 4), 0.2), (Shape(30, 2, 2, 3), 0.1)],
)
def test_delivery_is_predicted(made: Shape, interest: float) -> None:
    params = Params(delegates=made.delegates, fanout=made.fanout)
    setting = HierarchySetting.regular(made.branching, made.levels, interest=interest, params=params)
    found = fmean(each.delivery for each in run(setting, range(60)))
    assert theory.delivery(made, interest) == pytest.approx(found, abs=0.012)


def test_delivery_of_one_level_is_that_of_pmcast() -> None:
    assert theory.delivery(Shape(201, 1), 0.5) == theory.pmcast_delivery(201, 2, 100, 0.5)
