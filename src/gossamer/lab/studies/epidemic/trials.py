"""Runs of a study of recovery, with either engine, and what they cost."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from gossamer.lab.book import ALL
from gossamer.lab.studies.epidemic.tables import METRICS, Epidemic
from gossamer.protocols.recovery import theory
from gossamer.protocols.recovery.experiment.setting import EpidemicSetting

ENGINES = {"kernel": "gossamer.fast.recovery", "machine": "gossamer.sim.recovery"}
S_PER_EVENT = {"kernel": 40e-6, "machine": 10e-3}
"Reckoned costs, with 60 dispatchers; only the cutting depends on them, never a result."
NOTHING: dict[str, Any] = {"metric": "", "value": 0.0}
"What a trial that could not be run measured."


def run(spec: Epidemic, seeds: Sequence[int], threads: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """A row per run and metric: which of the seeds it is of, and what it says."""
    setting = spec.setting()
    found = import_module(ENGINES[spec.experiment.engine]).run(setting, seeds)
    for position, (seed, result) in enumerate(zip(seeds, found, strict=True)):
        said = measured(setting, seed, result)
        for metric in METRICS:
            if (value := said.get(metric)) is not None:
                yield position, {"group": ALL, "metric": metric, "value": float(value)}


def measured(setting: EpidemicSetting, seed: int, result: Any) -> dict[str, float | None]:
    """All that is said of one run: what the engine counted, put in proportion, beside what the tree does by itself."""
    sources, wanted = theory.readers(setting, seed)
    unaided = theory.unaided(setting, sources, wanted, seed) if theory.applies(setting) else None
    again, hops = result.retransmissions, result.event_hops
    return {
        **result._asdict(),
        "delivery_unaided": unaided,
        "found_again": None if unaided in (None, 1.0) else 1 - (1 - result.delivery) / (1 - unaided),
        "overhead": (result.gossip_hops + result.requests + again) / hops if hops else None,
        "served_by_publisher": result.served_by_publisher / again if again else None,
        "served_event_mean": result.served_by_publisher / result.events if result.events else None,
        "busiest": result.served_max * setting.dispatchers / again if again else None,
        "subscribers_max": int(wanted.sum(axis=1).max(initial=0)),
        "matches_publishing": result.matched_tagging / result.events if result.events else None,
        "matches_routing": result.matched_routing / result.routed if result.routed else None,
    }


def trial_s(spec: Epidemic) -> float:
    """About how long one trial takes on one core: events, and rounds of gossip that reach everybody."""
    setting = spec.setting()
    events = setting.dispatchers * setting.rate * setting.seconds
    rounds = 0.0
    if setting.recovery.method != "none":
        rounds = setting.dispatchers * spec.time.seconds / spec.recovery.interval_s
    return 0.02 + (events + rounds) * S_PER_EVENT[spec.experiment.engine] * setting.dispatchers / 60


def memory_bytes(spec: Epidemic) -> int:
    """Both keep a byte or more for each event at each dispatcher; machines some objects."""
    setting = spec.setting()
    events = setting.dispatchers * setting.rate * setting.seconds
    return round(events * setting.dispatchers * (6 if spec.experiment.engine == "kernel" else 60)) + 50_000_000
