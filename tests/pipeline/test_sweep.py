"""A sweep: what is run, what is kept, what is never run twice."""

import contextlib
import os
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

pytest.importorskip("pyspark")

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException

from gossamer.core.errors import Misuse, TransportDown
from gossamer.core.intervals import Z95, half_width
from gossamer.lab import trial
from gossamer.lab.book import Line
from gossamer.lab.grid import Point
from gossamer.lab.plan import Chunk, Waves
from gossamer.lab.rows import Outcome
from gossamer.lab.trial import point_id, run_trials
from gossamer.pipeline import compacting, sweep
from gossamer.pipeline.background import cause, in_background
from gossamer.pipeline.outcomes import Outcomes, count_trials, finished_runs, outcomes_in
from gossamer.pipeline.places import place_at
from gossamer.pipeline.summary import summarise
from pipeline.processes import run, without_progress
from pipeline.rows import SOURCE, failed, keep, outcome, small

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def outcomes(folder: Path) -> Outcomes:
    return outcomes_in(place_at(folder))


def rows(folder: Path) -> list[Outcome]:
    """Of the waves that count."""
    kept = outcomes(folder)
    waves = [str(kept.wave(record.wave)) for record in kept.records()]
    said = [row for wave in waves for row in pq.read_table(wave, partitioning=None).to_pylist()]
    return in_order(msgspec.convert(said, list[Outcome]))


def in_order(outcomes: list[Outcome]) -> list[Outcome]:
    return sorted(outcomes, key=lambda each: (each.trial, each.event, each.group or ""))


# What is kept


def test_a_trial_is_finished_once_it_has_an_outcome_without_error(tmp_path: Path) -> None:
    kept = outcomes(tmp_path)
    keep(kept, outcome(trial="p-0"), failed(trial="p-1"), failed(trial="p-2"))
    keep(kept, outcome(trial="p-2"))
    assert finished_runs(kept.records()) == {"p": {0, 2}}
    assert count_trials(kept.records()) == 4


def test_what_has_no_record_does_not_count(tmp_path: Path) -> None:
    kept = outcomes(tmp_path)
    keep(kept, outcome(trial="p-0"))
    (kept.wave("half").make() / "part-0.parquet").write(b"PAR1")  # its job was killed before it was over
    (kept.folder / "_waves" / ".p.json.1.half").write(b"{")
    assert [record.trials for record in kept.records()] == [1]


def test_a_wave_whose_files_are_gone_or_cut_short_is_run_again(tmp_path: Path) -> None:
    kept = outcomes(tmp_path)
    for name in ("p-0", "p-1", "p-2"):
        keep(kept, outcome(trial=name))
    lost, short, _ = kept.records()
    (kept.wave(lost.wave) / "part-0.parquet").remove()
    (kept.wave(short.wave) / "part-0.parquet").write(b"PAR1 and then the disk was full")
    assert count_trials(kept.records()) == 1


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    kept = outcomes(tmp_path)
    (kept.folder / "_waves").make()
    (kept.folder / "_waves" / "a.json").write(b'{"wave": "a"')
    with pytest.raises(Misuse, match=r"a\.json is damaged: remove it, and its trials are run again$"):
        kept.records()


def test_outcomes_go_into_a_folder_of_their_own(tmp_path: Path) -> None:
    assert outcomes(tmp_path / "deep" / "out").folder == place_at(tmp_path / "deep" / "out" / "outcomes")
    assert (tmp_path / "deep" / "out" / "outcomes").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(Misuse, match=r"file is a file: name a folder$"):
        outcomes(tmp_path / "file")
    with pytest.raises(Misuse, match=r"cannot make the folder .*: Not a directory$"):
        outcomes(tmp_path / "file" / "below")


# What is left to do


def planned(work: dict[str, list[Point]], folder: Path) -> list[tuple[str, str, tuple[int, ...]]]:
    return [(chunk.source, point_id(chunk.point), chunk.runs) for chunk in sweep.work_left(work, outcomes(folder))]


