"""Studies of communities: topics with processes in them, one event that spreads, who gets it and what that takes."""

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec
from msgspec import Struct, field

from gossamer.core.errors import Misuse
from gossamer.core.reading import convert, joined, table
from gossamer.core.setting import Community, FaultKind, Faults, Publication, Setting
from gossamer.core.topics import Hierarchy, topic
from gossamer.lab.rows import Outcome
from gossamer.lab.spec import FigureSpec, Head, figures_of, only_tables, probability
from gossamer.protocols import CATALOGUE
from gossamer.sim.conditions import Conditions

COMMUNITY_MAX = 2**31
"Picks are 32 bits wide; half of that keeps the rounding of a pick below one part in two."
WORLD_MAX = 20_000
BLOCKS_MAX = 10_000
"Every block of a community tells every other how many it tells there: the work grows with the square."
ELSEWHERE = ("recovery", "spidercast", "hpmcast", "comparison")
"What is studied in other ways."
BY_COMMUNITY = (
    "reception", "reliability", "climbed", "crossed", "sent_intra", "sent_up", "arrived_up", "arrived", "efficiency",
    "parasites", "rounds_last", "memory", "load_spread", "live",
)  # fmt: skip
OVERALL = ("messages", "parasites", "rounds_last")
"What a summary says of each community, and of the whole system. `docs/experiment-file.md` defines each."


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
    climb: float | tuple[float, ...] | None = None
    "Several: each run publishes `events` with each of these chances, and each has lines of its own in the summary."

    @property
    def several(self) -> bool:
        return isinstance(self.climb, tuple)

    @property
    def climbs(self) -> tuple[float | None, ...]:
        return self.climb if isinstance(self.climb, tuple) else (self.climb,)


class BlocksSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """[blocks]"""

    processes: int = 1 << 22
    "Processes of a block, at most. A bit for each should fit the processor's second-level cache."


class Communities(Struct, frozen=True, tag="communities"):
    """What an experiment file about communities says of one point."""

    experiment: Head
    topics: dict[str, TopicSpec]
    publish: PublishSpec
    params: dict[str, Any] = field(default_factory=dict)
    network: dict[str, Any] = field(default_factory=dict)
    faults: FaultsSpec = field(default_factory=FaultsSpec)
    figures: tuple[FigureSpec, ...] = ()
    world: Conditions = field(default_factory=Conditions)
    blocks: BlocksSpec = field(default_factory=BlocksSpec)

    row: ClassVar[type[Struct]] = Outcome
    trials: ClassVar[str] = "gossamer.lab.studies.communities.trials"
    metrics: ClassVar[tuple[str, ...]] = tuple(dict.fromkeys((*BY_COMMUNITY, *OVERALL)))
    shown: ClassVar[tuple[str, ...]] = (
        "reception", "reliability", "climbed", "sent_intra", "sent_up", "parasites", "rounds_last", "memory",
    )  # fmt: skip
    brief: ClassVar[tuple[str, ...]] = ("reception", "reliability", "climbed", "sent_up", "parasites")

    @classmethod
    def read(cls, raw: Mapping[str, Any], head: Head) -> "Communities":
        """Raw TOML, or Misuse with one sentence about the first thing that is wrong."""
        spec = _spec(raw, head)
        _check_sense(spec)
        return spec

    def identity(self) -> tuple[Any, ...]:
        said = ([*self.topics.items()], self.params, self.network, self.faults, self.publish, self.world)
        return (*said, self.blocks) if self.experiment.engine == "blocks" else said

    def population(self) -> str:
        return f"{sum(each.size for each in self.topics.values()):,} processes"

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
        climbs = self.publish.climbs * self.publish.events
        return [Publication(home, sequence, climb) for sequence, climb in enumerate(climbs)]

    def parted(self) -> tuple[str, ...]:
        """Fields that have several values within a run: its events are told apart by them, as points are by a sweep."""
        return ("publish.climb",) if self.publish.several else ()


