"""The whole result: what was measured, on what, and whether the bars are met."""

import os
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from msgspec import Struct

from benchmarks.epidemic import Recovering
from benchmarks.filters import Filters
from benchmarks.giant import Giant
from benchmarks.machines import Machines
from benchmarks.spreads import Comparison
from benchmarks.sweeps import Sweeps

MILLION = 1_000_000
NAIVE_TIMES = 100
NUMPY_TIMES = 3
GIANT_SIZE = 100_000_000
GIANT_S = 120
BYTES_PER_PROCESS = 8
EPIDEMIC_S = 10
MANY_FILTERS = 100_000
INDEX_TIMES = 50


class Machine(Struct, frozen=True):
    """What it ran on."""

    cpu: str
    cores: int
    system: str
    python: str
    numpy: str
    numba: str
    pyspark: str
    load_before: float
    "Processes that wanted a core in the last minute."
    load_after: float


class Bar(Struct, frozen=True):
    """What is asked for; `met` is None if it was not measured."""

    what: str
    wanted: str
    got: str
    met: bool | None


class Bench(Struct, frozen=True):
    command: str
    machine: Machine
    agreed: int
    "Runs compared process by process before anything was timed."
    spread: list[Comparison]
    giant: list[Giant]
    machines: Machines | None
    spark: Sweeps | None
    filters: Filters | None
    epidemic: list[Recovering]
    bars: list[Bar]


def machine(load_before: float) -> Machine:
    return Machine(
        cpu=cpu_model(),
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        **{name: version(name) for name in ("numpy", "numba", "pyspark")},
        load_before=load_before,
        load_after=load(),
    )


def load() -> float:
    return round(os.getloadavg()[0], 2)


def cpu_model() -> str:
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or "unknown")


def bars(
    spread: list[Comparison], giant: list[Giant], filters: Filters | None, epidemic: list[Recovering]
) -> Iterator[Bar]:
    for other, times in (("naive", NAIVE_TIMES), ("numpy", NUMPY_TIMES)):
        found = [each.ratios[other] for each in spread if each.processes == MILLION and each.success >= 1.0]
        got = f"{found[0].median:.1f} × ({found[0].low:.1f} to {found[0].high:.1f})" if found else "not measured"
        met = found[0].median >= times if found else None
        yield Bar(f"10^6 processes, CPU time of {other} over the kernel's", f"at least {times} ×", got, met)
    whole = [each for each in giant if max(each.sizes) == GIANT_SIZE]
    slowest = max((each.took.wall_s for each in whole), default=None)
    largest = max((each.bytes_per_process for each in whole), default=None)
    yield Bar(
        "10^8 processes, the slowest run",
        f"within {GIANT_S} s",
        "not measured" if slowest is None else f"{slowest:.0f} s",
        None if slowest is None else slowest <= GIANT_S,
    )
    yield Bar(
        "10^8 processes, memory",
        f"at most {BYTES_PER_PROCESS} bytes per process",
        "not measured" if largest is None else f"{largest:.2f} bytes",
        None if largest is None else largest <= BYTES_PER_PROCESS,
    )
    yield from filter_bars(filters)
    slowest = max((each.full_s.high for each in epidemic), default=None)
    yield Bar(
        "100 dispatchers, 50 events/s each, 15 s of recovery: CPU time of the slowest run",
        f"less than {EPIDEMIC_S} s",
        "not measured" if slowest is None else f"{slowest:.1f} s",
        None if slowest is None else slowest < EPIDEMIC_S,
    )


def filter_bars(filters: Filters | None) -> Iterator[Bar]:
    found = [each.times for each in filters.matching if each.filters == MANY_FILTERS] if filters else []
    yield Bar(
        "10^5 filters, CPU time of a plain loop over the index's",
        f"at least {INDEX_TIMES} ×",
        f"{found[0].median:.0f} × ({found[0].low:.0f} to {found[0].high:.0f})" if found else "not measured",
        found[0].median >= INDEX_TIMES if found else None,
    )
