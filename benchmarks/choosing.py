"""Writes what `gossamer reproduce comparison --out out` found into the page on choosing a protocol:
`python -m benchmarks.choosing out/comparison`."""

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from gossamer.lab.book import Book, Line
from gossamer.lab.claims import Claim
from gossamer.lab.papers.comparison import COLUMNS, DESIGNS, PAPER, figures, row

PAGE = Path(__file__).parents[1] / "docs" / "choosing.md"
FIGURE = PAGE.parent / "images" / "comparison.svg"


@click.command(epilog="Example: python -m benchmarks.choosing out/comparison")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
def main(folder: Path) -> None:
    """Both tables of docs/choosing.md and its figure, from the summaries in FOLDER. What the page says beside them is
    for people to write, and to read again when these have changed."""
    book = book_of(folder)
    PAGE.write_text(written(PAGE.read_text(), book))
    FIGURE.write_text(drawn(book))


def book_of(folder: Path) -> Book:
    """The summaries that a reproduction left."""
    return Book({name: _lines(folder / "summaries" / f"{name.rpartition('/')[2]}.csv") for name in PAPER.experiments})


def _lines(path: Path) -> list[Line]:
    with path.open(newline="") as file:
        rows = [{**row, "point": msgspec.json.decode(row["point"])} for row in csv.DictReader(file)]
    return [msgspec.convert(row, Line, strict=False) for row in rows]


def written(page: str, book: Book) -> str:
    """The page with these numbers in its tables."""
    page = _with_rows(page, COLUMNS, [row(book, case) for case in DESIGNS])
    return _with_rows(page, ("Claim", "What we find", "Verdict"), [_told(claim) for claim in PAPER.claims(book)])


def drawn(book: Book) -> str:
    """What each design takes, as SVG."""
    return figures(book)[0].svg


def _told(claim: Claim) -> tuple[str, str, str]:
    return f"{claim.paper_says} (`{claim.id}`)", f"{claim.ours}. {claim.why}", claim.verdict


def _with_rows(page: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|\n"
    found = re.search(rf"^\| {re.escape(columns[0])} \|.*\n\|[-|]+\n(?:\|.*\n)+", page, re.MULTILINE)
    if found is None:
        raise ValueError(f"the page has no table whose first column is {columns[0]}")
    body = "".join("| " + " | ".join(each) + " |\n" for each in rows)
    return page[: found.start()] + head + body + page[found.end() :]


if __name__ == "__main__":
    main()
