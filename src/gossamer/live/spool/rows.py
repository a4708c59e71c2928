"""Many rows in one statement.

sqlite3 lets go of the interpreter's lock at every step of a statement. One row per step (`executemany`) would mean
that a writer beside a busy event loop waits for its turn once per row; with many rows to a statement it waits once
per statement.
"""

import sqlite3
from collections.abc import Iterator
from functools import cache
from typing import Any

ROWS_MAX = 64
"In one statement; with 9 columns this stays below every limit SQLite was ever built with."


def write_rows(db: sqlite3.Connection, head: str, columns: int, values: list[Any], tail: str = "") -> None:
    """Executes `head (?, …), (?, …) … tail` over all values, row after row in one flat list."""
    for _ in execute_rows(db, head, columns, values, tail):
        pass


def sum_rows(db: sqlite3.Connection, head: str, columns: int, values: list[Any], tail: str = "") -> int:
    """The same of a statement that answers with a number: their sum."""
    return sum(done.fetchone()[0] or 0 for done in execute_rows(db, head, columns, values, tail))


def execute_rows(
    db: sqlite3.Connection, head: str, columns: int, values: list[Any], tail: str
) -> Iterator[sqlite3.Cursor]:
    start, left, rows = 0, len(values) // columns, ROWS_MAX
    while left:
        while rows > left:
            rows >>= 1  # powers of two: few different statements, each prepared once
        end = start + rows * columns
        yield db.execute(_statement(head, columns, rows, tail), values[start:end])
        start, left = end, left - rows


@cache
def _statement(head: str, columns: int, rows: int, tail: str) -> str:
    row = f"({','.join('?' * columns)})"
    return f"{head} {','.join([row] * rows)} {tail}"
