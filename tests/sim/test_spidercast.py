"""Overlays built by machines, in supersteps."""

from collections.abc import Iterable

import numpy as np
import pytest

from gossamer.core.draws import ORDER, draw, fold
from gossamer.protocols.spidercast.experiment.setting import Overlay, OverlaySetting
from gossamer.protocols.spidercast.experiment.workload import Workload
from gossamer.protocols.spidercast.messages import Beat, Connect, ConnectOk, Disconnect, Found
from gossamer.protocols.spidercast.params import Params
from gossamer.sim.spidercast import Letter, Stage, build

CASES = {
    "coverage": {},
    "both tasks": {"random": 1},
    "a part of the view": {"view": 0.3, "random": 1},
    "a few known": {"view": 8, "rendezvous": True},
    "adaptive": {"adaptive": True},
    "no margin": {"margin": 0, "random": 1, "quarantine": 2},
    "similarity": {"selection": "similarity", "greedy": 4, "random": 1},
    "random": {"selection": "random", "greedy": 0, "random": 5},
}


def setting(case: str = "coverage", seed: int = 1, nodes: int = 48, **work: object) -> OverlaySetting:
    drawn = Workload(nodes=nodes, **{"topics": 20, "subscriptions": (2, 6), **work})  # type: ignore[arg-type]
    return OverlaySetting(interests=drawn.interests(seed), params=Params(**CASES[case]), rounds_max=200)  # type: ignore[arg-type]


def parts(made: OverlaySetting, overlay: Overlay, topic: int) -> int:
    """Into how many parts the nodes of a topic fall."""
    left = [who for who in range(made.interests.nodes) if topic in made.interests.of(who)]
    links = overlay.links.tolist()
    count = 0
    while left:
        count += 1
        reached = [left.pop()]
        for who in reached:
            near = [b if a == who else a for a, b in links if who in (a, b)]
            reached += [other for other in near if other in left]
            left = [other for other in left if other not in reached]
    return count


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_a_run_comes_to_rest_with_both_ends_of_every_link_and_no_node_over_its_limit(case: str, seed: int) -> None:
    overlay = build(setting(case, seed), seed)
    if case != "no margin":  # there some ask on and on
        assert overlay.at_rest
        assert overlay.rounds < 60
    assert (overlay.one_sided, overlay.over_limit) == (0, 0)
    assert (overlay.links[:, 0] < overlay.links[:, 1]).all()
    assert overlay.degree_greedy.sum() + overlay.degree_random.sum() == 2 * (
        len(overlay.links) + int((overlay.kinds == 3).sum())
    )


@pytest.mark.parametrize("seed", range(3))
def test_every_topic_is_connected_and_covered_as_far_as_there_are_nodes_and_room(seed: int) -> None:
    made = setting("both tasks", seed)
    stage = Stage(made, seed)
    overlay = stage.run()
    assert [parts(made, overlay, topic) for topic in range(20)] == [1] * 20
    for layer in stage.layers.values():
        for task in layer.links.tasks:
            for need, count in zip(task.needs, task.cover):
                others = sum(wants.covers(need) for wants in layer.view.entries().values())
                assert count >= min(task.coverage, others) or task.degree >= task.limit


def test_a_topic_of_one_node_costs_it_no_link() -> None:
    """A need that nobody can cover must not drive a node to L^max."""
    made = setting("coverage", 2)
    lonely = made.interests.topic_count
    starts, topics = made.interests.starts.copy(), made.interests.topics
    starts[1:] += 1
    with_lonely = type(made.interests)(
        starts, np.insert(topics, made.interests.starts[1], lonely).astype(np.int32), lonely + 1
    )
    alone = OverlaySetting(interests=with_lonely, params=made.params, rounds_max=200)
    before, after = build(made, 2), build(alone, 2)
    assert after.at_rest
    assert abs(int(after.degree[0]) - int(before.degree[0])) <= 4


def test_a_home_brings_two_together_that_do_not_know_each_other() -> None:
    """One topic with two nodes, among many that know only a few of the others."""
    apart = together = 0
    for seed in range(6):
        made = setting("a few known", seed, nodes=40)
        rare = made.interests.topic_count
        mine = [made.interests.of(who) + ([rare] if who in (3, 31) else []) for who in range(40)]
        starts = np.cumsum([0, *map(len, mine)]).astype(np.int64)
        interests = type(made.interests)(starts, np.concatenate(mine).astype(np.int32), rare + 1)
        for rendezvous in (False, True):
            params = Params(view=8, rendezvous=rendezvous)
            overlay = build(OverlaySetting(interests=interests, params=params), seed)
            linked = [3, 31] in overlay.links.tolist()
            apart += not rendezvous and not linked
            together += rendezvous and linked
    assert apart > 0
    assert together == 6


