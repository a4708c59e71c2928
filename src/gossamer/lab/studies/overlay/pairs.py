"""Tables of one's own: a row (node, topic) for each subscription, CSV or Parquet. Reads without Spark.

Rows that say no pair are set aside, with the reason.
"""

import csv
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gossamer.core.errors import Misuse
from gossamer.protocols.spidercast.experiment.setting import InterestArrays

COLUMNS = ("node", "topic")


class Bad(NamedTuple):
    """A row that says no pair."""

    row: int
    "From 1, below the header."
    reason: str
    node: str
    topic: str


class Columns(NamedTuple):
    """What a file says: nodes and topics, row by row, and the rows that say none."""

    node: Any
    topic: Any
    bad: list[Bad]


def interests_of(file: str) -> InterestArrays:
    """The interests a file says. Nodes and topics are numbered in ascending order; a pair said twice counts once."""
    return _interests(*_stamp(file))[0]


def set_aside(file: str) -> list[Bad]:
    """Rows of a file that interests_of passes over."""
    return _interests(*_stamp(file))[1]


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
def _interests(file: str, changed_ns: int, size: int) -> tuple[InterestArrays, list[Bad]]:
    read = _parquet(file) if file.endswith((".parquet", ".pq")) else _csv(file)
    if not len(read.node):
        none = f": row {read.bad[0].row:,} has {read.bad[0].reason}" if read.bad else ""
        raise Misuse(f"workload.file {file} has no rows{none}; give it a row (node, topic) for each subscription")
    columns = read.node, read.topic
    (nodes, node), (topics, topic) = (np.unique(_numbered(column), return_inverse=True) for column in columns)
    pairs = np.unique(node.astype(np.int64) * len(topics) + topic)
    starts = np.zeros(len(nodes) + 1, np.int64)
    np.cumsum(np.bincount(pairs // len(topics), minlength=len(nodes)), out=starts[1:])
    return InterestArrays(starts, (pairs % len(topics)).astype(np.int32), len(topics)), read.bad


def _csv(file: str) -> Columns:
    try:
        with open(file, newline="", encoding="utf-8-sig") as opened:
            rows = csv.reader(opened)
            head = next(rows, [])
            places = _places(file, [name.strip() for name in head])
            nodes, topics, bad = list[str](), list[str](), list[Bad]()
            for number, row in enumerate(rows, start=1):
                node, topic = (row[place].strip() if place < len(row) else "" for place in places)
                if node and topic:
                    nodes.append(node)
                    topics.append(topic)
                elif row:
                    bad.append(Bad(number, "no topic" if node else "no node", node, topic))
    except UnicodeDecodeError:
        raise Misuse(
            f"workload.file {file} is not text: a CSV file is UTF-8, a Parquet file ends in .parquet"
        ) from None
    except csv.Error as wrong:
        raise Misuse(f"workload.file {file} is not CSV: {wrong}") from None
    return Columns(np.array(nodes), np.array(topics), bad)


def _parquet(file: str) -> Columns:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        _places(file, pq.read_schema(file).names)
        table = pq.read_table(file, columns=[*COLUMNS]).select([*COLUMNS])
    except (pa.ArrowInvalid, pa.ArrowTypeError, OSError):
        raise Misuse(f"workload.file {file} is not a whole Parquet file") from None
    fine = pc.and_(pc.is_valid(table["node"]), pc.is_valid(table["topic"]))
    rows = (np.flatnonzero(~fine.to_numpy()) + 1).tolist()
    names = zip(*(column.to_pylist() for column in table.filter(pc.invert(fine)).columns), strict=True)
    bad = [
        Bad(row, "no topic" if node is not None else "no node", _text(node), _text(topic))
        for row, (node, topic) in zip(rows, names, strict=True)
    ]
    nodes, topics = (column.to_numpy() for column in table.filter(fine).columns)
    return Columns(nodes, topics, bad)


def _text(value: object) -> str:
    return "" if value is None else str(value)


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
