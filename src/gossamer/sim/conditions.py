"""What a dynamic world is like: how long it runs, what its network does, who comes and goes."""

from msgspec import Struct, field

from gossamer.core.errors import Misuse
from gossamer.core.machine import SECOND_US
from gossamer.protocols.camcast.node import MembershipName
from gossamer.sim.network import Latency


class Bursts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Gilbert–Elliott loss: each link is good or bad and changes now and then, message by message."""

    worsens: float = 0.01
    improves: float = 0.2
    good: float = 0.0
    bad: float = 0.5

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if not 0 <= getattr(self, name) <= 1:
                raise Misuse(f"world.bursts.{name} is a probability between 0 and 1, not {getattr(self, name)}")


class Churn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Processes crash and come back, each at its own random times (exponential)."""

    up_s: float = 120.0
    down_s: float = 20.0
    share: float = 1.0
    "The share of processes that this happens to."


class Crash(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A share of every community crashes at one moment, and may come back at another."""

    at_s: float
    fraction: float
    back_at_s: float | None = None


class Partition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The network falls in two for a while: this share of every community on one side."""

    at_s: float
    heal_at_s: float
    share: float = 0.5


class Conditions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[world]"""

    membership: MembershipName = "unstructured"
    "Who finds contacts and keeps the members of a community."
    extra_copies: int = 1
    "SCAMP's c: where it keeps the members, views hold (c + 1) ln N of them."
    join_every_s: float | None = None
    "From the start of one process to that of the next, `warmup_s` beginning with the last. None: see `warmup_s`."
    warmup_s: float = 20.0
    "From the start of the processes (spread over the first half of it, if nothing else is said) to the first event."
    every_s: float = 1.0
    "From one event to the next."
    settle_s: float = 10.0
    "How long an event may take; who stays up this long after it should have it."
    contacts: int = 3
    "Processes each one knows when it starts, of whatever interest."
    latency: Latency = field(default_factory=lambda: Latency(median_us=20_000, shape="lognormal", spread=0.3))
    duplicated: float = 0.0
    "The share of messages that arrive twice."
    bursts: Bursts | None = None
    churn: Churn | None = None
    crash: Crash | None = None
    partition: Partition | None = None

    def __post_init__(self) -> None:
        if self.warmup_s <= 0 or self.every_s <= 0 or self.settle_s <= 0:
            raise Misuse("world.warmup_s, every_s and settle_s must be above 0")
        if self.join_every_s is not None and self.join_every_s <= 0:
            raise Misuse(f"world.join_every_s must be above 0, not {self.join_every_s}")
        if self.extra_copies < 0:
            raise Misuse(f"world.extra_copies must not be negative, not {self.extra_copies}")
        if self.contacts < 1:
            raise Misuse(f"world.contacts must be at least 1, not {self.contacts}: nobody would find anybody")
        for name, share in (
            ("world.duplicated", self.duplicated),
            ("world.churn.share", self.churn.share if self.churn else 0),
            ("world.crash.fraction", self.crash.fraction if self.crash else 0),
            ("world.partition.share", self.partition.share if self.partition else 0),
        ):
            if not 0 <= share <= 1:
                raise Misuse(f"{name} must be between 0 and 1, not {share}")
        if self.partition and self.partition.heal_at_s <= self.partition.at_s:
            raise Misuse("world.partition.heal_at_s must come after at_s")
        if self.crash and self.crash.back_at_s is not None and self.crash.back_at_s <= self.crash.at_s:
            raise Misuse("world.crash.back_at_s must come after at_s")
        if self.churn and (self.churn.up_s <= 0 or self.churn.down_s <= 0):
            raise Misuse("world.churn.up_s and down_s must be above 0")


def us(seconds: float) -> int:
    return round(seconds * SECOND_US)
