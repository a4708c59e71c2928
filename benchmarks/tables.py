"""Results as tables, once for the terminal and once for Markdown."""

from msgspec import Struct
from rich import box
from rich.table import Table as Shown

from benchmarks.measure import Span


class Table(Struct, frozen=True):
    title: str
    head: list[str]
    rows: list[list[str]]
    note: str = ""


def number(value: float) -> str:
    """Three digits that matter."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def ranged(measured: Span, unit: float = 1.0) -> str:
    middle, low, high = (number(value * unit) for value in (measured.median, measured.low, measured.high))
    return middle if measured.times == 1 else f"{middle} ({low}–{high})"


def shown(table: Table) -> Shown:
    made = Shown(title=table.title, caption=table.note or None, box=box.SIMPLE_HEAD)
    made.title_justify = made.caption_justify = "left"
    for position, name in enumerate(table.head):
        made.add_column(name, justify="left" if position == 0 else "right")
    for row in table.rows:
        made.add_row(*row)
    return made


def markdown(table: Table) -> list[str]:
    """As lines."""
    lines = [f"## {table.title}", "", "| " + " | ".join(table.head) + " |", "|" + "---|" * len(table.head)]
    lines += ["| " + " | ".join(row) + " |" for row in table.rows]
    return [*lines, "", table.note] if table.note else lines
