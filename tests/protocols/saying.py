"""Messages made of whatever the wire lets through, some of it about what a node knows."""

import types
import typing
from collections.abc import Iterable
from functools import cache, reduce
from typing import Annotated, Any

from hypothesis import strategies as st
from msgspec import Struct

from gossamer.core.ids import Peer
from gossamer.protocols.pgrid.places import BITS

ME: Peer = 5
TOPICS = [".", ".d", ".d.g", ".d.g.h", ".x", ".x.d"]
PEERS = (st.integers(0, 60) | st.integers(0, 2**64 - 1)).filter(lambda peer: peer != ME)
NUMBERS = st.integers(-3, 60) | st.integers(-(2**63), 2**64 - 1)
MARKS = st.integers(0, 40).flatmap(lambda count: st.binary(min_size=4 * count, max_size=4 * count))


def anything(hint: Any) -> st.SearchStrategy[Any]:
    """What may stand in a field of this type after decoding."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        plain, *_, meta = inside
        if plain is str and meta.pattern == BITS:
            return st.text("01", max_size=6)
        if plain is str:
            return st.sampled_from(TOPICS)  # a topic, or a spelling of one
        if plain is int:
            return st.integers(meta.ge, min(meta.le, 60)) | st.integers(meta.ge, meta.le)
        if plain is float:
            return st.floats(meta.ge, meta.le)
        return anything(plain)
    if origin in (typing.Union, types.UnionType):
        return reduce(st.SearchStrategy.__or__, map(anything, inside))
    if origin is tuple and ... not in inside:
        return st.tuples(*map(anything, inside))
    if origin is tuple:
        return st.lists(anything(inside[0]), max_size=5).map(tuple)
    if origin is dict:
        return st.dictionaries(anything(inside[0]), anything(inside[1]), max_size=2)
    if isinstance(hint, type) and issubclass(hint, Struct):
        return messages_of(hint)
    return {
        type(None): st.none(),
        bool: st.booleans(),
        int: NUMBERS,
        float: st.floats(),
        str: st.text(max_size=5),
        bytes: st.binary(max_size=20) | MARKS,
    }[hint]


@cache
def messages_of(kind: type[Struct]) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(kind, include_extras=True)
    return st.builds(kind, **{field: anything(hints[field]) for field in kind.__struct_fields__})


def any_of(kinds: Iterable[type[Struct]]) -> st.SearchStrategy[Any]:
    return st.one_of([messages_of(kind) for kind in kinds])
