"""Taking times on a machine that may be busy: contenders take turns, and what counts is the median with its range."""

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct

T = TypeVar("T")


class Span(Struct, frozen=True):
    """A number measured several times."""

    median: float
    low: float
    high: float
    times: int


class Took(Struct, frozen=True):
    """CPU time is that of all threads; beside other work it says more than the clock on the wall."""

    cpu_s: float
    wall_s: float


class Timed(Struct, frozen=True):
    """What one contender took."""

    cpu_s: Span
    wall_s: Span
    turns: list[Took]


class Disagreement(Exception):
    """Two contenders did not do the same, so their times cannot be compared."""


def span(values: Sequence[float]) -> Span:
    return Span(statistics.median(values), min(values), max(values), len(values))


def scaled(measured: Span, by: float) -> Span:
    return Span(measured.median * by, measured.low * by, measured.high * by, measured.times)


def ratio(of: Sequence[float], to: Sequence[float]) -> Span:
    """How many times `to` goes into `of`, turn by turn; what was measured only once is held against every turn."""
    numerators = list(of) * len(to) if len(of) == 1 else of
    return span([a / b for a, b in zip(numerators, to)])


def timed(work: Callable[..., T], *given: Any) -> tuple[Took, T]:
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    result = work(*given)
    return Took(time.process_time() - cpu, time.perf_counter() - wall), result


def in_turns(contenders: Mapping[str, Callable[[int], Any]], turns: int, budget_s: float) -> dict[str, Timed]:
    """Each contender once per turn, given the turn's number, until it has used up its budget. All must say the same."""
    taken: dict[str, list[Took]] = {name: [] for name in contenders}
    for turn in range(turns):
        said: dict[str, Any] = {}
        for name, work in contenders.items():
            if not taken[name] or sum(took.wall_s for took in taken[name]) < budget_s:
                took, said[name] = timed(work, turn)
                taken[name].append(took)
        must_agree(said)
    return {
        name: Timed(span([took.cpu_s for took in turned]), span([took.wall_s for took in turned]), turned)
        for name, turned in taken.items()
    }


def must_agree(said: Mapping[str, Any]) -> None:
    for (first, expected), (name, result) in zip(said.items(), list(said.items())[1:]):
        if result != expected:
            raise Disagreement(f"{name} and {first} do not do the same")
