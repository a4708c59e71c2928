"""Recovery in experiments: how long a run of the kernel takes, and how far it is ahead of machines on the same runs."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.bench import Bar, Scale, within
from benchmarks.measure import Span, must_agree, span, timed
from benchmarks.tables import Table, ranged
from gossamer.fast import recovery as fast
from gossamer.protocols.recovery.experiment.setting import EpidemicSetting
from gossamer.protocols.recovery.params import Method, Params
from gossamer.sim import recovery as sim

ABOUT = "recovery in experiments"
CPU_S = 10
METHODS: tuple[Method, ...] = ("none", "push", "combined")
FULL = EpidemicSetting()
"100 dispatchers, 50 events/s each, 15 s."
SMALL = EpidemicSetting(dispatchers=30, degree=3, patterns=20, rate=20.0, seconds=2.0, measure_from=0.0, measure_to=2.0)
"What machines can be given as well."
AT_ONCE = 5
"Runs the kernel is given in one call, as in a sweep."


class Recovering(Struct, frozen=True):
    """One method."""

    method: Method
    full_s: Span
    "One run of the full setting by the kernel, compiled, arrays and counting included."
    ns_per_hop: Span
    "Of that, for each message sent."
    machines_s: Span
    "One run of the small setting by machines."
    kernel_ratio: Span
    "How many times the kernel's time that is."


def measure(scale: Scale) -> list[Recovering]:
    return [of_method(method, 2 if scale.quick else 5) for method in METHODS]


def of_method(method: Method, runs: int) -> Recovering:
    full, small = (replace(each, recovery=Params(method=method)) for each in (FULL, SMALL))
    fast.run(small, [0])  # compiled
    full_s, per_hop, machines_s, ratios = [], [], [], []
    for seed in range(runs):
        took, (ran,) = timed(fast.run, full, [seed])
        hops = ran.event_hops + ran.gossip_hops + ran.requests + ran.retransmissions
        full_s.append(took.cpu_s)
        per_hop.append(1e9 * took.cpu_s / hops)
        slow, seen = timed(sim.run, small, [seed])
        quick, again = timed(fast.run, small, [seed] * AT_ONCE)
        must_agree({"the machines": seen[0], "the kernel": again[0]._replace(expired=None)})
        machines_s.append(slow.cpu_s)
        ratios.append(slow.cpu_s / (quick.cpu_s / AT_ONCE))
    return Recovering(method, span(full_s), span(per_hop), span(machines_s), span(ratios))


def tables(told: list[Recovering]) -> list[Table]:
    rows = [
        [
            each.method,
            ranged(each.full_s),
            ranged(each.ns_per_hop),
            ranged(each.machines_s),
            ranged(each.kernel_ratio),
        ]
        for each in told
    ]
    head = ["recovery", "kernel, s", "ns per message", "machines, small, s", "times the kernel's time"]
    note = "100 dispatchers, 50 events/s each, 15 s; machines: 30, 20 events/s, 2 s, the same runs by both. CPU time."
    return [Table("Events lost on a tree and found again", head, rows, note)]


def bars(told: list[Recovering] | None) -> Iterator[Bar]:
    slowest = max((each.full_s.high for each in told or ()), default=None)
    yield within("100 dispatchers, 50 events/s each, 15 s of recovery: CPU time of the slowest run", CPU_S, slowest)
