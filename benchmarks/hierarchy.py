"""hpmcast in experiments: how long a run of the kernel takes, by the number of participants, and how far it is ahead of
machines on the same runs."""

from collections.abc import Iterable

from msgspec import Struct

from benchmarks.bench import Bar, Scale
from benchmarks.measure import Span, must_agree, span, timed
from benchmarks.tables import Table, ranged
from gossamer.fast import hpmcast as fast
from gossamer.protocols.hpmcast.experiment.setting import HierarchySetting
from gossamer.sim import hpmcast as sim

ABOUT = "hierarchies"
INTEREST = 0.3
BRANCHING = (10, 22, 100, 215)
"In three levels: 10^3 to 10^7 participants."
QUICK = 2
"So many of them."
SMALL = HierarchySetting.regular(6, 3, interest=INTEREST)
"What machines can be given as well."
AT_ONCE = 20
"Runs the kernel is given in one call, as in a sweep."


class Size(Struct, frozen=True):
    """One number of participants."""

    participants: int
    run_s: Span
    "One run, compiled, arrays and counting included."
    ns_per_message: Span
    delivery: Span


class Hierarchies(Struct, frozen=True):
    sizes: list[Size]
    machines_ms: Span
    "One run of the small setting by machines."
    kernel_ratio: Span
    "How many times the kernel's time that is."


def measure(scale: Scale) -> Hierarchies:
    fast.run(SMALL, [0])  # compiled
    runs = 2 if scale.quick else 5
    sizes = [of_size(branching, runs) for branching in (BRANCHING[:QUICK] if scale.quick else BRANCHING)]
    machines_s, ratios = [], []
    for seed in range(runs):
        slow, seen = timed(sim.run, SMALL, [seed])
        quick, again = timed(fast.run, SMALL, [seed] * AT_ONCE)
        must_agree({"the machines": seen[0], "the kernel": again[0]})
        machines_s.append(slow.cpu_s)
        ratios.append(slow.cpu_s / (quick.cpu_s / AT_ONCE))
    return Hierarchies(sizes, span([1e3 * each for each in machines_s]), span(ratios))


def of_size(branching: int, runs: int) -> Size:
    setting = HierarchySetting.regular(branching, 3, interest=INTEREST)
    took, results = zip(*(timed(fast.run, setting, [seed]) for seed in range(runs)))
    cpu_s = [each.cpu_s for each in took]
    ran = [result for (result,) in results]
    per_message = [1e9 * each / result.messages for each, result in zip(cpu_s, ran)]
    return Size(branching**3, span(cpu_s), span(per_message), span([each.delivery for each in ran]))


def tables(told: Hierarchies) -> list[Table]:
    rows = [
        [f"{each.participants:,}", ranged(each.run_s), ranged(each.ns_per_message), ranged(each.delivery, 100)]
        for each in told.sizes
    ]
    head = ["participants", "CPU s", "ns per message", "delivered, %"]
    note = (
        f"Three levels, R = 3, F = 2, 30 % interested. With machines, 216 participants: {ranged(told.machines_ms)} ms, "
        f"{ranged(told.kernel_ratio)} times the kernel's time."
    )
    return [Table("One event in a hierarchy", head, rows, note)]


def bars(told: Hierarchies | None) -> Iterable[Bar]:
    return ()
