"""Runs of a study of overlays, with either engine, and what they cost."""

import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, cast

import numpy as np

from gossamer.fast import measures, spidercast_churn
from gossamer.lab.book import ALL
from gossamer.lab.studies.overlay.metrics import BY_DEGREE, HISTOGRAM_MAX, METRICS
from gossamer.lab.studies.overlay.tables import Overlays
from gossamer.protocols.spidercast.experiment.setting import InterestArrays, Overlay, OverlaySetting

ENGINES = {"kernel": "gossamer.fast.spidercast", "machine": "gossamer.sim.spidercast"}
NOTHING: dict[str, Any] = {"metric": "", "value": 0.0}
"What a trial that could not be run measured."
TWO = InterestArrays(np.arange(3, dtype=np.int64), np.zeros(2, np.int32), 1)
"Two nodes that want the same."
RANDOM_KIND = 2
"The bit of a link's kind that the random task sets."
WORST = (
    "degree_max", "components", "topics_partitioned", "diameter_topic_max", "diameter_topic_max_at_least",
    "diameter_overlay", "diameter_overlay_at_least", "one_sided", "over_limit",
)  # fmt: skip
"Of several snapshots the largest counts, not the mean."


def run(spec: Overlays, seeds: Sequence[int], threads: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """A row per run and metric: which of the seeds it is of, and what it says."""
    for position, seed in enumerate(seeds):
        said = built(spec, seed, threads) if spec.churn is None else churned(spec, seed, threads)
        for metric in METRICS:
            if (value := said.get(metric)) is not None:
                yield position, {"group": ALL, "metric": metric, "value": float(value)}


def built(spec: Overlays, seed: int, threads: int) -> dict[str, float | None]:
    """All that is said of one overlay that is built and then stands."""
    interests = spec.workload.interests(seed)
    setting = OverlaySetting(interests=interests, params=spec.params.made())
    if spec.measure.time:
        _engine(spec)(OverlaySetting(interests=TWO, params=spec.params.made()), seed)  # compiles it, if need be
    began = time.perf_counter()
    overlay = _engine(spec)(setting, seed) if threads == 1 else _engine(spec)(setting, seed, threads)
    seconds = time.perf_counter() - began
    made = overlay.messages["connect_ok"] if spec.params.selection == "coverage" else 0
    return {
        **graph(spec, interests, overlay.links, overlay.kinds),
        "topics_covered_per_link": overlay.covered / made if made else None,
        "messages_per_change": sum(overlay.messages.values()) / max(1, interests.nodes),
        "disconnects_per_change": overlay.messages["disconnect"] / max(1, interests.nodes),
        "rounds": overlay.rounds,
        "at_rest": overlay.at_rest,
        "one_sided": overlay.one_sided,
        "over_limit": overlay.over_limit,
        "build_s": seconds if spec.measure.time else None,
    }


def _engine(spec: Overlays) -> Callable[..., Overlay]:
    return cast(Callable[..., Overlay], import_module(ENGINES[spec.experiment.engine]).build)


def graph(spec: Overlays, interests: InterestArrays, links: Any, kinds: Any) -> dict[str, float | None]:
    """What is measured of the links that stand."""
    exact_up_to = measures.EXACT_UP_TO if spec.measure.diameters else -1
    found = measures.measure(
        interests.starts, interests.topics, interests.topic_count, links,
        tdi_depth=spec.measure.tdi, exact_up_to=exact_up_to,
    )  # fmt: skip
    degree = measures.degree_of_each(interests.nodes, links)
    said: dict[str, float | None] = {
        **{name: getattr(found, name) for name in METRICS if name in found.__struct_fields__},
        "degree_near": float(np.mean(np.abs(degree - found.degree_mean) <= found.degree_mean / 4)),
        "degree_by_interest": correlation(np.diff(interests.starts), degree),
        "random_links": float(np.mean((kinds & RANDOM_KIND) > 0)) if len(kinds) else None,
        **diameters(spec, found),
    }
    if spec.measure.histogram:
        counts = np.bincount(np.minimum(degree, HISTOGRAM_MAX), minlength=HISTOGRAM_MAX + 1)
        said.update(zip(BY_DEGREE, (counts / len(degree)).tolist(), strict=True))
    return said


def diameters(spec: Overlays, found: measures.Measures) -> dict[str, float | None]:
    """Under another name where they are lower bounds."""
    said: dict[str, float | None] = {}
    for what, exact in (("topic_max", found.diameter_topic_exact), ("overlay", found.diameter_overlay_exact)):
        name = f"diameter_{what}"
        value = getattr(found, name) if spec.measure.diameters else None
        said[name], said[f"{name}_at_least"] = (value, None) if exact else (None, value)
    return said


def correlation(one: Any, other: Any) -> float | None:
    """Pearson's; there is none where either is always the same."""
    if len(one) < 2 or not one.std() or not other.std():
        return None
    return float(np.corrcoef(one, other)[0, 1])


def churned(spec: Overlays, seed: int, threads: int) -> dict[str, float | None]:
    """All that is said of an overlay whose nodes come and go: means over its snapshots, and the worst of them."""
    assert spec.churn is not None
    found = spidercast_churn.run(spec.workload.drawn(), spec.params.made(), spec.churn.made(), seed)
    looks = [
        {**graph(spec, each.interests, each.links, each.kinds), "one_sided": each.one_sided,
         "over_limit": each.over_limit, "nodes_up": each.interests.nodes}
        for each in found.snapshots
    ]  # fmt: skip
    said: dict[str, float | None] = {}
    for metric in METRICS:
        values = [value for look in looks if (value := look.get(metric)) is not None]
        if values:
            said[metric] = max(values) if metric in WORST else sum(values) / len(values)
    return {
        **said,
        "messages_per_change": found.messages_per_change,
        "disconnects_per_change": found.messages["disconnect"] / max(1, found.joins + found.leaves),
        "snapshots": len(looks),
        "changes": found.joins + found.leaves,
    }


def trial_s(spec: Overlays) -> float:
    """About how long one trial takes on one core: every node looks through its view, and ways are measured."""
    nodes, pairs = spec.workload.size()
    looked = 1.2e-9 * pairs * _view(spec, nodes)
    ways = 1e-8 * min(nodes, measures.EXACT_UP_TO) * nodes if spec.measure.diameters else 0.0
    likeness = 5e-9 * min(nodes, measures.EXACT_UP_TO) * nodes if spec.measure.tdi else 0.0
    if spec.churn is not None:
        kept = spec.churn.made()
        moves = nodes * kept.seconds / (kept.up_s + kept.away_s)
        return 0.02 + len(kept.snapshots()) * (ways + likeness) + 2e-4 * moves * (1 + nodes / 1000)
    machines = 200 if spec.experiment.engine == "machine" else 1
    return 0.02 + machines * (1e-5 * pairs + looked) + ways + likeness


def memory_bytes(spec: Overlays) -> int:
    """Interests, neighbours of both tasks, and the pairs of every topic's graph."""
    nodes, pairs = spec.workload.size()
    return 100_000_000 + 400 * nodes + 120 * pairs


def _view(spec: Overlays, nodes: int) -> float:
    match spec.params.view:
        case float() as share:
            return share * nodes
        case int() as count:
            return min(count, nodes)
    return nodes
