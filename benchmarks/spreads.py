"""One event among n processes: the kernel against plain Python and NumPy doing exactly the same."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from msgspec import Struct

from benchmarks import baselines
from benchmarks.bench import THREADS, Bar, Scale
from benchmarks.measure import Span, Timed, in_turns, must_agree, ratio, scaled
from benchmarks.tables import Table, ranged
from gossamer.core.setting import Community, Publication, Setting
from gossamer.core.tally import REACHED, ROUNDS_LAST, SENT_INTRA
from gossamer.fast import engine
from gossamer.protocols.camcast.params import Params

ABOUT = "one event"
KERNEL = "gossamer.protocols.camcast.kernel"
LOSSY = 0.85
SECOND_THREAD_FROM = 1_000_000
NAIVE_LOSSY_UP_TO = 100_000
SIZES = (10_000, 100_000, 1_000_000)
MILLION = 1_000_000
NAIVE_TIMES = 100
NUMPY_TIMES = 3
BUDGET_S = 6.0
"A contender that has used up so many seconds sits out the remaining turns."


class Comparison(Struct, frozen=True):
    """The contenders at one size."""

    processes: int
    success: float
    messages: int
    taken: dict[str, Timed]
    ratios: dict[str, Span]
    "How many times the kernel's CPU time the others take; with threads, how many times faster by the clock."
    ns_per_message: Span


def flat(n: int, success: float) -> Setting:
    """One community."""
    return Setting((Community(".", 0, n, (), Params(fanout_extra=baselines.FANOUT_EXTRA), success, success),))


def chain(sizes: Sequence[int], success: float) -> Setting:
    """Communities one below the other, the root first."""
    groups: list[Community] = []
    for level, size in enumerate(sizes):
        start, topic = sum(sizes[:level]), "." + ".".join("abcdefgh"[:level])
        groups.append(Community(topic, start, size, (level - 1,) if level else (), Params(), success, success))
    return Setting(tuple(groups))


def kernel(n: int, seed: int, success: float, threads: int = 1) -> tuple[int, int, int]:
    row = engine.tallies(KERNEL, flat(n, success), Publication(0), [seed], threads)[0, 0]
    return int(row[REACHED]), int(row[SENT_INTRA]), int(row[ROUNDS_LAST])


def vectorised(n: int, seed: int, success: float) -> tuple[int, int, int]:
    state, sent = baselines.vectorised_bytes(n, seed, success)
    return int(np.count_nonzero(state)), sent, int(state.max()) - 1


def naive(n: int, seed: int, success: float) -> tuple[int, int, int]:
    reached, sent = baselines.naive(n, seed, success)
    return len(reached), sent, max(reached.values())


def kernel_in_full(n: int, seed: int, success: float) -> baselines.Spread:
    state = engine.history(KERNEL, flat(n, success), Publication(0), seed)
    return baselines.Spread(baselines.rounds_of(state), kernel(n, seed, success)[1])


def check(sizes: Sequence[int], seeds: Sequence[int]) -> int:
    """Compares the contenders process by process; returns how often. Nothing is timed unless this goes well."""
    compared = 0
    for n in sizes:
        for seed in seeds:
            for success in (1.0, LOSSY):
                must_agree(
                    {
                        f"the kernel among {n} processes, seed {seed}, success {success}": kernel_in_full(
                            n, seed, success
                        ),
                        "NumPy": baselines.vectorised(n, seed, success),
                        "plain Python": baselines.naive(n, seed, success),
                    }
                )
                compared += 1
    return compared


def measure(scale: Scale) -> list[Comparison]:
    turns = 3 if scale.quick else 15
    return [compare(n, success, turns, THREADS) for n in scale.sizes or SIZES for success in (1.0, LOSSY)]


def compare(n: int, success: float, turns: int, threads: int) -> Comparison:
    contenders: dict[str, Callable[[int], tuple[int, int, int]]] = {
        "kernel": partial(kernel, n, success=success),
        "numpy": partial(vectorised, n, success=success),
    }
    if success >= 1.0 or n <= NAIVE_LOSSY_UP_TO:
        contenders["naive"] = partial(naive, n, success=success)
    if n >= SECOND_THREAD_FROM and threads > 1:
        contenders[shared(threads)] = partial(kernel, n, success=success, threads=threads)
    for name, work in contenders.items():
        if name != "naive":  # the others need a first time: to be compiled, to have their memory
            work(0)
    taken = in_turns(contenders, turns, BUDGET_S)
    messages = kernel(n, 0, success)[1]
    return Comparison(n, success, messages, taken, dict(ratios(taken)), scaled(taken["kernel"].cpu_s, 1e9 / messages))


def shared(threads: int) -> str:
    return f"kernel, {threads} threads"


def ratios(taken: dict[str, Timed]) -> Iterator[tuple[str, Span]]:
    ours = taken["kernel"].turns
    for name, other in taken.items():
        if name.startswith("kernel,"):
            yield name, ratio([turn.wall_s for turn in ours], [turn.wall_s for turn in other.turns])
        elif name != "kernel":
            yield name, ratio([turn.cpu_s for turn in other.turns], [turn.cpu_s for turn in ours])


def tables(told: list[Comparison]) -> list[Table]:
    rows = []
    for each in told:
        for name, taken in each.taken.items():
            beside = each.ratios.get(name)
            unit = "× as fast" if name.startswith("kernel") else "×"
            times = "" if beside is None else f"{ranged(beside)} {unit}"
            per_message = ranged(scaled(taken.cpu_s, 1e9 / each.messages))
            case = [f"{each.processes:,}", f"{1 - each.success:.0%}", name]
            rows.append([*case, ranged(taken.cpu_s, 1e3), ranged(taken.wall_s, 1e3), per_message, times])
    head = ["processes", "loss", "who", "CPU ms", "wall ms", "CPU ns per message", "of the kernel's time"]
    note = "Median (least–most) of turns all took in one run; ratios are of CPU time, of threads by the clock."
    return [Table("One event, every process tells floor(ln n + 5) different others", head, rows, note)]


def bars(told: list[Comparison] | None) -> Iterator[Bar]:
    for other, times in (("naive", NAIVE_TIMES), ("numpy", NUMPY_TIMES)):
        found = [each.ratios[other] for each in told or () if each.processes == MILLION and each.success >= 1.0]
        got = f"{found[0].median:.1f} × ({found[0].low:.1f} to {found[0].high:.1f})" if found else "not measured"
        met = found[0].median >= times if found else None
        yield Bar(f"10^6 processes, CPU time of {other} over the kernel's", f"at least {times} ×", got, met)
