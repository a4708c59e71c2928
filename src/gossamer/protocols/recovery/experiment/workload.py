"""What is published in an experiment, by whom and when: drawn as arrays, for machines and kernel alike."""

from typing import Any, NamedTuple

import numpy as np

from gossamer.core.draws import WORKLOAD, chance, draw, fold, upper_pick
from gossamer.protocols.recovery.experiment.setting import PUBLICATIONS, SECOND_US, EpidemicSetting


class Workload(NamedTuple):
    """Events in the order of their publication: one row each."""

    at_us: Any
    source: Any
    sequence: Any
    "Counts the events of its source, from 1."
    patterns: Any
    "One column for each pattern it may match, in ascending order; -1: no further ones."


def workload(setting: EpidemicSetting, seed: int) -> Workload:
    """Every publication of a run."""
    key = fold(fold(seed, WORKLOAD), PUBLICATIONS)
    keys = fold(np.array([key], np.uint64), np.arange(setting.dispatchers, dtype=np.uint64))
    at_us, source, sequence = _times(setting, keys)
    return Workload(at_us, source, sequence, _patterns(setting, fold(keys[source], sequence.astype(np.uint64))))


def _times(setting: EpidemicSetting, keys: Any) -> tuple[Any, Any, Any]:
    """When each source publishes: gaps of a mean of 1 / rate, in whole microseconds."""
    expected = setting.rate * setting.seconds
    most = int(expected + 10 * expected**0.5 + 30)  # nobody publishes more; the test below would tell
    gaps = -np.log1p(-chance(keys[:, None], np.arange(most, dtype=np.uint64))) * (SECOND_US / max(setting.rate, 1e-9))
    times = np.cumsum(np.minimum(gaps, 2.0 * setting.until_us).astype(np.int64), axis=1)
    if times.size and times[:, -1].min() < setting.until_us:
        raise OverflowError(f"a dispatcher published more than {most} events: use another seed")
    source, index = np.nonzero(times < setting.until_us)
    at_us = times[source, index]
    order = np.lexsort((source, at_us))
    return at_us[order], source[order], index[order] + 1


def _patterns(setting: EpidemicSetting, keys: Any) -> Any:
    """1 to k different patterns for each key, all equally likely."""
    most = setting.patterns_per_event
    count = upper_pick(draw(keys, _word(0)), most).astype(np.int64) + 1
    chosen = np.zeros((len(keys), 0), np.int64)
    for column in range(most):
        pick = upper_pick(draw(keys, _word(column + 1)), setting.patterns - column).astype(np.int64)
        for earlier in chosen.T:  # in ascending order: what is taken already is stepped over
            pick += pick >= earlier
        fresh = np.where(column < count, pick, setting.patterns)  # beyond all: at the end, where they are in no way
        chosen = np.sort(np.column_stack([chosen, fresh]), axis=1)
    return np.where(chosen < setting.patterns, chosen, -1)


def _word(number: int) -> Any:
    """For draws over arrays: a lone number of 64 bits would complain where it is meant to overflow."""
    return np.array([number], np.uint64)
