"""Trials: one seeded run of one point, whatever it is about, as rows. Knows no Spark."""

import hashlib
import itertools
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from gossamer import __version__
from gossamer.core.draws import fold
from gossamer.lab.grid import Point
from gossamer.lab.studies import trials_of


def seed_of(seed: int, run: int) -> int:
    """Each run's own seed, 63 bits wide so that every table format holds it. Points share seeds, run by run."""
    return int(fold(fold(seed, 0x72756E), run)) >> 1


def point_id(point: Point) -> str:
    """A hash of all that decides a point's results: finished trials are recognised by it."""
    head = point.spec.experiment
    parts = ((head.protocol, head.engine, head.seed), *point.spec.identity(), __version__)
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


def run_trials(point: Point, runs: Sequence[int], source: str, threads: int = 1) -> list[Any]:
    """Rows of these runs, of the kind the study has."""
    seeds = [seed_of(point.spec.experiment.seed, run) for run in runs]
    return rows_of(point, runs, source, trials_of(point.spec).run(point.spec, seeds, threads))


def rows_of(point: Point, runs: Sequence[int], source: str, found: Iterable[tuple[int, dict[str, Any]]]) -> list[Any]:
    """What was found of these runs, each by its position among them, as rows."""
    named = [_named(point, run, source) for run in runs]
    return [point.spec.row(**named[position], **said) for position, said in found]


def _named(point: Point, run: int, source: str) -> dict[str, Any]:
    """What a row says of its trial."""
    return {
        "trial": f"{point_id(point)}-{run}",
        "point": point.name,
        "run": run,
        "seed": seed_of(point.spec.experiment.seed, run),
        "version": __version__,
        "command": command_of(source, point, run),
    }


def failure(point: Point, run: int, source: str, error: Exception) -> Struct:
    """The row of a trial that could not be run."""
    said = {**trials_of(point.spec).NOTHING, "group": None, "error": f"{type(error).__name__}: {error}"}
    return point.spec.row(**_named(point, run, source), **said)


def run_or_report(point: Point, runs: Sequence[int], source: str) -> list[Any]:
    """Like `run_trials`, but a trial that fails becomes a row with its error and spares the others."""
    try:
        return run_trials(point, runs, source)
    except Exception as error:
        if len(runs) == 1:
            return [failure(point, runs[0], source, error)]
        return [outcome for run in runs for outcome in run_or_report(point, [run], source)]
