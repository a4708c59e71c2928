"""Comparisons of designs: who wants what, how events are carried to them, and what goes wrong.

The tables say what `sim.compared` says."""

from collections.abc import Mapping
from typing import Any, ClassVar

from msgspec import Struct, field
from msgspec.structs import asdict

from gossamer.core.errors import Misuse
from gossamer.core.reading import convert
from gossamer.lab.rows import Measure
from gossamer.lab.spec import FigureSpec, Head, figures_of, only_tables, placed
from gossamer.lab.studies.comparison.metrics import METRICS
from gossamer.protocols.hpmcast.params import Params
from gossamer.sim.compared import LEVELS_SHOWN, ComparedDesign, Comparison, NetworkConditions, Workload


class Comparisons(Struct, frozen=True, tag="comparison"):
    """What an experiment file about several designs says of one point."""

    experiment: Head
    design: ComparedDesign = field(default_factory=ComparedDesign)
    params: Params = field(default_factory=Params.live)
    workload: Workload = field(default_factory=Workload)
    network: NetworkConditions = field(default_factory=NetworkConditions)
    figures: tuple[FigureSpec, ...] = ()

    row: ClassVar[type[Struct]] = Measure
    trials: ClassVar[str] = "gossamer.lab.studies.comparison.trials"
    metrics: ClassVar[tuple[str, ...]] = tuple(METRICS)
    shown: ClassVar[tuple[str, ...]] = (
        "delivery", "reached_all", "latency_p50_ms", "copies", "unwanted", "matches", "entries", "load_max",
    )  # fmt: skip
    brief: ClassVar[tuple[str, ...]] = ("delivery", "copies", "unwanted", "entries")

    @classmethod
    def read(cls, raw: Mapping[str, Any], head: Head) -> "Comparisons":
        """Raw TOML, or Misuse with one sentence about the first thing that is wrong."""
        only_tables(raw, cls.__struct_fields__)
        if head.engine != "world":
            raise Misuse('experiment.engine: designs are compared in a "world"')
        parts: dict[str, Any] = {name: _read(name, raw[name], kind) for name, kind in TABLES.items() if name in raw}
        spec = cls(experiment=head, figures=figures_of(raw), **parts)
        if len(spec.workload.branching) > LEVELS_SHOWN:
            raise Misuse(f"workload.branching has more than {LEVELS_SHOWN} levels")
        return spec

    def identity(self) -> tuple[Any, ...]:
        return (self.design, self.params, self.workload, self.network)

    def population(self) -> str:
        return f"{self.design.spread}, {self.workload.nodes:,} nodes"

    def setting(self) -> Comparison:
        """The experiment as the engine sees it."""
        return Comparison(design=self.design, params=self.params, workload=self.workload, network=self.network)


TABLES: dict[str, type[Struct]] = {
    "design": ComparedDesign,
    "params": Params,
    "workload": Workload,
    "network": NetworkConditions,
}


def _read(name: str, said: Any, kind: type[Struct]) -> Struct:
    """hpmcast's parameters start from those of live nodes, and complaints of them do not name their table."""
    if kind is Params and isinstance(said, Mapping):
        said = {**asdict(Params.live()), **said}
    with placed({name: kind}):
        return convert(said, kind, name)
