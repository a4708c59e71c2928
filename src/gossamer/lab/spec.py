"""Experiment files: what is said in TOML, checked field by field, turned into a Setting."""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from gossamer.core.errors import Misuse, SpecError
from gossamer.core.reading import convert, joined, table
from gossamer.core.setting import Community, FaultKind, Faults, Publication, Setting
from gossamer.core.topics import Hierarchy, topic
from gossamer.protocols import CATALOGUE
from gossamer.sim.conditions import Conditions

COMMUNITY_MAX = 2**31
"Picks are 32 bits wide; half of that keeps the rounding of a pick below one part in two."
RUNS_MAX = 10_000_000
WORLD_MAX = 20_000


class Head(Struct, frozen=True, forbid_unknown_fields=True):
    """[experiment]"""

    name: str
    protocol: str
    engine: Literal["kernel", "machine", "world"] = "kernel"
    "Arrays; machines in synchronous rounds on fixed tables; or machines that find each other, under `[world]`."
    runs: int = 100
    seed: int = 1
    about: str = ""


class TopicSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """One line of [topics]"""

    size: int
    parents: tuple[str, ...] = ()
    "Super-topics beside the one its name tells."


class NetworkSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """[network], for all or for one topic"""

    success: float = 1.0
    success_up: float | None = None
    "None: the same as inside."


class FaultsSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """[faults]"""

    kind: FaultKind = "none"
    fraction: float = 0.0


class PublishSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """[publish]"""

    topic: str
    events: int = 1
    climb: float | None = None


class FigureSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """[[figures]]: a plot of the summary"""

    name: str
    title: str
    metric: str
    x: str = ""
    groups: tuple[str, ...] = ()
    by: str | None = None
    x_label: str | None = None
    y_label: str | None = None
    caption: str = ""
    log_x: bool = False
    log_y: bool = False


class Spec(Struct, frozen=True):
    """What an experiment file says of one point."""

    experiment: Head
    topics: dict[str, TopicSpec]
    publish: PublishSpec
    params: dict[str, Any] = field(default_factory=dict)
    network: dict[str, Any] = field(default_factory=dict)
    faults: FaultsSpec = field(default_factory=FaultsSpec)
    figures: tuple[FigureSpec, ...] = ()
    world: Conditions = field(default_factory=Conditions)

    def setting(self) -> Setting:
        """The experiment as protocols see it. Empty communities have no processes and are skipped by links."""
        order = self.hierarchy()
        populated = [name for name, each in self.topics.items() if each.size > 0]
        index = {name: position for position, name in enumerate(populated)}
        communities, start = [], 0
        for name in populated:
            where = joined("network", name) if self.network.get(name) else "network"
            network = convert(_layered(self.network, name), NetworkSpec, where)
            communities.append(
                Community(
                    topic=name,
                    start=start,
                    size=self.topics[name].size,
                    supers=tuple(index[above] for above in order.nearest_populated(name, populated)),
                    params=params_for(self, name),
                    success=network.success,
                    success_up=network.success if network.success_up is None else network.success_up,
                )
            )
            start += self.topics[name].size
        return Setting(tuple(communities), Faults(self.faults.kind, self.faults.fraction), self.further())

    def further(self) -> dict[str, tuple[str, ...]]:
        return {name: each.parents for name, each in self.topics.items() if each.parents}

    def hierarchy(self) -> Hierarchy:
        return Hierarchy(self.further())

    def publications(self) -> list[Publication]:
        populated = [name for name, each in self.topics.items() if each.size > 0]
        home = populated.index(self.publish.topic)
        return [Publication(home, sequence, self.publish.climb) for sequence in range(self.publish.events)]


