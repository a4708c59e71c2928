"""Running kernels: what they keep in memory, what they remember of a run, what they count."""

import os
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest

from gossamer.core.setting import Faults, Publication, Setting
from gossamer.core.tally import ARRIVED, ARRIVED_UP, COLUMNS, LIVE, PARASITES, REACHED, ROUNDS_LAST
from gossamer.fast import engine as fast
from gossamer.parts.infection import DEAD, FRESH
from gossamer.protocols import CATALOGUE
from gossamer.protocols.camcast.params import Params as Camcast
from gossamer.protocols.gossip.params import Params as Gossip
from protocols.hierarchies import Shape, chain, setting

KERNELS = [name for name, protocol in CATALOGUE.items() if protocol.kernel]
MILLION = chain(1_000, 49_000, 950_000)
BYTES_PER_PROCESS = 8


def kernel(name: str) -> str:
    return str(CATALOGUE[name].kernel)


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def peak_bytes(name: str, world: Setting, publication: Publication) -> int:
    """The most that was allocated at a time while one event spread; NumPy tells tracemalloc of its arrays."""
    fast.tallies(kernel(name), setting(chain(5, 5, 5), CATALOGUE[name].params()), Publication(0), [1])  # compiled
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    table = fast.tallies(kernel(name), world, publication, [1])
    assert table[0, publication.home, REACHED] > 0.99 * world.communities[publication.home].size
    return tracemalloc.get_traced_memory()[1] - before


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.usefixtures("traced")
def test_a_million_processes_need_less_than_eight_bytes_each(name: str) -> None:
    world = setting(MILLION, CATALOGUE[name].params())
    peak = peak_bytes(name, world, Publication(2))
    assert world.processes <= peak < 2 * world.processes < BYTES_PER_PROCESS * world.processes


@pytest.mark.usefixtures("traced")
def test_many_communities_need_less_than_eight_bytes_per_process_too() -> None:
    many = Shape({".": 1000} | {f".t{number}": 1000 for number in range(999)})
    peak = peak_bytes("camcast", setting(many, Camcast()), Publication(1))
    assert peak < BYTES_PER_PROCESS * 1_000_000


def test_a_history_has_one_byte_per_process() -> None:
    world = setting(chain(10, 100, 1000), Camcast(), 0.85, Faults("stillborn", 0.3))
    state = fast.history(kernel("camcast"), world, Publication(2), 5)
    assert state.dtype == np.uint8
    assert state.shape == (1110,)
    assert state.nbytes == world.processes


def test_a_history_says_who_is_dead_who_was_reached_and_when() -> None:
    world = setting(chain(10, 100, 1000), Camcast(), 0.7, Faults("stillborn", 0.3))
    for seed in range(10):
        state = fast.history(kernel("camcast"), world, Publication(2), seed)
        (table,) = fast.tallies(kernel("camcast"), world, Publication(2), [seed])
        for community, row in zip(world.communities, table, strict=True):
            bytes_here = state[community.start : community.start + community.size]
            reached = bytes_here[(bytes_here != FRESH) & (bytes_here != DEAD)]
            assert (bytes_here == DEAD).sum() == community.size - row[LIVE]
            assert len(reached) == row[REACHED]
            assert int(reached.max(initial=1)) - 1 == row[ROUNDS_LAST]
        publisher = int(np.flatnonzero(state[110:] != DEAD)[0]) + 110
        assert state[publisher] == 1  # round 0, the first live process of its community
        assert (state == 1).sum() == 1


def test_a_history_has_no_gap_between_rounds() -> None:
    state = fast.history(kernel("camcast"), setting(chain(10, 100, 1000), Camcast(), 0.85), Publication(2), 1)
    rounds = np.unique(state[(state != FRESH) & (state != DEAD)])
    assert (rounds == np.arange(1, len(rounds) + 1)).all()


def test_tallies_have_a_row_per_seed_and_community() -> None:
    world = setting(chain(10, 100), Camcast())
    assert fast.tallies(kernel("camcast"), world, Publication(1), [1, 2, 3]).shape == (3, 2, len(COLUMNS))
    assert fast.tallies(kernel("camcast"), world, Publication(1), []).shape == (0, 2, len(COLUMNS))


def test_seeds_may_be_64_bits_wide() -> None:
    world = setting(chain(10, 100), Camcast(), 0.8)
    wide = fast.tallies(kernel("camcast"), world, Publication(1), [2**63, 2**64 - 1, 0])
    assert len({row.tobytes() for row in wide}) == 3


@pytest.mark.parametrize("name", ["camcast", "flood"])
def test_arrivals_are_counted_up_to_the_limit_only(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = setting(chain(10, 30, 60), CATALOGUE[name].params(), 0.8, Faults("dynamic", 0.2))
    counted = fast.tallies(kernel(name), world, Publication(2), range(50))
    monkeypatch.setattr(fast, "COUNT_ARRIVALS_UP_TO", 100)
    assert (fast.tallies(kernel(name), world, Publication(2), range(50)) == counted).all()
    monkeypatch.setattr(fast, "COUNT_ARRIVALS_UP_TO", 99)
    beyond = fast.tallies(kernel(name), world, Publication(2), range(50))
    others = [column for column in range(len(COLUMNS)) if column != ARRIVED]
    assert (beyond[:, :, others] == counted[:, :, others]).all()
    assert not beyond[:, 2, ARRIVED].any()
    assert counted[:, 2, ARRIVED].any()


def test_upward_arrivals_and_parasites_are_counted_at_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "COUNT_ARRIVALS_UP_TO", 0)
    up = fast.tallies(kernel("camcast"), setting(chain(10, 100), Camcast()), Publication(1), range(20))
    assert up[:, 1, ARRIVED_UP].sum() > 20
    flat = fast.tallies(kernel("gossip"), setting(chain(10, 100), Gossip.broadcast()), Publication(0), range(20))
    assert (flat[:, 1, PARASITES] > 100).all()
    assert (flat[:, 1, PARASITES] == flat[:, 1, ARRIVED]).all()


def test_a_run_alone_takes_every_core_once_it_is_worth_it() -> None:
    assert fast.threads_for(fast.THREADS_FROM - 1) == 1
    assert fast.threads_for(fast.THREADS_FROM) == (os.cpu_count() or 1)