def test_what_two_experiments_have_in_common_is_run_once(tmp_path: Path) -> None:
    (one, two), (longer, _) = small(runs=2), small(runs=3)
    assert planned({"a": [one, two], "b": [longer, one]}, tmp_path) == [
        ("a", point_id(one), (0, 1)),
        ("a", point_id(two), (0, 1)),
        ("b", point_id(one), (2,)),
    ]


def test_only_what_has_no_outcome_is_left(tmp_path: Path) -> None:
    one, two = small(runs=3)
    keep(outcomes(tmp_path), *run_trials(one, [0, 2], SOURCE), *run_trials(two, [0, 1, 2], SOURCE))
    assert planned({SOURCE: [one, two]}, tmp_path) == [(SOURCE, point_id(one), (1,))]


# Failing trials


def run_in_a_task(chunk: Chunk) -> list[Outcome]:
    """What a worker makes of a chunk."""
    number = pa.RecordBatch.from_pydict({"id": [0]})
    batches = sweep.task([msgspec.json.encode([chunk])], Outcome, {})(iter([number]))
    return in_order(msgspec.convert([row for batch in batches for row in batch.to_pylist()], list[Outcome]))


def test_a_failing_trial_becomes_a_row_and_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point, _ = small(runs=4)

    def fails(point: Point, runs: Sequence[int], source: str) -> list[Outcome]:
        if 2 in runs:
            raise ArithmeticError("two is too many")
        return run_trials(point, runs, source)

    with monkeypatch.context() as patched:
        patched.setattr(trial, "run_trials", fails)
        found = run_in_a_task(Chunk(point, (0, 1, 2, 3), SOURCE))
    keep(outcomes(tmp_path), *found)
    assert [each for each in found if each.run != 2] == in_order(run_trials(point, [0, 1, 3], SOURCE))
    (bad,) = [each for each in found if each.run == 2]
    assert bad.error == "ArithmeticError: two is too many"
    assert bad.command == f"gossamer simulate {SOURCE} --set faults.fraction=0.0 --run 2"
    (again,) = sweep.work_left({SOURCE: [point]}, outcomes(tmp_path))
    assert again.runs == (2,)
    keep(outcomes(tmp_path), *run_in_a_task(again))
    assert [each for each in rows(tmp_path) if not each.error] == in_order(run_trials(point, range(4), SOURCE))
    assert sweep.work_left({SOURCE: [point]}, outcomes(tmp_path)) == []


NODE = """
from gossamer.protocols.flood import node

def static_node(setting, me, seed):
    if seed % 2:
        raise ValueError("an odd seed")
    return node.static_node(setting, me, seed)
"""

ODD_SPEC = """
[experiment]
name = "odd"
protocol = "oddly"
engine = "machine"
runs = 12
[topics]
".news" = {size = 20}
[publish]
topic = ".news"
[[figures]]
name = "reception"
title = "Reception"
metric = "reception"
x = "network.success"
[sweep]
"network.success" = [1.0, 0.5]
"""

TWICE = """
import sys
from gossamer.cli import main
for _ in range(2):  # in one process: a JVM is slow to start
    try:
        main()
    except SystemExit as left:
        print("exit code", left.code, flush=True)
"""


