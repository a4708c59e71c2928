"""What can be tuned in hpmcast; the letters are the paper's."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from gossamer.core.errors import Misuse

Variant: TypeAlias = Literal["hpmcast", "pmcast", "rfpbcast"]

DELEGATES_MAX = 1 << 10
FANOUT_MAX = 1 << 10
COUNT_MAX = 1 << 30
"Of thresholds and limits."
SHARE_MAX = 0.99
"Beyond, rounds would be without end."
RELIABILITY_MAX = 0.9999
"The same."
STEP_US_MAX = 3_600_000_000


class Params(Struct, frozen=True, kw_only=True):
    """One setting for the whole hierarchy."""

    variant: Variant = "hpmcast"
    """hpmcast: level by level · pmcast: one level of all, who sends filters · rfpbcast: one level, who receives
    filters."""
    delegates: int = 3
    "R: participants that stand for a subsystem. More: surer and costlier; 1: a crash cuts a subsystem off."
    fanout: int = 2
    "F: participants of a view each step picks, before it is asked who of them wants the event."
    audience_floor: int = 0
    """D: where fewer participants of a view want an event, its first D count as interested too. Sure, at the price of
    events nobody asked for."""
    direct: int = 0
    """Where at most so many participants of a view want an event, they are told at once instead of by rounds: gossip is
    no good for a few. 0: never."""
    lan: int = 0
    "In a lowest group of at most so many participants, all that want an event are told at once. 0: never."
    estimated: bool = False
    """Interest is not measured by matching a whole view but reckoned from the level above, and improved by a look at F
    participants."""
    rounds: int = 0
    """T, of pmcast and rfpbcast: every event is gossiped for so many rounds, and nobody asks how many want it. Cheap,
    and weak where few do. 0: as many as that number asks for."""
    reliability: float = 0.0
    """Rounds are reckoned until so large a share of a view's audience is expected to be told, instead of by Pittel's
    asymptote. Surer for events that few want, at the price of time: 0.99 takes a lone reader of 22 some 46 rounds. 0:
    the asymptote."""
    expected_loss: float = 0.0
    "ε: the share of messages reckoned to be lost. More: more rounds."
    expected_crashed: float = 0.0
    "τ: the share of participants reckoned to have crashed."
    hops: int = 0
    "H: an event is passed on at most so many times in a row; 0: no limit."
    repetitions: int = 0
    "A participant gossips an event at most so many times on each level; 0: as often as the rounds say."
    step_us: int = 100_000
    "P: how often buffered events are gossiped."

    def __post_init__(self) -> None:
        for wrong, sentence in self._complaints():
            if wrong:
                raise Misuse(sentence)

    def _complaints(self) -> Iterator[tuple[bool, str]]:
        yield not 1 <= self.delegates <= DELEGATES_MAX, f"delegates must be 1 to {DELEGATES_MAX:,}"
        yield not 1 <= self.fanout <= FANOUT_MAX, f"fanout must be 1 to {FANOUT_MAX:,}"
        for name in ("audience_floor", "direct", "lan", "rounds", "hops", "repetitions"):
            yield not 0 <= getattr(self, name) <= COUNT_MAX, f"{name} must be 0 to {COUNT_MAX:,}"
        for name in ("expected_loss", "expected_crashed"):
            yield not 0 <= getattr(self, name) <= SHARE_MAX, f"{name} is a share: 0 to {SHARE_MAX}"
        yield not 0 <= self.reliability <= RELIABILITY_MAX, f"reliability is a share: 0 to {RELIABILITY_MAX}"
        levels = self.rounds > 0 and self.variant == "hpmcast"
        yield levels, "rounds can be fixed for pmcast and rfpbcast; hpmcast works them out, level by level"
        asked = self.audience_floor or self.direct or self.lan or self.estimated or self.reliability
        unasked = self.rounds > 0 and bool(asked)
        beside = "set audience_floor, direct, lan, estimated and reliability to 0 beside it"
        yield unasked, f"with rounds fixed nobody asks how many want an event: {beside}"
        at_once = self.direct > 0 or self.lan > 0
        yield self.estimated and at_once, "estimated does not say who wants an event: set direct and lan to 0 beside it"
        yield not 1 <= self.step_us <= STEP_US_MAX, f"step_us must be 1 to {STEP_US_MAX:,}"

    @property
    def arriving(self) -> float:
        """(1 − ε)(1 − τ): of what is sent, the share that is reckoned to be heard."""
        return (1 - self.expected_loss) * (1 - self.expected_crashed)

    @classmethod
    def paper(cls) -> "Params":
        """As most figures have it: R = 3, F = 2."""
        return cls()

    @classmethod
    def live(cls) -> "Params":
        """For networks in use: small audiences are told at once, and rounds follow each other sooner."""
        return cls(direct=16, lan=16, step_us=50_000)

    @classmethod
    def pmcast(cls) -> "Params":
        """One level, filtered by who sends."""
        return cls(variant="pmcast")

    @classmethod
    def rfpbcast(cls) -> "Params":
        """One level, filtered by who receives."""
        return cls(variant="rfpbcast")
