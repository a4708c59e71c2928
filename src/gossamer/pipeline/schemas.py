"""Arrow and Spark schemas, derived from the struct that declares a row."""

import typing
from types import NoneType
from typing import Any, Literal

import pyarrow as pa
from msgspec import Struct
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

ARROW = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_(), bytes: pa.binary()}


def arrow_schema(row: type[Struct]) -> pa.Schema:
    """A column per field; a field that may be None is nullable, one of a few words is text."""
    hints = typing.get_type_hints(row)
    return pa.schema([_column(name, hints[name]) for name in row.__struct_fields__])


def _column(name: str, hint: Any) -> pa.Field:
    if typing.get_origin(hint) is Literal:
        return pa.field(name, ARROW[type(typing.get_args(hint)[0])], nullable=False)
    plain = [each for each in typing.get_args(hint) or (hint,) if each is not NoneType]
    return pa.field(name, ARROW[plain[0]], nullable=NoneType in typing.get_args(hint))


def spark_schema(row: type[Struct]) -> StructType:
    return from_arrow_schema(arrow_schema(row))
