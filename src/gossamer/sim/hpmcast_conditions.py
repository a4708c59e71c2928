"""What a world of living hpmcast participants depends on: where they live, how far apart, and what happens to them."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct, field

from gossamer.core.errors import Misuse
from gossamer.protocols.hpmcast.experiment.setting import HierarchySetting
from gossamer.protocols.hpmcast.upkeep import Upkeep
from gossamer.sim.conditions import Churn

Layout: TypeAlias = Literal["near", "drawn", "alike"]

COUNT_MAX = 10_000
SECONDS_MAX = 3600.0


class LivingConditions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[world] of a study of hierarchies"""

    warmup_s: float = 15.0
    "From the start of the participants (spread over the first half of it) until something happens and is counted."
    seconds: float = 20.0
    "For how long: events, newcomers and crashes are spread over it."
    settle_s: float = 10.0
    "From then to the end, so that what began can be completed; and how long an event may take."
    topics: int = 6
    "What events are about; `workload.interest` is the chance that a participant wants one of them."
    events: int = 0
    newcomers: int = 0
    "Participants that come only then, each with one contact: as many with a near one as with a far one."
    crashes: int = 0
    "Participants that crash and stay down: as many that stand on every level as on the lowest alone."
    churn: Churn | None = None
    "Participants that crash and come back, all the time."
    addresses: Layout = "near"
    """How addresses follow places in the network: near, who is near has an address near; drawn, by chance; alike, who
    wants the same has an address near, wherever it is."""
    near_ms: float = 1.0
    "Median time of a message between two places that differ in the last digit only,"
    farther: float = 5.0
    "and how many times longer it takes for every digit more."
    jitter: float = 0.3
    "How much times differ (lognormal, sigma)."

    def __post_init__(self) -> None:
        for wrong, sentence in self._complaints():
            if wrong:
                raise Misuse(sentence)

    def _complaints(self) -> Iterator[tuple[bool, str]]:
        for name in ("warmup_s", "seconds", "settle_s"):
            yield (
                not 0 < getattr(self, name) <= SECONDS_MAX,
                f"world.{name} must be above 0, at most {SECONDS_MAX:,.0f}",
            )
        yield not 1 <= self.topics <= COUNT_MAX, f"world.topics must be 1 to {COUNT_MAX:,}"
        for name in ("events", "newcomers", "crashes"):
            yield not 0 <= getattr(self, name) <= COUNT_MAX, f"world.{name} must be 0 to {COUNT_MAX:,}"
        yield not 0.001 <= self.near_ms <= 1000, "world.near_ms must be 0.001 to 1,000"
        yield not 1 <= self.farther <= 100, "world.farther must be 1 to 100: what is farther does not take less time"
        yield not 0 <= self.jitter <= 3, "world.jitter must be 0 to 3"
        churn = self.churn
        once = self.newcomers > 0 or self.crashes > 0
        yield churn is not None and once, "world.churn has everybody come and go: leave out newcomers and crashes"
        yield churn is not None and min(churn.up_s, churn.down_s) <= 0, "world.churn.up_s and down_s must be above 0"
        yield churn is not None and not 0 <= churn.share <= 1, "world.churn.share must be between 0 and 1"


class LivingSetting(Struct, frozen=True, kw_only=True):
    """All that one run depends on, but for its seed."""

    hierarchy: HierarchySetting = field(default_factory=HierarchySetting)
    upkeep: Upkeep = field(default_factory=Upkeep)
    world: LivingConditions = field(default_factory=LivingConditions)