def _layered(table: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What a table says for one topic: its general fields, overridden by the topic's own."""
    general = {key: value for key, value in table.items() if not key.startswith(".")}
    return {**general, **table.get(name, {})}


def params_for(spec: Spec, name: str) -> Struct:
    """The protocol's Params for one topic: a preset, then [params], then [params."topic"]."""
    protocol = CATALOGUE[spec.experiment.protocol]
    said = _layered(spec.params, name)
    preset = said.pop("preset", None)
    if preset is not None and preset not in protocol.presets:
        known = ", ".join(protocol.presets) or "none"
        raise Misuse(f"params.preset: {protocol.name} has no preset {preset!r} (it has: {known})")
    params = protocol.params() if preset is None else getattr(protocol.params, preset)()
    own = spec.params.get(name, {})
    for key in said:
        if key not in params.__struct_fields__:
            field = joined(joined("params", name) if key in own else "params", key)
            raise Misuse(
                f"{field}: {protocol.name} has no such parameter; it has {', '.join(params.__struct_fields__)}"
            )
    where = joined("params", name) if own else "params"
    return convert({**msgspec.structs.asdict(params), **said}, type(params), where)


TABLES: dict[str, type[Struct]] = {
    "experiment": Head,
    "publish": PublishSpec,
    "faults": FaultsSpec,
    "world": Conditions,
}
GRID = ("sweep", "cases")
"Tables that say which points there are, not what holds at one; `lab.grid` reads them."


def check(raw: Mapping[str, Any], source: str) -> Spec:
    """Raw TOML as a Spec, or one sentence about the first thing that is wrong."""
    try:
        spec = _spec(raw)
        _check_sense(spec)
        return spec
    except Misuse as wrong:
        raise SpecError(f"{source}: {wrong}") from None


def _spec(raw: Mapping[str, Any]) -> Spec:
    for name in raw:
        if name not in Spec.__struct_fields__ and name not in GRID:
            raise Misuse(f"there is no table [{name}]; a file has {', '.join((*Spec.__struct_fields__, *GRID))}")
    for name in ("experiment", "topics", "publish"):
        if name not in raw:
            raise Misuse(f"the table [{name}] is missing")
    figures = raw.get("figures", [])
    if not isinstance(figures, list):
        raise Misuse("figures must be a list of tables: write [[figures]]")
    parts: dict[str, Any] = {name: convert(raw[name], kind, name) for name, kind in TABLES.items() if name in raw}
    return Spec(
        **parts,
        topics={
            name: convert(each, TopicSpec, joined("topics", name))
            for name, each in table(raw["topics"], "topics").items()
        },
        params=_by_topic(raw, "params"),
        network=_by_topic(raw, "network"),
        figures=tuple(convert(each, FigureSpec, "figures") for each in figures),
    )


def _by_topic(raw: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A table with general fields and tables of single topics."""
    said = dict(table(raw.get(name, {}), name))
    for key, value in said.items():
        if key.startswith("."):
            table(value, joined(name, key))
    return said


def _check_sense(spec: Spec) -> None:
    head = spec.experiment
    protocol = CATALOGUE[head.protocol]
    if protocol.kernel is None:
        raise Misuse(
            f"experiment.protocol: {head.protocol} does not spread events by itself; use camcast, gossip or flood"
        )
    if not 1 <= head.runs <= RUNS_MAX:
        raise Misuse(f"experiment.runs must be between 1 and {RUNS_MAX:,}, not {head.runs}")
    if not 0 <= head.seed < 2**63:
        raise Misuse(f"experiment.seed must be between 0 and 2^63 - 1, not {head.seed}")
    if head.engine == "world":
        _check_world(spec)
    elif spec.world != Conditions():
        raise Misuse('[world] needs experiment.engine = "world"')
    _check_topics(spec)
    _check_probability("faults.fraction", spec.faults.fraction)
    if spec.faults.fraction and spec.faults.kind == "none":
        raise Misuse('faults.fraction needs faults.kind = "stillborn" or "dynamic"')
    if spec.publish.climb is not None:
        _check_probability("publish.climb", spec.publish.climb)
    if spec.publish.events < 1:
        raise Misuse(f"publish.events must be at least 1, not {spec.publish.events}")
    for community in spec.setting().communities:
        _check_probability(f"network.success ({community.topic})", community.success)
        _check_probability(f"network.success_up ({community.topic})", community.success_up)


def _check_world(spec: Spec) -> None:
    if spec.experiment.protocol != "camcast":
        raise Misuse('experiment.engine = "world" runs camcast only')
    if spec.faults.kind != "none":
        raise Misuse("[faults] is for fixed tables; in a world use [world.churn], [world.crash] or [world.partition]")
    processes = sum(each.size for each in spec.topics.values())
    if processes > WORLD_MAX:
        raise Misuse(f"a world holds at most {WORLD_MAX:,} processes, not {processes:,}: use the kernel for more")


def _check_topics(spec: Spec) -> None:
    for name, each in spec.topics.items():
        topic(name)
        if not 0 <= each.size <= COMMUNITY_MAX:
            raise Misuse(f'topics."{name}".size must be between 0 and {COMMUNITY_MAX:,}, not {each.size:,}')
        for parent in each.parents:
            if parent not in spec.topics:
                raise Misuse(f'topics."{name}".parents names {parent}, which [topics] does not list')
    if spec.publish.topic not in spec.topics:
        raise Misuse(f"publish.topic is {spec.publish.topic}, which [topics] does not list")
    if spec.topics[spec.publish.topic].size < 1:
        raise Misuse(f"publish.topic is {spec.publish.topic}, where nobody is: give it a size of at least 1")
    for said, name in ((spec.params, "params"), (spec.network, "network")):
        for key in said:
            if key.startswith(".") and key not in spec.topics:
                raise Misuse(f'[{name}."{key}"] names a topic that [topics] does not list')
            if key.startswith(".") and name == "params" and not CATALOGUE[spec.experiment.protocol].per_topic:
                raise Misuse(f'[params."{key}"]: {spec.experiment.protocol} has one setting for all topics')
    spec.hierarchy()


def _check_probability(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise Misuse(f"{name} must be between 0 and 1, not {value}")


def shipped() -> list[str]:
    """Names of the experiments that come with the package, like camcast/fig15."""
    root = files("gossamer") / "experiments"
    found = [
        f"{folder.name}/{each.name.removesuffix('.toml')}"
        for folder in root.iterdir()
        if folder.is_dir()
        for each in folder.iterdir()
        if each.name.endswith(".toml")
    ]
    return sorted(found)


def read(name: str) -> tuple[dict[str, Any], str]:
    """A file's raw TOML and what to call it: a path, or the name of a shipped experiment."""
    path = Path(name)
    if not path.suffix and (files("gossamer") / "experiments" / f"{name}.toml").is_file():
        text = (files("gossamer") / "experiments" / f"{name}.toml").read_text(encoding="utf-8")
    else:
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as wrong:
            known = ", ".join(shipped())
            raise SpecError(f"cannot read {name} ({wrong.strerror or wrong}): give a path, or one of {known}") from None
        except UnicodeDecodeError:
            raise SpecError(f"{name} is not text: an experiment file is TOML") from None
    try:
        return tomllib.loads(text), name
    except tomllib.TOMLDecodeError as wrong:
        raise SpecError(f"{name} is not TOML: {wrong}") from None