def test_adaptive_nodes_raise_random_coverage_where_greedy_links_are_few() -> None:
    alike = setting("adaptive", 1, topics=10, subscriptions=(10, 10))
    stage = Stage(alike, 1)
    overlay = stage.run()
    assert overlay.at_rest
    coverages = [layer.links.tasks[1].coverage for layer in stage.layers.values()]
    assert max(coverages) >= 2
    assert overlay.degree_random.sum() > 0
    different = build(setting("adaptive", 1, topics=40, subscriptions=(8, 8)), 1)
    assert different.degree_random.mean() < overlay.degree_random.mean()


def test_within_a_phase_senders_are_heard_by_falling_draws_and_tasks_one_after_the_other() -> None:
    stage = Stage(setting(nodes=4), 5)
    stage.turn = 3
    letters = [Letter(0, sender, Connect(task, 0, 0, b"")) for task in (1, 0) for sender in (1, 2, 3)]
    heard = sorted(letters, key=stage.order)
    assert [letter.message.task for letter in heard] == [0, 0, 0, 1, 1, 1]  # type: ignore[attr-defined]
    key = fold(fold(fold(5, ORDER), 2 * 3), 0)
    assert [letter.sender for letter in heard[:3]] == sorted((1, 2, 3), key=lambda sender: -draw(key, sender))
    words = {topic: word for word, topic in stage.topics.items()}
    answers = [Letter(0, 1, Found(0, words[topic], ())) for topic in (9, 2, 5)]
    assert sorted(answers, key=stage.order) == [answers[1], answers[2], answers[0]]


class Watched(Stage):
    """Notes every request to part, and whether the neighbour was asked before and told no higher degree since."""

    def __init__(self, made: OverlaySetting, seed: int) -> None:
        self.told: dict[tuple[int, ...], int] = {}
        self.refused: dict[tuple[int, ...], bool] = {}
        self.repeated: list[bool] = []
        super().__init__(made, seed)

    def deal(self, letters: Iterable[Letter]) -> list[Letter]:
        heard = list(letters)
        for receiver, sender, message in heard:
            if isinstance(message, ConnectOk):  # a new link, of which nothing was asked
                self.refused.pop((sender, receiver, message.task), None)
                self.refused.pop((receiver, sender, message.task), None)
            elif isinstance(message, Disconnect):
                self.repeated.append(self.refused.get((sender, receiver, message.task), False))
                self.refused[sender, receiver, message.task] = True
            elif isinstance(message, Beat):
                for number, standing in enumerate((message.greedy, message.random)):
                    link = (receiver, sender, number)
                    if standing.degree > self.told.get(link, standing.degree):
                        self.refused[link] = False
                    self.told[link] = standing.degree
        return super().deal(heard)


@pytest.mark.parametrize("case", ["coverage", "both tasks", "similarity"])
def test_nobody_is_asked_to_part_again_who_told_no_higher_degree_since(case: str) -> None:
    stage = Watched(setting(case, 1), 1)
    stage.run()
    assert len(stage.repeated) == stage.counts["disconnect"] > 50
    assert not any(stage.repeated)


def test_a_run_that_does_not_end_says_so() -> None:
    made = setting("both tasks")
    cut = OverlaySetting(interests=made.interests, params=made.params, rounds_max=3)
    overlay = build(cut, 1)
    assert not overlay.at_rest
    assert overlay.rounds == 3


def test_rings_join_the_nodes_of_each_topic_and_share_links() -> None:
    made = setting()
    rings = OverlaySetting(interests=made.interests, params=Params(selection="ring"))
    overlay = build(rings, 1)
    assert [parts(rings, overlay, topic) for topic in range(20)] == [1] * 20
    assert 2 <= overlay.degree.mean() <= 2 * np.diff(made.interests.starts).mean()
    assert overlay.messages["connect"] == 0


def test_the_same_seed_builds_the_same_overlay_and_another_another() -> None:
    made = setting("both tasks")
    one, again, other = build(made, 1), build(made, 1), build(made, 2)
    assert one.links.tolist() == again.links.tolist()
    assert one.messages == again.messages
    assert one.links.tolist() != other.links.tolist()


def test_ties_that_went_to_the_first_would_overload_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alike interests make many ties: why the choice among equals must be uniform."""
    for seed in range(3):
        made = setting("coverage", seed, nodes=64, topics=30, popularity="zipf", exponent=2.0, subscriptions=(8, 8))
        fair = build(made, seed)
        with monkeypatch.context() as patch:
            patch.setattr("gossamer.protocols.spidercast.task.largest", lambda key, candidates: min(candidates))
            biased = build(made, seed)
        assert fair.degree.max() <= 12
        assert biased.degree.max() >= fair.degree.max() + 3
