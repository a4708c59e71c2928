"""Segments of traces → Parquet, once: a file for each, made by Spark's tasks and renamed into place when it is whole.

A Parquet file is named after its segment and the segment's size: one already converted is left alone, and one that has
grown since, because its node still writes it, is converted again.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct
from msgspec.structs import astuple, replace
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from gossamer.core.errors import GossamerError, Misuse
from gossamer.core.trace import Head, Level, Row
from gossamer.pipeline.folders import make_folder
from gossamer.pipeline.schemas import arrow_schema
from gossamer.wire import journal
from gossamer.wire.segment import MAGIC, OPEN, SEALED, SegmentReader
from gossamer.wire.values import kept

TASK_BYTES = 8 * 2**20
"Segments that go into one task: a second or so of work."
HERE_BYTES = 16 * 2**20
"Up to so much this process converts by itself: it is done before a worker would have started."
NOTE = b"gossamer.segment.3"
"The key under which a Parquet file keeps what is known of its segment; another number: of other columns, or told less."
JOURNALS = (journal.OPEN, journal.SEALED)
"Files beside the segments that are a node's too, and for somebody else."
CUT, MARK = 500, "…"
"""Older nodes wrote so many letters of a filter and no more: what may be the beginning of another is marked, so that
nobody takes it for one."""
INT64 = range(-(2**63), 2**63)
MEASURES = ("at_us", "hops", "bytes")
SANE = range(-(2**53), 2**53)
"Times, hops and bytes: what is beyond was made up, and sums and differences of such would have no room in 64 bits."


class About(Struct, frozen=True):
    """The columns a row gets from the head of its segment."""

    run: str
    node: int
    name: str
    life: int
    "The head's incarnation: `incarnation` in a row is that of the event's publisher."
    level: Level
    host: str


class Source(Struct, frozen=True):
    """A segment that was found."""

    file: str
    "Its path below the folder of traces."
    path: str
    size: int

    def key(self) -> str:
        """The same for a segment before and after it is sealed."""
        return blake2b(os.path.splitext(self.file)[0].encode(), digest_size=10).hexdigest()

    def parquet(self) -> str:
        return f"{self.key()}-{self.size}.parquet"


class Numbers(Struct, frozen=True):
    """Which rows of its node a segment holds, by their numbers."""

    first: int = 0
    last: int = -1
    rising: bool = True
    "Whether each is greater than the one before: then none is there twice."
    starts: tuple[int, ...] = ()
    "Those of rows that tell of a start."


class Converted(Struct, frozen=True):
    """What became of a segment."""

    file: str
    rows: int = 0
    head: Head | None = None
    "None: nothing could be read."
    problem: str | None = None
    "What was left out, and why."
    numbers: Numbers = Numbers()


class Skipped(Struct, frozen=True):
    """A file that was not read, or not to its end."""

    file: str
    why: str


SCHEMA = pa.schema([*arrow_schema(About), *arrow_schema(Row)])
"What a row of any node's trace looks like in Parquet and in Spark."


def find_segments(traces: Path, leave_out: Path) -> tuple[list[Source], list[Skipped]]:
    """Every segment below a folder, and the other files there; `leave_out` is where our own results go."""
    if not traces.is_dir():
        raise Misuse(f"{traces} is not a folder: name the one that the nodes write their traces to")
    ours = leave_out.resolve()
    if ours in traces.resolve().parents:  # the other way round: then nothing of ours lies among the traces
        ours = ours / "rows"
    found, foreign = list[Source](), list[Skipped]()
    for path in sorted(traces.rglob("*")):
        inside = path.relative_to(traces)
        hidden = any(part.startswith(".") for part in inside.parts)
        if hidden or path.suffix in JOURNALS or not path.is_file() or ours in path.resolve().parents:
            continue
        file = inside.as_posix().encode(errors="replace").decode()
        if wrong := not_a_segment(path):
            foreign.append(Skipped(file, wrong))
        else:
            found.append(Source(file, str(path.absolute()), path.stat().st_size))
    return found, foreign


def not_a_segment(path: Path) -> str | None:
    """Why this file is not worth a closer look, if it is not."""
    if path.suffix not in (OPEN, SEALED):
        return "not a trace segment by its name"
    if not str(path).isprintable():
        return "its name has letters that cannot be printed"
    if path.suffix == OPEN and path.with_suffix(SEALED).exists():
        return "there is a sealed one of the same name"
    try:
        with path.open("rb") as file:
            return None if file.read(len(MAGIC)) == MAGIC else "not a trace segment by its first bytes"
    except OSError as problem:
        return f"cannot be read: {problem.strerror}"


def convert_segments(spark: SparkSession, found: Sequence[Source], store: Path) -> list[Converted]:
    """A Parquet file in `store` for every segment that has none of its size; what became of each segment, in order."""
    make_folder(store)
    known = {source.file: told for source in found if (told := told_by(store / source.parquet()))}
    left = [source for source in found if source.file not in known]
    if sum(source.size for source in left) <= HERE_BYTES:
        known |= {source.file: convert(source, store) for source in left}
    else:
        tasks = min(len(left), 1 + sum(source.size for source in left) // TASK_BYTES)
        work = spark.createDataFrame([(msgspec.json.encode(each).decode(),) for each in left], "source string")
        done = work.repartition(tasks).mapInArrow(task(str(store.absolute())), "told string").collect()
        made = [msgspec.json.decode(row["told"], type=Converted) for row in done]
        known |= {each.file: each for each in made}
    return [known[source.file] for source in found]


def told_by(parquet: Path) -> Converted | None:
    """What a Parquet file knows of its segment; None: there is no such file, or it is not ours."""
    try:
        return msgspec.json.decode(pq.read_schema(parquet).metadata[NOTE], type=Converted)
    except (OSError, pa.ArrowInvalid, KeyError, TypeError, msgspec.DecodeError):
        return None


def task(store: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a Spark worker does with its segments."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for text in batch.column("source").to_pylist():
                told = convert(msgspec.json.decode(text, type=Source), Path(store))
                yield pa.RecordBatch.from_pydict({"told": [msgspec.json.encode(told).decode()]})

    return run


def convert(source: Source, store: Path) -> Converted:
    """One segment, as far as it can be read."""
    try:
        head, table, problem = read_segment(source)
    except (GossamerError, OSError) as wrong:
        return Converted(source.file, problem=str(wrong))
    told = Converted(source.file, table.num_rows, head, problem, numbers_of(table))
    write_parquet(store / source.parquet(), told, table)
    for older in store.glob(f"{source.key()}-*.parquet"):  # of the time when it was shorter
        if older.name != source.parquet():
            older.unlink(missing_ok=True)
    return told


def read_segment(source: Source) -> tuple[Head, pa.Table, str | None]:
    """Its rows as far as they are whole, and what was left out and why."""
    return read_to_end(SegmentReader(Path(source.path)))


def read_to_end(reader: SegmentReader) -> tuple[Head, pa.Table, str | None]:
    """The same, of whatever it is that this reads."""
    rows = [row for record in reader for row in record]
    table, problem = table_of(reader.head, rows), reader.problem
    if table is None:  # to ask every row takes longer than all else
        fitting = [row for row in rows if fits(row)]
        problem = f"{len(rows) - len(fitting)} rows hold numbers that cannot be and are left out"
        table = table_of(reader.head, fitting)
        assert table is not None
    return reader.head, table, problem


def fits(row: Row) -> bool:
    numbers = (row.seq, row.peer, row.publisher, row.incarnation, row.sequence)
    sane = (getattr(row, name) for name in MEASURES)
    return all(n is None or n in INT64 for n in numbers) and all(n is None or n in SANE for n in sane)


def numbers_of(table: pa.Table) -> Numbers:
    if not table.num_rows:
        return Numbers()
    numbers = table["seq"].to_numpy()
    rising = bool(numbers[0] >= 0 and (numbers[1:] > numbers[:-1]).all())
    starts = table.filter(pc.field("kind") == "start")["seq"].to_pylist()
    return Numbers(int(numbers.min()), int(numbers.max()), rising, tuple(starts))


def as_kept(head: Head, row: Row) -> Row:
    """A row as it stands without its file."""
    if row.attributes is not None:
        return replace(row, attributes=kept(head, row))
    if head.values is None and row.kind in ("subscribe", "unsubscribe") and len(row.detail or "") >= CUT:
        return replace(row, detail=f"{row.detail}{MARK}")
    return row


def table_of(head: Head, rows: Sequence[Row]) -> pa.Table | None:
    """None: some of these numbers do not fit."""
    about = About(head.run, head.node, head.name or str(head.node), head.incarnation, head.level, head.host)
    shared = [pa.repeat(pa.scalar(value, field.type), len(rows)) for value, field in zip(astuple(about), SCHEMA)]
    columns = (
        zip(*(astuple(as_kept(head, row)) for row in rows), strict=True) if rows else [()] * len(Row.__struct_fields__)
    )
    try:
        own = [pa.array(values, field.type) for values, field in zip(columns, arrow_schema(Row), strict=True)]
    except OverflowError:
        return None
    table = pa.Table.from_arrays([*shared, *own], schema=SCHEMA)
    ends = (end for name in MEASURES for end in pc.min_max(table[name]).as_py().values())
    return table if all(end is None or end in SANE for end in ends) else None


def write_parquet(path: Path, told: Converted, table: pa.Table) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    pq.write_table(table.replace_schema_metadata({NOTE: msgspec.json.encode(told)}), draft, compression="zstd")
    os.replace(draft, path)


def read_rows(spark: SparkSession, found: Sequence[Source], store: Path) -> DataFrame:
    """The rows of these segments, whatever else is in the store: run, node, name, life, level, host, then a Row's."""
    wanted = [name for source in found if (store / (name := source.parquet())).exists()]
    schema = from_arrow_schema(SCHEMA)
    if not wanted:
        return spark.createDataFrame([], schema)
    all_there = len(wanted) == sum(1 for _ in store.glob("*.parquet"))  # then Spark has one folder to look at, not many
    paths = [str(store)] if all_there else [str(store / name) for name in wanted]
    return spark.read.schema(schema).parquet(*map(as_it_is, paths))


def as_it_is(path: Path | str) -> str:
    """A path that Spark does not take for a pattern."""
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", str(path))
