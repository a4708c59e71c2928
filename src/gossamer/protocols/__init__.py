"""CATALOGUE: every protocol by name. Others join it through the entry-point group `gossamer.protocols`.

An entry names modules by path; they are imported on first use, so that a live node never loads NumPy.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct

from gossamer.core.errors import Misuse

Role: TypeAlias = Literal["spread", "members", "search", "recover", "overlay"]


class Protocol(Struct, frozen=True, kw_only=True):
    """Where a protocol's parts are."""

    name: str
    role: Role
    says: str
    "One line for people."
    package: str
    "The folder that holds params.py, messages.py, layer.py, node.py."
    kernel: str | None = None
    theory: str | None = None
    presets: tuple[str, ...] = ()
    "Class methods of Params that may stand in an experiment file as `preset`."
    stands_on: tuple[str, ...] = ()
    "Other protocols that are part of its nodes."
    per_topic: bool = True
    "Whether communities may have Params of their own."
    climbs: bool = False
    "Whether messages between communities go up a hierarchy (and may be lost with `success_up`)."

    @property
    def params(self) -> type[Struct]:
        return import_module(f"{self.package}.params").Params  # type: ignore[no-any-return]

    @property
    def messages(self) -> tuple[type[Struct], ...]:
        union = import_module(f"{self.package}.messages").Message
        return get_args(union) or (union,)

    @property
    def static_node(self) -> Any:
        """`(setting, me, seed) -> Stack`: a node of an experiment with fixed views."""
        return import_module(f"{self.package}.node").static_node

    @property
    def spoken(self) -> tuple[type[Struct], ...]:
        """What a node of this spread hears, with all it stands on: the types its codec must speak."""
        return tuple(kind for name in (*self.stands_on, self.name) for kind in CATALOGUE[name].messages)


OWN = (
    Protocol(
        name="camcast",
        role="spread",
        says="gossip inside a topic's community, climb to super-topics; no parasites",
        package="gossamer.protocols.camcast",
        kernel="gossamer.protocols.camcast.kernel",
        theory="gossamer.protocols.camcast.theory",
        presets=("camcast", "damulticast", "live"),
        stands_on=("search", "scamp", "pgrid", "recovery", "catchup"),
        climbs=True,
    ),
    Protocol(
        name="gossip",
        role="spread",
        says="gossip broadcast, multicast or hierarchical broadcast: what CAMCAST is compared with",
        package="gossamer.protocols.gossip",
        kernel="gossamer.protocols.gossip.kernel",
        presets=("broadcast", "multicast", "hierarchical"),
        per_topic=False,
    ),
    Protocol(
        name="flood",
        role="spread",
        says="tell everybody you know, or follow the tree that grows out of it; the smallest protocol",
        package="gossamer.protocols.flood",
        kernel="gossamer.protocols.flood.kernel",
    ),
    Protocol(
        name="dispatch",
        role="spread",
        says="content-based subscription forwarding on a tree that makes itself; filters run inside the network",
        package="gossamer.protocols.dispatch",
        stands_on=("search", "scamp", "recovery", "catchup"),
        per_topic=False,
    ),
    Protocol(
        name="hpmcast",
        role="spread",
        says="gossip level by level through a hierarchy of delegates; content filters in very large groups",
        package="gossamer.protocols.hpmcast",
        stands_on=("recovery", "catchup"),
        presets=("paper", "live", "pmcast", "rfpbcast"),
        per_topic=False,
    ),
    Protocol(
        name="scamp",
        role="members",
        says="partial views of about (c + 1) ln N members, made by subscriptions that wander",
        package="gossamer.protocols.scamp",
    ),
    Protocol(
        name="pgrid",
        role="members",
        says="a trie that makes itself, in which every topic's members are registered: contacts and members by search",
        package="gossamer.protocols.pgrid",
        theory="gossamer.protocols.pgrid.theory",
        per_topic=False,
    ),
    Protocol(
        name="spidercast",
        role="overlay",
        says="few links for many topics: those interested in each topic are connected among themselves",
        package="gossamer.protocols.spidercast",
        stands_on=("interests", "flood", "recovery", "catchup"),
        presets=("paper", "live"),
        per_topic=False,
    ),
    Protocol(
        name="interests",
        role="members",
        says="a partial view of the other nodes with what each wants, gossiped; it ages and refreshes",
        package="gossamer.protocols.interests",
        per_topic=False,
    ),
    Protocol(
        name="search",
        role="search",
        says="contacts of a topic, found by asking the neighbourhood",
        package="gossamer.protocols.search",
    ),
    Protocol(
        name="recovery",
        role="recover",
        says="lost events are noticed by gaps in their counts and found again by gossip, over any spread",
        package="gossamer.protocols.recovery",
        presets=("paper", "live"),
    ),
    Protocol(
        name="catchup",
        role="recover",
        says="who was away compares its log with others', and is brought what it lacks, over any spread",
        package="gossamer.protocols.catchup",
        per_topic=False,
    ),
)


class Catalogue(Mapping[str, Protocol]):
    """Our protocols, then those other packages registered."""

    def __init__(self) -> None:
        self.broken: dict[str, str] = {}

    @cached_property
    def _all(self) -> dict[str, Protocol]:
        found = {protocol.name: protocol for protocol in OWN}
        for entry in entry_points(group="gossamer.protocols"):
            try:
                found.setdefault(entry.name, entry.load())
            except Exception as problem:  # another package's fault must not take our own protocols away
                self.broken[entry.name] = f"{entry.value} does not load: {problem}"
        return found

    def __getitem__(self, name: str) -> Protocol:
        try:
            return self._all[name]
        except KeyError:
            if name in self.broken:
                raise Misuse(f"the protocol {name!r} of another package cannot be used: {self.broken[name]}") from None
            known = ", ".join(sorted(self._all))
            raise Misuse(f"there is no protocol {name!r}: choose one of {known}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._all

    def get(self, name: str, default: Any = None) -> Any:
        return self._all.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


CATALOGUE = Catalogue()
