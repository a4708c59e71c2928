"""One event among very many processes, in an operating system process of its own so that its memory can be told."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from benchmarks.measure import Took, timed
from benchmarks.spreads import KERNEL, chain
from gossamer.core.setting import Publication
from gossamer.core.tally import LIVE, REACHED, ROUNDS_LAST, SENT_INTRA, SENT_UP
from gossamer.fast import engine


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


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(run(*json.loads(sys.argv[1]))))
