"""Runs of a study of hpmcast, with any engine, and what they cost."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from gossamer.lab.book import ALL
from gossamer.lab.studies.hierarchy.metrics import DEGREES, LEVELS_SHOWN, METRICS
from gossamer.lab.studies.hierarchy.tables import Hierarchies
from gossamer.protocols.hpmcast.experiment.results import HierarchyResult

ENGINES = {"kernel": "gossamer.fast.hpmcast", "machine": "gossamer.sim.hpmcast"}
WORLD = "gossamer.sim.hpmcast_measures"
S_PER_PARTICIPANT = {"kernel": 3e-6, "machine": 5e-3}
S_PER_LIFE_SECOND = 4e-4
S_PER_ADDRESS = 8e-8
"Reckoned costs; only the cutting depends on them, never a result."
NOTHING: dict[str, Any] = {"metric": "", "value": 0.0}
"What a trial that could not be run measured."


def run(spec: Hierarchies, seeds: Sequence[int], threads: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """A row per run and metric: which of the seeds it is of, and what it says."""
    for position, said in enumerate(_told(spec, seeds)):
        for metric in METRICS:
            if (value := said.get(metric)) is not None:
                yield position, {"group": ALL, "metric": metric, "value": float(value)}


def _told(spec: Hierarchies, seeds: Sequence[int]) -> list[dict[str, float | None]]:
    """All that is said of each run."""
    if spec.experiment.engine == "world":
        return list(import_module(WORLD).run(spec.living(), seeds))
    found = import_module(ENGINES[spec.experiment.engine]).run(spec.setting(), seeds)
    return [measured(spec, result) for result in found]


def measured(spec: Hierarchies, result: HierarchyResult) -> dict[str, float | None]:
    """What an engine of rounds counted in one run, and what follows for each participant."""
    n, matched = result.participants, result.matches + result.matches_picked
    return {
        **{name: value for name, value in result._asdict().items() if name in METRICS},
        **{name: float(result.delivery >= share) for name, share in DEGREES.items()},
        "reached_all": float(result.delivered == result.interested),
        "latency_ms": result.rounds * spec.params.step_us / 1000,
        "messages_each": result.messages / n,
        "messages_wanted": result.messages / result.delivered if result.delivered else None,
        "matches_each": matched / n,
        **by_level(result),
    }


def by_level(result: HierarchyResult) -> dict[str, float | None]:
    said: dict[str, float | None] = {}
    for level, (sent, heard, there) in enumerate(zip(result.sent, result.load, result.ranks, strict=True), start=1):
        if level <= LEVELS_SHOWN:
            said[f"sent_level_{level}"] = sent
            said[f"load_level_{level}"] = heard / there if there else None
    return said


def trial_s(spec: Hierarchies) -> float:
    """About how long one trial takes on one core: everybody gossips for some rounds, or lives for some time."""
    if spec.experiment.engine == "world":
        lived = spec.world.warmup_s + spec.world.seconds + spec.world.settle_s
        return 0.05 + spec.hierarchy.participants() * lived * S_PER_LIFE_SECOND
    drawn = spec.hierarchy.places() * S_PER_ADDRESS if spec.hierarchy.populated < 1 else 0.0
    return 0.003 + drawn + spec.hierarchy.participants() * S_PER_PARTICIPANT[spec.experiment.engine]


def memory_bytes(spec: Hierarchies) -> int:
    """Some arrays for participants; machines some objects."""
    each = {"kernel": 200, "machine": 40_000, "world": 200_000}[spec.experiment.engine]
    return 50_000_000 + each * spec.hierarchy.participants()
