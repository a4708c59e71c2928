"""Tables of a result: typed and whole as Parquet, the first rows as CSV."""

from pathlib import Path

import pytest
from msgspec import Struct

from gossamer.pipeline import results
from gossamer.pipeline.results import count_rows, left_out, read_table, write_rows


class Row(Struct, frozen=True):
    topic: str
    count: int
    share: float | None
    sure: bool


ROWS = [Row(".2024", 3, 0.5, True), Row("1e3", 2**60, None, False), Row("true", 0, 1.0, True)]


def as_said(rows: list[Row]) -> list[dict[str, object]]:
    return [{name: getattr(row, name) for name in Row.__struct_fields__} for row in rows]


def test_what_looks_like_a_number_stays_what_it_is(tmp_path: Path) -> None:
    write_rows(tmp_path, "told", Row, ROWS)
    assert read_table(tmp_path, "told") == as_said(ROWS)
    assert (tmp_path / "told.csv").read_text() == (
        "topic,count,share,sure\n.2024,3,0.5,true\n1e3,1152921504606846976,,false\ntrue,0,1.0,true\n"
    )


def test_a_table_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    write_rows(tmp_path, "told", Row, ROWS)
    write_rows(tmp_path, "told", Row, [])
    assert read_table(tmp_path, "told") == []
    assert (tmp_path / "told.csv").read_text() == "topic,count,share,sure\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["told.csv", "told.parquet"]


def test_a_long_table_is_whole_as_parquet_and_short_as_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "CSV_ROWS_MAX", 2)
    write_rows(tmp_path, "told", Row, ROWS)
    write_rows(tmp_path, "short", Row, ROWS[:2])
    assert (count_rows(tmp_path, "told"), len(read_table(tmp_path, "told"))) == (3, 3)
    assert read_table(tmp_path, "told", 1) == as_said(ROWS[:1])
    assert len((tmp_path / "told.csv").read_text().splitlines()) == 3
    assert left_out(tmp_path, ["told", "short", "none"]) == {"told": 1}
