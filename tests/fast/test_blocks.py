"""Blocks of processes do what the kernel does, in distribution: every fault model, several communities, any cut.

Seeds are fixed: what passes once passes always. A chi-square that is right falls below RARE once in 100,000.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from gossamer.core.setting import Faults, Publication, Setting
from gossamer.core.tally import ARRIVED, COLUMNS, LIVE, REACHED, SENT_INTRA, SENT_UP
from gossamer.fast import blocks, engine
from gossamer.fast.blocks import Plan
from gossamer.parts.blocks import cut
from gossamer.protocols.camcast import theory
from gossamer.protocols.camcast.params import Params
from protocols.hierarchies import NO_FAULTS, SMALL, Shape, chain, setting

KERNEL = "gossamer.protocols.camcast.kernel"
FAULTS = {"none": NO_FAULTS, "stillborn": Faults("stillborn", 0.3), "dynamic": Faults("dynamic", 0.25)}
LOSSY = [(0.8, 0.7), (0.9, 1.0), (1.0, 0.6)]
RARE = 1e-5
EXPECTED = 20
"Cells of a table are put together until they hold so many."


def alike(one: Sequence[Any], other: Sequence[Any]) -> float:
    """The p-value of both samples coming from one law."""
    values = np.union1d(one, other)
    table = np.array([[np.count_nonzero(np.asarray(sample) == value) for sample in (one, other)] for value in values])
    cells, cell = [], np.zeros(2)
    for row in table:
        cell = cell + row
        if cell.sum() >= EXPECTED:
            cells.append(cell)
            cell = np.zeros(2)
    if cells:
        cells[-1] = cells[-1] + cell
    return float(stats.chi2_contingency(np.array(cells), correction=False)[1]) if len(cells) > 1 else 1.0


def in_blocks(made: Setting, publication: Publication, runs: int, most: int, first: int = 1_000_000) -> Any:
    return np.array([blocks.spread(Plan(made, publication, first + run, most)) for run in range(runs)])


def assert_alike(made: Setting, publication: Publication, runs: int, most: int) -> None:
    ours = in_blocks(made, publication, runs, most)
    kernels = engine.tallies(KERNEL, made, publication, range(4 * runs))
    assert (ours[:, :, LIVE] == kernels[0, :, LIVE]).all()
    for c in range(len(made.communities)):
        for column, name in enumerate(COLUMNS):
            assert alike(ours[:, c, column], kernels[:, c, column]) > RARE, (made.communities[c].topic, name)
    for name, column in (("reached", REACHED), ("arrived", ARRIVED)):
        whole, kernels_whole = (each[:, :, column].sum(axis=1) for each in (ours, kernels))
        assert alike(whole, kernels_whole) > RARE, name


# Against the kernel


@pytest.mark.parametrize("fault", FAULTS)
def test_blocks_do_what_the_kernel_does(fault: str) -> None:
    made = setting(SMALL["chain of three"], Params(fanout_extra=-1.0, targets=2.0), LOSSY, FAULTS[fault])
    assert_alike(made, Publication(2), runs=160, most=9)


VARIANTS = (
    Params.camcast(),
    Params.live(),
    Params(fanout_extra=-1.0, electors=8.0, targets=2.5, links=5),
    (Params(fanout_extra=-2.0, electors=40.0), Params(small=12), Params(fanout_extra=-1.5, links=1)),
)


@pytest.mark.slow
@pytest.mark.parametrize("most", [3, 8, 1000])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("shape", SMALL)
@pytest.mark.parametrize("params", VARIANTS, ids=range(len(VARIANTS)))
def test_every_variant_does(params: Any, shape: str, fault: str, most: int) -> None:
    made = setting(SMALL[shape], params, LOSSY, FAULTS[fault])
    home = len(made.communities) - 1
    for climb in (None, 0.4):
        assert_alike(made, Publication(home, 0, climb), runs=120, most=most)


def test_who_is_reached_follows_the_exact_law() -> None:
    made = setting(Shape({".": 12}), Params(fanout_extra=0.0), 0.7)
    fanout = 2  # floor(ln 12)
    found = np.bincount(in_blocks(made, Publication(0), 400, 5)[:, 0, REACHED], minlength=13)
    law = theory.reach_distribution(12, fanout, 0.7, 12) * 400
    assert law[1:].min() > 2  # so that a chi-square is one
    assert not found[0]
    assert stats.chisquare(found[1:], law[1:], sum_check=False).pvalue > RARE


@pytest.mark.parametrize("most", [50_000, 300_000])
def test_a_million_are_reached_as_the_final_size_says(most: int) -> None:
    made = setting(Shape({".": 1_000_000}), Params(fanout_extra=-10.0), 0.85)  # each tells 3
    (row,) = blocks.spread(Plan(made, Publication(0), 5, most))
    x = 0.5
    for _ in range(100):
        x = 1 - np.exp(-3 * 0.85 * x)
    assert row[REACHED] / row[LIVE] == pytest.approx(x, rel=1e-3)
    assert row[SENT_INTRA] == 3 * row[REACHED]


# Blocks


@pytest.mark.parametrize("most", [1, 2, 7, 30, 1000])
def test_every_process_is_in_one_block(most: int) -> None:
    sizes = [1, 30, 7, 100]
    made = cut(sizes, most)
    assert made.size.max() <= most
    assert np.array_equal(made.start, np.cumsum([0, *made.size[:-1]]))
    assert np.bincount(made.community, made.size).tolist() == sizes
    for c, size in enumerate(sizes):
        for position in range(size):
            b = made.first[c] + position // made.width[c]
            assert made.community[b] == c
            assert 0 <= sum(sizes[:c]) + position - made.start[b] < made.size[b]


def test_no_matter_in_which_order_blocks_act() -> None:
    plan = Plan(setting(chain(9, 40), Params(small=10), 0.8, Faults("stillborn", 0.2)), Publication(1), 3, 6)
    forward = [*blocks.rounds(plan)]
    kept: dict[int, blocks.Kept] = {}
    mail = plan.publish()
    for number, acted in enumerate(forward):
        assert [*mail] == [*acted]
        backward = {
            b: blocks.act(plan, number, b, kept.get(b) or plan.untouched(b), mail[b]) for b in reversed([*mail])
        }
        assert all((backward[b].kept.counts == acted[b].kept.counts).all() for b in acted)
        kept |= {b: each.kept for b, each in backward.items()}
        mail = blocks.merged(plan, ((b, each.sent) for b, each in backward.items() if each.new))
    assert not mail


def test_bits_are_those_reached_and_none_is_dead() -> None:
    plan = Plan(setting(chain(9, 60), Params(), 0.9, Faults("stillborn", 0.4)), Publication(1), 3, 11)
    last = {b: each for acted in blocks.rounds(plan) for b, each in acted.items()}
    for b, each in last.items():
        reached = np.unpackbits(each.kept.bits, bitorder="little")
        assert reached.sum() == each.kept.counts[REACHED]
        assert not reached[plan.alive[b] :].any()
    assert plan.alive.sum() == sum(plan.live_by_community())


def test_events_of_a_run_have_the_same_dead_and_the_same_links() -> None:
    made = setting(chain(50, 20), Params(electors=1000.0, targets=3.0), 1.0, Faults("stillborn", 0.3))
    heard = []
    for sequence in range(2):
        plan = Plan(made, Publication(1, sequence), 8, 1000)
        (acted,) = (each for each in [next(iter(blocks.rounds(plan)))])
        heard.append({b: names.tolist() for b, names in acted[1].sent.up.items()})
    assert heard[0] == heard[1] != {}


def test_where_all_are_dead_nothing_happens() -> None:
    made = setting(chain(5, 20), Params(), 1.0, Faults("stillborn", 1.0))
    assert not blocks.spread(Plan(made, Publication(1), 1, 6)).any()


def test_one_process_alone_tells_nobody() -> None:
    made = setting(chain(1, 1), Params(), 1.0)
    rows = blocks.spread(Plan(made, Publication(1), 1, 6))
    assert rows[:, REACHED].tolist() == [rows[1, SENT_UP] > 0, 1]
    assert not rows[:, SENT_INTRA].any()
