"""How the work of a sweep is cut: chunks big enough to be worth a file, tasks big enough to be worth a task."""

from collections.abc import Collection, Sequence

from msgspec import Struct

from gossamer.lab.grid import Point
from gossamer.lab.studies import trials_of
from gossamer.lab.trial import point_id

CHUNK_S = 1.0
TASK_S = 2.0
TASKS_PER_CORE = 4


class Chunk(Struct, frozen=True):
    """Runs of one point that are run, written and kept together."""

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


def missing(point: Point, finished: Collection[str]) -> list[int]:
    identity = point_id(point)
    return [run for run in range(point.spec.experiment.runs) if f"{identity}-{run}" not in finished]


def chunks(points: Sequence[Point], finished: Collection[str], source: str) -> list[Chunk]:
    """All that is still to be run."""
    cut: list[Chunk] = []
    for point in points:
        left = missing(point, finished)
        step = max(1, int(CHUNK_S / trial_s(point)))
        cut += [Chunk(point, tuple(left[at : at + step]), source) for at in range(0, len(left), step)]
    return cut


def task_count(cut: Sequence[Chunk], cores: int) -> int:
    """Enough tasks to balance the cores, none too small to pay for itself, none without a chunk."""
    work_s = sum(trial_s(chunk.point) * len(chunk.runs) for chunk in cut)
    wanted = min(int(work_s / TASK_S), cores * TASKS_PER_CORE)
    return max(1, min(len(cut), max(wanted, cores)))


def estimate(points: Sequence[Point], finished: Collection[str]) -> Estimate:
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
