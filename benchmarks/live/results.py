"""What was measured: one turn of one system, and all turns together, as medians with their range."""

import itertools
import statistics
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from benchmarks.bench import Bar
from benchmarks.live.systems import GOSSAMER, PLAIN, TRACED, UNSPOOLED
from benchmarks.measure import Span, ratio, span

BAR_SIZE = 64
BAR_SUBSCRIBERS = 8
BAR_RIVAL = "nats"
COPY_US = 4.0
RIVAL_TIMES = 5.0
TRACED_TIMES = 1.1


class Wanted(Struct, frozen=True):
    """What is measured with bodies of one size."""

    size: int
    messages: int
    "As fast as the system takes them."
    paced: int
    "At a steady rate, for the latency."
    rate: float
    patience_s: float


class Measured(Struct, frozen=True):
    """One turn of one system with bodies of one size."""

    system: str
    subscribers: int
    size: int
    round: int
    messages: int = 0
    received: int = 0
    "By all subscribers together."
    lost: int = 0
    "In both phases."
    duplicates: int = 0
    wall_s: float = 0.0
    cpu_us: dict[str, float] = {}
    "By role: publisher, subscribers, broker."
    copies: int | None = None
    "Event bodies received by all processes, duplicates and all; None where a system does not say."
    latencies_us: list[float] = []
    failure: str = ""

    @classmethod
    def failed(cls, system: str, subscribers: int, size: int, round: int, why: str) -> "Measured":
        return cls(system, subscribers, size, round, failure=why)

    @property
    def usable(self) -> bool:
        return not self.failure and self.received > 0

    @property
    def per_delivery_us(self) -> float:
        return sum(self.cpu_us.values()) / self.received

    @property
    def per_copy_us(self) -> float | None:
        return sum(self.cpu_us.values()) / self.copies if self.copies else None

    @property
    def rate(self) -> float:
        """Messages per second that reached everybody."""
        return self.received / self.subscribers / self.wall_s


class Cell(Struct, frozen=True):
    """All turns of one system with bodies of one size to so many subscribers."""

    system: str
    subscribers: int
    size: int
    messages: int
    cpu_us: Span
    "Of all processes, per delivery."
    cpu_us_by_role: dict[str, float]
    "The median, per delivery."
    rate: Span
    lost: int
    duplicates: int
    cpu_us_per_copy: Span | None = None
    copies_per_delivery: float | None = None
    p50_ms: Span | None = None
    p99_ms: Span | None = None
    turns: dict[int, float] = {}
    "CPU µs per delivery, by round: ratios are taken within a round."


class Ratio(Struct, frozen=True):
    """How many times the CPU per delivery of another."""

    system: str
    other: str
    subscribers: int
    size: int
    times: Span


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share does not exceed; values are sorted."""
    return values[max(0, -int(-share * len(values) // 1) - 1)]


def cells(measured: Iterable[Measured]) -> list[Cell]:
    """In the order measured; what failed in every round has none."""
    grouped: dict[tuple[int, int, str], list[Measured]] = {}
    for each in measured:
        if each.usable:
            grouped.setdefault((each.subscribers, each.size, each.system), []).append(each)
    return [cell(turns) for _, turns in sorted(grouped.items(), key=lambda pair: pair[0][:2])]


def cell(turns: Sequence[Measured]) -> Cell:
    first = turns[0]
    per_copy = [each.per_copy_us for each in turns if each.per_copy_us is not None]
    latencies = [[us / 1e3 for us in each.latencies_us] for each in turns if each.latencies_us]
    return Cell(
        system=first.system,
        subscribers=first.subscribers,
        size=first.size,
        messages=first.messages,
        cpu_us=span([each.per_delivery_us for each in turns]),
        cpu_us_by_role={
            role: statistics.median(each.cpu_us[role] / each.received for each in turns) for role in first.cpu_us
        },
        rate=span([each.rate for each in turns]),
        lost=sum(each.lost for each in turns),
        duplicates=sum(each.duplicates for each in turns),
        cpu_us_per_copy=span(per_copy) if per_copy else None,
        copies_per_delivery=statistics.median((each.copies or 0) / each.received for each in turns)
        if per_copy
        else None,
        p50_ms=span([quantile(each, 0.5) for each in latencies]) if latencies else None,
        p99_ms=span([quantile(each, 0.99) for each in latencies]) if latencies else None,
        turns={each.round: each.per_delivery_us for each in turns},
    )


def failures(measured: Iterable[Measured]) -> list[str]:
    return [
        f"{each.system}, {each.size} B to {each.subscribers}, round {each.round}: {each.failure or 'nothing arrived'}"
        for each in measured
        if not each.usable
    ]


def ratios(found: Sequence[Cell]) -> Iterator[Ratio]:
    """Every variant of Gossamer over everybody else, and with traces over without, case by case."""
    for ours, other in itertools.product(found, found):
        same = (ours.size, ours.subscribers) == (other.size, other.subscribers)
        traces = (ours.system, other.system) == (TRACED, GOSSAMER)
        if not same or not is_ours(ours.system) or (is_ours(other.system) and not traces):
            continue
        if both := sorted(ours.turns.keys() & other.turns.keys()):
            times = ratio([ours.turns[turn] for turn in both], [other.turns[turn] for turn in both])
            yield Ratio(ours.system, other.system, ours.subscribers, ours.size, times)


def is_ours(system: str) -> bool:
    return system.startswith(GOSSAMER)


def bars(found: Sequence[Cell], compared: Sequence[Ratio]) -> Iterator[Bar]:
    """With keys and signatures, batches forming: with the spool, and without. And what traces add."""
    case = f"{BAR_SIZE} B to {BAR_SUBSCRIBERS} subscribers"
    beside = {
        (each.system, each.other): each.times
        for each in compared
        if (each.size, each.subscribers) == (BAR_SIZE, BAR_SUBSCRIBERS)
    }
    for name in (GOSSAMER, UNSPOOLED, PLAIN):
        here = [(name, BAR_SIZE, BAR_SUBSCRIBERS)]
        copy = [each.cpu_us_per_copy for each in found if (each.system, each.size, each.subscribers) in here]
        yield bar(f"{name}, {case}: CPU per received copy", COPY_US, "µs", next(iter(copy), None))
        yield bar(f"{name}, {case}: CPU per delivery over nats-py's", RIVAL_TIMES, "×", beside.get((name, BAR_RIVAL)))
    yield bar(
        f"{TRACED}, {case}: CPU per delivery over {GOSSAMER}'s", TRACED_TIMES, "×", beside.get((TRACED, GOSSAMER))
    )


def bar(what: str, limit: float, unit: str, got: Span | None) -> Bar:
    said = f"{got.median:.2f} {unit} ({got.low:.2f} to {got.high:.2f})" if got else "not measured"
    return Bar(what, f"at most {limit:g} {unit}", said, got.median <= limit if got else None)
