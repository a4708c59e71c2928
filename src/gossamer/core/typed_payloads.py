"""What events of a type carry: an object's fields as msgpack, by their names; and, as attributes, those to filter by.

Fields that a reader does not know are passed over, and those it knows and does not find get their defaults.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import UNSET, MsgspecError
from msgspec.msgpack import Decoder, Encoder

from gossamer.core.errors import Misuse
from gossamer.core.events import ASKED_BESIDES, Attribute
from gossamer.core.topics import Topic
from gossamer.core.typed import T, Typed, TypedMeta
from gossamer.core.typed_fields import filterable_fields, reads_alike

if TYPE_CHECKING:
    from gossamer.core.filters import Filter

_encoder = Encoder()


class Layout(NamedTuple):
    """How objects of one type are written and read. Made when first needed: annotations may name what comes later."""

    kind: TypedMeta
    decoder: Decoder[Any]
    filterable: dict[str, str]
    "Fields that become attributes, and the names of these: as in the payload."
    also_read_as: tuple[Decoder[Any], ...]
    "Types above that may not read what it reads: their readers get the same bytes."


_layouts: dict[Topic, Layout] = {}


def layout_of(kind: TypedMeta) -> Layout:
    known = _layouts.get(topic := kind.__declared__.topic)
    if known is None or known.kind is not kind:  # it was defined again
        try:
            otherwise = [each for each in kind.__declared__.above if not reads_alike(each, kind)]
            known = Layout(kind, Decoder(kind), filterable_fields(kind), tuple(map(Decoder, otherwise)))
        except Misuse:
            raise
        except Exception as wrong:
            name = kind.__declared__.name
            raise Misuse(f"what the fields of {name} hold cannot be told from its annotations: {wrong}") from wrong
        _layouts[topic] = known
    return known


class Written(NamedTuple):
    """What an object is published as."""

    payload: bytes
    attributes: dict[str, Attribute]


def written(value: Typed) -> Written:
    """Misuse, if readers could not read it: a struct does not look at what it is given."""
    layout = layout_of(type(value))
    try:
        payload = _encoder.encode(value)
        for decoder in (layout.decoder, *layout.also_read_as):
            decoder.decode(payload)
    except Exception as wrong:
        raise Misuse(f"this {type(value).__name__} cannot be published: {reason(wrong)}") from wrong
    said = {name: getattr(value, field) for field, name in layout.filterable.items()}
    # None is no attribute: it does not match, as one that is missing
    return Written(payload, {name: held for name, held in said.items() if held is not None and held is not UNSET})


def read(kind: type[T], payload: bytes) -> T | str:
    """The object in these bytes, which anybody may have sent; or why there is none. Never raises."""
    try:
        found: T = layout_of(kind).decoder.decode(payload)
    except Exception as wrong:  # whatever a type's own `__post_init__` may raise, too
        return reason(wrong)
    return found


def reason(wrong: Exception) -> str:
    """In words, bounded: a part of them may be the sender's."""
    match wrong:
        case RecursionError():
            return "it goes deeper than can be read"
        case MsgspecError() | Misuse():
            return str(wrong)[:200]
    return f"{type(wrong).__name__}: {wrong}"[:200]


def check_filter(filter: "Filter", kind: TypedMeta, below: Iterable[TypedMeta]) -> None:
    """Misuse for a filter that asks for what no event of a type, or of those below, has: nothing would ever come."""
    known = dict.fromkeys(name for each in below for name in layout_of(each).filterable.values())
    for name in filter.names:
        if name not in known and name not in ASKED_BESIDES:
            raise Misuse(
                f"neither {kind.__name__} nor a type below it has a Filterable field {name}, "
                f"only {', '.join(known) or 'none'}: "
                f"annotate it, as in `{name}: Annotated[int, gossamer.Filterable]`, or ask for another"
            )
