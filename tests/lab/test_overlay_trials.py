"""Runs of overlays: what is measured, that both engines measure the same, and that small overlays are what the paper
says large ones are."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gossamer.fast import measures
from gossamer.fast import spidercast as kernel
from gossamer.lab.grid import points
from gossamer.lab.plan import estimate, memory_bytes, trial_s
from gossamer.lab.rows import Measure
from gossamer.lab.spec import read
from gossamer.lab.studies.overlay import trials
from gossamer.lab.studies.overlay.metrics import BY_DEGREE, METRICS
from gossamer.lab.trial import run_trials, seed_of
from gossamer.protocols.spidercast.experiment.setting import OverlaySetting
from lab.overlays import SOURCE, point, small

ALWAYS = {
    "degree_mean", "degree_max", "components", "topics_populated", "topics_partitioned", "diameter_topic_max",
    "diameter_overlay", "messages_per_change", "one_sided", "over_limit", "rounds", "at_rest",
}  # fmt: skip


def numbers(rows: Sequence[Measure]) -> dict[str, float]:
    assert [row.error for row in rows if row.error] == []
    return {row.metric: row.value for row in rows}


def measured(changes: Mapping[str, Any] | None = None, **tables: Any) -> dict[str, float]:
    return numbers(run_trials(point(dict(changes or {}), **tables), [0], SOURCE))


def test_a_run_says_what_a_summary_needs_in_the_order_of_the_metrics() -> None:
    rows = run_trials(point(), [0], SOURCE)
    said = numbers(rows)
    assert set(said) >= ALWAYS
    assert [row.metric for row in rows] == [metric for metric in METRICS if metric in said]
    assert (said["one_sided"], said["over_limit"], said["at_rest"]) == (0, 0, 1)
    assert not {"tdi", "build_s", "snapshots", BY_DEGREE[0], "diameter_overlay_at_least"} & set(said)


def test_the_numbers_are_those_of_the_overlay() -> None:
    made = point()
    seed = seed_of(1, 0)
    interests = made.spec.workload.interests(seed)  # type: ignore[union-attr]
    built = kernel.build(OverlaySetting(interests=interests), seed)
    found = measures.measure(interests.starts, interests.topics, interests.topic_count, built.links)
    said = numbers(run_trials(made, [0], SOURCE))
    for name in ALWAYS & set(found.__struct_fields__):
        assert said[name] == getattr(found, name)
    assert said["messages_per_change"] == sum(built.messages.values()) / 60
    near = np.abs(built.degree - found.degree_mean) <= found.degree_mean / 4
    assert said["degree_near"] == near.mean()


def test_what_is_asked_for_is_measured_too() -> None:
    said = measured({"measure": {"tdi": 5, "histogram": True, "time": True, "diameters": False}})
    assert 0 < said["tdi"] <= 100
    assert said["build_s"] > 0
    assert sum(said[name] for name in BY_DEGREE) == pytest.approx(1)
    assert sum(degree * said[name] for degree, name in enumerate(BY_DEGREE)) == pytest.approx(said["degree_mean"])
    assert not {"diameter_overlay", "diameter_topic_max"} & set(said)


def test_what_is_too_large_to_be_exact_is_called_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = measured()
    monkeypatch.setattr(measures, "EXACT_UP_TO", 10)
    said = measured()
    assert "diameter_overlay" not in said
    assert said["diameter_overlay_at_least"] <= whole["diameter_overlay"]
    assert said["diameter_topic_max_at_least"] <= whole["diameter_topic_max"]


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"random": 1},
        {"adaptive": True},
        {"view": 0.4, "rendezvous": True},
        {"selection": "similarity", "greedy": 3, "random": 1},
        {"selection": "random", "greedy": 0, "random": 4},
        {"selection": "ring"},
    ],
    ids=str,
)
def test_both_engines_measure_the_same(params: dict[str, Any]) -> None:
    changes = {f"params.{name}": value for name, value in params.items()} | {"workload.nodes": 30}
    machine, arrays = (run_trials(point(changes, engine=engine), [0], SOURCE) for engine in ("machine", "kernel"))
    assert [(row.metric, row.value) for row in machine] == [(row.metric, row.value) for row in arrays]


def test_larger_runs_are_expected_to_cost_more() -> None:
    here = point()
    assert trial_s(point(engine="machine")) > 5 * trial_s(here)
    for more in ({"workload.nodes": 6000}, {"workload.nodes": 6000, "params.view": 100}):
        assert trial_s(point(more)) > trial_s(here)
        assert memory_bytes(point(more)) > memory_bytes(here)
    assert trial_s(point({"workload.nodes": 6000, "params.view": 100})) < trial_s(point({"workload.nodes": 6000}))
    assert trial_s(point({"workload.nodes": 6000, "params.view": 0.01})) < trial_s(point({"workload.nodes": 6000}))
    assert estimate(points(small(sweep={"workload.nodes": [40, 50]}), SOURCE), {}).trials == 4


# What the paper says, on sizes that take no time

RSS = {"workload": {"nodes": 1000, "topics": 100, "popularity": "rss", "subscriptions": [10, 10]}}


def mean(changes: Mapping[str, Any], metric: str, runs: int = 3) -> float:
    rows = run_trials(point({"measure.diameters": False, **changes}), range(runs), SOURCE)
    return float(np.mean([row.value for row in rows if row.metric == metric]))


def test_degrees_are_the_papers_at_a_thousand_and_two_thousand_nodes() -> None:
    for nodes, printed in ((1000, 10.81), (2000, 10.11)):
        assert mean({**RSS, "workload.nodes": nodes}, "degree_mean") == pytest.approx(printed, rel=0.02)


def test_every_topic_is_connected_and_others_choices_leave_pieces() -> None:
    said = measured(RSS)
    assert said["components"] == said["topics_populated"] == 100
    similar = measured({**RSS, "params": {"selection": "similarity", "greedy": 10}})
    assert similar["degree_mean"] == pytest.approx(10.08, rel=0.02)
    assert similar["components"] > 100


def test_a_ring_per_topic_takes_about_half_as_many_links_again() -> None:
    assert 1.45 <= measured({**RSS, "params.selection": "ring"})["degree_mean"] / measured(RSS)["degree_mean"] <= 1.82


@pytest.mark.parametrize("popularity", ["rss", "zipf", "nyse", "uniform"])
def test_no_popularity_takes_twelve_links(popularity: str) -> None:
    assert measured({**RSS, "workload.popularity": popularity})["degree_mean"] < 12


def test_homes_connect_rare_topics_that_small_views_do_not_show() -> None:
    rare = {
        "workload": {"nodes": 1000, "topics": 300, "popularity": "zipf", "exponent": 1.0, "subscriptions": [10, 10]},
        "params.view": 0.05,
        "measure.diameters": False,
    }
    before, after = (measured({**rare, "params.rendezvous": rendezvous}) for rendezvous in (False, True))
    assert after["topics_partitioned"] < before["topics_partitioned"] / 20
    assert after["degree_mean"] < 1.25 * before["degree_mean"]


def lonely(folder: Path) -> Path:
    """2,000 nodes; a topic that one of them wants, and one that two want."""
    draws = point({"workload": {"nodes": 2000, "topics": 98}}).spec.workload.interests(7)  # type: ignore[union-attr]
    rows = [f"{node},{topic}" for node in range(draws.nodes) for topic in draws.of(node)]
    rows += ["5,98", "17,99", "1234,99"]
    (folder / "pairs.csv").write_text("\n".join(["node,topic", *rows]))
    (folder / "lonely.toml").write_text(
        '[experiment]\nname = "lonely"\nprotocol = "spidercast"\nruns = 1\n[workload]\nfile = "pairs.csv"\n'
    )
    return folder / "lonely.toml"


def test_the_two_who_want_a_topic_are_linked_and_the_one_who_wants_another_is_not_driven_mad(tmp_path: Path) -> None:
    (only,) = points(*read(str(lonely(tmp_path))))
    said = numbers(run_trials(only, [0], SOURCE))
    assert said["components"] == said["topics_populated"] == 100
    interests = only.spec.workload.interests(0)  # type: ignore[union-attr]
    built = kernel.build(OverlaySetting(interests=interests), seed_of(1, 0))
    assert [17, 1234] in built.links.tolist()
    assert built.degree[5] < 2 * built.degree.mean()


# The real sizes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("nodes", "printed"), [(1000, 10.81), (2000, 10.11), (4000, 9.53), (6000, 9.24), (8000, 9.08), (10000, 8.95)]
)
def test_degrees_are_the_papers_at_every_size(nodes: int, printed: float) -> None:
    rows = run_trials(point({**RSS, "workload.nodes": nodes, "measure.diameters": False}), range(3), SOURCE)
    said = {name: [row.value for row in rows if row.metric == name] for name in ALWAYS}
    assert np.mean(said["degree_mean"]) == pytest.approx(printed, rel=0.02)
    assert said["components"] == said["topics_populated"] == [100.0] * 3
    assert said["one_sided"] == said["over_limit"] == [0.0] * 3


@pytest.mark.slow
@pytest.mark.parametrize(("greedy", "random", "printed"), [(10, 0, 10.08), (9, 1, 10.22), (8, 2, 10.20), (7, 3, 10.21)])
def test_similar_neighbours_cost_what_the_paper_says_and_leave_more_pieces_the_more_nodes_there_are(
    greedy: int, random: int, printed: float
) -> None:
    chosen = {"params": {"selection": "similarity", "greedy": greedy, "random": random}}
    pieces = []
    for nodes in (1000, 4000, 10000):
        assert mean({**RSS, **chosen, "workload.nodes": nodes}, "degree_mean") == pytest.approx(printed, rel=0.02)
        pieces.append(mean({**RSS, **chosen, "workload.nodes": nodes}, "components"))
    assert 100 < pieces[0] < pieces[1] < pieces[2]


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [4000, 8000])
def test_five_percent_of_the_others_are_enough_to_know(nodes: int) -> None:
    assert mean({**RSS, "workload.nodes": nodes, "params.view": 0.05}, "topics_partitioned") == 0


@pytest.mark.slow
def test_more_subscriptions_cost_more_links_and_then_fewer() -> None:
    twenty = {"workload": {**RSS["workload"], "nodes": 10000}}
    ten, twice, four = (mean({**twenty, "workload.subscriptions": n}, "degree_mean", 1) for n in (10, 20, 40))
    assert ten < twice > four


@pytest.mark.slow
@pytest.mark.parametrize("popularity", ["rss", "zipf", "nyse", "uniform"])
def test_degrees_are_below_twelve_and_fall_with_the_number_of_nodes(popularity: str) -> None:
    changes = {**RSS, "workload.popularity": popularity}
    found = [mean({**changes, "workload.nodes": nodes}, "degree_mean") for nodes in (1000, 4000, 10000)]
    assert 12 > found[0] > found[1] > found[2]


# Nodes that come and go

SHORT = {"up_s": 40.0, "seconds": 60.0, "snapshot_every_s": 20.0}


def test_under_churn_snapshots_are_judged_together() -> None:
    said = measured({"workload": {"nodes": 120, "topics": 10, "subscriptions": [3, 5]}}, churn=SHORT)
    assert set(said) >= (ALWAYS - {"rounds", "at_rest"}) | {"snapshots", "nodes_up", "changes"}
    assert not {"rounds", "at_rest", "build_s"} & set(said)
    assert (said["snapshots"], said["topics_partitioned"], said["one_sided"], said["over_limit"]) == (3, 0, 0, 0)
    assert 70 < said["nodes_up"] < 115
    assert said["changes"] > 120
    assert 0 < said["disconnects_per_change"] < said["messages_per_change"]


def test_of_snapshots_the_worst_counts_for_what_must_not_happen(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([{"degree_mean": 4.0, "topics_partitioned": 0}, {"degree_mean": 6.0, "topics_partitioned": 2}] * 2)
    monkeypatch.setattr(trials, "graph", lambda *_: next(looks))
    said = measured({"workload.nodes": 40}, churn={**SHORT, "seconds": 40.0})
    assert (said["degree_mean"], said["topics_partitioned"]) == (5.0, 2)


@pytest.mark.slow
@pytest.mark.parametrize("up_s", [100.0, 300.0, 500.0])
def test_no_topic_is_partitioned_in_any_snapshot_while_nodes_come_and_go(up_s: float) -> None:
    changes = {**RSS, "workload.nodes": 1250, "measure.diameters": False}
    assert measured(changes, churn={"up_s": up_s})["topics_partitioned"] == 0
