"""What a node is told before it starts: one struct, from a TOML file < environment < flags, or made in Python.

Wrong settings are refused here, before a socket is opened or a folder made. Light: msgspec and the standard library.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, structs

from gossamer.core.errors import Misuse
from gossamer.core.reading import joined
from gossamer.core.topics import Topic, no_wildcard, topic
from gossamer.core.typed import with_types
from gossamer.live.config.place import EXCHANGING, LIVE_PLACE, HpmcastConfig
from gossamer.live.config.reading import ANY, Said, fields_of
from gossamer.live.config.tables import (
    FaultsConfig,
    HierarchyConfig,
    Limits,
    MetricsConfig,
    SpoolConfig,
    Timeouts,
    TraceConfig,
    about,
    as_path,
    as_tuple,
    check_address,
    check_it_stays_here,
    is_wildcard,
)
from gossamer.protocols.assemble import BY_CONTENT, Design, SpreadName
from gossamer.protocols.camcast.node import MembershipName
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.catchup.params import Params as CatchUpParams
from gossamer.protocols.dispatch.params import Params as DispatchParams
from gossamer.protocols.flood.params import Params as FloodParams
from gossamer.protocols.hpmcast.addresses import Address
from gossamer.protocols.hpmcast.upkeep import Upkeep
from gossamer.protocols.interests.params import Params as InterestsParams
from gossamer.protocols.pgrid.params import Params as PGridParams
from gossamer.protocols.recovery.params import Params as RecoveryParams
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.protocols.search.params import Params as SearchParams
from gossamer.protocols.spidercast.params import Params as SpidercastParams

T = TypeVar("T", bound=Struct)

ADDRESSES_MAX = 8
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
PRESETS: dict[type[Struct], tuple[str, ...]] = {
    CamcastParams: ("live", "camcast", "damulticast"),
    RecoveryParams: ("live", "paper"),
}
"The first holds where none is named."
TABLES: dict[str, type[Struct]] = {
    "spool": SpoolConfig,
    "trace": TraceConfig,
    "metrics": MetricsConfig,
    "limits": Limits,
    "timeouts": Timeouts,
    "scamp": ScampParams,
    "search": SearchParams,
    "pgrid": PGridParams,
    "hierarchy": HierarchyConfig,
    "faults": FaultsConfig,
    "dispatch": DispatchParams,
    "spidercast": SpidercastParams,
    "interests": InterestsParams,
    "flood": FloodParams,
    "hpmcast": HpmcastConfig,
    "upkeep": Upkeep,
}
LIVE: dict[type[Struct], Struct] = {
    SpidercastParams: SpidercastParams.live(),
    FloodParams: FloodParams(tree=True),
    HpmcastConfig: LIVE_PLACE,
}
"Tables whose fields are, where nothing is said, not those of an experiment."
BY_TOPIC = {"camcast": "topics", "recovery": "recovery_topics"}
"Tables of parameters, and where they stand for single topics."


class Config(Struct, frozen=True, kw_only=True):
    """All of it."""

    name: str = ""
    "The node's name, which its number is made of: letters, digits, `.`, `_`, `-`. Empty: the name in `keys`."
    network: str = "default"
    "Which network this is: nodes of another one are turned away, and traces are marked with it."
    bind: str = "127.0.0.1:7400"
    "Where calls are taken; port 0: any free one. Without keys this must be loopback."
    advertise: tuple[str, ...] = ()
    "Where others can reach it, best first; none: where it is bound. Port 0: the port that was bound."
    seeds: tuple[str, ...] = ()
    "Nodes to begin with. A DNS name with several addresses is several seeds."
    keys: Path | None = None
    "The folder that `gossamer keys grant` made for this node; none: no TLS, loopback only."
    subscribe: tuple[str, ...] = ()
    "Topics read for the spool, whoever is attached: clients may read them later."
    publish: tuple[str, ...] = ()
    "Topics whose communities are joined from the start, so that the first publication is quick."
    spread: SpreadName = "camcast"
    """How events travel: `camcast`, inside communities by topic, filters at the reader; `spidercast`, the same over one
    overlay of few links, for many unrelated topics per node; `dispatch`, by content along a tree of all nodes, filters
    inside the network; `hpmcast`, by content through delegates of a hierarchy, for very large networks. Every node of a
    network must say the same."""
    membership: MembershipName = "unstructured"
    """With `camcast`, how members and those above are found: `unstructured`, by asking neighbours; `semi-structured`,
    the first ones by an overlay of all nodes; `structured`, all by that overlay. All nodes must say the same."""
    community: str = "."
    "With `dispatch` and `hpmcast`: the topic whose members all nodes are, and that each must be granted to read."
    spool: SpoolConfig = SpoolConfig()
    trace: TraceConfig = TraceConfig()
    metrics: MetricsConfig = MetricsConfig()
    limits: Limits = Limits()
    timeouts: Timeouts = Timeouts()
    dispatch: DispatchParams = DispatchParams()
    spidercast: SpidercastParams = SpidercastParams.live()
    "How neighbours are chosen, with `spidercast`."
    interests: InterestsParams = InterestsParams()
    "How nodes learn what others want, with `spidercast`."
    flood: FloodParams = FloodParams(tree=True)
    "How events travel over the overlay's links, with `spidercast`."
    hpmcast: HpmcastConfig = LIVE_PLACE
    "How events travel, and where this node lives, with `hpmcast`."
    upkeep: Upkeep = Upkeep()
    "How the views of its hierarchy are kept, with `hpmcast`."
    camcast: CamcastParams = CamcastParams.live()
    topics: dict[str, CamcastParams] = {}
    "The same for single topics, in full."
    recovery: RecoveryParams = RecoveryParams.live()
    "How events that were lost on the way are found again."
    recovery_topics: dict[str, RecoveryParams] = {}
    "The same for single topics, in full."
    scamp: ScampParams = ScampParams()
    search: SearchParams = SearchParams()
    pgrid: PGridParams = PGridParams()
    "The overlay that members are found in, unless `membership` is unstructured."
    hierarchy: HierarchyConfig = HierarchyConfig()
    faults: FaultsConfig = FaultsConfig()

    def __post_init__(self) -> None:
        as_path(self, "keys")
        for field in ("advertise", "seeds", "subscribe", "publish"):
            as_tuple(self, field)
        self._check_names()
        self._check_addresses()
        if self.spool.durability == "off":
            self._expect_nothing_of_the_spool()
        with about("community"):
            topic(self.community)
        for field in ("subscribe", "publish", "topics", "recovery_topics"):
            for each in getattr(self, field):
                with about(field):
                    no_wildcard(topic(each))
        if self.membership != "unstructured" and self.spread != "camcast":
            raise Misuse(f'membership "{self.membership}" is for spread = "camcast", not "{self.spread}": leave it out')
        if self.spread in BY_CONTENT:
            self._check_community()
        self._fit_recovery()
        if self.keys is None or self.hpmcast.address:  # or else a grant may say it
            self._lives_at()
        if self.spidercast.view != "full" or self.spidercast.selection == "ring":
            raise Misuse(
                "spidercast.view and rings are for experiments: interests.view_max says how many nodes are known"
            )
        if not (self.spidercast.greedy or self.spidercast.random or self.spidercast.adaptive):
            raise Misuse("spidercast.greedy and spidercast.random are both 0: there would be no links")

    def _check_names(self) -> None:
        if not self.name and self.keys is None:
            raise Misuse('name is missing: give the node one of its own, like name = "node-7"')
        for field in ("name", "network"):
            said = getattr(self, field)
            if (said or field == "network") and not NAME.fullmatch(said):
                raise Misuse(f"{field} must be up to 64 letters, digits, '.', '_' or '-', not {said!r}")

    def _check_community(self) -> None:
        order, community = self.hierarchy.order(), topic(self.community)
        for field in ("subscribe", "publish"):
            for each in getattr(self, field):
                if not order.includes(community, topic(each)):
                    raise Misuse(f"{field} names {each}, which does not lie below {community}, as community says")

    def _check_addresses(self) -> None:
        check_address("bind", self.bind)
        for field, ports in (("advertise", 0), ("seeds", 1)):
            for each in getattr(self, field):
                check_address(field, each, ports)
                if is_wildcard(each):
                    raise Misuse(f"{field} names {each}, where nobody can be reached: name the machine")
        if len(self.advertise) > ADDRESSES_MAX:
            raise Misuse(f"advertise has {len(self.advertise)} addresses: name the best {ADDRESSES_MAX}")
        if self.keys is None:
            check_it_stays_here(self.bind, {"advertise": self.advertise, "seeds": self.seeds})
        elif is_wildcard(self.bind) and not self.advertise:
            raise Misuse(f"advertise is missing: bind is {self.bind}, which tells nobody where to call")

    def _expect_nothing_of_the_spool(self) -> None:
        """A node that took a request for the spool's would neither answer it nor pass it on."""
        structs.force_setattr(self, "recovery", structs.replace(self.recovery, store=False))
        single = {name: structs.replace(each, store=False) for name, each in self.recovery_topics.items()}
        structs.force_setattr(self, "recovery_topics", single)

    def _fit_recovery(self) -> None:
        if self.spread == "hpmcast" and self.recovery == RecoveryParams.live():  # nothing else was said
            structs.force_setattr(self, "recovery", structs.replace(self.recovery, **EXCHANGING))
        for name, each in {"recovery": self.recovery, **self.recovery_topics}.items():
            where = name if name == "recovery" else joined("recovery_topics", name)
            if self.spread == "hpmcast" and each.method not in ("exchange", "none"):
                raise Misuse(f'{where}.method must be "exchange" or "none" with hpmcast, which counts no patterns')
            if self.spread != "hpmcast" and each.method == "exchange":
                raise Misuse(f"{where}.method: exchange needs a spread that knows what its peers want, hpmcast")

    def _lives_at(self, granted: Address = ()) -> Address:
        return self.hpmcast.lives_at((*self.advertise, self.bind)[0], granted) if self.spread == "hpmcast" else ()

    def params_of(self, name: Topic) -> CamcastParams:
        """What holds for one topic's community."""
        return self.topics.get(name, self.camcast)

    @property
    def design(self) -> Design:
        return self.design_at(())

    def design_at(self, granted: Address) -> Design:
        """What the node is built of, where its grant says that it lives there."""
        return Design(
            spread=self.spread,
            membership=self.membership,
            pgrid=self.pgrid,
            dispatch=self.dispatch,
            community=self.community,
            spidercast=self.spidercast,
            interests=self.interests,
            flood=self.flood,
            hpmcast=self.hpmcast.params,
            upkeep=self.upkeep,
            branching=self.hpmcast.branching,
            address=self._lives_at(granted),
        )

    @property
    def catching_up(self) -> CatchUpParams:
        """How this node gets what was published while it was away: it needs a log to compare."""
        return CatchUpParams(log=self.spool.durability != "off")

    def recovery_of(self, name: Topic) -> RecoveryParams:
        """How losses of one topic are found."""
        return self.recovery_topics.get(name, self.recovery)

    def advertised(self, bound: str) -> tuple[str, ...]:
        """What goes into the node's record, once it is known where it is bound."""
        if not self.advertise:
            return (bound,)
        port = bound.rpartition(":")[2]
        return tuple(f"{each[:-2]}:{port}" if each.endswith(":0") else each for each in self.advertise)


