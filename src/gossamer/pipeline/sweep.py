"""A sweep on Spark: waves of trials, each a job whose files Spark commits, two under way at once.

What a finished wave holds is kept, whatever becomes of the others (see `outcomes.py`): a sweep killed half way loses at
most the waves under way, and goes on from there. While one wave ends, the next has the cores that are free.
"""

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import msgspec
import pyarrow as pa
from msgspec import Struct
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from gossamer.core.errors import Misuse
from gossamer.lab.grid import Point
from gossamer.lab.plan import Chunk, Waves, chunks, share_out, task_count
from gossamer.lab.trial import point_id, run_or_report
from gossamer.pipeline.blocks import News, Trial, runs_in_blocks, trials_in_blocks
from gossamer.pipeline.compacting import compact
from gossamer.pipeline.jobs import Jobs, cores_of
from gossamer.pipeline.outcomes import Outcomes, Record, finished_runs, new_name, parts, spans_of
from gossamer.pipeline.places import literally
from gossamer.pipeline.schemas import arrow_schema, spark_schema
from gossamer.pipeline.shipping import receive_tables, send_tables

ROUNDS = "rounds"
"Beside the outcomes: where the trials stand that take all tasks."
UNDER_WAY = 2
LOOK_S = 0.5
COMPRESSION = "zstd"

Told = Callable[[int], None]
"Hears how many trials have run, some of them perhaps not yet kept."


class Swept(Struct, frozen=True):
    """How a sweep went."""

    ran: int
    failed: int

    def __add__(self, more: "Swept") -> "Swept":
        return Swept(self.ran + more.ran, self.failed + more.failed)


def work_left(work: Mapping[str, Sequence[Point]], outcomes: Outcomes) -> list[Chunk]:
    """Every trial that has no outcome yet, each once: experiments, given by their name, may have points in common."""
    known, cut = finished_runs(outcomes.records()), list[Chunk]()
    for source, points in work.items():
        for point in points:
            cut += chunks([point], known, source)
            known.setdefault(point_id(point), set()).update(range(point.spec.experiment.runs))
    return cut


def run_sweep(spark: SparkSession, points: Sequence[Point], source: str, outcomes: Outcomes) -> Swept:
    """Runs every trial that has no outcome yet; failing trials become rows with their error."""
    return run_chunks(spark, work_left({source: points}, outcomes), outcomes)


def run_chunks(
    spark: SparkSession,
    cut: Sequence[Chunk],
    outcomes: Outcomes,
    jobs: Jobs | None = None,
    tell: Told = lambda ran: None,
    news: News = lambda text: None,
) -> Swept:
    """`news` hears of the rounds of trials that take all tasks, which come after all others."""
    apart = [chunk for chunk in cut if runs_in_blocks(chunk.point)]
    swept = run_waves(spark, [chunk for chunk in cut if not runs_in_blocks(chunk.point)], outcomes, jobs, tell)
    for trial in trials_in_blocks(spark, apart, outcomes.folder.parent / ROUNDS, news):
        keep_trial(spark, trial, outcomes)
        compact(spark, outcomes)
        swept += Swept(1, 0)
        tell(swept.ran)
    return swept


def keep_trial(spark: SparkSession, trial: Trial, outcomes: Outcomes) -> None:
    """The rows of one trial as a wave of their own."""
    name, row = new_name(), trial.point.spec.row
    place = outcomes.wave(name)
    rows = spark.createDataFrame(pa.Table.from_batches([batch_of(trial.rows, row)]), spark_schema(row))
    rows.coalesce(1).write.option("compression", COMPRESSION).parquet(place.uri)
    runs = {point_id(trial.point): [(trial.run, trial.run + 1)]}
    outcomes.keep(Record(wave=name, row=row.__name__, trials=1, runs=runs, files=parts(place)))


def run_waves(spark: SparkSession, cut: Sequence[Chunk], outcomes: Outcomes, jobs: Jobs | None, tell: Told) -> Swept:
    if not cut:
        return Swept(0, 0)
    jobs, swept, cores = jobs or Jobs(spark), Swept(0, 0), cores_of(spark)
    waves, under_way = Waves(cut, cores), dict[Future[Swept], list[Chunk]]()
    with ThreadPoolExecutor(UNDER_WAY) as pool:
        while True:
            while len(under_way) < UNDER_WAY and (wave := waves.take()):
                about = f"{count_trials(wave):,} trials into {outcomes.folder}"
                doing = pool.submit(jobs.run, about, lambda wave=wave: run_wave(spark, wave, outcomes, cores))
                under_way[doing] = wave
            if not under_way:
                break
            ended, _ = wait(under_way, timeout=LOOK_S, return_when=FIRST_COMPLETED)
            for each in ended:
                waves.done(under_way.pop(each))
                swept += each.result()
                compact(spark, outcomes)
            tell(swept.ran + int(jobs.share_done() * sum(map(count_trials, under_way.values()))))
    return swept


def count_trials(wave: Sequence[Chunk]) -> int:
    return sum(len(chunk.runs) for chunk in wave)


def run_wave(spark: SparkSession, wave: Sequence[Chunk], outcomes: Outcomes, cores: int) -> Swept:
    """Runs these trials; none of them counts until all of their rows are there."""
    name, row = new_name(), wave[0].point.spec.row
    sent = send_tables(spark, wave)
    tasks = [msgspec.json.encode(task) for task in share_out(wave, task_count(wave, cores))]
    made = spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(task(tasks, row, sent), spark_schema(row))
    place, seen = outcomes.wave(name), Observation()
    counted = made.observe(seen, F.count("error").alias("errors"))
    try:
        counted.write.option("compression", COMPRESSION).parquet(place.uri)
        if not (files := parts(place)):
            raise Misuse(f"what Spark's tasks wrote to {place} is not there: name a folder that they and we share")
    except BaseException:
        place.remove()
        raise
    failed = failed_runs(spark.read.schema(spark_schema(row)).parquet(literally(place))) if seen.get["errors"] else {}
    runs: dict[str, list[int]] = {}
    for chunk in wave:
        runs.setdefault(point_id(chunk.point), []).extend(chunk.runs)
    outcomes.keep(
        Record(
            wave=name,
            row=row.__name__,
            trials=count_trials(wave),
            runs={point: spans_of(each) for point, each in runs.items()},
            failed=failed,
            files=files,
        )
    )
    return Swept(count_trials(wave), sum(map(len, failed.values())))


def failed_runs(rows: DataFrame) -> dict[str, list[int]]:
    """Runs that have an error, by the id of their point."""
    found: dict[str, list[int]] = {}
    for row in rows.where("error is not null").select("trial").distinct().orderBy("trial").collect():
        point, _, run = row["trial"].rpartition("-")
        found.setdefault(point, []).append(int(run))
    return found


def task(
    tasks: Sequence[bytes], row: type[Struct], sent: Mapping[str, str]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a Spark worker does: each number it is given is that of a task, a list of chunks."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if not gc.get_freeze_count():
            # Spark collects garbage between tasks, and the compiler's object graph is large: leave it out.
            gc.collect()
            gc.freeze()
        receive_tables(sent)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for chunk in msgspec.json.decode(tasks[number], type=list[Chunk]):
                    yield batch_of(run_or_report(chunk.point, chunk.runs, chunk.source), row)

    return run


def batch_of(outcomes: Sequence[Struct], row: type[Struct]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([msgspec.structs.asdict(each) for each in outcomes], schema=arrow_schema(row))
