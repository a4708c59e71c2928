"""An experiment on recovery: dispatchers joined to a tree, what they subscribe to, and a network that loses.

Made from plain numbers. What a seed makes of it is drawn here, in `topology.py` (which tree, which links vanish) and in
`workload.py` (what is published); machines and kernel both start from that, so the two cannot disagree.
"""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct, field

from gossamer.core.draws import WORKLOAD, distinct, fold
from gossamer.core.errors import Misuse
from gossamer.protocols.recovery.params import Params

Shape: TypeAlias = Literal["balanced", "random"]

SECOND_US = 1_000_000
DEGREE_MAX = 60
"A kernel keeps a dispatcher's neighbours as the bits of one word."
DISPATCHERS_MAX = 30_000
PER_EVENT_MAX = 300
"Patterns by which an event is counted in any case: a kernel knows no others."
SUBSCRIPTIONS = 0
"What is drawn for the reason WORKLOAD: who subscribes to what,"
PUBLICATIONS = 1
"and what is published."


class EpidemicSetting(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that is chosen about an experiment, but for the seed."""

    dispatchers: int = 100
    degree: int = 4
    "Neighbours a dispatcher has at most."
    tree: Shape = "balanced"
    "balanced: filled breadth-first · random: each new dispatcher joins any that has room."
    loss: float = 0.1
    "The chance that a message is lost, whatever it carries."
    burst: float = 1.0
    "Messages that are lost in a row on a link, on average; 1: each is lost or not independently of the others."
    loss_period_s: float = 0.0
    "Loss comes in storms: one in each such period; 0: loss is always the same."
    loss_share: float = 0.5
    "How much of a period the storm takes, at its end. It loses loss / loss_share, so that the mean stays `loss`."
    latency_us: int = 1000
    reconfigure_every_s: float = 0.0
    "So often a link vanishes; 0: the tree stays as it is."
    repair_s: float = 0.1
    "After that another link joins the two halves, and the tables are right again."
    patterns: int = 70
    subscriptions: int = 2
    "Different patterns each dispatcher subscribes to."
    patterns_per_event: int = 3
    "An event matches 1 to so many patterns, each number as likely as the others."
    rate: float = 50.0
    "Events each dispatcher publishes per second, at random times (Poisson)."
    recovery: Params = field(default_factory=Params.paper)
    seconds: float = 15.0
    measure_from: float = 2.0
    "Deliveries of events published from then on are counted,"
    measure_to: float = 10.0
    "until then; all are judged at the end."

    def __post_init__(self) -> None:
        for wrong, sentence in self._complaints():
            if wrong:
                raise Misuse(sentence)

    def _complaints(self) -> Iterator[tuple[bool, str]]:
        least = 2 if self.dispatchers > 2 else 1
        yield not 1 <= self.dispatchers <= DISPATCHERS_MAX, f"dispatchers must be 1 to {DISPATCHERS_MAX:,}"
        yield not least <= self.degree <= DEGREE_MAX, f"degree must be {least} to {DEGREE_MAX}, or there is no tree"
        yield not 0 <= self.loss < 1, "loss is a probability: at least 0, less than 1"
        yield self.burst < 1, "burst is a number of messages, at least 1"
        yield not 0 < self.loss_share <= 1, "loss_share is a share of the period: more than 0, at most 1"
        stormy, in_bursts = self.loss_period_s > 0, self.burst > 1
        yield stormy and self.loss > self.loss_share, "a storm can lose everything, not more: raise loss_share"
        yield stormy and in_bursts, "loss comes in bursts or in storms, not both: leave out burst or loss_period_s"
        yield in_bursts and self.loss > 0.5, "bursts are for a loss of at most 0.5"
        yield self.latency_us < 1, "latency_us must be at least 1"
        yield self.recovery.method == "exchange", "exchange is for hpmcast: dispatchers know patterns, choose another"
        yield min(self.loss_period_s, self.reconfigure_every_s, self.repair_s) < 0, "times must not be negative"
        at_once = self.reconfigure_every_s > 0 and round(self.repair_s * SECOND_US) < 1
        yield at_once, "repair_s must be more than 0: a link vanishes before another takes its place"
        yield not 1 <= self.patterns < 2**31, "patterns must be at least 1"
        yield not 0 <= self.subscriptions <= self.patterns, "subscriptions must be 0 to the number of patterns"
        most = min(self.patterns, PER_EVENT_MAX)
        yield not 1 <= self.patterns_per_event <= most, f"patterns_per_event must be 1 to {most} here"
        yield self.rate < 0, "rate must not be negative"
        yield not self.seconds > 0, "seconds must be more than 0"
        ordered = 0 <= self.measure_from <= self.measure_to <= self.seconds
        yield not ordered, "measure_from and measure_to must lie in this order between 0 and seconds"

    @property
    def until_us(self) -> int:
        return round(self.seconds * SECOND_US)

    @property
    def window_us(self) -> tuple[int, int]:
        """Events published from the first on, and before the second, are counted."""
        return round(self.measure_from * SECOND_US), round(self.measure_to * SECOND_US)

    def subscribed(self, seed: int) -> list[list[int]]:
        """For each dispatcher the patterns it subscribes to, in ascending order."""
        key = fold(fold(seed, WORKLOAD), SUBSCRIPTIONS)
        who = range(self.dispatchers)
        return [sorted(distinct(fold(key, each), self.patterns, self.subscriptions)) for each in who]

    def loss_at(self, now_us: int) -> float:
        """What a message sent at this time is lost with."""
        period_us = round(self.loss_period_s * SECOND_US)
        if not period_us:
            return self.loss
        calm_us = round(period_us * (1 - self.loss_share))
        return self.loss / self.loss_share if now_us % period_us >= calm_us else 0.0

    @property
    def bursts(self) -> tuple[float, float]:
        """With which chance a link goes bad, and a bad one good again, from one message to the next."""
        improves = 1 / self.burst
        return self.loss * improves / (1 - self.loss), improves
