"""What can be tuned in CAMCAST; the letters are the papers'."""

import math
from collections.abc import Callable

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.machine import SECOND_US
from gossamer.core.topics import Topic


class Params(Struct, frozen=True, kw_only=True):
    """One community's settings. They may differ from topic to topic and change while running."""

    fanout_extra: float = 5.0
    "c: members beyond ln N each first receiver tells. Higher: surer (missing one goes as e^-c) and costlier, linearly."
    table_factor: float | None = None
    "b: topic tables hold (b + 1) ln N entries; None: ln N + c, exactly what one event needs."
    electors: float = 5.0
    "g: how many members carry an event upwards, on average. P(nobody does) falls as e^-g."
    targets: float = 1.0
    "a: how many of its links an elected process tells, on average; at most `links`."
    links: int = 3
    "z: super-topic contacts each process keeps, per super-topic."
    links_low: int = 2
    "tau: with fewer live links than this (never more than `links`), links - links_low new ones are asked for."
    small: int = 0
    "In communities up to this size everybody elects itself and tells its whole view and every link. 0: never."
    keep_every_us: int = 2 * SECOND_US
    """How often links are looked after, each time by about `electors` members of the community: probes do not grow with
    it. A link in use that fails is noticed by that, whoever probes."""
    probe_patience_us: int = SECOND_US // 4
    """How long a probed link may take to answer before it is probed again. It should exceed a round trip; if it does
    not, nothing breaks, but the slow are probed more often."""
    probes: int = 16
    """A link that answers none of this many probes has failed: probes × probe_patience_us (two `keep_every_us`) after
    the first. A live one fails to answer them all with (1 - (1 - loss)²)^probes each time it is probed: 3 × 10⁻¹² at
    10 % loss, 2 × 10⁻⁵ at 30 %. More: fewer false alarms on lossy networks, slower to notice."""
    search_every_us: int = 1 * SECOND_US
    "How long a search for super-topic contacts waits before it asks again; doubles, up to 32 times this, in vain."
    rotation: float = 0.1
    "The chance, each time links are looked after, that one live link is exchanged for another: spreads the load above."

    def __post_init__(self) -> None:
        for name in ("fanout_extra", "electors", "targets"):
            if not math.isfinite(getattr(self, name)):
                raise Misuse(f"{name} must be a number, not {getattr(self, name)}")
        if self.links < 1:
            raise Misuse(f"links must be at least 1, not {self.links}: events could never climb")
        if not 0 < self.targets <= self.links:
            raise Misuse(f"targets must be above 0 and at most links ({self.links}), not {self.targets}")
        if self.electors < 0:
            raise Misuse(f"electors must not be negative, not {self.electors}")
        if self.links_low < 0:
            raise Misuse(f"links_low must not be negative, not {self.links_low}")
        if not 0 <= self.rotation <= 1:
            raise Misuse(f"rotation is a chance between 0 and 1, not {self.rotation}")
        for name in ("keep_every_us", "probe_patience_us", "search_every_us", "probes"):
            if getattr(self, name) < 1:
                raise Misuse(f"{name} must be at least 1, not {getattr(self, name)}")

    @classmethod
    def camcast(cls) -> "Params":
        """The simulations of CAMCAST, section 6.1.1."""
        return cls()

    @classmethod
    def damulticast(cls) -> "Params":
        """The simulations of daMulticast, section VII: the same, on topic tables of (b + 1) ln S entries."""
        return cls(table_factor=3.0)

    @classmethod
    def live(cls) -> "Params":
        """For networks in use: whole views and sure climbing in small communities, e^-10 to stay below else."""
        return cls(electors=10.0, targets=4.0, links=4, links_low=3, small=32)


class Settings:
    """Which parameters hold for which topic at present: those of the network, or what this node was tuned to."""

    def __init__(self, params: Callable[[Topic], Params] | Params) -> None:
        self.params = params
        self.tuned: dict[Topic, Params] = {}

    def of(self, topic: Topic) -> Params:
        return self.tuned.get(topic) or (self.params(topic) if callable(self.params) else self.params)

    def tune(self, topic: Topic, params: Params) -> None:
        self.tuned[topic] = params

    def forget(self, topic: Topic) -> None:
        self.tuned.pop(topic, None)
