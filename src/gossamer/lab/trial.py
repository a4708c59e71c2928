"""Trials: one seeded run of one point, with either engine, as rows. Knows no Spark."""

import hashlib
import itertools
import shlex
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from gossamer import __version__
from gossamer.core.draws import fold
from gossamer.core.setting import Publication, Setting
from gossamer.core.tally import COLUMNS, REACHED
from gossamer.fast import engine as fast
from gossamer.lab.grid import Point
from gossamer.protocols import CATALOGUE
from gossamer.sim import engine as sim
from gossamer.sim.dynamic import Told, Town


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
    parts = (
        head,
        [*spec.topics.items()],
        spec.params,
        spec.network,
        spec.faults,
        spec.publish,
        spec.world,
        __version__,
    )
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


class Ran(NamedTuple):
    """One event of one run: a row and a memory figure per community."""

    publication: Publication
    position: int
    "Which of the asked runs."
    rows: Sequence[Sequence[int]]
    memory: Sequence[float]


def _kernel(point: Point, setting: Setting, seeds: Sequence[int], threads: int) -> Iterator[Ran]:
    kernel = str(CATALOGUE[point.spec.experiment.protocol].kernel)
    memory = import_module(kernel).memory(setting)
    for publication in point.spec.publications():
        counts: list[list[list[int]]] = fast.tallies(kernel, setting, publication, seeds, threads).tolist()
        yield from (Ran(publication, position, rows, memory) for position, rows in enumerate(counts))


def _machine(point: Point, setting: Setting, seeds: Sequence[int], threads: int) -> Iterator[Ran]:
    protocol = CATALOGUE[point.spec.experiment.protocol]
    memory = import_module(str(protocol.kernel)).memory(setting)
    for publication in point.spec.publications():
        for position, seed in enumerate(seeds):
            yield Ran(publication, position, sim.spread(protocol, setting, publication, seed).rows, memory)


def _world(point: Point, setting: Setting, seeds: Sequence[int], threads: int) -> Iterator[Ran]:
    publications = point.spec.publications()
    nobody = Told(len(setting.communities))
    for position, seed in enumerate(seeds):
        events = Town(setting, point.spec.world, seed).run(publications)
        for publication in publications:
            told = events.get(publication.sequence, nobody)
            yield Ran(publication, position, told.rows, told.memory)


ENGINES = {"kernel": _kernel, "machine": _machine, "world": _world}


def run_trials(point: Point, runs: Sequence[int], source: str, threads: int = 1) -> list[Outcome]:
    """Outcomes of these runs: a row per run, event and community."""
    spec, setting = point.spec, point.spec.setting()
    seeds = [seed_of(spec.experiment.seed, run) for run in runs]
    counted = spec.experiment.engine != "kernel" or setting.processes <= fast.COUNT_ARRIVALS_UP_TO
    name, identity = point.name, point_id(point)
    commands = [command_of(source, point, run) for run in runs]
    outcomes: list[Outcome] = []
    for ran in ENGINES[spec.experiment.engine](point, setting, seeds, threads):
        run = runs[ran.position]
        for index, (community, row) in enumerate(zip(setting.communities, ran.rows, strict=True)):
            said: dict[str, Any] = dict(zip(COLUMNS, row, strict=True))
            if not counted:
                said["arrived"] = None
            if row[REACHED] == 0:
                said["rounds_last"] = None
            outcomes.append(
                Outcome(
                    trial=f"{identity}-{run}",
                    point=name,
                    run=run,
                    seed=seeds[ran.position],
                    event=ran.publication.sequence,
                    group=community.topic,
                    home=index == ran.publication.home,
                    climbs=bool(community.supers),
                    size=community.size,
                    memory=ran.memory[index],
                    version=__version__,
                    command=commands[ran.position],
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
