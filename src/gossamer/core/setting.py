"""An experiment as protocols see it: communities with sizes, a network that loses, processes that fail.

`lab` makes a Setting from a file; layers (through `static_node`) and kernels (through `tables`) both start from it,
so the two cannot disagree about what is being run.
"""

from bisect import bisect_right
from functools import cached_property
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from gossamer.core.ids import EventId
from gossamer.core.topics import Hierarchy, Topic

FaultKind: TypeAlias = Literal["none", "stillborn", "dynamic"]


class Community(Struct, frozen=True):
    """The processes interested in one topic: numbers `start` … `start + size - 1`."""

    topic: Topic
    start: int
    size: int
    supers: tuple[int, ...]
    "Indices of the nearest populated super-communities, one table each."
    params: Any
    "The protocol's Params for this topic."
    success: float
    "The chance that a message inside the community arrives."
    success_up: float
    "The chance that a message to a super-community arrives."

    @property
    def members(self) -> range:
        return range(self.start, self.start + self.size)


class Faults(Struct, frozen=True):
    kind: FaultKind = "none"
    fraction: float = 0.0

    @property
    def stillborn(self) -> float:
        """The share of each community that is crashed from the start."""
        return self.fraction if self.kind == "stillborn" else 0.0

    @property
    def unreached(self) -> float:
        """The chance that a transmission finds its target dead."""
        return self.fraction if self.kind == "dynamic" else 0.0


class Publication(Struct, frozen=True):
    """One event: published in a community by its first live process."""

    home: int
    sequence: int = 0
    climb: float | None = None


class Setting(Struct, frozen=True, dict=True):
    communities: tuple[Community, ...]
    faults: Faults = field(default_factory=Faults)
    further: dict[Topic, tuple[Topic, ...]] = field(default_factory=dict)

    @property
    def processes(self) -> int:
        return sum(community.size for community in self.communities)

    def community_of(self, peer: int) -> Community:
        return self.communities[bisect_right(self.starts, peer) - 1]

    @cached_property
    def starts(self) -> list[int]:
        """The first process of each community, in order: where a process stands among them says which is its own."""
        return [community.start for community in self.communities]

    def hierarchy(self) -> Hierarchy:
        """The same for all who ask: what one process found out about topics need not be found out by every other."""
        return self._order

    @cached_property
    def _order(self) -> Hierarchy:
        return Hierarchy(self.further)

    def interested(self, home: int) -> list[bool]:
        """For each community, whether it wants events of the home community's topic."""
        order = self.hierarchy()
        topic = self.communities[home].topic
        return [order.includes(community.topic, topic) for community in self.communities]


def event_id(publisher: int, sequence: int) -> EventId:
    """The id an experiment's event gets; publishers of experiments live once, so their incarnation is 0."""
    return EventId(publisher, 0, sequence)
