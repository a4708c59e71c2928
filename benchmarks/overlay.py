"""Overlays: what it costs to build one, by the number of nodes, and how far the kernel is ahead of NumPy on the part
that costs most. `python -m benchmarks.overlay` tells."""

import resource
from typing import Any

import click
import numpy as np
from msgspec import Struct
from rich.console import Console
from rich.table import Table

from benchmarks.measure import Span, must_agree, span, timed
from gossamer.core.draws import CANDIDATE, draw, fold
from gossamer.fast import measures
from gossamer.fast.compile import compiled
from gossamer.fast.overlay import KERNEL, build
from gossamer.protocols.spidercast import arrays
from gossamer.protocols.spidercast import columns as col
from gossamer.protocols.spidercast.params import Params, View
from gossamer.protocols.spidercast.rules import GREEDY, word_of
from gossamer.protocols.spidercast.setting import OverlaySetting
from gossamer.protocols.spidercast.workload import Workload

VIEW = 200
"Others a node knows where all would be too many: ten or more for each of the hundred topics."
CURVE: tuple[tuple[int, View], ...] = (
    *((nodes, "full") for nodes in (1_000, 3_000, 10_000)),
    *((nodes, VIEW) for nodes in (1_000, 10_000, 100_000, 1_000_000)),
)
COLUMNS = (
    *("nodes", "view", "interests s", "build s", "wall s", "measures s", "µs/node"),
    *("rounds", "messages/node", "degree", "partitioned", "peak MB"),
)
COMPARED = (1_000, 4_000)
"Numbers of nodes at which NumPy makes the same choices."


class Built(Struct, frozen=True):
    """One overlay."""

    nodes: int
    view: View
    interests_s: float
    build_s: float
    "CPU seconds, compiled."
    build_wall_s: float
    measure_s: float
    "Degrees and the components of every topic; diameters as lower bounds."
    us_per_node: float
    rounds: int
    messages_per_node: float
    degree_mean: float
    topics_partitioned: int
    peak_mb: float
    "Of the process so far."


class Chosen(Struct, frozen=True):
    """The first round: every node looks through all others for the one that covers most."""

    nodes: int
    kernel_s: Span
    numpy_s: Span
    ratio: Span


def built(nodes: int, view: View, threads: int, seed: int = 1) -> Built:
    drawn, interests = timed(Workload(nodes=nodes).interests, seed)
    took, overlay = timed(build, OverlaySetting(interests=interests, params=Params(view=view)), seed, threads)
    exact_up_to = measures.EXACT_UP_TO if nodes < measures.EXACT_UP_TO else 0
    looked, found = timed(
        lambda: measures.measure(
            interests.starts, interests.topics, interests.topic_count, overlay.links, exact_up_to=exact_up_to
        )
    )
    return Built(
        nodes, view, drawn.cpu_s, took.cpu_s, took.wall_s, looked.cpu_s, 1e6 * took.cpu_s / nodes, overlay.rounds,
        sum(overlay.messages.values()) / nodes, found.degree_mean, found.topics_partitioned,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )  # fmt: skip


def first_choices(room: arrays.Room) -> list[int]:
    """By the kernel."""
    compiled(KERNEL, parallel=False)["run"](*room, 1)
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
    for seed in range(1, runs + 1):
        setting = OverlaySetting(interests=Workload(nodes=nodes).interests(seed))
        room = arrays.prepare(setting, seed)
        quick, ours = timed(first_choices, room)
        slow, theirs = timed(first_choices_by_numpy, room.net.wants, seed)
        must_agree({"the kernel": ours, "NumPy": theirs})
        kernel_s.append(quick.cpu_s)
        numpy_s.append(slow.cpu_s)
    return Chosen(nodes, span(kernel_s), span(numpy_s), span([b / a for a, b in zip(kernel_s, numpy_s)]))


@click.command()
@click.option("--most", default=100_000, show_default=True, help="No more nodes than these.")
@click.option("--threads", default=1, show_default=True)
@click.option("--runs", default=3, show_default=True, help="Turns of the comparison with NumPy.")
def command(most: int, threads: int, runs: int) -> None:
    """What overlays cost, by the number of nodes."""
    console = Console(width=130)
    built(64, "full", threads)  # compiled
    curve = Table(*COLUMNS, title="News feeds, 100 topics, 10 each, (3, 0)-coverage")
    for nodes, view in CURVE:
        if nodes <= most:
            one = built(nodes, view, threads)
            curve.add_row(
                f"{nodes:,}", str(view), f"{one.interests_s:.2f}", f"{one.build_s:.2f}", f"{one.build_wall_s:.2f}",
                f"{one.measure_s:.2f}", f"{one.us_per_node:.0f}", str(one.rounds), f"{one.messages_per_node:.1f}",
                f"{one.degree_mean:.2f}", str(one.topics_partitioned), f"{one.peak_mb:.0f}",
            )  # fmt: skip
    console.print(curve)
    ahead = Table("nodes", "kernel s", "NumPy s", "times", title="The first choice of every node, all others known")
    for each in (compared(nodes, runs) for nodes in COMPARED):
        ahead.add_row(f"{each.nodes:,}", *(f"{part.median:.3g}" for part in (each.kernel_s, each.numpy_s, each.ratio)))
    console.print(ahead)


if __name__ == "__main__":
    command()
