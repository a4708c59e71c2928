"""What a comparison of designs depends on: who wants what, what the network does, and what carries the events."""

import math
from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct, field

from gossamer.core.errors import Misuse
from gossamer.protocols.hpmcast.params import Params as HpmcastParams
from gossamer.sim.conditions import us

Spread: TypeAlias = Literal["camcast", "spidercast", "hpmcast", "dispatch", "flood"]
Remedy: TypeAlias = Literal["none", "live", "paper"]

NODES_MAX = 2_000
EVENTS_MAX = 10_000
PAYLOAD_MAX = 100_000
DEGREES = {"reached_50": 0.5, "reached_90": 0.9, "reached_99": 0.99, "reached_all": 1.0}
LEVELS_SHOWN = 4


class ComparedDesign(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[design]"""

    spread: Spread = "camcast"
    recovery: Remedy = "none"
    "live: combined pulls with push and tails, or hpmcast's exchange. paper: combined pulls alone, silent without loss."

    def __post_init__(self) -> None:
        if self.recovery != "none" and self.spread == "flood":
            raise Misuse("design.recovery: flooding is its own remedy, leave recovery out")
        if self.recovery == "paper" and self.spread == "hpmcast":
            raise Misuse("design.recovery: hpmcast knows no gaps to pull by, choose live")


class Workload(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[workload]"""

    branching: tuple[int, ...] = (3, 5, 5)
    "Where nodes live, the topmost level first; their number is the product."
    areas: int = 4
    topics: int = 6
    "Topics in each area."
    subscriptions: int = 3
    "Topics each node reads."
    wide: float = 0.1
    "The chance that a node reads a whole area, too."
    local: float = 0.5
    "The chance that a topic is of the area that a node's topmost branch prefers."
    filtered: float = 0.5
    "The chance that a subscription has a filter."
    selectivity: float = 0.3
    "The share of a topic's events that match a filter."
    events: int = 40
    every_s: float = 0.25
    "From one event to the next."
    payload: int = 500
    "Bytes of an event, beside its attributes."

    def __post_init__(self) -> None:
        for wrong, sentence in self._complaints():
            if wrong:
                raise Misuse(sentence)

    def _complaints(self) -> Iterator[tuple[bool, str]]:
        yield not self.branching or min(self.branching) < 1, "workload.branching needs a number of at least 1 per level"
        yield not 2 <= self.nodes <= NODES_MAX, f"workload.branching makes {self.nodes:,} nodes: 2 to {NODES_MAX:,}"
        for name in ("areas", "topics", "subscriptions"):
            yield not 1 <= getattr(self, name) <= 1_000, f"workload.{name} must be 1 to 1,000"
        for name in ("wide", "local", "filtered"):
            yield not 0 <= getattr(self, name) <= 1, f"workload.{name} is a probability: 0 to 1"
        yield not 0 < self.selectivity <= 1, "workload.selectivity must be above 0, at most 1"
        yield not 1 <= self.events <= EVENTS_MAX, f"workload.events must be 1 to {EVENTS_MAX:,}"
        yield not 0 < self.every_s <= 60, "workload.every_s must be above 0, at most 60"
        yield not 0 <= self.payload <= PAYLOAD_MAX, f"workload.payload must be 0 to {PAYLOAD_MAX:,}"

    @property
    def nodes(self) -> int:
        return math.prod(self.branching)


class NetworkConditions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[network]"""

    loss: float = 0.0
    "The chance that a message is lost, whatever it is."
    crashed: float = 0.0
    "The share of nodes that crash together, when a third of the time for events is over."
    latency_ms: float = 20.0
    "Median of a message's time under way (lognormal, sigma 0.3)."
    warmup_s: float = 20.0
    "From the start of the nodes (spread over the first half of it) to the first event."
    settle_s: float = 8.0
    "From the last event to the end."

    def __post_init__(self) -> None:
        for wrong, sentence in self._complaints():
            if wrong:
                raise Misuse(sentence)

    def _complaints(self) -> Iterator[tuple[bool, str]]:
        for name in ("loss", "crashed"):
            yield not 0 <= getattr(self, name) < 1, f"network.{name} must be at least 0, less than 1"
        for name in ("latency_ms", "warmup_s", "settle_s"):
            yield not 0 < getattr(self, name) <= 3600, f"network.{name} must be above 0, at most 3,600"


class Comparison(Struct, frozen=True, kw_only=True):
    """All that one run depends on, but for its seed."""

    design: ComparedDesign = field(default_factory=ComparedDesign)
    params: HpmcastParams = field(default_factory=HpmcastParams.live)
    workload: Workload = field(default_factory=Workload)
    network: NetworkConditions = field(default_factory=NetworkConditions)

    @property
    def crash_us(self) -> int:
        """When nodes crash, from the first event on."""
        return us(self.workload.every_s) * self.workload.events // 3
