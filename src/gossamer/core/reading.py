"""Values of a file as structs, with mistakes told in the file's own words: which field, what it must be, what it is."""

import re
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from gossamer.core.errors import Misuse

T = TypeVar("T", bound=Struct)

KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "object": "a table",
    "array": "a list",
}
PLAIN = re.compile(r"[A-Za-z0-9_-]+")


def joined(where: str, key: str) -> str:
    """A dotted path one key longer, quoted as TOML wants it."""
    said = key if PLAIN.fullmatch(key) else f'"{key}"'
    return f"{where}.{said}" if where else said


def table(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Misuse(f"{where} must be a table, not {kind_of(value)}")
    return value


def convert(value: Any, kind: type[T], where: str) -> T:
    """`value`, the table at `where`, as a struct."""
    said = table(value, where)
    for key in said:
        if key not in kind.__struct_fields__:
            raise Misuse(f"there is no field {joined(where, key)}; {where} has {', '.join(kind.__struct_fields__)}")
    try:
        return msgspec.convert(said, kind)
    except msgspec.ValidationError as wrong:
        raise Misuse(in_words(str(wrong), kind, where)) from None


def kind_of(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the text {value!r}"
        case list():
            return "a list"
    return str(value)


def in_words(text: str, kind: Any, where: str) -> str:
    """msgspec's sentence in ours. It ends with where in the value it happened: `$.churn.up_s`."""
    said, _, at = text.partition(" - at `$")
    field = (where + re.sub(r"\[\.\.\.\]|\[\d+\]", "", at.rstrip("`"))).lstrip(".")
    if missing := re.match(r"Object missing required field `(.+)`", said):
        return f"{joined(field, missing[1])} is missing"
    if unknown := re.match(r"Object contains unknown field `(.+)`", said):
        return f"there is no field {joined(field, unknown[1])}"
    if mismatch := re.match(r"Expected `(.+)`, got `(.+)`", said):
        wanted = [KINDS.get(each, each) for each in mismatch[1].split(" | ") if each != "null"]
        return f"{field} must be {' or '.join(wanted)}, not {KINDS.get(mismatch[2], mismatch[2])}"
    if choice := re.match(r"Invalid enum value (.+)", said):
        return f"{field} must be {_choices(kind, field)}, not {choice[1]}"
    return f"{field}: {said}"


def _choices(kind: Any, field: str) -> str:
    """The words a field may hold: `kind` is the struct it stands in, or the field's own type."""
    hint = kind if typing.get_origin(kind) else typing.get_type_hints(kind).get(field.rpartition(".")[2])
    if typing.get_origin(hint) is not Literal:
        return "one of the known words"
    *some, last = typing.get_args(hint)
    return f"{', '.join(some)} or {last}"
