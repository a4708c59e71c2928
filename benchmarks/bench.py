"""The whole result: what was measured, on what, and whether the bars are met. Each part is a module of its own."""

import os
import platform
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from benchmarks.tables import Table, markdown

THREADS = min(2, os.cpu_count() or 1)


class Scale(Struct, frozen=True):
    """How much is measured."""

    quick: bool = False
    "A smoke test: fewer turns, nothing very large."
    sizes: tuple[int, ...] = ()
    "Other numbers of processes to compare at."


class Bar(Struct, frozen=True):
    """What is asked for; `met` is None if it was not measured."""

    what: str
    wanted: str
    got: str
    met: bool | None


class Part(Protocol):
    """One thing that is measured; in its tables it is told, and it may have bars, met or not."""

    ABOUT: str

    def measure(self, scale: Scale) -> Any: ...

    def tables(self, told: Any) -> Iterable[Table]: ...

    def bars(self, told: Any) -> Iterable[Bar]: ...


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


class Bench(Struct, frozen=True):
    command: str
    machine: Machine
    agreed: int
    "Runs compared process by process before anything was timed."
    parts: dict[str, Any]
    bars: list[Bar]


def within(what: str, limit: float, got: float | None, unit: str = "s") -> Bar:
    """A bar that is a limit."""
    said = "not measured" if got is None else f"{got:.3g} {unit}"
    return Bar(what, f"at most {limit:g} {unit}", said, None if got is None else got <= limit)


def verdicts(asked: Iterable[Bar]) -> Table:
    met = {True: "met", False: "NOT met", None: "–"}
    rows = [[bar.what, bar.wanted, bar.got, met[bar.met]] for bar in asked]
    return Table("Bars", ["what", "wanted", "got", ""], rows)


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


def told(bench: Bench, tables: Iterable[Table]) -> str:
    """As Markdown."""
    on = bench.machine
    lines = [
        "# Benchmarks",
        "",
        f"`{bench.command}` on {on.cores} cores of {on.cpu} ({on.system}), Python {on.python}, NumPy {on.numpy}, "
        f"Numba {on.numba}, PySpark {on.pyspark}; load {on.load_before} before, {on.load_after} after.",
        f"Before timing, kernel, NumPy and plain Python were compared process by process in {bench.agreed} runs.",
    ]
    for table in tables:
        lines += ["", *markdown(table)]
    return "\n".join(lines) + "\n"
