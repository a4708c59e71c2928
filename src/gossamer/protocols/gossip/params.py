"""What can be tuned in plain gossip: the three approaches CAMCAST is compared with."""

import math
from typing import Literal

from msgspec import Struct

from gossamer.core.errors import Misuse


class Params(Struct, frozen=True, kw_only=True):
    """One setting for the whole population: plain gossip knows no communities."""

    audience: Literal["everybody", "interested"] = "everybody"
    "Who takes part in spreading an event: every process (broadcast), or those that want it (multicast)."
    fanout_extra: float = 5.0
    "c, in clusters c1: others beyond ln of the group's size each first receiver tells."
    clusters: int = 1
    "C: groups the audience is cut into, whatever the interests; 1: one group of all."
    cross_extra: float = 5.0
    "c2: other clusters beyond ln C in which each first receiver tells one process."

    def __post_init__(self) -> None:
        for name in ("fanout_extra", "cross_extra"):
            if not math.isfinite(getattr(self, name)):
                raise Misuse(f"{name} must be a number, not {getattr(self, name)}")
        if self.clusters < 1:
            raise Misuse(f"clusters must be at least 1, not {self.clusters}")

    @classmethod
    def broadcast(cls) -> "Params":
        """(a) Everybody gets everything."""
        return cls()

    @classmethod
    def multicast(cls) -> "Params":
        """(b) One group per topic, joined by the subscribers of the topic and of all its super-topics."""
        return cls(audience="interested")

    @classmethod
    def hierarchical(cls, clusters: int = 10) -> "Params":
        """(c) Broadcast in two levels, to keep views small."""
        return cls(clusters=clusters)
