"""How a sweep's work is cut: each missing run once, in chunks and tasks of a sensible size."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.lab import plan
from gossamer.lab.grid import points
from gossamer.lab.plan import (
    Chunk,
    Waves,
    chunks,
    estimate,
    memory_bytes,
    missing,
    share_out,
    task_count,
    trial_s,
    work_s,
)
from gossamer.lab.trial import point_id
from lab.samples import SOURCE, example, point

SWEEP = {"faults.fraction": [0.0, 0.1, 0.2]}
POINTS = points(example({"experiment.runs": 60}, sweep=SWEEP), SOURCE)
TRIALS = [(point_id(each), run) for each in POINTS for run in range(60)]


def by_point(some: Iterable[tuple[str, int]]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for identity, run in some:
        found.setdefault(identity, set()).add(run)
    return found


def trials(cut: list[Chunk]) -> Counter[tuple[str, int]]:
    return Counter((point_id(each.point), run) for each in cut for run in each.runs)


@given(st.sets(st.sampled_from(TRIALS)), st.floats(1e-4, 1.0))
def test_each_missing_run_is_in_exactly_one_chunk(finished: set[tuple[str, int]], chunk_s: float) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(plan, "CHUNK_S", chunk_s)
        cut = chunks(POINTS, by_point(finished), SOURCE)
    assert trials(cut) == Counter(set(TRIALS) - finished)
    assert all(each.runs for each in cut)
    assert all(each.source == SOURCE for each in cut)


def test_nothing_is_left_when_all_is_finished() -> None:
    assert chunks(POINTS, by_point(TRIALS), SOURCE) == []
    assert missing(POINTS[0], by_point(TRIALS)) == []


def test_more_runs_later_leave_only_the_new_ones() -> None:
    (more, *_) = points(example({"experiment.runs": 65}, sweep=SWEEP), SOURCE)
    assert missing(more, by_point(TRIALS)) == [60, 61, 62, 63, 64]


def test_trials_of_another_experiment_do_not_count() -> None:
    other = point({"experiment.runs": 3, "experiment.seed": 2})
    assert missing(other, by_point(TRIALS)) == [0, 1, 2]


def test_a_chunk_takes_about_a_second_and_holds_at_least_one_run() -> None:
    quick = point({"experiment.runs": 1_000_000})
    sizes = {len(each.runs) for each in chunks([quick], {}, SOURCE)[:-1]}
    assert len(sizes) == 1
    assert sizes.pop() * trial_s(quick) == pytest.approx(plan.CHUNK_S, rel=0.01)
    slow = point({"experiment.runs": 3, 'topics.".d.g"': {"size": 10**8}})
    assert trial_s(slow) > plan.CHUNK_S
    assert [each.runs for each in chunks([slow], {}, SOURCE)] == [(0,), (1,), (2,)]


def test_a_chunk_survives_its_trip_to_a_worker() -> None:
    (made, *_) = points(example(sweep={'params.".d".links': [4]}, cases={"a": {}}), SOURCE)
    chunk = Chunk(made, (0, 5), SOURCE)
    there = msgspec.json.decode(msgspec.json.encode(chunk), type=Chunk)
    assert there == chunk
    assert point_id(there.point) == point_id(made)
    assert there.point.name == made.name


def test_machines_take_longer_than_a_kernel_and_more_events_longer_than_one() -> None:
    kernel, machine = point(), point({"experiment.engine": "machine"})
    assert trial_s(machine) > 100 * trial_s(kernel)
    assert trial_s(point({"publish.events": 10})) > 5 * trial_s(kernel)


@pytest.mark.parametrize(
    ("chunk_count", "cores", "tasks"),
    [
        (1, 8, 1),  # none without a chunk
        (3, 2, 2),  # every core has something to do
        (1000, 2, 8),  # enough to balance, and no more
        (1000, 16, 64),
        (0, 4, 1),
    ],
)
def test_tasks_are_enough_to_balance_and_none_is_empty(chunk_count: int, cores: int, tasks: int) -> None:
    second = point({"experiment.runs": 1})
    runs = tuple(range(int(plan.CHUNK_S / trial_s(second))))
    assert task_count([Chunk(second, runs, SOURCE)] * chunk_count, cores) == tasks


def test_little_work_is_not_scattered() -> None:
    tiny = [Chunk(point(), (run,), SOURCE) for run in range(100)]
    assert task_count(tiny, 2) == 2


def test_an_estimate_counts_what_is_there_and_what_is_done() -> None:
    told = estimate(POINTS, by_point(TRIALS[:100]))
    assert (told.points, told.trials, told.finished) == (3, 180, 100)
    assert told.cpu_s == pytest.approx(80 * trial_s(POINTS[0]))
    assert estimate(POINTS, by_point(TRIALS)).cpu_s == 0


def test_memory_is_that_of_the_largest_trial() -> None:
    large: dict[str, Any] = {'topics.".d.g"': {"size": 10**8}}
    kernel, machine = point(large), point({'topics.".d.g"': {"size": 10_000}, "experiment.engine": "machine"})
    assert 10**8 < memory_bytes(kernel) <= 8 * 10**8
    assert estimate([point(), kernel], {}).memory_bytes == memory_bytes(kernel)
    assert memory_bytes(machine) > 10_000 * 1000


# Tasks and waves


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.integers(1, 8))
def test_every_task_has_its_share_of_the_work_and_no_chunk_is_lost(runs: list[int], tasks: int) -> None:
    cut = [Chunk(point(), tuple(range(many)), SOURCE) for many in runs]
    tasks = min(tasks, len(cut))
    shared = share_out(cut, tasks)
    assert [chunk for task in shared for chunk in task] == cut
    assert len(shared) == tasks
    assert all(shared)
    most = max(sum(map(work_s, task)) for task in shared)
    assert most <= sum(map(work_s, cut)) / tasks + 2 * max(map(work_s, cut))


def test_waves_are_cut_by_how_long_the_last_ones_took_and_hold_rows_of_one_kind() -> None:
    second = tuple(range(int(plan.CHUNK_S / trial_s(point()))))
    cut = [Chunk(point(), second, SOURCE)] * 1000
    now = [0.0]
    waves = Waves(cut, 2, lambda: now[0])
    first = waves.take()
    assert 0 <= sum(map(work_s, first)) - 2 * plan.FIRST_WAVE_S < work_s(first[-1])
    now[0] = 2 * plan.FIRST_WAVE_S  # twice as long as was thought
    waves.done(first)
    assert sum(map(work_s, waves.take())) == pytest.approx(
        2 * plan.WAVE_S / (2 * 2 * plan.FIRST_WAVE_S / sum(map(work_s, first))), rel=0.1
    )
    rest = [chunk for wave in iter(waves.take, []) for chunk in wave]
    assert len(first) + len(rest) < 1000
    assert waves.take() == []


def test_a_wave_holds_at_least_a_chunk_however_long_it_takes() -> None:
    slow = point({"experiment.runs": 3, 'topics.".d.g"': {"size": 10**8}})
    waves = Waves(chunks([slow], {}, SOURCE), 1)
    assert [len(wave) for wave in iter(waves.take, [])] == [1, 1, 1]
