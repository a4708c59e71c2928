"""How the work of a sweep is cut: chunks that are run at once, tasks big enough to be worth a task, and waves of tasks
whose results are kept together: large enough to be worth their files, small enough to be lost."""

import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from gossamer.lab.grid import Point
from gossamer.lab.studies import trials_of
from gossamer.lab.trial import point_id

CHUNK_S = 1.0
TASK_S = 2.0
TASKS_PER_CORE = 4
WAVE_S = 30.0
"About how long a wave has all cores busy: what is lost when a sweep is killed is two of them."
FIRST_WAVE_S = 2.0
"The first is smaller: until it is over nobody knows how long trials really take here."

Finished: TypeAlias = Mapping[str, Collection[int]]
"Runs that need not be run again, by the id of their point."


class Chunk(Struct, frozen=True):
    """Runs of one point that are run together."""

    point: Point
    runs: tuple[int, ...]
    source: str


class Estimate(Struct, frozen=True):
    """What a sweep will take, told before it starts."""

    points: int
    trials: int
    finished: int
    cpu_s: float
    memory_bytes: int
    "Of the largest trial, in one task."


def trial_s(point: Point) -> float:
    """About how long one trial takes on one core."""
    return trials_of(point.spec).trial_s(point.spec)


def missing(point: Point, finished: Finished) -> list[int]:
    done = finished.get(point_id(point), ())
    return [run for run in range(point.spec.experiment.runs) if run not in done]


def chunks(points: Sequence[Point], finished: Finished, source: str) -> list[Chunk]:
    """All that is still to be run."""
    cut: list[Chunk] = []
    for point in points:
        left = missing(point, finished)
        step = max(1, int(CHUNK_S / trial_s(point)))
        cut += [Chunk(point, tuple(left[at : at + step]), source) for at in range(0, len(left), step)]
    return cut


def task_count(cut: Sequence[Chunk], cores: int) -> int:
    """Enough tasks to balance the cores, none too small to pay for itself, none without a chunk."""
    wanted = min(int(sum(map(work_s, cut)) / TASK_S), cores * TASKS_PER_CORE)
    return max(1, min(len(cut), max(wanted, cores)))


def share_out(cut: Sequence[Chunk], tasks: int) -> list[list[Chunk]]:
    """The chunks in so many tasks, as alike in work as can be with each task's chunks in a row; none is empty."""
    left_s, shared = sum(map(work_s, cut)), list[list[Chunk]]()
    rest = deque(cut)
    for tasks_left in range(tasks, 0, -1):
        taken, taken_s = list[Chunk](), 0.0
        while len(rest) >= tasks_left and (not taken or taken_s + work_s(rest[0]) / 2 <= left_s / tasks_left):
            taken_s += work_s(rest[0])
            taken.append(rest.popleft())
        left_s -= taken_s
        shared.append(taken)
    return shared


class Waves:
    """The chunks, wave by wave: how much goes into the next is reckoned from how long the last ones took."""

    def __init__(self, cut: Sequence[Chunk], cores: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.left = deque(sorted(cut, key=lambda chunk: chunk.point.spec.row.__name__))  # a wave has rows of one kind
        self.cores, self.clock, self.began = cores, clock, clock()
        self.done_s = 0.0
        "Of estimated work."

    def take(self) -> list[Chunk]:
        """The next wave; empty: there is none."""
        wanted_s, wave = self.cores * self._wave_s(), list[Chunk]()
        while self.left and (not wave or (wanted_s > 0 and alike(self.left[0], wave[0]))):
            wave.append(self.left.popleft())
            wanted_s -= work_s(wave[-1])
        return wave

    def done(self, wave: Sequence[Chunk]) -> None:
        self.done_s += sum(map(work_s, wave))

    def _wave_s(self) -> float:
        if not self.done_s:
            return FIRST_WAVE_S
        pace = (self.clock() - self.began) * self.cores / self.done_s
        return WAVE_S / max(pace, 1e-6)


def alike(one: Chunk, other: Chunk) -> bool:
    """Whether they leave rows of one kind."""
    return one.point.spec.row is other.point.spec.row


def work_s(chunk: Chunk) -> float:
    return trial_s(chunk.point) * len(chunk.runs)


def estimate(points: Sequence[Point], finished: Finished) -> Estimate:
    left = [(point, len(missing(point, finished))) for point in points]
    trials = sum(point.spec.experiment.runs for point in points)
    return Estimate(
        points=len(points),
        trials=trials,
        finished=trials - sum(count for _, count in left),
        cpu_s=sum(trial_s(point) * count for point, count in left),
        memory_bytes=max(memory_bytes(point) for point in points),
    )


def memory_bytes(point: Point) -> int:
    """About what one trial keeps in memory."""
    return trials_of(point.spec).memory_bytes(point.spec)