# Reading


def load(
    path: str | Path | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
) -> Config:
    """The configuration a file, the environment (None: this process's) and flags (dotted names) make together.

    SpecError: the file or a variable is wrong. Misuse: a flag is."""
    return read(path, environ, overrides)[0]


def read(
    path: str | Path | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
) -> tuple[Config, dict[str, str]]:
    """The same, and who said each field that was said."""
    said = Said(_fields())
    if path is not None:
        said.file(Path(path))
    said.environment(os.environ if environ is None else environ)
    said.flags(overrides or {})
    try:
        return _config(said.values), said.sources
    except Misuse as wrong:
        raise said.mistake(str(wrong)) from None


def _fields() -> dict[str, Any]:
    fields = fields_of(Config)
    for general, single in BY_TOPIC.items():
        fields[general]["preset"] = str
        fields[single] = {ANY: fields[general]}
    return fields


def _config(said: Mapping[str, Any]) -> Config:
    tables: dict[str, Any] = {
        name: _table(kind, {**(structs.asdict(LIVE[kind]) if kind in LIVE else {}), **said.get(name, {})}, name)
        for name, kind in TABLES.items()
    }
    for name, kind in (("camcast", CamcastParams), ("recovery", RecoveryParams)):
        general, single = said.get(name, {}), BY_TOPIC[name]
        if kind is RecoveryParams and said.get("spread") == "hpmcast":
            general = {**EXCHANGING, **general}
        tables[name] = _preset(kind, general, name)
        tables[single] = {
            topic: _preset(kind, {**general, **fields}, joined(single, topic))
            for topic, fields in said.get(single, {}).items()
        }
    plain = {name: value for name, value in said.items() if not isinstance(value, dict)}
    return Config(**plain, **tables)


def _preset(kind: type[T], said: Mapping[str, Any], where: str) -> T:
    """A preset with single fields changed: what is written anywhere wins over a preset."""
    fields, presets = dict(said), PRESETS[kind]
    preset = fields.pop("preset", presets[0])
    if preset not in presets:
        raise Misuse(f"{where}.preset must be {', '.join(presets[:-1])} or {presets[-1]}, not {preset!r}")
    return _table(kind, {**structs.asdict(getattr(kind, preset)()), **fields}, where)


def _table(kind: type[T], said: Mapping[str, Any], where: str) -> T:
    """A table's struct; what it finds senseless is told with the table's name before the field's."""
    try:
        return kind(**said)
    except Misuse as wrong:
        first = re.split(r"\W", str(wrong), maxsplit=1)[0]
        raise Misuse(f"{where}.{wrong}" if first in kind.__struct_fields__ else f"{where}: {wrong}") from None


def with_parents_of_types(config: Config) -> Config:
    """The same, with super-topics that the types of this program have beside those their names tell."""
    said = config.hierarchy.parents
    with about("hierarchy.parents"):
        parents = with_types(said)
        if parents == said:
            return config
        return structs.replace(config, hierarchy=structs.replace(config.hierarchy, parents=parents))
