"""Predicates of Spark become filters that let through exactly the same rows, or say that they do not."""

import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as f
from pyspark.sql.datasource import EqualTo, GreaterThan, In, IsNull, Not, StringStartsWith

from gossamer.core.errors import Misuse
from gossamer.core.filters import parse
from gossamer.pipeline.source_predicates import asking, column_of, translated
from gossamer.pipeline.source_schema import table_of
from pipeline.predicates import DECLARED, drawn, event

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = table_of(DECLARED)
ROWS, PREDICATES, AT_ONCE = 150, 500, 250


def test_row_by_row_a_filter_says_what_spark_says(spark: "SparkSession") -> None:
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    draws = random.Random(7)
    events = [event(draws, number) for number in range(ROWS)]
    names = TABLE.schema.fieldNames()
    told = [dict(zip(names, TABLE.row(each), strict=True)) for each in events]
    rows = (
        spark.createDataFrame(pa.Table.from_pylist(told, to_arrow_schema(TABLE.schema, timezone="UTC")))
        .coalesce(1)
        .cache()
    )
    exact = wider = given_back = 0
    for _ in range(PREDICATES // AT_ONCE):
        asked = [drawn(draws) for _ in range(AT_ONCE)]
        columns = [f.coalesce(said, f.lit(False)).alias(str(at)) for at, (_, said) in enumerate(asked)]
        answers = {row["id"]: row for row in rows.select("id", *columns).collect()}
        for at, (predicate, _) in enumerate(asked):
            wanted = translated(predicate, TABLE.columns)
            if wanted is None:
                given_back += 1
                continue
            ours = [wanted.wants(each) for each in events]
            sparks = [answers[row["id"]][str(at)] for row in told]
            if TABLE.columns[column_of(predicate)].exact:
                exact += 1
                assert ours == sparks, f"{predicate} is not {wanted}"
            else:
                wider += 1
                assert all(our or not spark for our, spark in zip(ours, sparks)), f"{predicate} is more than {wanted}"
    rows.unpersist()
    assert exact > 0.6 * PREDICATES
    assert wider > 0.1 * PREDICATES
    assert given_back < 0.2 * PREDICATES


def test_what_is_given_back_is_what_does_not_map_exactly() -> None:
    symbol, whole, there = (
        EqualTo(("attributes", "s"), "IBM"),
        GreaterThan(("attributes", "n"), 5),
        StringStartsWith(("topic",), ".stocks."),
    )
    unknown, beyond = EqualTo(("payload",), b"x"), GreaterThan(("attributes", "d"), float(2**53))
    never = Not(In(("attributes", "s"), ("a", None)))
    asked = asking([symbol, whole, there, unknown, beyond, IsNull(("attributes", "n"))], TABLE.columns)
    assert asked.wanted == parse('s == "IBM" and n > 5 and @topic startswith ".stocks."')
    assert asked.left == [whole, unknown, beyond, IsNull(("attributes", "n"))]
    assert asking([never], TABLE.columns) == (parse("false"), [])
    long = EqualTo(("attributes", "s"), "x" * 9_000)
    assert asking([symbol, long], TABLE.columns) == (parse('s == "IBM"'), [long])


def test_a_time_without_a_zone_is_of_this_machine() -> None:
    local = datetime(2026, 11, 18, 20).astimezone()
    asked = translated(GreaterThan(("published",), local.replace(tzinfo=None)), TABLE.columns)
    assert asked == translated(GreaterThan(("published",), local.astimezone(UTC)), TABLE.columns)


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ("s", "declares no columns"),
        ("s array<string>", "cannot be array<string>"),
        ("s int", "cannot be int: use string"),
    ],
)
def test_attributes_that_cannot_be_declared_are_refused(declared: str, said: str) -> None:
    with pytest.raises(Misuse, match=said):
        table_of(declared)
