"""Schemas are what the struct of a row says, no more."""

from typing import Literal

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
from msgspec import Struct
from pyspark.sql.types import BooleanType, DoubleType, LongType, StringType, StructField, StructType

from gossamer.lab.rows import Outcome
from gossamer.pipeline.schemas import arrow_schema, spark_schema

pytestmark = pytest.mark.spark


class Row(Struct, frozen=True):
    name: str
    count: int
    share: float
    home: bool
    last: int | None
    why: str | None = None
    side: Literal["left", "right"] = "left"


def test_arrow_gets_a_column_per_field_nullable_only_where_none_is_allowed() -> None:
    assert arrow_schema(Row) == pa.schema(
        [
            pa.field("name", pa.string(), nullable=False),
            pa.field("count", pa.int64(), nullable=False),
            pa.field("share", pa.float64(), nullable=False),
            pa.field("home", pa.bool_(), nullable=False),
            pa.field("last", pa.int64(), nullable=True),
            pa.field("why", pa.string(), nullable=True),
            pa.field("side", pa.string(), nullable=False),
        ]
    )


def test_spark_gets_the_same_columns() -> None:
    assert spark_schema(Row) == StructType(
        [
            StructField("name", StringType(), nullable=False),
            StructField("count", LongType(), nullable=False),
            StructField("share", DoubleType(), nullable=False),
            StructField("home", BooleanType(), nullable=False),
            StructField("last", LongType(), nullable=True),
            StructField("why", StringType(), nullable=True),
            StructField("side", StringType(), nullable=False),
        ]
    )


def test_an_outcome_may_lack_only_what_may_not_apply() -> None:
    assert [field.name for field in arrow_schema(Outcome) if field.nullable] == [
        *("group", "arrived", "rounds_last", "load_spread", "error", "climb")
    ]


def test_a_type_no_table_knows_is_refused() -> None:
    class Odd(Struct):
        field: complex

    with pytest.raises(KeyError):
        arrow_schema(Odd)
