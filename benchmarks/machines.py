"""Real machines in the simulated world: what a step costs, and how far the kernel is ahead on the same runs."""

import time
from collections.abc import Iterable

from msgspec import Struct

from benchmarks.bench import Bar, Scale
from benchmarks.measure import Span, must_agree, span, timed
from benchmarks.spreads import KERNEL, LOSSY, chain
from benchmarks.tables import Table, ranged
from gossamer.core.ids import Peer
from gossamer.core.machine import Effect, Given, Publish
from gossamer.core.setting import Publication
from gossamer.core.tally import ARRIVED
from gossamer.fast import engine as fast
from gossamer.protocols import CATALOGUE
from gossamer.sim import engine as sim
from gossamer.sim.world import Watcher

ABOUT = "machines"
SIZES = (10, 100, 1000)
AT_ONCE = 20
"Runs the kernel is given in one call, as in a sweep."


class Machines(Struct, frozen=True):
    """The papers' three communities, one event from the bottom."""

    processes: int
    build_ms: Span
    "Making the machines and telling each what it is interested in."
    event_ms: Span
    "From the publication until nothing is left to happen."
    us_per_step: Span
    "A step is one message received and all that comes of it."
    steps: Span
    kernel_ratio: Span
    "How many times the kernel's time the event takes, machines ready and kernel compiled."


class Published(Watcher):
    """Looks at the clock when the event is published: what came before is building."""

    at_s = 0.0

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        if type(given) is Publish:
            self.at_s = time.process_time()


def measure(scale: Scale) -> Machines:
    setting, publication = chain(SIZES, LOSSY), Publication(len(SIZES) - 1)
    fast.tallies(KERNEL, setting, publication, [0])  # compiled
    build_s, event_s, steps, kernel_s = [], [], [], []
    for seed in range(3 if scale.quick else 15):
        published = Published()
        start_s = time.process_time()
        rows = sim.spread(CATALOGUE["camcast"], setting, publication, seed, watchers=[published]).rows
        end_s = time.process_time()
        took, counts = timed(fast.tallies, KERNEL, setting, publication, [seed] * AT_ONCE)
        must_agree({"the kernel": counts[0].tolist(), "the machines": rows})
        build_s.append(published.at_s - start_s)
        event_s.append(end_s - published.at_s)
        steps.append(1 + sum(row[ARRIVED] for row in rows))
        kernel_s.append(took.cpu_s / AT_ONCE)
    return Machines(
        processes=setting.processes,
        build_ms=span([1e3 * each for each in build_s]),
        event_ms=span([1e3 * each for each in event_s]),
        us_per_step=span([1e6 * each / count for each, count in zip(event_s, steps, strict=True)]),
        steps=span(steps),
        kernel_ratio=span([each / ours for each, ours in zip(event_s, kernel_s, strict=True)]),
    )


def tables(told: Machines) -> list[Table]:
    rows = [
        ["machines made and subscribed, ms", ranged(told.build_ms)],
        ["one event, ms", ranged(told.event_ms)],
        ["one step, µs", ranged(told.us_per_step)],
        ["steps of an event", ranged(told.steps)],
        ["times the kernel's time", ranged(told.kernel_ratio)],
    ]
    return [Table(f"Real machines in the simulated world, {told.processes:,} of them", ["what", "CPU"], rows)]


def bars(told: Machines | None) -> Iterable[Bar]:
    return ()
