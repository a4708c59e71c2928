"""Runs kernels: many seeded spreads of one event in one setting."""

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from gossamer.core.setting import Publication, Setting
from gossamer.core.tally import COLUMNS
from gossamer.fast.compile import compiled, threads_limited
from gossamer.parts.infection import scratch

Bytes: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
Counts: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

COUNT_ARRIVALS_UP_TO = 100_000
"Counting every arriving copy needs a draw per message; beyond this many processes only new receptions are drawn for."


THREADS_FROM = 1_000_000
"Below this many processes a second thread does not pay for itself."


def threads_for(processes: int) -> int:
    """Threads for a run that has the machine to itself; a Spark task always takes one."""
    return (os.cpu_count() or 1) if processes >= THREADS_FROM else 1


def history(kernel: str, setting: Setting, publication: Publication, seed: int, threads: int = 1) -> Bytes:
    """One run's bytes, a byte per process: FRESH, DEAD, or the round that reached it + 1 (see `parts.infection`)."""
    state, _ = _run(kernel, setting, publication, [seed], threads)
    return state


def tallies(kernel: str, setting: Setting, publication: Publication, seeds: Sequence[int], threads: int = 1) -> Counts:
    """One row per seed and community, columns as in `core.tally`."""
    _, counts = _run(kernel, setting, publication, seeds, threads)
    return counts


def _run(
    kernel: str, setting: Setting, publication: Publication, seeds: Sequence[int], threads: int
) -> tuple[Bytes, Counts]:
    plain = import_module(kernel)
    table = plain.tables(setting, publication, setting.processes <= COUNT_ARRIVALS_UP_TO)
    state = np.zeros(setting.processes, np.uint8)
    room = scratch(len(table.block_low), len(setting.communities), plain.picks(setting))
    counts = np.zeros((len(seeds), len(setting.communities), len(COLUMNS)), np.int64)
    run = compiled(kernel, parallel=threads > 1)
    with threads_limited(threads):
        run(np.array(seeds, np.uint64), publication.home, publication.sequence, table, state, *room, counts)
    return state, counts
