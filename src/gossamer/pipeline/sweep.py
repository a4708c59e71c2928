"""A sweep on Spark: chunks of trials go out, and each task writes its finished trials itself.

Spark shows a job's own output only when the whole job commits; a file per chunk, renamed into place when it is
whole, means that a sweep killed half way keeps all it finished and goes on from there.
"""

import gc
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from pyspark.sql import SparkSession

from gossamer.core.errors import Misuse
from gossamer.lab.grid import Point
from gossamer.lab.plan import Chunk, chunks, task_count
from gossamer.lab.trial import point_id, run_or_report
from gossamer.pipeline.folders import make_folder
from gossamer.pipeline.schemas import arrow_schema

OUTCOMES = "outcomes"
STATUS = "trials long, failed long"


class Swept(Struct, frozen=True):
    """How a sweep went."""

    ran: int
    failed: int


def outcomes_folder(out: Path, *, make: bool = True) -> Path:
    """Where a sweep's outcomes go; made if need be."""
    if out.exists() and not out.is_dir():
        raise Misuse(f"--out {out} is a file: name a folder")
    return make_folder(out / OUTCOMES) if make else out / OUTCOMES


def finished_trials(folder: Path) -> frozenset[str]:
    """Trials that need not be run again: those with an outcome and no error."""
    done: set[str] = set()
    for part in sorted(folder.glob("part-*.parquet")):
        try:
            columns = pq.read_table(part, columns=["trial", "error"])
        except (pa.ArrowInvalid, OSError):  # a disk that filled up, a copy broken off
            raise Misuse(f"{part} is damaged: remove it, and its trials are run again") from None
        whole = columns.filter(pa.compute.is_null(columns["error"]))
        done.update(whole["trial"].to_pylist())
    return frozenset(done)


def written_trials(folder: Path) -> int:
    """How many trials the parts hold, from their names alone: cheap enough to ask twice a second."""
    return sum(int(part.name.split("-")[1]) for part in folder.glob("part-*.parquet"))


def write_part(folder: Path, outcomes: Sequence[Struct], trials: int) -> None:
    """Writes finished trials, all of one kind, under a name nobody reads, then shows them all at once."""
    schema = arrow_schema(type(outcomes[0]))
    table = pa.Table.from_pylist([msgspec.structs.asdict(outcome) for outcome in outcomes], schema=schema)
    name = f"part-{trials}-{uuid.uuid4().hex}.parquet"
    pq.write_table(table, folder / f".{name}", compression="zstd")
    os.rename(folder / f".{name}", folder / name)


def run_chunk(chunk: Chunk, folder: Path) -> Swept:
    outcomes = run_or_report(chunk.point, chunk.runs, chunk.source)
    write_part(folder, outcomes, len(chunk.runs))
    return Swept(len(chunk.runs), sum(outcome.error is not None for outcome in outcomes))


def task(folder: Path) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a Spark worker does with its chunks."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if not gc.get_freeze_count():
            # Spark collects garbage between tasks, and the compiler's object graph is large: leave it out.
            gc.collect()
            gc.freeze()
        for batch in batches:
            for text in batch.column("chunk").to_pylist():
                swept = run_chunk(msgspec.json.decode(text, type=Chunk), folder)
                yield pa.RecordBatch.from_pydict({"trials": [swept.ran], "failed": [swept.failed]})

    return run


def work_left(work: Mapping[str, Sequence[Point]], folder: Path) -> list[Chunk]:
    """Every trial that has no outcome yet, each once: experiments, given by their name, may have points in common."""
    known, cut = set(finished_trials(folder)), list[Chunk]()
    for source, points in work.items():
        for point in points:
            cut += chunks([point], known, source)
            known.update(f"{point_id(point)}-{run}" for run in range(point.spec.experiment.runs))
    return cut


def run_sweep(spark: SparkSession, points: Sequence[Point], source: str, folder: Path) -> Swept:
    """Runs every trial that has no outcome yet; failing trials become rows with their error."""
    return run_chunks(spark, work_left({source: points}, folder), folder)


def run_chunks(spark: SparkSession, cut: Sequence[Chunk], folder: Path) -> Swept:
    if not cut:
        return Swept(0, 0)
    rows = [(msgspec.json.encode(chunk).decode(),) for chunk in cut]
    cores = spark.sparkContext.defaultParallelism
    work = spark.createDataFrame(rows, "chunk string").repartition(task_count(cut, cores))
    done = work.mapInArrow(task(folder.absolute()), STATUS).collect()
    return Swept(sum(row["trials"] for row in done), sum(row["failed"] for row in done))
