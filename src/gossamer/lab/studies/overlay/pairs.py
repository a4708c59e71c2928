"""Tables of one's own: a row (node, topic) for each subscription, CSV or Parquet. Reads without Spark."""

import csv
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gossamer.core.errors import Misuse
from gossamer.protocols.spidercast.setting import Interests

COLUMNS = ("node", "topic")


def interests_of(file: str) -> Interests:
    """The interests a file says. Nodes and topics are numbered in ascending order; a pair said twice counts once."""
    return _interests(*_stamp(file))


def digest_of(file: str) -> str:
    """A hash of what is in the file: another table under the same name is another experiment."""
    return _digest(*_stamp(file))


def _stamp(file: str) -> tuple[str, int, int]:
    try:
        found = Path(file).stat()
    except OSError as wrong:
        raise Misuse(f"workload.file {file} cannot be read: {wrong.strerror}") from None
    return file, found.st_mtime_ns, found.st_size


@lru_cache(maxsize=4)
def _digest(file: str, changed_ns: int, size: int) -> str:
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


@lru_cache(maxsize=4)
def _interests(file: str, changed_ns: int, size: int) -> Interests:
    columns = _parquet(file) if file.endswith((".parquet", ".pq")) else _csv(file)
    if not len(columns[0]):
        raise Misuse(f"workload.file {file} has no rows: give it a row (node, topic) for each subscription")
    (nodes, node), (topics, topic) = (np.unique(_numbered(column), return_inverse=True) for column in columns)
    pairs = np.unique(node.astype(np.int64) * len(topics) + topic)
    starts = np.zeros(len(nodes) + 1, np.int64)
    np.cumsum(np.bincount(pairs // len(topics), minlength=len(nodes)), out=starts[1:])
    return Interests(starts, (pairs % len(topics)).astype(np.int32), len(topics))


def _csv(file: str) -> list[Any]:
    try:
        with open(file, newline="", encoding="utf-8-sig") as opened:
            rows = csv.reader(opened)
            head = next(rows, [])
            places = _places(file, [name.strip() for name in head])
            found: list[list[str]] = [[], []]
            for number, row in enumerate(rows, start=1):
                if row:
                    for column, place, name in zip(found, places, COLUMNS, strict=True):
                        column.append(_said(row[place].strip() if place < len(row) else "", file, number, name))
    except UnicodeDecodeError:
        raise Misuse(
            f"workload.file {file} is not text: a CSV file is UTF-8, a Parquet file ends in .parquet"
        ) from None
    except csv.Error as wrong:
        raise Misuse(f"workload.file {file} is not CSV: {wrong}") from None
    return [np.array(column) for column in found]


def _said(value: str, file: str, number: int, name: str) -> str:
    if not value:
        raise Misuse(f"workload.file {file}: row {number:,} has no {name}")
    return value


def _parquet(file: str) -> list[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        _places(file, pq.read_schema(file).names)
        table = pq.read_table(file, columns=[*COLUMNS])
    except (pa.ArrowInvalid, pa.ArrowTypeError, OSError):
        raise Misuse(f"workload.file {file} is not a whole Parquet file") from None
    for name in COLUMNS:
        if table[name].null_count:
            first = int(np.argmax(table[name].is_null().to_numpy())) + 1
            raise Misuse(f"workload.file {file}: row {first:,} has no {name}")
    return [table[name].to_numpy() for name in COLUMNS]


def _places(file: str, names: list[str]) -> list[int]:
    for name in COLUMNS:
        if name not in names:
            has = f"it has {', '.join(names)}" if any(names) else "it is empty"
            raise Misuse(f"workload.file {file} has no column {name}: {has}")
    return [names.index(name) for name in COLUMNS]


def _numbered(column: Any) -> Any:
    """Whole numbers as numbers, so that 10 comes after 9; anything else as text: `01` is not `1`."""
    if np.issubdtype(column.dtype, np.integer):
        return column
    words = column.astype(str)
    try:
        numbers = words.astype(np.int64)
    except (ValueError, OverflowError):
        return words
    return numbers if (numbers.astype(str) == words).all() else words
