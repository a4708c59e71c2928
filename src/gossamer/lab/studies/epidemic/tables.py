"""Studies of epidemic recovery: dispatchers on a tree that loses messages, and how much of it is found again.

The tables say what `EpidemicSetting` and the parameters of recovery say; times of people are in seconds."""

from collections.abc import Mapping
from typing import Any, ClassVar

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from gossamer.core.errors import Misuse
from gossamer.core.machine import SECOND_US
from gossamer.core.reading import convert
from gossamer.lab.rows import Measure
from gossamer.lab.spec import FigureSpec, Head, check_finite, figures_of, only_tables, placed
from gossamer.protocols.recovery.experiment.setting import EpidemicSetting, Shape
from gossamer.protocols.recovery.params import TIME_US_MAX, Eviction, Method, Params

EVENTS_MAX = 20_000_000


class NetworkSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[network]"""

    dispatchers: int = 100
    degree: int = 4
    tree: Shape = "balanced"
    loss: float = 0.1
    burst: float = 1.0
    loss_period_s: float = 0.0
    loss_share: float = 0.5
    latency_us: int = 1000
    reconfigure_every_s: float = 0.0
    repair_s: float = 0.1


class WorkloadSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[workload]"""

    patterns: int = 70
    subscriptions: int = 2
    patterns_per_event: int = 3
    rate: float = 50.0


class RecoverySpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[recovery]: the parameters that matter on a tree"""

    method: Method = "combined"
    interval_s: float = 0.03
    forward: float = 0.9
    cache: int = 1500
    expiry_s: float = 5.0
    eviction: Eviction = "fifo"
    cache_relayed: bool = False
    publisher_share: float = 0.5
    adaptive: bool = False
    immediate: bool = False
    push_local: bool = False


class TimeSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[time]"""

    seconds: float = 15.0
    measure_from: float = 2.0
    measure_to: float = 10.0


METRICS = {
    "delivery": "share of expected (subscriber, event) pairs that were delivered by the end",
    "delivery_unaided": "what the tree is expected to deliver by itself, without recovery",
    "found_again": "share of what the tree lost that recovery delivered",
    "gossip_hops_per_s": "digests each dispatcher sends or passes on in a second",
    "event_hops_per_s": "copies of events each dispatcher sends along the tree in a second",
    "requests": "answers to push digests: please send these",
    "retransmissions": "events sent again to somebody who asked",
    "recovery_latency_ms": "from noticing a loss to having the event: mean over recoveries",
    "recovery_latency_ms_p50": "the same, median",
    "recovery_latency_ms_p99": "the same, 99th percentile",
    "overhead": "digests, requests and retransmissions, per event hop",
    "missed": "losses noticed, once for each pattern",
    "recovered": "events that came again and were new",
    "useless": "events that came again and were there already",
    "served_by_publisher": "share of retransmissions sent by the event's own publisher",
    "served_event_mean": "how often a publisher sent an event again, on average",
    "served_event_max": "how often a publisher sent the same event again, at most",
    "subscribers_max": "subscribers of the event that most want",
    "busiest": "retransmissions of the busiest dispatcher, in multiples of the mean",
    "matches_publishing": "patterns compared with to publish an event",
    "matches_routing": "patterns compared with to route an event once, until one matches for each neighbour",
}
"What a summary says of a study of recovery, and what each is."


class Epidemic(Struct, frozen=True, tag="epidemic"):
    """What an experiment file about recovery says of one point."""

    experiment: Head
    network: NetworkSpec = field(default_factory=NetworkSpec)
    workload: WorkloadSpec = field(default_factory=WorkloadSpec)
    recovery: RecoverySpec = field(default_factory=RecoverySpec)
    time: TimeSpec = field(default_factory=TimeSpec)
    figures: tuple[FigureSpec, ...] = ()

    row: ClassVar[type[Struct]] = Measure
    trials: ClassVar[str] = "gossamer.lab.studies.epidemic.trials"
    metrics: ClassVar[tuple[str, ...]] = tuple(METRICS)
    shown: ClassVar[tuple[str, ...]] = (
        "delivery", "gossip_hops_per_s", "overhead", "retransmissions", "recovery_latency_ms_p50",
        "recovery_latency_ms_p99",
    )  # fmt: skip
    brief: ClassVar[tuple[str, ...]] = ("delivery", "gossip_hops_per_s", "overhead", "retransmissions")

    @classmethod
    def read(cls, raw: Mapping[str, Any], head: Head) -> "Epidemic":
        """Raw TOML, or Misuse with one sentence about the first thing that is wrong."""
        only_tables(raw, cls.__struct_fields__)
        if head.engine == "world":
            raise Misuse('experiment.engine: recovery is studied with "kernel" or "machine"')
        parts: dict[str, Any] = {name: convert(raw[name], kind, name) for name, kind in TABLES.items() if name in raw}
        for name, each in parts.items():
            check_finite(name, each)
        spec = cls(experiment=head, figures=figures_of(raw), **parts)
        _check_size(spec.setting())
        return spec

    def identity(self) -> tuple[Any, ...]:
        return (self.network, self.workload, self.recovery, self.time)

    def population(self) -> str:
        return f"{self.network.dispatchers:,} dispatchers"

    def setting(self) -> EpidemicSetting:
        """The experiment as the engines see it."""
        with placed(TABLES):
            said = asdict(self.network) | asdict(self.workload) | asdict(self.time)
            return EpidemicSetting(**said, recovery=self.params())

    def params(self) -> Params:
        said = asdict(self.recovery)
        times = {f"{name}_us": _in_us(f"recovery.{name}_s", said.pop(f"{name}_s")) for name in ("interval", "expiry")}
        return replace(Params.paper(), **said, **times)


TABLES: dict[str, type[Struct]] = {
    "network": NetworkSpec,
    "workload": WorkloadSpec,
    "recovery": RecoverySpec,
    "time": TimeSpec,
}


def _in_us(name: str, seconds: float) -> int:
    if not 1 <= seconds * SECOND_US <= TIME_US_MAX:
        raise Misuse(f"{name} must be more than 0 seconds and less than {TIME_US_MAX // SECOND_US:,}, not {seconds}")
    return round(seconds * SECOND_US)


def _check_size(setting: EpidemicSetting) -> None:
    events = setting.dispatchers * setting.rate * setting.seconds
    if events > EVENTS_MAX:
        raise Misuse(f"a run would publish about {events:,.0f} events, {EVENTS_MAX:,} is the most: lower workload.rate")