def install_oddly(site: Path) -> None:
    """A protocol of somebody else's package, which is flooding but for failing in half of all runs."""
    package, info, flood = site / "oddly", site / "oddly-1.0.dist-info", "gossamer.protocols.flood"
    package.mkdir(parents=True)
    info.mkdir()
    (package / "__init__.py").write_text(
        "from gossamer.protocols import Protocol\n"
        f"ODDLY = Protocol(name='oddly', role='spread', says='', package='oddly', kernel='{flood}.kernel')\n"
    )
    (package / "params.py").write_text(f"from {flood}.params import Params\n")
    (package / "messages.py").write_text(f"from {flood}.messages import Message\n")
    (package / "node.py").write_text(NODE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: oddly\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[gossamer.protocols]\noddly = oddly:ODDLY\n")


def test_a_failing_trial_spares_the_others_on_spark_and_the_command_exits_with_1(tmp_path: Path) -> None:
    install_oddly(tmp_path / "site")
    (tmp_path / "odd.toml").write_text(ODD_SPEC)
    arguments = ["sweep", "odd.toml", "--out", "out", "--master", "local[2]"]
    ran = run([sys.executable, "-c", TWICE, *arguments], tmp_path, PYTHONPATH=str(tmp_path / "site"))
    found = rows(tmp_path / "out")
    good, bad = [each for each in found if not each.error], [each for each in found if each.error]
    odd = {each.trial for each in bad}
    assert all(each.seed % 2 == 0 and each.reached > 0 for each in good)
    assert all(each.seed % 2 == 1 and each.error == "ValueError: an odd seed" for each in bad)
    assert len(good) + len(odd) == 24
    assert len(bad) == 2 * len(odd)  # the second sweep tried those again, and no other
    assert count_trials(outcomes(tmp_path / "out").records()) == 24 + len(odd)
    assert ran.stdout.count("exit code 1\n") == 2
    first, second = without_progress(ran.stderr).splitlines()
    assert first == second
    assert first.startswith(
        f"gossamer: {len(odd)} trials failed, the first with ValueError: an odd seed (see it with: "
    )
    summary = (tmp_path / "out" / "summary.csv").read_text()
    assert summary.count(f",{len(good) // 2}\n") == summary.count("\n") - 1  # as many runs in every row
    assert (tmp_path / "out" / "report.html").is_file()


# On Spark


def test_a_sweep_says_what_a_plain_loop_says_and_runs_nothing_twice(spark: "SparkSession", tmp_path: Path) -> None:
    points, kept = small(), outcomes(tmp_path)
    assert sweep.run_sweep(spark, points, SOURCE, kept) == sweep.Swept(ran=80, failed=0)
    looped = [each for point in points for each in run_trials(point, range(40), SOURCE)]
    assert rows(tmp_path) == in_order(looped)
    by_point, lost = summarise(spark, kept, points)
    assert lost == []
    for lines, point in zip(by_point, points, strict=True):
        assert_same(lines, plain_summary([each for each in looped if each.point == point.name]))

    before = kept.records()
    assert sweep.run_sweep(spark, points, SOURCE, kept) == sweep.Swept(0, 0)
    assert kept.records() == before
    kept.forget(before[0].wave)
    assert sweep.run_sweep(spark, points, SOURCE, kept) == sweep.Swept(ran=80, failed=0)
    assert rows(tmp_path) == in_order(looped)
    assert spark.range(3).count() == 3  # the session is the caller's


def test_small_waves_are_put_together_and_none_of_their_rows_is_lost_or_doubled(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, made = outcomes(tmp_path), [outcome(trial=f"p-{run}", run=run) for run in range(4)]
    keep(kept, *made[:2], failed(trial="p-3", run=3))
    keep(kept, *made[2:])
    keep(kept, failed(trial="q-0"))
    small = kept.records()
    monkeypatch.setattr(compacting, "WAVES_MAX", 2)
    with monkeypatch.context() as stopped:
        stopped.setattr(Outcomes, "forget", lambda *_: None)  # as by a kill, when the new wave is there
        compacting.compact(spark, kept)
    (whole,) = kept.records()
    assert (len(whole.files), whole.trials) == (1, 6)
    assert (whole.runs, whole.failed) == ({"p": [(0, 4)], "q": [(0, 1)]}, {"q": [0]})
    assert [each for each in rows(tmp_path) if not each.error] == made
    compacting.compact(spark, kept)
    assert not any(kept.wave(each.wave).exists() for each in small)
    assert kept.records() == [whole]


def test_a_wave_that_fails_leaves_nothing_and_spares_the_others(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = small(runs=3)
    broken = Chunk(one, (0,), None)  # type: ignore[arg-type]  # no worker can read that
    kept = outcomes(tmp_path)
    monkeypatch.setattr(Waves, "take", lambda waves: [waves.left.popleft()] if waves.left else [])
    with pytest.raises(PySparkException):
        sweep.run_chunks(spark, [broken, Chunk(two, (0, 1, 2), SOURCE)], kept)
    assert finished_runs(kept.records()) == {point_id(two): {0, 1, 2}}
    assert len(kept.folder.entries()) == 2  # that wave, and the records


def plain_summary(outcomes: list[Outcome]) -> dict[tuple[str, str], list[float]]:
    """What summary.py says in Spark's words, in Python's: behind each line a value per run, the mean of its events."""
    values: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for each in outcomes:
        for metric, value in plain_measures(each).items():
            if value is not None:
                values[str(each.group), metric, each.trial].append(float(value))
    for trial_id, event in {(each.trial, each.event) for each in outcomes}:
        whole = [each for each in outcomes if (each.trial, each.event) == (trial_id, event)]
        values["all", "messages", trial_id].append(sum(each.sent_intra + each.sent_up for each in whole))
        values["all", "parasites", trial_id].append(sum(each.parasites for each in whole))
        values["all", "rounds_last", trial_id].append(max(each.rounds_last or 0 for each in whole))
    by_run: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (group, metric, _), of_events in values.items():
        by_run[group, metric].append(statistics.fmean(of_events))
    return by_run


def plain_measures(each: Outcome) -> dict[str, float | None]:
    told = {
        name: getattr(each, name) for name in ("sent_intra", "arrived", "parasites", "rounds_last", "memory", "live")
    }
    if each.live:
        told |= {"reception": each.reached / each.live, "reliability": each.reached == each.live}
    if each.climbs:
        told |= {"climbed": each.sent_up > 0, "crossed": each.arrived_up > 0}
        told |= {"sent_up": each.sent_up, "arrived_up": each.arrived_up}
    if each.arrived:
        told["efficiency"] = (each.reached - each.home) / each.arrived
    return told


def assert_same(lines: list[Line], values: dict[tuple[str, str], list[float]]) -> None:
    """To nine digits, as summary.csv has them."""
    assert {(line.group, line.metric) for line in lines} == set(values)
    for line in lines:
        several = values[line.group, line.metric]
        n, mean = len(several), statistics.fmean(several)
        ci95 = half_width(several)
        if line.metric in ("reliability", "climbed", "crossed"):
            ci95 = Z95 * (mean * (1 - mean) / n + Z95**2 / (4 * n * n)) ** 0.5 / (1 + Z95**2 / n)
        expected = (mean, ci95, *np.percentile(several, [50, 99]), max(several))
        assert (line.mean, line.ci95, line.p50, line.p99, line.max) == pytest.approx(expected, rel=5e-10, abs=1e-15)
        assert line.runs == n


def test_what_spark_cannot_do_is_said_in_one_sentence(spark: "SparkSession") -> None:
    with pytest.raises(TransportDown, match=r"^Spark could not finish: \[UNRESOLVED_COLUMN[^\n]*$"):
        in_background(spark, lambda: spark.sql("select nobody"), lambda: None)
    assert spark.range(3).count() == 3


@pytest.mark.parametrize(
    ("trace", "told"),
    [
        ("An error occurred.\n: a.B: no\n\tat c\nCaused by: java.io.IOException: No space left\n\tat d\n",
         "java.io.IOException: No space left"),
        ("PythonException\nCaused by: a.PythonException: no\nValueError: odd\n", "ValueError: odd"),
        ("Nothing more is known.\n", "Nothing more is known."),
    ],
)  # fmt: skip
def test_of_a_long_trace_the_line_is_told_that_says_why(trace: str, told: str) -> None:
    assert cause(trace) == told


def test_ctrl_c_cancels_our_jobs_and_no_others_of_the_session(spark: "SparkSession", tmp_path: Path) -> None:
    os.mkfifo(gate := tmp_path / "gate")

    def wait(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gate.read_text()  # until somebody writes
        yield from batches

    def job() -> int:
        return len(spark.range(1).mapInArrow(wait, "id long").collect())

    def press() -> None:
        if len(spark.sparkContext.statusTracker().getActiveJobsIds()) == 2:
            raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(job)
        with pytest.raises(KeyboardInterrupt):
            in_background(spark, job, press)
        while not futures.wait([other], timeout=0.05).done:  # again: its task may not be at the gate yet
            with contextlib.suppress(OSError):  # nobody is
                os.close(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))
        assert other.result() == 1
