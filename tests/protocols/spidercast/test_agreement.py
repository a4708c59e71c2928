"""The kernel of overlays may not drift: whatever the machines do, it does, seed by seed and message by message."""

from typing import Any

import numpy as np
import pytest

from gossamer.fast import spidercast as fast
from gossamer.protocols.spidercast.experiment.setting import OverlaySetting
from gossamer.protocols.spidercast.experiment.workload import Workload
from gossamer.protocols.spidercast.params import Params
from gossamer.sim import spidercast as sim

CASES: dict[str, dict[str, Any]] = {
    "coverage": {},
    "both tasks": {"greedy": 2, "random": 1},
    "adaptive": {"adaptive": True},
    "a share of the view": {"view": 0.3},
    "a few known": {"view": 7},
    "rendezvous": {"view": 5, "rendezvous": True},
    "rendezvous of both tasks": {"view": 0.1, "rendezvous": True, "greedy": 2, "random": 1},
    "rendezvous, adaptive": {"view": 8, "rendezvous": True, "adaptive": True},
    "similarity": {"selection": "similarity", "greedy": 5},
    "similarity and random links": {"selection": "similarity", "greedy": 3, "random": 2},
    "similarity without margin": {"selection": "similarity", "greedy": 4, "random": 1, "margin": 0, "view": 12},
    "random": {"selection": "random", "greedy": 0, "random": 4},
    "ring": {"selection": "ring"},
    "no margin": {"margin": 0},
    "short quarantine": {"margin": 1, "quarantine": 2, "view": 10},
    "parting by the figure": {"parting": "figure", "greedy": 2, "random": 1},
}
SEEDS = 50
POPULARITIES = ("rss", "zipf", "nyse", "uniform")


def setting(case: str, seed: int) -> OverlaySetting:
    """Of 8 to 64 nodes, with few topics or many, like interests or unlike ones."""
    number = seed + list(CASES).index(case)
    workload = Workload(
        nodes=(8, 16, 33, 64)[number % 4],
        topics=(6, 12, 30, 80)[number // 4 % 4],
        popularity=POPULARITIES[number // 2 % 4],  # type: ignore[arg-type]
        exponent=2.0,
        subscriptions=(0, 5) if seed % 3 else (1, 6),
    )
    return OverlaySetting(interests=workload.interests(seed), params=Params(**CASES[case]), rounds_max=100)


def assert_alike(made: OverlaySetting, seed: int) -> None:
    kernel, machines = fast.build(made, seed), sim.build(made, seed)
    assert np.array_equal(kernel.links, machines.links)
    assert np.array_equal(kernel.kinds, machines.kinds)
    assert np.array_equal(kernel.degree_greedy, machines.degree_greedy)
    assert np.array_equal(kernel.degree_random, machines.degree_random)
    assert (kernel.rounds, kernel.at_rest) == (machines.rounds, machines.at_rest)
    assert kernel.messages == machines.messages
    assert kernel.covered == machines.covered
    assert (kernel.one_sided, kernel.over_limit) == (machines.one_sided, machines.over_limit) == (0, 0)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_kernel_links_whom_the_machines_link(seed: int) -> None:
    for case in list(CASES)[seed % 5 :: 5]:
        assert_alike(setting(case, seed), seed)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_kernel_links_whom_the_machines_link_in_every_case_with_every_seed(case: str) -> None:
    for seed in range(SEEDS):
        assert_alike(setting(case, seed), seed)


def test_cases_are_hard_enough_to_tell_apart() -> None:
    """Else machines and kernel could agree on doing nothing."""
    sent: dict[str, int] = {}
    for case in CASES:
        for seed in range(8):
            for kind, count in fast.build(setting(case, seed), seed).messages.items():
                sent[kind] = sent.get(kind, 0) + count
    assert all(count > 0 for count in sent.values()), sent