def _layered(table: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What a table says for one topic: its general fields, overridden by the topic's own."""
    general = {key: value for key, value in table.items() if not key.startswith(".")}
    return {**general, **table.get(name, {})}


def params_for(spec: Communities, name: str) -> Struct:
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
    "publish": PublishSpec,
    "faults": FaultsSpec,
    "world": Conditions,
    "blocks": BlocksSpec,
}


def _spec(raw: Mapping[str, Any], head: Head) -> Communities:
    only_tables(raw, Communities.__struct_fields__)
    for name in ("topics", "publish"):
        if name not in raw:
            raise Misuse(f"the table [{name}] is missing")
    parts: dict[str, Any] = {name: convert(raw[name], kind, name) for name, kind in TABLES.items() if name in raw}
    return Communities(
        **parts,
        experiment=head,
        topics={
            name: convert(each, TopicSpec, joined("topics", name))
            for name, each in table(raw["topics"], "topics").items()
        },
        params=_by_topic(raw, "params"),
        network=_by_topic(raw, "network"),
        figures=figures_of(raw),
    )


def _by_topic(raw: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A table with general fields and tables of single topics."""
    said = dict(table(raw.get(name, {}), name))
    for key, value in said.items():
        if key.startswith("."):
            table(value, joined(name, key))
    return said


def _studied() -> str:
    """What an experiment can be about."""
    here = [name for name in CATALOGUE if CATALOGUE[name].kernel is not None and name not in ELSEWHERE]
    *some, last = (*here, *ELSEWHERE)
    return f"{', '.join(some)} or {last}"


def _check_sense(spec: Communities) -> None:
    head = spec.experiment
    if head.protocol not in CATALOGUE and head.protocol not in CATALOGUE.broken:
        raise Misuse(f"experiment.protocol: there is no {head.protocol!r}; use {_studied()}")
    protocol = CATALOGUE[head.protocol]
    if protocol.kernel is None:
        what = "has no kernel" if protocol.role == "spread" else "does not spread events by itself"
        raise Misuse(f"experiment.protocol: {head.protocol} {what}; use {_studied()}")
    if head.engine == "world":
        _check_world(spec)
    elif spec.world != Conditions():
        raise Misuse('[world] needs experiment.engine = "world"')
    if head.engine == "blocks":
        _check_blocks(spec)
    elif spec.blocks != BlocksSpec():
        raise Misuse('[blocks] needs experiment.engine = "blocks"')
    _check_topics(spec)
    probability("faults.fraction", spec.faults.fraction)
    if spec.faults.fraction and spec.faults.kind == "none":
        raise Misuse('faults.fraction needs faults.kind = "stillborn" or "dynamic"')
    if not spec.publish.climbs:
        raise Misuse("publish.climb is an empty list: give one chance or several")
    for climb in spec.publish.climbs:
        probability("publish.climb", 0 if climb is None else climb)
    if spec.publish.events < 1:
        raise Misuse(f"publish.events must be at least 1, not {spec.publish.events}")
    for community in spec.setting().communities:
        probability(f"network.success ({community.topic})", community.success)
        probability(f"network.success_up ({community.topic})", community.success_up)


def _check_world(spec: Communities) -> None:
    if spec.experiment.protocol != "camcast":
        raise Misuse('experiment.engine = "world" runs camcast only')
    if spec.faults.kind != "none":
        raise Misuse("[faults] is for fixed tables; in a world use [world.churn], [world.crash] or [world.partition]")
    processes = sum(each.size for each in spec.topics.values())
    if processes > WORLD_MAX:
        raise Misuse(f"a world holds at most {WORLD_MAX:,} processes, not {processes:,}: use the kernel for more")


def _check_blocks(spec: Communities) -> None:
    if spec.experiment.protocol != "camcast":
        raise Misuse('experiment.engine = "blocks" runs camcast only')
    most = spec.blocks.processes
    if not 1 <= most <= COMMUNITY_MAX:
        raise Misuse(f"blocks.processes must be between 1 and {COMMUNITY_MAX:,}, not {most:,}")
    count = sum(-(-each.size // most) for each in spec.topics.values())
    if count > BLOCKS_MAX:
        raise Misuse(f"there would be {count:,} blocks, {BLOCKS_MAX:,} is the most: raise blocks.processes")


def _check_topics(spec: Communities) -> None:
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
