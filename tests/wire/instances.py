"""Instances of any struct, made from its type hints."""

from functools import cache
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct, inspect

from gossamer.core.topics import Topic
from gossamer.protocols.pgrid.places import Bits

TOPIC = inspect.type_info(Topic)
BITS = inspect.type_info(Bits)


@cache
def instances(of: type[Struct]) -> st.SearchStrategy[Any]:
    return values(inspect.type_info(of))


def values(kind: inspect.Type) -> st.SearchStrategy[Any]:
    match kind:
        case inspect.StructType(cls=cls, fields=fields):
            return st.builds(cls, **{field.name: values(field.type) for field in fields})
        case inspect.IntType(ge=low, le=high):
            return st.integers(-(2**63) if low is None else low, 2**64 - 1 if high is None else high)
        case inspect.FloatType(ge=low, le=high):
            return st.floats(low, high, allow_nan=False)
        case inspect.StrType() if kind == TOPIC:
            return st.lists(st.text("ab_é", min_size=1, max_size=3), max_size=3).map(
                lambda names: "." + ".".join(names)
            )
        case inspect.StrType() if kind == BITS:
            return st.text("01", max_size=30)
        case inspect.StrType():
            return st.text(max_size=30)
        case inspect.VarTupleType(item_type=item):
            return st.lists(values(item), max_size=8).map(tuple)
        case inspect.ListType(item_type=item):
            return st.lists(values(item), max_size=8)
        case inspect.TupleType(item_types=items):
            return st.tuples(*map(values, items))
        case inspect.DictType(key_type=key, value_type=value):
            return st.dictionaries(values(key), values(value), max_size=5)
        case inspect.UnionType(types=types):
            return st.one_of(*map(values, types))
        case inspect.LiteralType(values=said):
            return st.sampled_from(said)
    plain = {inspect.BoolType: st.booleans(), inspect.BytesType: st.binary(max_size=30), inspect.NoneType: st.none()}
    return plain[type(kind)]
