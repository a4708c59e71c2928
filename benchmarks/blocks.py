"""One event in blocks beside the kernel, up to 10^9 processes: CPU, memory, disk, and how near the final size it is.

Each runs in a session of the operating system of its own, so that its CPU time, with the JVM's and all workers', can be
told. Starting Spark is left out; compiling is too. `python -m benchmarks.run --only blocks --sizes 1000000000`.
"""

import contextlib
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from benchmarks.bench import Bar, Scale, within
from benchmarks.tables import Table, number
from gossamer.core.setting import Setting
from gossamer.core.tally import LIVE, REACHED, ROUNDS_LAST, SENT_INTRA, SENT_UP
from gossamer.fast import blocks as in_process
from gossamer.fast import engine
from gossamer.lab.grid import points, put
from gossamer.lab.spec import read
from gossamer.lab.studies.communities.tables import Communities
from gossamer.lab.trial import seed_of

ABOUT = "one event in blocks, beside the kernel"
EXPERIMENT = "camcast/billion"
SHARES = {".": 0.001, ".d": 0.099, ".d.g": 0.9}
SIZES = (1_000_000, 10_000_000, 100_000_000)
LARGEST = 100_000_000
THIN = 4
"Targets of each process where the final size is to be seen: with the paper's ln N + 5 it is everybody."
TIMES_KERNEL = 5.0
OFF = 0.001
WHO = ("kernel", "blocks in one process", "blocks on Spark")
LOOK_S = 0.2


class Ran(Struct, frozen=True):
    processes: int
    told: int | None
    "By each process; None: ln N + c."
    who: str
    cpu_s: float
    wall_s: float
    messages: int
    rounds: int
    reached: float
    "The share of the live."
    expected: float
    memory_bytes: int
    "The most that all its processes had in memory, shared pages counted in each."
    disk_bytes: int
    "The most its rounds took."
    tally: list[list[int]]


def setting_of(processes: int, told: int | None) -> Communities:
    raw, source = read(EXPERIMENT)
    for topic, share in SHARES.items():
        size = round(processes * share)
        put(raw, f'topics."{topic}".size', size, source)
        if told is not None:  # and surely up, since few of them are told there
            put(raw, f'params."{topic}"', {"fanout_extra": told + 0.5 - math.log(size), "electors": 30.0}, source)
    (point,) = points(raw, source)
    assert isinstance(point.spec, Communities)
    return point.spec


def final_size(setting: Setting, fanouts: list[int]) -> float:
    """The share of the live that a spread reaches which takes off everywhere: x = 1 - exp(-F s x), per community."""
    reached = live = 0.0
    for community, told in zip(setting.communities, fanouts, strict=True):
        alive = 1.0 - setting.faults.stillborn
        share = 1.0
        for _ in range(200):
            share = -math.expm1(-told * community.success * (1.0 - setting.faults.unreached) * alive * share)
        reached, live = reached + share * alive * community.size, live + alive * community.size
    return reached / live


def measure(scale: Scale) -> list[Ran]:
    cases = [(size, None) for size in scale.sizes or (SIZES[:1] if scale.quick else SIZES)]
    cases += [(max(size for size, _ in cases), THIN)]  # type: ignore[list-item]
    return [run_apart(processes, told, who) for processes, told in cases for who in WHO]


# One run, in a session of its own


def run(processes: int, told: int | None, who: str) -> Ran:
    spec = setting_of(processes, told)
    setting, seed, (publication,) = spec.setting(), seed_of(spec.experiment.seed, 0), spec.publications()
    plan = in_process.Plan(setting, publication, seed, spec.blocks.processes)
    with tempfile.TemporaryDirectory() as folder, ready(who, Path(folder)) as work:
        watch = Watch(Path(folder))
        rows = work(plan, setting, publication, seed)
        watch.stop()
    return Ran(
        processes=setting.processes,
        told=told,
        who=who,
        cpu_s=watch.cpu_s,
        wall_s=watch.wall_s,
        messages=int(rows[:, [SENT_INTRA, SENT_UP]].sum()),
        rounds=int(rows[:, ROUNDS_LAST].max()),
        reached=float(rows[:, REACHED].sum() / rows[:, LIVE].sum()),
        expected=final_size(setting, plan.fanouts),
        memory_bytes=watch.memory_bytes,
        disk_bytes=watch.disk_bytes,
        tally=rows.tolist(),
    )


