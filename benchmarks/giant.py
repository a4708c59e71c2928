"""One event among very many processes, in an operating system process of its own so that its memory can be told."""

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from benchmarks.bench import THREADS, Bar, Scale, within
from benchmarks.measure import Took, timed
from benchmarks.spreads import KERNEL, LOSSY, chain
from benchmarks.tables import Table, number
from gossamer.core.setting import Publication
from gossamer.core.tally import LIVE, REACHED, ROUNDS_LAST, SENT_INTRA, SENT_UP
from gossamer.fast import engine

ABOUT = "one event among up to 10^8 processes"
RUNS: tuple[tuple[tuple[int, ...], float], ...] = (
    ((10_000_000,), 1.0),
    ((100_000_000,), 1.0),
    ((1_000, 100_000, 100_000_000), LOSSY),
)
LARGEST = 100_000_000
WALL_S = 120
BYTES_PER_PROCESS = 8


class Giant(Struct, frozen=True):
    sizes: list[int]
    "Communities, the root first; the event is published in the last."
    success: float
    threads: int
    took: Took
    messages: int
    ns_per_message: float
    "By the clock."
    reached: float
    "The share of all processes."
    rounds: int
    bytes_per_process: float
    "Peak memory during the run, beyond what the idle interpreter has."


def measure(scale: Scale) -> list[Giant]:
    runs = [] if scale.quick else RUNS
    return [run_apart(*each, threads) for each, threads in itertools.product(runs, range(1, THREADS + 1))]


def memory_bytes(field: str) -> int:
    """VmRSS is what this process has now, VmHWM the most it had since `forget_peak`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def run(sizes: Sequence[int], success: float, threads: int) -> Giant:
    publication = Publication(len(sizes) - 1)
    engine.tallies(KERNEL, chain([10] * len(sizes), success), publication, [1], threads)  # compiled
    setting = chain(sizes, success)
    forget_peak()
    before = memory_bytes("VmRSS")
    took, (rows,) = timed(engine.tallies, KERNEL, setting, publication, [1], threads)
    peak = memory_bytes("VmHWM") - before
    messages = int(rows[:, [SENT_INTRA, SENT_UP]].sum())
    return Giant(
        sizes=list(sizes),
        success=success,
        threads=threads,
        took=took,
        messages=messages,
        ns_per_message=took.wall_s / messages * 1e9,
        reached=float(rows[:, REACHED].sum() / rows[:, LIVE].sum()),
        rounds=int(rows[:, ROUNDS_LAST].max()),
        bytes_per_process=peak / setting.processes,
    )


def run_apart(sizes: Sequence[int], success: float, threads: int) -> Giant:
    """`run`, in a new process."""
    root = str(Path(__file__).parents[1])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    asked = json.dumps([list(sizes), success, threads])
    command = [sys.executable, "-m", "benchmarks.giant", asked]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(done.stdout, type=Giant)


def tables(told: list[Giant]) -> list[Table]:
    rows = [
        [
            " / ".join(f"{size:,}" for size in reversed(each.sizes)),
            f"{1 - each.success:.0%}",
            str(each.threads),
            number(each.took.wall_s),
            number(each.took.cpu_s),
            number(each.ns_per_message),
            f"{each.bytes_per_process:.2f}",
            f"{each.reached:.4%}",
            str(each.rounds),
        ]
        for each in told
    ]
    head = ["processes", "loss", "threads", "wall s", "CPU s", "ns/message", "bytes/process", "reached", "rounds"]
    return [Table("The kernel alone, one run each", head, rows, "Nanoseconds are by the clock.")]


def bars(told: list[Giant] | None) -> Iterator[Bar]:
    whole = [each for each in told or () if max(each.sizes) == LARGEST]
    slowest = max((each.took.wall_s for each in whole), default=None)
    largest = max((each.bytes_per_process for each in whole), default=None)
    yield within("10^8 processes, the slowest run", WALL_S, slowest)
    yield within("10^8 processes, memory for each", BYTES_PER_PROCESS, largest, "bytes")


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(run(*json.loads(sys.argv[1]))))
