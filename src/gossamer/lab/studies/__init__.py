"""Kinds of study: what an experiment can be about. `experiment.protocol` chooses one.

Each kind is a folder: `tables.py` has the struct its file becomes (a class like `Study`), `trials.py` runs it (a module
like `Trials`), imported on first use, since engines are slow to load. Everything else, from the sweep to the report,
knows only these two."""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar, Protocol, Self, TypeAlias, cast

from msgspec import Struct

from gossamer.core.errors import Misuse, SpecError
from gossamer.lab.spec import FigureSpec, Head, head_of
from gossamer.lab.studies.communities.tables import Communities
from gossamer.lab.studies.comparison.tables import Comparisons
from gossamer.lab.studies.epidemic.tables import Epidemic
from gossamer.lab.studies.hierarchy.tables import Hierarchies
from gossamer.lab.studies.overlay.tables import Overlays

Spec: TypeAlias = Communities | Comparisons | Epidemic | Hierarchies | Overlays
"What a file says of one point. Tagged, so that it finds its type again on a Spark worker."
STUDIES: dict[str, type[Spec]] = {
    "recovery": Epidemic,
    "spidercast": Overlays,
    "hpmcast": Hierarchies,
    "comparison": Comparisons,
}
"By protocol, or several of them compared; every other protocol that spreads events is studied in communities."


class Study(Protocol):
    """What every kind of study says of itself."""

    row: ClassVar[type[Struct]]
    "The rows its trials leave."
    trials: ClassVar[str]
    "Where the module that runs it is."
    metrics: ClassVar[tuple[str, ...]]
    "All that a summary may say."
    shown: ClassVar[tuple[str, ...]]
    brief: ClassVar[tuple[str, ...]]
    "What tables show, and what they show where there is little room."

    @property
    def experiment(self) -> Head: ...

    @property
    def figures(self) -> tuple[FigureSpec, ...]: ...

    @classmethod
    def read(cls, raw: Mapping[str, Any], head: Head) -> Self:
        """Raw TOML, or Misuse with one sentence about the first thing that is wrong."""

    def identity(self) -> tuple[Any, ...]:
        """All that decides a result, beside protocol, engine, seed and version."""

    def population(self) -> str:
        """Who is there, in words."""


class Trials(Protocol):
    """How a study is run."""

    NOTHING: Mapping[str, Any]
    "The columns of a trial that could not be run."

    def run(self, spec: Any, seeds: Sequence[int], threads: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """Rows: which of the seeds each is of, and what it says."""

    def trial_s(self, spec: Any) -> float:
        """About how long one trial takes on one core: what the cutting of a sweep is reckoned from."""

    def memory_bytes(self, spec: Any) -> int: ...


def study_of(protocol: str) -> type[Study]:
    return STUDIES.get(protocol, Communities)


def trials_of(spec: Study) -> Trials:
    return cast(Trials, import_module(spec.trials))


def check(raw: Mapping[str, Any], source: str) -> Spec:
    """Raw TOML as what it is about, or one sentence about the first thing that is wrong."""
    try:
        head = head_of(raw)
        study = study_of(head.protocol)
        if head.engine == "blocks" and study is not Communities:
            raise Misuse('experiment.engine = "blocks" runs camcast only')
        return cast(Spec, study.read(raw, head))
    except Misuse as wrong:
        raise SpecError(f"{source}: {wrong}") from None
