"""One event among more processes than a task holds: a Spark job per round, a file of it kept until the next is whole.

Each task has some of the blocks. It takes what came to them, lets them act (`fast/blocks.py`), and puts down their bits
and what they send; one shuffle brings that to the blocks it is for. What a block does depends on the round and on what
came to it alone: a round that is done again, by whomever, comes out the same, and after a crash the last one goes on.
"""

import gc
import itertools
import pickle
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j has no types
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from gossamer.core.errors import Misuse
from gossamer.core.tally import COLUMNS, REACHED
from gossamer.fast.blocks import Acted, Kept, Mail, Plan, act, tally
from gossamer.fast.dividing import Counts
from gossamer.lab.grid import Point
from gossamer.lab.plan import Chunk
from gossamer.lab.studies.communities.tables import Communities
from gossamer.lab.studies.communities.trials import Ran, of_blocks, plan_of, told
from gossamer.lab.trial import point_id, rows_of, seed_of
from gossamer.pipeline.desk import in_one_task, still_active
from gossamer.pipeline.jobs import cores_of
from gossamer.pipeline.places import Place, literally

BINARY = ("bits", "own", "told", "named")
ROWS = pa.schema(
    [pa.field("block", pa.int32(), nullable=False)]
    + [pa.field(name, pa.binary()) for name in BINARY]
    + [pa.field(name, pa.int64()) for name in ("new", *COLUMNS)]
)
"""What is between two rounds. A block that was reached has a row with its bits, what its processes sent to each other,
how many are newly reached, and what it counted so far. What it sends elsewhere are rows of the blocks that get it."""
BLOCKS_PER_TASK = 32
"At most, unless there are fewer tasks than cores: a task holds its blocks, one megabyte or so each, in memory."
TASKS_PER_CORE = 2
KEPT_ROUNDS = 2
SUCCESS = "_SUCCESS"
"What Spark writes last, when all of a folder is there."
COMPRESSION = "zstd"

News: TypeAlias = Callable[[str], None]


class Trial(NamedTuple):
    """What a trial left behind."""

    point: Point
    run: int
    rows: list[Any]


class Round(NamedTuple):
    """Where an event stands."""

    number: int
    "Rounds that are over."
    folder: Place
    counts: dict[int, list[int]]
    "By block, what it counted so far."
    new: int


def runs_in_blocks(point: Point) -> bool:
    return point.spec.experiment.engine == "blocks"


def trials_in_blocks(spark: SparkSession, cut: Sequence[Chunk], folder: Place, news: News) -> Iterator[Trial]:
    """One trial after the other. Its rounds are kept below `folder` until whoever asked comes back from keeping it."""
    for chunk in cut:
        for run in chunk.runs:
            place = folder / f"{point_id(chunk.point)}-{run}"
            yield Trial(chunk.point, run, run_in_blocks(spark, chunk.point, run, chunk.source, place, news))
            place.remove()
    if cut and not folder.entries():
        folder.remove()


def run_in_blocks(spark: SparkSession, point: Point, run: int, source: str, folder: Place, news: News) -> list[Any]:
    """One trial as rows."""
    spec = point.spec
    assert isinstance(spec, Communities)
    setting, seed = spec.setting(), seed_of(spec.experiment.seed, run)
    found: list[Ran] = []
    for publication in spec.publications():
        event = folder / f"event-{publication.sequence}"
        news(f"run {run}, event {publication.sequence}")
        with still_active(spark):
            counts = spread(spark, plan_of(spec, publication, seed), event, news)
        found.append(of_blocks(spec, setting, publication, 0, counts.tolist()))
    return rows_of(point, [run], source, told(spec, setting, found))


def spread(spark: SparkSession, plan: Plan, folder: Place, news: News) -> Counts:
    """The tally of one event, from wherever it stands."""
    spark = in_one_task(spark)  # a round has few rows, and its work is in Python: no plan is worth its making
    at = latest(spark, folder)
    if at is not None:
        news(f"round {at.number - 1} is kept: going on from there")
    tasks = task_count(len(plan.cut.size), spark)
    while at is None or at.new:
        number = 0 if at is None else at.number
        came = published(spark, plan) if at is None else read(spark, at.folder)
        at = written(spark, acted(came, plan, number, tasks), folder, number + 1)
        forget(folder, at)
        news(said(plan, at))
    return tally(plan, {b: np.array(counts) for b, counts in at.counts.items()})


def said(plan: Plan, at: Round) -> str:
    reached = sum(counts[REACHED] for counts in at.counts.values())
    live = sum(plan.live_by_community())
    return f"round {at.number - 1}: {at.new:,} new, {reached:,} of {live:,} reached ({reached / max(1, live):.2%})"


# Rounds on disk


