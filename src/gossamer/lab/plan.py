"""How the work of a sweep is cut: chunks big enough to be worth a file, tasks big enough to be worth a task."""

from collections.abc import Collection, Sequence

from msgspec import Struct

from gossamer.lab.grid import Point
from gossamer.lab.trial import messages_expected, point_id

KERNEL_S_PER_MESSAGE = 10e-9
MACHINE_S_PER_MESSAGE = 12e-6
WORLD_S_PER_PROCESS_AND_S = 0.6e-3
S_PER_TRIAL = 30e-6
"Reckoned costs, from `make bench`; only the cutting depends on them, never a result."
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
    engine = point.spec.experiment.engine
    per_message = KERNEL_S_PER_MESSAGE if engine == "kernel" else MACHINE_S_PER_MESSAGE
    living_s = lived_s(point) * WORLD_S_PER_PROCESS_AND_S if engine == "world" else 0.0
    return S_PER_TRIAL + messages_expected(point) * per_message + living_s


def lived_s(point: Point) -> float:
    """Simulated seconds of all processes of a world together: membership costs even when nothing is published."""
    world, spec = point.spec.world, point.spec
    return (world.warmup_s + spec.publish.events * world.every_s + world.settle_s) * spec.setting().processes


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
    """A kernel keeps one byte per process, a machine some kilobytes."""
    processes = point.spec.setting().processes
    return processes * (1 if point.spec.experiment.engine == "kernel" else 6_000) + 1_000_000
