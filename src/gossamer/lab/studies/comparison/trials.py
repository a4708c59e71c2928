"""Runs of a comparison, and what they cost."""

from collections.abc import Iterator, Sequence
from typing import Any

from gossamer.lab.book import ALL
from gossamer.lab.studies.comparison.metrics import METRICS
from gossamer.lab.studies.comparison.tables import Comparisons
from gossamer.sim import comparison

S_PER_NODE_SECOND = 2e-3
"Reckoned cost of a second in the life of one node; only the cutting depends on it, never a result."
NOTHING: dict[str, Any] = {"metric": "", "value": 0.0}
"What a trial that could not be run measured."


def run(spec: Comparisons, seeds: Sequence[int], threads: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """A row per run and metric: which of the seeds it is of, and what it says."""
    for position, said in enumerate(comparison.run(spec.setting(), seeds)):
        for metric in METRICS:
            if metric in said:
                yield position, {"group": ALL, "metric": metric, "value": float(said[metric])}


def trial_s(spec: Comparisons) -> float:
    """About how long one trial takes on one core: nodes are busy all the time, whatever is published."""
    work, links = spec.workload, spec.network
    return work.nodes * (links.warmup_s + work.events * work.every_s + links.settle_s) * S_PER_NODE_SECOND


def memory_bytes(spec: Comparisons) -> int:
    """Every node is some objects, and so is every message under way."""
    return 50_000_000 + spec.workload.nodes * 500_000