def latest(spark: SparkSession, folder: Place) -> Round | None:
    """The last round that is whole. An attempt has a folder of its own, and Spark says by a file when it is whole: one
    that was killed, or is still ending, disturbs nobody."""
    whole = [folder / name for name in kept_in(folder) if (folder / name / SUCCESS).exists()]
    try:
        return standing(spark, whole[-1]) if whole else None
    except (PySparkException, Py4JError):
        raise Misuse(f"{whole[-1]} is damaged: remove it, and the same command goes on from the round before") from None


def kept_in(folder: Place) -> list[str]:
    """Rounds, the oldest first."""
    return [entry.name for entry in folder.entries() if entry.name.startswith("round-")]


def standing(spark: SparkSession, place: Place) -> Round:
    """What blocks said of themselves in a round."""
    rows = read(spark, place).where("bits is not null").select("block", "new", *COLUMNS).collect()
    return Round(number_of(place.name), place, {row[0]: list(row[2:]) for row in rows}, sum(row[1] for row in rows))


def read(spark: SparkSession, place: Place) -> DataFrame:
    return spark.read.schema(from_arrow_schema(ROWS)).parquet(literally(place))


def written(spark: SparkSession, frame: DataFrame, folder: Place, number: int) -> Round:
    place = folder / f"round-{number:06}-{uuid.uuid4().hex}"
    frame.write.option("compression", COMPRESSION).parquet(place.uri)
    return standing(spark, place)


def forget(folder: Place, at: Round) -> None:
    """Rounds before the last two, and attempts that came to nothing."""
    for name in kept_in(folder):
        if name != at.folder.name and number_of(name) not in range(at.number - KEPT_ROUNDS + 1, at.number):
            (folder / name).remove()


def number_of(name: str) -> int:
    return int(name.split("-")[1])


# A round


def published(spark: SparkSession, plan: Plan) -> DataFrame:
    """What comes to the publisher's block before the first round."""
    rows = [{"block": b, "named": mail.named.tobytes()} for b, mail in plan.publish().items()]
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=ROWS), from_arrow_schema(ROWS))


def acted(came: DataFrame, plan: Plan, number: int, tasks: int) -> DataFrame:
    dealt = came.repartitionById(tasks, F.col("block")).sortWithinPartitions("block")
    return dealt.mapInArrow(task(pickle.dumps(plan), number), from_arrow_schema(ROWS))


def task_count(blocks: int, spark: SparkSession) -> int:
    """How many tasks share the blocks; no result depends on it."""
    return min(blocks, max(cores_of(spark) * TASKS_PER_CORE, -(-blocks // BLOCKS_PER_TASK)))


@lru_cache(maxsize=2)
def plan_from(pickled: bytes) -> Plan:
    """Once in each worker: a plan works out much that all its rounds use."""
    plan: Plan = pickle.loads(pickled)
    return plan


def task(pickled: bytes, number: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a Spark worker does with its blocks."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if not gc.get_freeze_count():
            gc.collect()
            gc.freeze()
        plan = plan_from(pickled)
        around: dict[int, Counts] = {}
        for b, rows in itertools.groupby(rows_in(batches), key=lambda row: int(row["block"])):
            kept, mail = gathered(plan, b, rows)
            each = act(plan, number, b, kept, mail)
            yield batch(
                [kept_row(b, each), *({"block": to, "named": names.tobytes()} for to, names in each.sent.up.items())]
            )
            for to, counts in each.sent.around.items():
                around[to] = around[to] + counts if to in around else counts
        if around:
            yield batch([{"block": to, "told": counts.tobytes()} for to, counts in around.items()])

    return run


def rows_in(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """Rows one by one, their bytes not copied."""
    for each in batches:
        columns = [each.column(name) for name in ROWS.names]
        for at in range(each.num_rows):
            yield {
                name: column[at].as_buffer() if name in BINARY and column[at].is_valid else column[at].as_py()
                for name, column in zip(ROWS.names, columns, strict=True)
            }


def gathered(plan: Plan, b: int, rows: Iterable[dict[str, Any]]) -> tuple[Kept, Mail]:
    """A block as it stands, and all that came to it."""
    kept, own, around, named = plan.untouched(b), plan.nothing(b), plan.nothing(b), []
    for row in rows:
        if row["bits"] is not None:
            kept = Kept(np.frombuffer(row["bits"], np.uint8), np.array([row[name] for name in COLUMNS]))
            own = np.frombuffer(row["own"], np.int64)
        elif row["told"] is not None:
            around = around + np.frombuffer(row["told"], np.int64)
        else:
            named.append(np.frombuffer(row["named"], np.uint32))
    return kept, Mail(around, own, np.concatenate(named) if named else np.zeros(0, np.uint32))


def kept_row(b: int, each: Acted) -> dict[str, Any]:
    counted = dict(zip(COLUMNS, each.kept.counts.tolist(), strict=True))
    return {"block": b, "bits": each.kept.bits.tobytes(), "own": each.sent.own.tobytes(), "new": each.new, **counted}


def batch(rows: Sequence[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=ROWS)
