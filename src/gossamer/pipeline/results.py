"""Tables of a result: `NAME.parquet`, typed and whole, for programs; its first rows as `NAME.csv`, for people."""

import csv
import shutil
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from msgspec.structs import asdict

from gossamer.pipeline.schemas import arrow_schema

CSV_ROWS_MAX = 100_000
"Rows of a table in its CSV file: more is nothing that a person looks through."


def put_in_place(made: Path, out: Path, name: str, columns: Sequence[str]) -> None:
    """A table that was made elsewhere, a folder of Parquet files in order, becomes the one of this name."""
    place = out / f"{name}.parquet"
    shutil.rmtree(place, ignore_errors=True)
    made.replace(place)
    rows = ([in_csv(row[column]) for column in columns] for row in first_rows(out, name, CSV_ROWS_MAX))
    write_lines(out / f"{name}.csv", [columns, *rows])


def write_rows(out: Path, name: str, kind: type[Struct], rows: Iterable[Struct]) -> None:
    """A table of what this process holds."""
    draft = out / f".{name}.parquet"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    table = pa.Table.from_pylist([asdict(row) for row in rows], schema=arrow_schema(kind))
    pq.write_table(table, draft / "part-0.parquet", compression="zstd")
    put_in_place(draft, out, name, kind.__struct_fields__)


def read_table(out: Path, name: str, most: int | None = None) -> list[dict[str, Any]]:
    """Its rows in order, the first so many, with the types they were written with."""
    return [*first_rows(out, name, most)]


def first_rows(out: Path, name: str, most: int | None) -> Iterator[dict[str, Any]]:
    return islice(
        (row for part in parts(out, name) for batch in part.iter_batches() for row in batch.to_pylist()), most
    )


def read_columns(out: Path, name: str, *columns: str) -> pa.Table:
    """These columns of a table, however many rows it has, as they lie in memory; none: all columns."""
    return pa.concat_tables(part.read([*columns] or None) for part in parts(out, name))


def count_rows(out: Path, name: str) -> int:
    return sum(part.metadata.num_rows for part in parts(out, name))


def parts(out: Path, name: str) -> Iterator[pq.ParquetFile]:
    for path in sorted((out / f"{name}.parquet").glob("part-*.parquet")):
        with pq.ParquetFile(path) as part:
            yield part


def left_out(out: Path, names: Iterable[str]) -> dict[str, int]:
    """How many rows of these tables their CSV files lack, where they lack any."""
    lacking = {name: count_rows(out, name) - CSV_ROWS_MAX for name in names}
    return {name: count for name, count in lacking.items() if count > 0}


def in_csv(value: Any) -> Any:
    """As other programs write it too."""
    return str(value).lower() if isinstance(value, bool) else value


def write_lines(path: Path, lines: Iterable[Sequence[Any]]) -> None:
    draft = path.with_name(f".{path.name}")
    with draft.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)
    draft.replace(path)
