"""Studies of overlays: who is interested in what, how neighbours are chosen, and what graph comes of it.

The tables say what `Workload`, `Params` and `Churn` of SpiderCast say; what needs NumPy is made when asked."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from gossamer.core.errors import Misuse
from gossamer.core.reading import convert, kind_of, table
from gossamer.lab.rows import Measure
from gossamer.lab.spec import FigureSpec, Head, check_finite, figures_of, only_tables, placed
from gossamer.lab.studies.overlay.metrics import METRICS
from gossamer.protocols.spidercast.params import Params, Parting, Selection

if TYPE_CHECKING:
    from gossamer.protocols.spidercast.experiment.churn import Churn
    from gossamer.protocols.spidercast.experiment.setting import InterestArrays
    from gossamer.protocols.spidercast.experiment.workload import Workload

NODES_MAX = 20_000_000
MACHINES_MAX = 2_000
TDI_MAX = 1_000
SNAPSHOTS_MAX = 10_000


class WorkloadSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[workload]: drawn by popularity, or read from a file"""

    nodes: int = 1000
    topics: int = 100
    popularity: str = "rss"
    exponent: float = 1.0
    subscriptions: tuple[int, int] = (10, 10)
    correlated: float = 0.0
    groups: int = 10
    file: str | None = None

    def drawn(self) -> "Workload":
        """As the generator takes it, checked by it."""
        from gossamer.protocols.spidercast.experiment.workload import Workload

        return convert({name: value for name, value in asdict(self).items() if name != "file"}, Workload, "workload")

    def interests(self, seed: int) -> "InterestArrays":
        """Who is interested in what. A file says the same to every seed."""
        if self.file is None:
            return self.drawn().interests(seed)
        from gossamer.lab.studies.overlay.pairs import interests_of

        return interests_of(self.file)

    def size(self) -> tuple[int, int]:
        """Nodes, and subscriptions about."""
        if self.file is None:
            return self.nodes, self.nodes * sum(self.subscriptions) // 2
        found = self.interests(0)
        return found.nodes, len(found.topics)

    def identity(self) -> Any:
        """What decides who is interested in what."""
        if self.file is None:
            return self
        from gossamer.lab.studies.overlay.pairs import digest_of

        return digest_of(self.file)


class ParamsSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[params]: the parameters that matter where time goes by in rounds"""

    greedy: int = 3
    random: int = 0
    margin: int = 5
    adaptive: bool = False
    view: Literal["full"] | int | float = "full"
    selection: Selection = "coverage"
    rendezvous: bool = False
    quarantine: int = 8
    parting: Parting = "prose"

    def made(self) -> Params:
        return replace(Params.paper(), **asdict(self))


class ChurnSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[churn]: nodes come and go, with other interests each time"""

    up_s: float = 100.0
    down_s: float | None = None
    seconds: float = 1000.0
    snapshot_every_s: float = 200.0
    young_s: float = 2.0
    round_s: float = 0.1

    def made(self) -> "Churn":
        from gossamer.protocols.spidercast.experiment.churn import Churn

        return Churn(**asdict(self))


class MeasureSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[measure]: what costs much or says much"""

    diameters: bool = True
    tdi: int = 0
    histogram: bool = False
    time: bool = False


class Overlays(Struct, frozen=True, tag="overlay"):
    """What an experiment file about an overlay says of one point."""

    experiment: Head
    workload: WorkloadSpec = field(default_factory=WorkloadSpec)
    params: ParamsSpec = field(default_factory=ParamsSpec)
    churn: ChurnSpec | None = None
    measure: MeasureSpec = field(default_factory=MeasureSpec)
    figures: tuple[FigureSpec, ...] = ()

    row: ClassVar[type[Struct]] = Measure
    trials: ClassVar[str] = "gossamer.lab.studies.overlay.trials"
    metrics: ClassVar[tuple[str, ...]] = tuple(METRICS)
    shown: ClassVar[tuple[str, ...]] = (
        "degree_mean", "degree_max", "components", "topics_populated", "topics_partitioned", "diameter_topic_max",
        "diameter_overlay", "messages_per_change",
    )  # fmt: skip
    brief: ClassVar[tuple[str, ...]] = ("degree_mean", "degree_max", "components", "topics_partitioned")

    @classmethod
    def read(cls, raw: Mapping[str, Any], head: Head) -> "Overlays":
        """Raw TOML, or Misuse with one sentence about the first thing that is wrong."""
        only_tables(raw, cls.__struct_fields__)
        if head.engine == "world":
            raise Misuse('experiment.engine: spidercast is studied with "kernel" or "machine"')
        spec = cls(
            experiment=head,
            workload=workload_of(table(raw.get("workload", {}), "workload")),
            params=params_of(table(raw.get("params", {}), "params")),
            churn=_churn(raw["churn"]) if "churn" in raw else None,
            measure=convert(raw.get("measure", {}), MeasureSpec, "measure"),
            figures=figures_of(raw),
        )
        _check_whole(spec)
        return spec

    def identity(self) -> tuple[Any, ...]:
        return (self.workload.identity(), self.params, self.churn, self.measure)

    def population(self) -> str:
        return f"{self.workload.size()[0]:,} nodes"


def workload_of(said: Mapping[str, Any]) -> WorkloadSpec:
    if isinstance(each := said.get("subscriptions"), int) and not isinstance(each, bool):
        said = {**said, "subscriptions": [each, each]}
    spec = convert(said, WorkloadSpec, "workload")
    check_finite("workload", spec)
    if spec.file is not None and (more := [name for name in said if name != "file"]):
        raise Misuse(f"workload.file says who is interested in what: leave out workload.{more[0]}")
    with placed({"workload": WorkloadSpec}):
        spec.size() if spec.file is not None else spec.drawn()
    return spec


def params_of(said: Mapping[str, Any]) -> ParamsSpec:
    view = said.get("view", "full")
    if isinstance(view, bool) or (isinstance(view, str) and view != "full") or not isinstance(view, str | int | float):
        raise Misuse(
            f'params.view must be "full", a share of all nodes such as 0.05, or so many nodes, not {kind_of(view)}'
        )
    spec = convert(said, ParamsSpec, "params")
    with placed({"params": ParamsSpec}):
        spec.made()
    if spec.selection != "ring" and spec.greedy + spec.random == 0 and not spec.adaptive:
        raise Misuse("params.greedy and params.random are both 0: there would be no links")
    return spec


def _churn(said: Any) -> ChurnSpec:
    spec = convert(said, ChurnSpec, "churn")
    check_finite("churn", spec)
    for name, value in asdict(spec).items():
        if value is not None and value <= 0 and name != "young_s":
            raise Misuse(f"churn.{name} must be more than 0 seconds, not {value}")
    if spec.young_s < 0:
        raise Misuse(f"churn.young_s must not be negative, and is {spec.young_s}")
    if not spec.seconds / SNAPSHOTS_MAX <= spec.snapshot_every_s <= spec.seconds:
        raise Misuse(
            f"churn.snapshot_every_s must be at most churn.seconds, and make at most {SNAPSHOTS_MAX:,} of them"
        )
    with placed({"churn": ChurnSpec}):
        spec.made()
    return spec


def _check_whole(spec: Overlays) -> None:
    """What several tables say together."""
    if not 0 <= spec.measure.tdi <= TDI_MAX:
        raise Misuse(
            f"measure.tdi must be 0 to {TDI_MAX:,}, not {spec.measure.tdi}: with so many others each is compared"
        )
    if spec.churn is not None:
        _check_churn(spec)
    nodes, _ = spec.workload.size()
    most = MACHINES_MAX if spec.experiment.engine == "machine" else NODES_MAX
    if nodes > most:
        raise Misuse(f'experiment.engine "{spec.experiment.engine}" is for at most {most:,} nodes, not {nodes:,}')


def _check_churn(spec: Overlays) -> None:
    if spec.workload.file is not None:
        raise Misuse("[churn] gives a node other interests each time it comes back: leave out workload.file")
    if spec.experiment.engine != "kernel":
        raise Misuse('[churn] is for experiment.engine = "kernel"')
    if spec.params.selection == "ring":
        raise Misuse('[churn] is for neighbours that are chosen: params.selection = "ring" keeps none')
    if spec.params.rendezvous:
        raise Misuse("[churn] is for neighbours out of views: leave out params.rendezvous")
