"""The fields of types: what readers of a type above, and filters, need of them."""

from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, StructMeta, UnsetType

from gossamer.core.errors import Misuse

ATTRIBUTES = (str, int, float, NoneType, UnsetType)
"What a field to filter by may hold. A truth value is an int; what is None or unset is left out."


class Filterable:
    """Marks a field that filters may ask for: `minute: Annotated[int, Filterable]`."""


# Types above


def check_fields(made: StructMeta, above: StructMeta) -> None:
    """Whoever reads the type above must find its fields, by the names it knows."""
    for lacking in [each for each in required(above) if each not in made.__struct_encode_fields__]:
        raise Misuse(
            f"{made.__name__} lacks the field {lacking} of {above.__name__}, whose readers get it too: "
            f"give it that field, or give the one of {above.__name__} a default"
        )
    mine = _names(made)
    for field, name in _names(above).items():
        if mine.get(field, name) != name:
            raise Misuse(
                f"{made.__name__} calls the field {field} {mine[field]} in its payload, and {above.__name__} calls it "
                f"{name}: say field(name={name!r}) of it, for readers of {above.__name__} get it too"
            )


def _names(of: StructMeta) -> dict[str, str]:
    """What the fields are called in the payload."""
    return dict(zip(of.__struct_fields__, of.__struct_encode_fields__, strict=True))


def required(of: StructMeta) -> list[str]:
    """Fields without a default, by their names in the payload."""
    names, defaults = of.__struct_encode_fields__, of.__struct_defaults__
    padded = (*(NODEFAULT for _ in names[len(defaults) :]), *defaults)
    return [name for name, default in zip(names, padded, strict=True) if default is NODEFAULT]


def reads_alike(above: StructMeta, made: StructMeta) -> bool:
    """Whether a type above reads all that the type itself reads: it is a base, and nothing of it was said anew."""
    if not issubclass(made, above) or getattr(made, "__post_init__", None) is not getattr(above, "__post_init__", None):
        return False
    wide, narrow = hints_of(above), hints_of(made)
    return all(wide[field] == narrow[field] for field in above.__struct_fields__)


def hints_of(kind: StructMeta) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


# Filters


def check_filterable(made: StructMeta) -> None:
    """Misuse for a field that no filter could ask for, if that can be told already."""
    try:
        hints_of(made)
    except Exception:  # an annotation names what comes later: it is looked at when the type is first used
        return
    filterable_fields(made)


def filterable_fields(kind: StructMeta) -> dict[str, str]:
    """Fields that become attributes, and the names of these: as in the payload."""
    hints = hints_of(kind)
    found = {field: name for field, name in _names(kind).items() if is_filterable(hints[field])}
    for field in found:
        if not fits_attribute(hints[field]):
            raise Misuse(
                f"the field {field} of {kind.__name__} cannot be Filterable: filters know str, int, float and bool; "
                "make it one of these, or leave Filterable out"
            )
    return found


def is_filterable(hint: object) -> bool:
    return hint is Filterable or isinstance(hint, Filterable) or any(map(is_filterable, get_args(hint)))


def fits_attribute(hint: Any) -> bool:
    """Whether what a field holds can be an attribute. Of one that may hold anything, each object tells."""
    if hint is Any or isinstance(hint, TypeVar):
        return True
    if isinstance(hint, NewType):
        return fits_attribute(hint.__supertype__)
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return fits_attribute(inner[0])
    if origin is Literal:
        return all(isinstance(each, ATTRIBUTES) for each in inner)
    if origin in (Union, UnionType):
        return all(map(fits_attribute, inner))
    return isinstance(hint, type) and issubclass(hint, ATTRIBUTES)
