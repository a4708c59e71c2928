"""Two readers of tables, one without Spark and one for any size: what one says of a row the other says too."""

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gossamer.lab.studies.overlay.pairs import Bad, interests_of, set_aside
from gossamer.pipeline.desk import in_one_task
from gossamer.pipeline.overlay import number
from gossamer.pipeline.places import place_at
from gossamer.pipeline.subscriptions import GOOD, find_table, sort_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ["a", "10", "9", "01", "b c", "", " ", "é", "x\ufffd", "-3", "\u00a0"]
FIELDS = ["a", " a ", "", "  ", '"a"', '" a,b "', '"say ""x"""', ' "c" ', "b\tc", 'd"e', "é", "10", "9"]


def spoken_alike(spark: "SparkSession", path: Path, desk: Path) -> None:
    good, bad = sort_rows(in_one_task(spark), find_table(place_at(path)), place_at(desk))
    numbered = number(place_at(desk) / GOOD)
    assert numbered is not None
    mine, theirs = numbered.interests, interests_of(str(path))
    assert [mine.of(node) for node in range(mine.nodes)] == [theirs.of(node) for node in range(theirs.nodes)]
    told = [] if bad is None else bad.select("row", "reason", "node", "topic").orderBy("row").collect()
    assert [Bad(*(each or "" for each in row)) for row in told] == set_aside(str(path))
    assert good.count() == len(theirs.topics)


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_both_say_the_same_of_every_line_of_csv(spark: "SparkSession", tmp_path: Path, ending: str) -> None:
    comma = "\t" if ending == ".tsv" else ","
    fields = [each for each in FIELDS if comma == "," or "\t" not in each]
    lines = [comma.join(each) for each in itertools.product(fields, ["x", "y"], ["more"])]
    lines += [comma.join(["a", each, ""]) for each in fields]
    lines += ["", "   ", "a", comma.join("abcd"), comma, comma * 2, comma * 5, "Ω", comma.join(["a", "x"])]
    order = np.random.default_rng(3).permutation(len(lines))
    text = "\r\n".join([comma.join(["node", " topic ", "rest"]), *(lines[i] for i in order)])
    (tmp_path / f"pairs{ending}").write_bytes(b"\xef\xbb\xbf" + text.encode() + f"\nq{comma}".encode() + b"\xff,z\n")
    spoken_alike(spark, tmp_path / f"pairs{ending}", tmp_path / "desk")


@pytest.mark.parametrize("kind", [pa.string(), pa.int32()])
def test_both_say_the_same_of_every_row_of_parquet(spark: "SparkSession", tmp_path: Path, kind: Any) -> None:
    nodes = [1, 3, None, 10, 3] if kind == pa.int32() else [*NAMES, None, "a"]
    rows = list(itertools.product(nodes, [*NAMES, None]))
    columns = {"node": pa.array([row[0] for row in rows], kind), "topic": [row[1] for row in rows]}
    pq.write_table(pa.table(columns), tmp_path / "pairs.parquet", row_group_size=7)
    spoken_alike(spark, tmp_path / "pairs.parquet", tmp_path / "desk")
