"""Studies of hpmcast, pmcast and rfpbcast: who lives where, how many want an event, and how it is gossiped to them; in
a world also how they find their places, and what becomes of them.

The tables say what `HierarchySetting`, `Params` and `Upkeep` of hpmcast say, and `LivingConditions` of its world."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from msgspec import Struct, field
from msgspec.structs import asdict

from gossamer.core.errors import Misuse
from gossamer.core.reading import convert, kind_of, table
from gossamer.lab.rows import Measure
from gossamer.lab.spec import FigureSpec, Head, check_finite, figures_of, only_tables, placed
from gossamer.lab.studies.hierarchy.metrics import METRICS
from gossamer.protocols.hpmcast.experiment.setting import HierarchySetting
from gossamer.protocols.hpmcast.messages import SEATS_MAX
from gossamer.protocols.hpmcast.params import Params
from gossamer.protocols.hpmcast.upkeep import Upkeep
from gossamer.sim.hpmcast_conditions import LivingConditions, LivingSetting

PARTICIPANTS_MAX = 20_000_000
MACHINES_MAX = 2_000
LEVELS = 3
OF_WORLDS = ("upkeep", "world")
"Tables that say how participants live."


class HierarchySpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[hierarchy]: a number for every level, or one per level, the topmost first"""

    branching: int | tuple[int, ...] = 16
    levels: int | None = None
    populated: float = 1.0
    addresses: tuple[tuple[int, ...], ...] = ()

    def places(self) -> int:
        """Addresses there are."""
        if isinstance(self.branching, int):
            return int(self.branching ** (LEVELS if self.levels is None else self.levels))
        return math.prod(self.branching)

    def participants(self) -> int:
        """Participants there are, about."""
        return len(self.addresses) or max(1, round(self.places() * self.populated))


class WorkloadSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[workload]"""

    interest: float = 0.5
    local: float = 0.0
    publisher: int | None = None


class NetworkSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[network]"""

    loss: float = 0.0
    crashed: float = 0.0
    attempts: int = 1


class Hierarchies(Struct, frozen=True, tag="hierarchy"):
    """What an experiment file about hpmcast says of one point."""

    experiment: Head
    hierarchy: HierarchySpec = field(default_factory=HierarchySpec)
    params: Params = field(default_factory=Params)
    workload: WorkloadSpec = field(default_factory=WorkloadSpec)
    network: NetworkSpec = field(default_factory=NetworkSpec)
    upkeep: Upkeep = field(default_factory=Upkeep)
    world: LivingConditions = field(default_factory=LivingConditions)
    figures: tuple[FigureSpec, ...] = ()

    row: ClassVar[type[Struct]] = Measure
    trials: ClassVar[str] = "gossamer.lab.studies.hierarchy.trials"
    metrics: ClassVar[tuple[str, ...]] = tuple(METRICS)
    shown: ClassVar[tuple[str, ...]] = (
        "delivery", "spurious", "messages", "rounds", "view_size", "reached_99", "matches_each", "views_right",
        "join_ms_1", "gone_s_level_1", "mistaken", "upkeep",
    )  # fmt: skip
    brief: ClassVar[tuple[str, ...]] = ("delivery", "spurious", "messages", "rounds")

    @classmethod
    def read(cls, raw: Mapping[str, Any], head: Head) -> "Hierarchies":
        """Raw TOML, or Misuse with one sentence about the first thing that is wrong."""
        only_tables(raw, cls.__struct_fields__)
        if head.engine != "world" and (of_world := [name for name in OF_WORLDS if name in raw]):
            raise Misuse(f'[{of_world[0]}] is for experiment.engine = "world"')
        if "hierarchy" in raw:
            _check_branching(table(raw["hierarchy"], "hierarchy"))
        with placed(TABLES):
            parts: dict[str, Any] = {
                name: convert(raw[name], kind, name) for name, kind in TABLES.items() if name in raw
            }
            for name, each in parts.items():
                check_finite(name, each)
            spec = cls(experiment=head, figures=figures_of(raw), **parts)
            spec.setting()
        _check_size(spec)
        if head.engine == "world":
            _check_world(spec)
        return spec

    def identity(self) -> tuple[Any, ...]:
        return (self.hierarchy, self.params, self.workload, self.network, self.upkeep, self.world)

    def population(self) -> str:
        return f"{self.hierarchy.participants():,} participants"

    def setting(self) -> HierarchySetting:
        """The experiment as the engines see it."""
        said = asdict(self.workload) | asdict(self.network)
        place, branching = self.hierarchy, self.hierarchy.branching
        said |= {"populated": place.populated, "addresses": place.addresses, "params": self.params}
        return HierarchySetting.regular(branching, place.levels, **said)

    def living(self) -> LivingSetting:
        """The same, for a world."""
        return LivingSetting(hierarchy=self.setting(), upkeep=self.upkeep, world=self.world)


TABLES: dict[str, type[Struct]] = {
    "hierarchy": HierarchySpec,
    "params": Params,
    "workload": WorkloadSpec,
    "network": NetworkSpec,
    "upkeep": Upkeep,
    "world": LivingConditions,
}


def _check_branching(said: Mapping[str, Any]) -> None:
    """Before a struct is made of it: a number too large for one would be told in another's words."""
    branching = said.get("branching", 1)
    numbers = branching if isinstance(branching, list) else [branching]
    if not numbers or any(isinstance(each, bool) or not isinstance(each, int) for each in numbers):
        raise Misuse(
            "hierarchy.branching must be a whole number, or a list of one per level with the topmost first, not "
            + (kind_of(branching) if not isinstance(branching, list) else str(branching))
        )


def _check_size(spec: Hierarchies) -> None:
    most = PARTICIPANTS_MAX if spec.experiment.engine == "kernel" else MACHINES_MAX
    if spec.hierarchy.participants() > most:
        there = f"{spec.hierarchy.participants():,}"
        raise Misuse(f'experiment.engine "{spec.experiment.engine}" is for at most {most:,} participants, not {there}')


def _check_world(spec: Hierarchies) -> None:
    if spec.params.delegates > SEATS_MAX:
        raise Misuse(
            f"params.delegates must be at most {SEATS_MAX} where views are kept up, not {spec.params.delegates}"
        )
    if spec.network.crashed or spec.network.attempts > 1:
        raise Misuse("network.crashed and network.attempts are for rounds: in a world say world.crashes or world.churn")
    if spec.world.newcomers >= spec.hierarchy.participants():
        raise Misuse("world.newcomers must be fewer than the participants: somebody must be there")
