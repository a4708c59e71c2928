"""The page on choosing a protocol says what its command finds."""

from pathlib import Path

import pytest
from benchmarks.choosing import FIGURE, PAGE, book_of, drawn, written

from gossamer.lab.papers.comparison import CALM, COLUMNS, DESIGNS, WORKLOAD
from lab.comparison_book import book


def test_the_page_has_every_design_every_column_and_every_claim() -> None:
    lines = PAGE.read_text().splitlines()
    head = lines.index("| " + " | ".join(COLUMNS) + " |")
    rows = [line.strip("| ").split(" | ") for line in lines[head + 2 : lines.index("", head)]]
    assert [row[0] for row in rows] == [*DESIGNS]
    assert {len(row) for row in rows} == {len(COLUMNS)}


def test_other_numbers_make_another_page_and_nothing_else_changes() -> None:
    page, numbers = PAGE.read_text(), book((WORKLOAD, "flood", "copies", 1234.0), (CALM, "dispatch", "delivery", 0.9))
    made = written(page, numbers)
    assert "| 1,234 ± 0.01 |" in made
    assert "on a tree 90.0 ± 1.0 %" in made
    assert written(made, numbers) == made
    assert [line for line in made.splitlines() if line[:1] != "|"] == [
        line for line in page.splitlines() if line[:1] != "|"
    ]


def test_the_page_shows_a_figure_with_every_design_and_other_numbers_make_another() -> None:
    assert f"](images/{FIGURE.name})" in PAGE.read_text()
    assert all(design in FIGURE.read_text() for design in DESIGNS)
    assert drawn(book()) == drawn(book()) != drawn(book((WORKLOAD, "flood", "copies", 1234.0)))


def test_a_page_without_its_table_is_not_written() -> None:
    with pytest.raises(ValueError, match="first column is design"):
        written("# Nothing\n", book())


@pytest.mark.slow
def test_the_page_quotes_what_the_command_finds(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    from cli.running import gossamer

    ran = gossamer("reproduce", "comparison", "--out", tmp_path)
    assert ran.exit_code == 0, ran.output
    found = book_of(tmp_path / "comparison")
    assert written(PAGE.read_text(), found) == PAGE.read_text()
    for case in DESIGNS:  # what is rounded to everything is everything
        (delivery,) = found.series(WORKLOAD, "all", "delivery", case=case)
        assert delivery.mean == 1 or delivery.mean < 0.9995
