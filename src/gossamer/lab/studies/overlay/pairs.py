"""Tables of one's own: a row (node, topic) for each subscription, CSV or Parquet. Reads without Spark.

The rule for rows is here; `pipeline/subscriptions.py` keeps it too, for tables of any size. A line of CSV is a row,
unless it is blank. Names are as they stand, without the blanks around them. A row that does not say a pair is set
aside, with the reason; so is one that says a pair again.
"""

import csv
import gzip
import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gossamer.core.errors import Misuse
from gossamer.protocols.spidercast.experiment.setting import InterestArrays

COLUMNS = ("node", "topic")
COPIES: dict[str, str] = {}
"Tables that are elsewhere, by their name, and where on this machine there is a copy: whoever runs us puts it there."
MALFORMED, GARBLED, NO_NODE, NO_TOPIC, AGAIN = (
    "not as many fields as the header",
    "not UTF-8",
    "no node",
    "no topic",
    "the pair was there before",
)
"Why a row is set aside: the first that holds, but for garbled names, which come after missing ones."
NO_LETTER = "\ufffd"
"What is read where bytes are no letter. Two names might become one."
BLANKS = "".join(map(chr, range(33)))


class Bad(NamedTuple):
    """A row that says no pair, or one that was said before."""

    row: int
    "From 1, below the header."
    reason: str
    node: str
    topic: str


class Columns(NamedTuple):
    """What a file says: nodes and topics with their rows, and the rows that say none."""

    node: Any
    topic: Any
    rows: Any
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


def copy_of(file: str) -> str:
    """Where the file is to be opened."""
    return COPIES.get(file, file)


def _stamp(file: str) -> tuple[str, int, int]:
    try:
        found = Path(copy_of(file)).stat()
    except OSError as wrong:
        raise Misuse(f"workload.file {file} cannot be read: {wrong.strerror}") from None
    return file, found.st_mtime_ns, found.st_size


@lru_cache(maxsize=4)
def _digest(file: str, changed_ns: int, size: int) -> str:
    with open(copy_of(file), "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


@lru_cache(maxsize=4)
def _interests(file: str, changed_ns: int, size: int) -> tuple[InterestArrays, list[Bad]]:
    read = _parquet(file) if file.endswith((".parquet", ".pq")) else _csv(file)
    if not len(read.node):
        none = f": row {read.bad[0].row:,} has {read.bad[0].reason}" if read.bad else ""
        raise Misuse(f"workload.file {file} has no rows{none}; give it a row (node, topic) for each subscription")
    (nodes, node), (topics, topic) = (
        np.unique(as_numbers(column), return_inverse=True) for column in (read.node, read.topic)
    )
    pairs, first = np.unique(node.astype(np.int64) * len(topics) + topic, return_index=True)
    again = np.setdiff1d(np.arange(len(node)), first)
    repeated = [Bad(int(read.rows[i]), AGAIN, str(read.node[i]), str(read.topic[i])) for i in again]
    return gathered(pairs, len(nodes), len(topics)), sorted([*read.bad, *repeated])


def gathered(pairs: Any, nodes: int, topics: int) -> InterestArrays:
    """From pairs as numbers, node times topics plus topic, in ascending order, each once."""
    starts = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(pairs // topics, minlength=nodes), out=starts[1:])
    return InterestArrays(starts, (pairs % topics).astype(np.int32), topics)


def _csv(file: str) -> Columns:
    found, bad = list[tuple[str, str, int]](), list[Bad]()
    try:
        lines = _lines(file)
        head = [name.strip(BLANKS) for name in next(lines, [])]
        node_at, topic_at = _places(file, head)
        for number, row in enumerate(lines, start=1):
            node, topic = (row[at].strip(BLANKS) if at < len(row) else "" for at in (node_at, topic_at))
            if reason := _wrong(len(row) == len(head), node, topic):
                bad.append(Bad(number, reason, node, topic))
            else:
                found.append((node, topic, number))
    except csv.Error as wrong:
        raise Misuse(f"workload.file {file} is not CSV: {wrong}") from None
    nodes, topics, rows = zip(*found, strict=True) if found else ((), (), ())
    return Columns(np.array(nodes, np.str_), np.array(topics, np.str_), np.array(rows), bad)


def _lines(file: str) -> Iterator[list[str]]:
    """The fields of each line that is not blank."""
    name = file.lower()
    opener = gzip.open if name.endswith(".gz") else open
    comma = "\t" if name.endswith(".tsv") else ","
    with opener(copy_of(file), "rt", encoding="utf-8-sig", errors="replace") as opened:
        for line in opened:
            if line.strip(BLANKS):
                yield next(csv.reader([line.rstrip("\n")], delimiter=comma, skipinitialspace=True))


def _wrong(whole: bool, node: str, topic: str) -> str | None:
    """Why a row of CSV says no pair."""
    if not whole:
        return MALFORMED
    if not node or not topic:
        return NO_TOPIC if node else NO_NODE
    return GARBLED if NO_LETTER in node + topic else None


def _parquet(file: str) -> Columns:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        copy = copy_of(file)
        _places(file, pq.read_schema(copy).names)
        table = pq.read_table(copy, columns=[*COLUMNS]).select([*COLUMNS])
    except (pa.ArrowInvalid, pa.ArrowTypeError, OSError):
        raise Misuse(f"workload.file {file} is not a whole Parquet file") from None
    for field in table.schema:
        if not (
            pa.types.is_integer(field.type) or pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        ):
            raise Misuse(
                f"the column {field.name} of workload.file {file} is of type {field.type}: names are text or whole "
                "numbers"
            )
    table = pa.table({name: _trimmed(table[name]) for name in COLUMNS})
    fine = pc.and_(pc.is_valid(table["node"]), pc.is_valid(table["topic"]))
    names = zip(*(column.to_pylist() for column in table.filter(pc.invert(fine)).columns), strict=True)
    there = fine.to_numpy(zero_copy_only=False) if isinstance(fine, pa.Array) else fine.to_numpy()
    rows = (np.flatnonzero(~there) + 1).tolist()
    bad = [
        Bad(row, NO_NODE if node is None else NO_TOPIC, _text(node), _text(topic))
        for row, (node, topic) in zip(rows, names, strict=True)
    ]
    nodes, topics = (column.to_numpy() for column in table.filter(fine).columns)
    return Columns(nodes, topics, np.flatnonzero(there) + 1, bad)


def _trimmed(column: Any) -> Any:
    """Text without the blanks around it; nothing but blanks is nothing. Numbers as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(column.type):
        return column
    text = pc.utf8_trim(column.cast(pa.string()), BLANKS)
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _places(file: str, names: list[str]) -> list[int]:
    for name in COLUMNS:
        if name not in names:
            has = f"it has {', '.join(names)}" if any(names) else "it is empty"
            raise Misuse(f"workload.file {file} has no column {name}: {has}")
    return [names.index(name) for name in COLUMNS]


def as_numbers(column: Any) -> Any:
    """Whole numbers as numbers, so that 10 comes after 9; anything else as text: `01` is not `1`."""
    if np.issubdtype(column.dtype, np.integer):
        return column
    words = column.astype(np.str_)
    try:
        numbers = words.astype(np.int64)
    except (ValueError, OverflowError):
        return words
    return numbers if (numbers.astype(np.str_) == words).all() else words
