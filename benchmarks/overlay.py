"""Overlays: what it costs to build one, by the number of nodes, and how far the kernel is ahead of NumPy on the part
that costs most. `python -m benchmarks.run --only overlay` tells."""

import resource
from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct

from benchmarks.bench import THREADS, Bar, Scale, within
from benchmarks.measure import Span, Took, must_agree, span, timed
from benchmarks.tables import Table, number, ranged
from gossamer.core.draws import CANDIDATE, draw, fold
from gossamer.fast import measures
from gossamer.fast.compile import compiled
from gossamer.fast.spidercast import KERNEL, build
from gossamer.protocols.spidercast.experiment.setting import OverlaySetting
from gossamer.protocols.spidercast.experiment.workload import Workload
from gossamer.protocols.spidercast.kernel import arrays
from gossamer.protocols.spidercast.kernel import columns as col
from gossamer.protocols.spidercast.params import Params, View
from gossamer.protocols.spidercast.rules import GREEDY, word_of

ABOUT = "overlays"
VIEW = 200
"Others a node knows where all would be too many: ten or more for each of the hundred topics."
CURVE: tuple[tuple[int, View], ...] = (
    *((nodes, "full") for nodes in (1_000, 3_000, 10_000)),
    *((nodes, VIEW) for nodes in (1_000, 10_000, 100_000, 1_000_000)),
)
QUICK_UP_TO = 3_000
LIMITS_S: dict[tuple[int, View], float] = {(10_000, "full"): 3, (100_000, VIEW): 60, (1_000_000, VIEW): 900}
MEMORY_GB = 12
COMPARED = (1_000, 4_000)
"Numbers of nodes at which NumPy makes the same choices."


class Built(Struct, frozen=True):
    """One overlay."""

    nodes: int
    view: View
    build: Took
    measures: Took
    "Degrees and the components of every topic; diameters, from 10^4 nodes on as lower bounds."
    rounds: int
    messages_per_node: float
    degree_mean: float
    topics_partitioned: int
    peak_gb: float
    "Of the process so far."


class Chosen(Struct, frozen=True):
    """The first round: every node looks through all others for the one that covers most."""

    nodes: int
    kernel_s: Span
    numpy_s: Span
    ratio: Span


class Overlays(Struct, frozen=True):
    curve: list[Built]
    chosen: list[Chosen]


def measure(scale: Scale) -> Overlays:
    built(64, "full")  # compiled
    curve = [built(nodes, view) for nodes, view in CURVE if not scale.quick or nodes <= QUICK_UP_TO]
    sizes, runs = (COMPARED[:1], 2) if scale.quick else (COMPARED, 5)
    return Overlays(curve, [compared(nodes, runs) for nodes in sizes])


def built(nodes: int, view: View, seed: int = 1) -> Built:
    interests = Workload(nodes=nodes).interests(seed)
    took, overlay = timed(build, OverlaySetting(interests=interests, params=Params(view=view)), seed, THREADS)
    exact_up_to = measures.EXACT_UP_TO if nodes < measures.EXACT_UP_TO else 0
    looked, found = timed(
        lambda: measures.measure(
            interests.starts, interests.topics, interests.topic_count, overlay.links, exact_up_to=exact_up_to
        )
    )
    return Built(
        nodes, view, took, looked, overlay.rounds, sum(overlay.messages.values()) / nodes, found.degree_mean,
        found.topics_partitioned, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    )  # fmt: skip


def first_choices(room: arrays.RunArrays) -> list[int]:
    """By the kernel."""
    compiled(KERNEL, parallel=False)(*room, 1)
    chosen: list[int] = room.greedy.nodes[:, col.CHOICE].tolist()
    return chosen


def first_choices_by_numpy(wants: Any, seed: int) -> list[int]:
    """As one would write it over arrays: all scores of a node at once, then the largest draw of the best."""
    base = fold(fold(seed, CANDIDATE), word_of(0, GREEDY))
    chosen = []
    for who in range(len(wants)):
        scores = np.bitwise_count(wants & wants[who]).sum(axis=1)
        scores[who] = 0
        best = np.flatnonzero(scores == scores.max())
        lucks = draw(np.array([fold(base, who)], np.uint64), best.astype(np.uint64))
        chosen.append(int(best[np.argmax(lucks)]))
    return chosen


def compared(nodes: int, runs: int) -> Chosen:
    kernel_s, numpy_s = [], []
    first_choices(arrays.prepare(OverlaySetting(interests=Workload(nodes=64).interests(1)), 1))  # compiled
    for seed in range(1, runs + 1):
        setting = OverlaySetting(interests=Workload(nodes=nodes).interests(seed))
        room = arrays.prepare(setting, seed)
        quick, ours = timed(first_choices, room)
        slow, theirs = timed(first_choices_by_numpy, room.net.wants, seed)
        must_agree({"the kernel": ours, "NumPy": theirs})
        kernel_s.append(quick.cpu_s)
        numpy_s.append(slow.cpu_s)
    return Chosen(nodes, span(kernel_s), span(numpy_s), span([b / a for a, b in zip(kernel_s, numpy_s)]))


def curve_table(told: Overlays) -> Table:
    rows = [
        [
            f"{each.nodes:,}",
            str(each.view),
            number(each.build.wall_s),
            number(each.build.cpu_s),
            number(each.measures.wall_s),
            number(1e6 * each.build.cpu_s / each.nodes),
            str(each.rounds),
            number(each.messages_per_node),
            number(each.degree_mean),
            str(each.topics_partitioned),
            number(each.peak_gb),
        ]
        for each in told.curve
    ]
    head = [
        *("nodes", "view", "build, wall s", "CPU s", "measures, wall s", "CPU µs/node", "rounds", "messages/node"),
        *("degree", "partitioned", "peak GB"),
    ]
    return Table("Overlays: news feeds, 100 topics, 10 each, (3, 0)-coverage", head, rows, f"Threads: {THREADS}.")


def chosen_table(told: Overlays) -> Table:
    rows = [
        [f"{each.nodes:,}", ranged(each.kernel_s, 1e3), ranged(each.numpy_s, 1e3), ranged(each.ratio)]
        for each in told.chosen
    ]
    head = ["nodes", "kernel, ms", "NumPy, ms", "times the kernel's time"]
    return Table("The first choice of every node, all others known", head, rows, "CPU time; both choose the same.")


def tables(told: Overlays) -> list[Table]:
    return [curve_table(told), chosen_table(told)]


def bars(told: Overlays | None) -> Iterator[Bar]:
    curve = {(each.nodes, each.view): each for each in (told.curve if told else ())}
    for (nodes, view), limit_s in LIMITS_S.items():
        one = curve.get((nodes, view))
        took_s = None if one is None else one.build.wall_s + (one.measures.wall_s if nodes > 10_000 else 0.0)
        what = "built" if nodes <= 10_000 else "built and measured"
        yield within(f"an overlay of {nodes:,} nodes, {what}", limit_s, took_s)
    yield within("an overlay of 1,000,000 nodes, memory", MEMORY_GB, one.peak_gb if one else None, "GB")