class ready:
    """Whoever is to run it, warm: Spark started, kernels compiled."""

    def __init__(self, who: str, folder: Path) -> None:
        self.who, self.folder = who, folder

    def __enter__(self) -> Callable[..., Any]:
        tiny = setting_of(1_000, None)
        (publication,) = tiny.publications()
        plan = in_process.Plan(tiny.setting(), publication, 1, 100)
        if self.who == "kernel":
            engine.tallies("gossamer.protocols.camcast.kernel", tiny.setting(), publication, [1])
            return lambda _, setting, publication, seed: engine.tallies(
                "gossamer.protocols.camcast.kernel", setting, publication, [seed]
            )[0]
        in_process.spread(plan)
        if self.who == "blocks in one process":
            return lambda plan, *_: in_process.spread(plan)
        from gossamer.pipeline import blocks
        from gossamer.pipeline.places import place_at
        from gossamer.pipeline.session import spark_session

        self.session = spark_session("local[2]")
        spark = self.session.__enter__()
        spark.range(5).count()
        return lambda plan, *_: blocks.spread(spark, plan, place_at(self.folder / "rounds"), self.say)

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def __exit__(self, *_: object) -> None:
        if self.who == "blocks on Spark":
            self.session.__exit__(None, None, None)


class Watch:
    """What all processes of this session take, from now on."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.memory_bytes, self.disk_bytes = folder, 0, 0
        self.before, self.began = cpu_s(), time.perf_counter()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self) -> None:
        while not self.over.wait(LOOK_S):
            self.memory_bytes = max(self.memory_bytes, sum(each[21] for each in ours()) * os.sysconf("SC_PAGE_SIZE"))
            self.disk_bytes = max(self.disk_bytes, size_of(self.folder))

    def stop(self) -> None:
        self.cpu_s, self.wall_s = cpu_s() - self.before, time.perf_counter() - self.began
        self.over.set()
        self.thread.join()


def size_of(folder: Path) -> int:
    """Of all files below, but for those that go while one looks."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                size += Path(place, name).stat().st_size
    return size


def ours() -> Iterator[dict[int, int]]:
    """/proc/PID/stat of every process of this session, by field, the third being 0."""
    for each in Path("/proc").glob("[0-9]*"):
        try:
            fields = (each / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # gone meanwhile
            continue
        if int(fields[3]) == os.getsid(0):
            yield {at: int(field) for at, field in enumerate(fields) if field.lstrip("-").isdigit()}


def cpu_s() -> float:
    """Of processes there are, and of those that ended and were waited for."""
    return sum(sum(each[at] for at in (11, 12, 13, 14)) for each in ours()) / os.sysconf("SC_CLK_TCK")


def run_apart(processes: int, told: int | None, who: str) -> Ran:
    root = str(Path(__file__).parents[1])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "benchmarks.blocks", json.dumps([processes, told, who])]
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, start_new_session=True)
    return msgspec.json.decode(done.stdout, type=Ran)


# What is told


def kernels(told: list[Ran]) -> dict[tuple[int, int | None], float]:
    return {(each.processes, each.told): each.cpu_s for each in told if each.who == "kernel"}


def tables(told: list[Ran]) -> list[Table]:
    beside = kernels(told)
    rows = [
        [
            f"{each.processes:,}",
            "ln N + 5" if each.told is None else str(each.told),
            each.who,
            number(each.cpu_s),
            number(each.wall_s),
            number(each.cpu_s / each.messages * 1e9),
            f"{each.cpu_s / max(1e-9, beside[each.processes, each.told]):.2f}",
            number(each.memory_bytes / 1e6),
            number(each.disk_bytes / 1e6),
            f"{each.reached:.4%}",
            f"{each.expected:.4%}",
            str(each.rounds),
        ]
        for each in told
    ]
    head = ["processes", "each tells", "who", "CPU s", "wall s", "CPU ns/message", "× kernel", "memory MB", "disk MB"]
    head += ["reached", "final size", "rounds"]
    note = "One run each; CPU of all processes, Spark's start left out. A tenth is crashed, 15 % of messages are lost."
    return [Table("One event among three communities, in blocks and by the kernel", head, rows, note)]


def bars(told: list[Ran] | None) -> Iterator[Bar]:
    beside = kernels(told or [])
    times = [
        each.cpu_s / beside[each.processes, each.told]
        for each in told or ()
        if each.who == "blocks on Spark" and each.processes >= LARGEST and each.told is None
    ]
    most = max(times, default=None)
    yield within("10^8 processes or more, CPU of blocks on Spark over the kernel's", TIMES_KERNEL, most, "×")
    off = [abs(each.reached / each.expected - 1) for each in told or () if each.processes >= LARGEST]
    yield within("10^8 processes or more, off the final size", OFF, max(off, default=None), "of it")


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    sys.stdout.buffer.write(msgspec.json.encode(run(*asked)))
