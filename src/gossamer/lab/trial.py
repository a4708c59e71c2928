"""Trials: one seeded run of one point, with either engine, as rows. Knows no Spark."""

import hashlib
import itertools
import shlex
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import msgspec
from msgspec import Struct

from gossamer import __version__
from gossamer.core.draws import fold
from gossamer.core.tally import COLUMNS, REACHED
from gossamer.fast import engine as fast
from gossamer.lab.grid import Point
from gossamer.protocols import CATALOGUE
from gossamer.sim import engine as sim


class Outcome(Struct, frozen=True):
    """What one event of one trial did in one community. Arrow and Spark schemas are derived from this."""

    trial: str
    point: str
    run: int
    seed: int
    event: int
    group: str | None
    home: bool
    "Whether the event was published here."
    climbs: bool
    "Whether this community has somebody above it."
    size: int
    live: int
    reached: int
    sent_intra: int
    sent_up: int
    arrived: int | None
    arrived_up: int
    parasites: int
    rounds_last: int | None
    memory: float
    version: str
    command: str
    error: str | None = None


def seed_of(seed: int, run: int) -> int:
    """Each run's own seed, 63 bits wide so that every table format holds it. Points share seeds, run by run."""
    return int(fold(fold(seed, 0x72756E), run)) >> 1


def point_id(point: Point) -> str:
    """A hash of all that decides a point's results: finished trials are recognised by it."""
    spec = point.spec
    head = (spec.experiment.protocol, spec.experiment.engine, spec.experiment.seed)
    parts = (head, spec.topics, spec.params, spec.network, spec.faults, spec.publish, __version__)
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()[:16]


def command_of(source: str, point: Point, run: int) -> str:
    """What to type to see this trial again."""
    chosen = [
        ("--case", value) if name == "case" else ("--set", f"{name}={_toml(value)}")
        for name, value in point.swept.items()
    ]
    return shlex.join(["gossamer", "simulate", source, *itertools.chain(*chosen), "--run", str(run)])


def _toml(value: Any) -> str:
    """A swept value as TOML would have it; JSON says the same for the plain values files sweep over."""
    return msgspec.json.encode(value).decode()


def run_trials(point: Point, runs: Sequence[int], source: str, threads: int = 1) -> list[Outcome]:
    """Outcomes of these runs, in order: a row per run, event and community."""
    spec = point.spec
    setting = spec.setting()
    protocol = CATALOGUE[spec.experiment.protocol]
    seeds = [seed_of(spec.experiment.seed, run) for run in runs]
    memory = import_module(str(protocol.kernel)).memory(setting)
    counted = spec.experiment.engine == "machine" or setting.processes <= fast.COUNT_ARRIVALS_UP_TO
    name, identity = point.name, point_id(point)
    outcomes: list[Outcome] = []
    for publication in spec.publications():
        if spec.experiment.engine == "kernel":
            counts: Any = fast.tallies(str(protocol.kernel), setting, publication, seeds, threads).tolist()
        else:
            counts = sim.tallies(protocol, setting, publication, seeds)
        for run, seed, rows in zip(runs, seeds, counts, strict=True):
            for index, (community, row) in enumerate(zip(setting.communities, rows, strict=True)):
                said = dict(zip(COLUMNS, row, strict=True))
                if not counted:
                    said["arrived"] = None
                if row[REACHED] == 0:
                    said["rounds_last"] = None
                outcomes.append(
                    Outcome(
                        trial=f"{identity}-{run}",
                        point=name,
                        run=run,
                        seed=seed,
                        event=publication.sequence,
                        group=community.topic,
                        home=index == publication.home,
                        climbs=bool(community.supers),
                        size=community.size,
                        memory=memory[index],
                        version=__version__,
                        command=command_of(source, point, run),
                        **said,
                    )
                )
    return outcomes


def failure(point: Point, run: int, source: str, error: Exception) -> Outcome:
    """The row of a trial that could not be run."""
    return Outcome(
        trial=f"{point_id(point)}-{run}",
        point=point.name,
        run=run,
        seed=seed_of(point.spec.experiment.seed, run),
        event=0,
        group=None,
        home=False,
        climbs=False,
        size=0,
        live=0,
        reached=0,
        sent_intra=0,
        sent_up=0,
        arrived=None,
        arrived_up=0,
        parasites=0,
        rounds_last=None,
        memory=0.0,
        version=__version__,
        command=command_of(source, point, run),
        error=f"{type(error).__name__}: {error}",
    )


def run_or_report(point: Point, runs: Sequence[int], source: str) -> list[Outcome]:
    """Like `run_trials`, but a trial that fails becomes a row with its error and spares the others."""
    try:
        return run_trials(point, runs, source)
    except Exception as error:
        if len(runs) == 1:
            return [failure(point, runs[0], source, error)]
        return [outcome for run in runs for outcome in run_or_report(point, [run], source)]


def messages_expected(point: Point) -> int:
    """Messages one trial sends when everybody is reached: what its cost is reckoned from."""
    setting = point.spec.setting()
    picks: int = import_module(str(CATALOGUE[point.spec.experiment.protocol].kernel)).picks(setting)
    return setting.processes * picks * point.spec.publish.events
