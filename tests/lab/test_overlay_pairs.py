"""Tables of subscriptions: what they say, in either format, and what is said of those that say nothing useful."""

from pathlib import Path
from typing import Any

import pytest

from gossamer.core.errors import Misuse
from gossamer.lab.studies.overlay.pairs import (
    AGAIN,
    GARBLED,
    MALFORMED,
    NO_NODE,
    NO_TOPIC,
    Bad,
    interests_of,
    set_aside,
)


def said(path: Path) -> list[list[int]]:
    found = interests_of(str(path))
    return [found.of(node) for node in range(found.nodes)]


def as_csv(folder: Path, text: str) -> Path:
    path = folder / "pairs.csv"
    path.write_text(text)
    return path


def as_parquet(folder: Path, columns: dict[str, Any]) -> Path:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = folder / "pairs.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def test_nodes_and_topics_are_numbered_in_their_order_whatever_the_rows(tmp_path: Path) -> None:
    assert said(as_csv(tmp_path, "topic,more,node\nz,1,b\nx,2,a\ny,3,b\n")) == [[0], [1, 2]]


def test_whole_numbers_are_ordered_as_numbers(tmp_path: Path) -> None:
    assert said(as_csv(tmp_path, "node,topic\n10,1\n9,2\n")) == [[1], [0]]


def test_names_that_look_like_the_same_number_are_two(tmp_path: Path) -> None:
    assert len(said(as_csv(tmp_path, "node,topic\n1,a\n01,a\n"))) == 2


def test_a_pair_said_twice_counts_once_and_an_empty_line_not_at_all(tmp_path: Path) -> None:
    assert said(as_csv(tmp_path, "node,topic\na,x\n\na,x\nb,x\n")) == [[0], [0]]


def test_parquet_says_the_same_as_csv(tmp_path: Path) -> None:
    columns = {"node": [3, 1, 3, 2], "topic": ["b", "a", "a", "b"], "more": [0, 0, 0, 0]}
    text = "node,topic\n" + "\n".join(f"{n},{t}" for n, t in zip(columns["node"], columns["topic"], strict=True))
    assert said(as_parquet(tmp_path, columns)) == said(as_csv(tmp_path, text)) == [[0], [1], [0, 1]]


WRONG = {
    "no column": ("node,subject\na,x\n", "has no column topic: it has node, subject"),
    "nothing at all": ("", "has no column node: it is empty"),
    "no rows": ("node,topic\n", "has no rows; give it a row (node, topic) for each subscription"),
    "no good rows": (
        "node,topic\n\nb\n,x\n",
        "has no rows: row 1 has not as many fields as the header; give it a row (node, topic)",
    ),
}


@pytest.mark.parametrize(("text", "says"), WRONG.values(), ids=WRONG)
def test_a_table_that_cannot_be_used_is_told_why(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(Misuse, match=r"^workload\.file ") as wrong:
        said(as_csv(tmp_path, text))
    assert says in str(wrong.value)


def test_rows_that_say_no_pair_are_set_aside_with_their_number_and_the_reason(tmp_path: Path) -> None:
    bad = [Bad(2, NO_NODE, "", "y"), Bad(3, NO_TOPIC, "7", ""), Bad(5, NO_NODE, "", ""), Bad(6, AGAIN, "1", "x")]
    text = as_csv(tmp_path, "node,topic\n1,x\n,y\n\n7,\n2,x\n , \n1,x\n")
    assert set_aside(str(text)) == bad
    table = as_parquet(tmp_path, {"node": [1, None, 7, 2, None, 1], "topic": ["x", "y", None, "x", " ", "x"]})
    assert set_aside(str(table)) == bad
    assert said(text) == said(table) == [[0], [0]]


def test_lines_that_do_not_fit_the_header_and_names_of_other_letters_are_set_aside(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_bytes("\ufeffnode\ttopic\na\t x \na\tx\ty\nJosé\tx\n".encode("utf-8"))
    assert set_aside(str(tmp_path / "pairs.tsv")) == [Bad(2, MALFORMED, "a", "x")]
    (tmp_path / "pairs.csv").write_bytes("node,topic\na,x\nJosé,x\n".encode("latin-1"))
    assert set_aside(str(tmp_path / "pairs.csv")) == [Bad(2, GARBLED, "Jos\ufffd", "x")]
    assert said(tmp_path / "pairs.csv") == [[0]]


def test_names_in_parquet_are_text_or_whole_numbers(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match=r"the column node of .* is of type double: names are text or whole numbers"):
        said(as_parquet(tmp_path, {"node": [1.5], "topic": ["x"]}))


def test_a_column_that_is_missing_in_parquet_is_named(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="has no column node: it has topic"):
        said(as_parquet(tmp_path, {"topic": ["x", "x"]}))


def test_what_is_neither_is_said_to_be_neither(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(Misuse, match="is not a whole Parquet file"):
        said(tmp_path / "broken.parquet")
    (tmp_path / "broken.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Misuse, match="has no column node"):
        said(tmp_path / "broken.csv")
