"""The kernel may not drift where nodes come and go either: the same links at every snapshot, the same messages."""

from typing import Any

import numpy as np
import pytest

from gossamer.fast import spidercast_churn as fast
from gossamer.protocols.spidercast.experiment.churn import COMES, Churn, Churned
from gossamer.protocols.spidercast.experiment.setting import InterestArrays, Overlay, OverlaySetting
from gossamer.protocols.spidercast.experiment.workload import Workload
from gossamer.protocols.spidercast.params import Params
from gossamer.sim.spidercast import Stage

CASES: dict[str, dict[str, Any]] = {
    "coverage": {},
    "both tasks": {"greedy": 2, "random": 1},
    "adaptive": {"adaptive": True},
    "a share of the view": {"view": 0.4},
    "no margin": {"margin": 0, "greedy": 2},
    "short quarantine": {"margin": 1, "quarantine": 2, "view": 10},
    "parting by the figure": {"parting": "figure", "random": 1},
    "similarity": {"selection": "similarity", "greedy": 4, "random": 1},
    "random": {"selection": "random", "greedy": 0, "random": 3, "margin": 1},
}
SEEDS = 24
CHURN = Churn(up_s=6.0, down_s=3.0, seconds=12.0, snapshot_every_s=1.5, young_s=0.0)
"A node comes or goes in nearly every round."


def workload(seed: int) -> Workload:
    return Workload(
        nodes=(12, 24, 36)[seed % 3],
        topics=(6, 14, 70)[seed // 3 % 3],
        popularity=("rss", "zipf")[seed % 2],  # type: ignore[arg-type]
        exponent=2.0,
        subscriptions=(0, 5) if seed % 3 else (3, 3),
    )


class Machines(Stage):
    """Machines that come and go when the schedule says so, each time with other interests."""

    def __init__(self, made: Workload, params: Params, churn: Churn, seed: int) -> None:
        nobody = InterestArrays(np.zeros(made.nodes + 1, np.int64), np.zeros(0, np.int32), made.topics)
        super().__init__(OverlaySetting(interests=nobody, params=params), seed)
        for who in tuple(self.nodes):
            self.stop(who)
        self.made, self.churn = made, churn
        self.lives = [0] * made.nodes
        self.coming = [*zip(*(column.tolist() for column in churn.schedule(made.nodes, seed)))]

    def move(self) -> None:
        """All that changes before this round."""
        while self.coming and np.ceil(self.coming[0][0] / self.churn.round_s) <= self.turn:
            _, who, what = self.coming.pop(0)
            if what == COMES:
                _, topics = self.made.part(self.seed, who, who + 1, life=self.lives[who])
                self.lives[who] += 1
                self.start(who, topics.tolist())
            else:
                self.stop(who)

    def until(self, at_s: float) -> Overlay:
        while self.turn < self.churn.rounds(at_s):
            self.move()
            self.round()
        return self.result(self.turn, False)


def assert_alike(case: str, seed: int) -> Churned:
    made, params = workload(seed), Params(**CASES[case])
    kernel, machines = fast.run(made, params, CHURN, seed), Machines(made, params, CHURN, seed)
    assert len(kernel.snapshots) == 8
    for each in kernel.snapshots:
        overlay = machines.until(each.at_s)
        kept = np.isin(overlay.links, each.nodes).all(axis=1)  # some are about to go
        assert each.nodes[each.links].tolist() == overlay.links[kept].tolist(), each.at_s
        assert each.kinds.tolist() == overlay.kinds[kept].tolist()
        assert (each.one_sided, each.over_limit) == (overlay.one_sided, overlay.over_limit) == (0, 0)
    assert kernel.messages == machines.counts
    return kernel


@pytest.mark.parametrize("seed", range(2 * len(CASES)))
def test_where_nodes_come_and_go_the_kernel_links_whom_the_machines_link(seed: int) -> None:
    assert_alike([*CASES][seed % len(CASES)], seed)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_where_nodes_come_and_go_the_kernel_agrees_in_every_case_with_every_seed(case: str) -> None:
    for seed in range(SEEDS):
        assert_alike(case, seed)


def test_cases_with_churn_are_hard_enough_to_tell_apart() -> None:
    """Else machines and kernel could agree on doing nothing."""
    runs = [fast.run(workload(seed), Params(**how), CHURN, seed) for how in CASES.values() for seed in range(3)]
    for kind in ("connect", "connect_ok", "redirect", "leave", "disconnect", "disconnect_ok"):
        assert sum(run.messages[kind] for run in runs) > 0, kind
    assert all(run.joins > 12 and run.leaves > 5 for run in runs)
