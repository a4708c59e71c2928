"""Settings said in three places, the later winning: a TOML file, environment variables, flags.

A value is checked where it is said, so that a mistake is told with its place: the file or the variable. What a caller
said, by flags or by names in Python, needs no place beside the field. `Said` knows nothing of nodes; it is given the
fields there are.
"""

import contextlib
import re
import tomllib
import typing
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, structs

from gossamer.core.errors import Misuse, SpecError
from gossamer.core.reading import in_words, joined, kind_of

PREFIX = "GOSSAMER_"
NOT_SETTINGS = ("GOSSAMER_CONFIG", "GOSSAMER_NODE", "GOSSAMER_JAVA_REAL")
"Variables that begin like ours and say something else."
CALLER = "--set"
ANY = "*"
"In a table of fields: whatever the name."

Fields: TypeAlias = dict[str, Any]
"Names with their types; a table has its fields in turn."


def fields_of(kind: type[Struct]) -> Fields:
    """The fields of a struct, those of structs inside it included."""
    hints = typing.get_type_hints(kind).items()
    return {
        name: fields_of(hint) if isinstance(hint, type) and issubclass(hint, Struct) else hint for name, hint in hints
    }


class Said:
    """What was said, by dotted field, and where."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields
        self.values: dict[str, Any] = {}
        self.sources: dict[str, str] = {}
        self.start = CALLER
        "Whom a mistake is put down to that no single place made."

    def file(self, path: Path) -> None:
        self.start = str(path)
        self._take(_toml(path), str(path), path.absolute().parent, str)

    def environment(self, environ: Mapping[str, str]) -> None:
        for variable in sorted(environ):
            if variable.startswith(PREFIX) and variable not in NOT_SETTINGS:
                path = variable.removeprefix(PREFIX).lower().split("__")
                self._take(self._nested(path, environ[variable]), variable, Path.cwd(), _variable)

    def flags(self, flags: Mapping[str, object]) -> None:
        """Fields by dotted name; None means the flag was not given."""
        for name, value in flags.items():
            if value is not None:
                self._take(self._nested(_path(name), value), f"{CALLER} {name}", Path.cwd(), str)

    def mistake(self, sentence: str, source: str = "") -> Misuse | SpecError:
        """A sentence with the place it is about."""
        place = source or self._source_of(sentence)
        return Misuse(sentence) if place.startswith(CALLER) else SpecError(f"{place}: {sentence}")

    def _source_of(self, sentence: str) -> str:
        """Who said the field that a sentence names first, or spoke last of the table it is about."""
        places = {name: re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", sentence) for name in self.sources}
        found = [(place.start(), -len(name), name) for name, place in places.items() if place]
        if found:
            return self.sources[min(found)[2]]
        tables = {name.rpartition(".")[0]: source for name, source in self.sources.items()}
        return next((tables[table] for table in tables if table and sentence.startswith(f"{table}.")), self.start)

    def _nested(self, path: list[str], value: object) -> dict[str, Any]:
        """A value below its path; text, as variables and flags are, becomes what the field wants."""
        fields: Any = self.fields
        for key in path:
            fields = fields.get(key, fields.get(ANY)) if isinstance(fields, dict) else None
        held: Any = value_of(value, fields) if isinstance(value, str) else value
        for key in reversed(path):
            held = {key: held}
        return typing.cast(dict[str, Any], held)

    def _take(self, said: Mapping[str, Any], source: str, folder: Path, spell: Callable[[str], str]) -> None:
        try:
            self._take_table(said, self.values, self.fields, "", (source, folder, spell))
        except Misuse as wrong:
            raise self.mistake(str(wrong), source) from None

    def _take_table(
        self,
        said: Mapping[str, Any],
        values: dict[str, Any],
        fields: Fields,
        where: str,
        how: tuple[str, Path, Callable[[str], str]],
    ) -> None:
        source, folder, spell = how
        for key, value in said.items():
            field, name = fields.get(key, fields.get(ANY)), joined(where, key)
            value = structs.asdict(value) if isinstance(value, Struct) else value
            if field is None:
                raise Misuse(f"there is no field {name}; {self._nearest(key, fields, where, spell)}")
            if not isinstance(field, dict):
                values[key] = checked(value, field, name, folder)
                self.sources[name] = source
            elif isinstance(value, Mapping):
                self._take_table(value, values.setdefault(key, {}), field, name, how)
            else:
                raise Misuse(f"{name} must be a table, not {kind_of(value)}")

    def _nearest(self, key: str, fields: Fields, where: str, spell: Callable[[str], str]) -> str:
        everywhere = list(_names(self.fields))
        namesakes = [name for name in everywhere if name.endswith(f".{key}")]
        far = namesakes or get_close_matches(joined(where, key), everywhere, 1, 0.85)
        if where and len(namesakes) != 1:  # this table was meant, and no other
            far = []
        near = [joined(where, each) for each in get_close_matches(key, fields, 1)] or far
        if near:
            return f"did you mean {spell(near[0])}?"
        return f"{where or 'a node'} has {', '.join(fields)}"


def _names(fields: Fields, where: str = "") -> Iterator[str]:
    """Every field by its dotted name, tables too."""
    for key, field in fields.items():
        if key != ANY:
            yield (name := joined(where, key))
            if isinstance(field, dict):
                yield from _names(field, name)


def _variable(name: str) -> str:
    return PREFIX + name.upper().replace(".", "__")


def _path(name: str) -> list[str]:
    """A dotted name in its parts, quoted as in TOML where a part has dots itself."""
    try:
        held: Any = tomllib.loads(f"{name} = 0")
    except tomllib.TOMLDecodeError:
        raise Misuse(f"{name!r} is not a field name, like limits.inbox_items") from None
    path = []
    while isinstance(held, dict):
        (key,) = held
        path.append(key)
        held = held[key]
    return path


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as wrong:
        why = wrong.strerror or wrong
        raise SpecError(f"cannot read {path} ({why}): write one with `gossamer config new > node.toml`") from None
    except UnicodeDecodeError:
        raise SpecError(f"{path} is not text: a node's configuration is TOML") from None
    except tomllib.TOMLDecodeError as wrong:
        raise SpecError(f"{path} is not TOML: {wrong}") from None


def value_of(text: str, hint: Any) -> Any:
    """Text from outside a file as what the field wants: text as it is, lists by commas, else a TOML value."""
    if typing.get_origin(hint) is tuple and not text.lstrip().startswith("["):
        kind = typing.get_args(hint)[0]
        return [value_of(part.strip(), kind) for part in text.split(",") if part.strip()]
    wants_text = hint is str or _is_path(hint) or typing.get_origin(hint) is typing.Literal
    if not wants_text or text[:1] in ('"', "'"):
        with contextlib.suppress(tomllib.TOMLDecodeError):
            return tomllib.loads(f"value = {text}")["value"]
    return text


def checked(value: Any, hint: Any, where: str, folder: Path) -> Any:
    """A value of the field's type. Paths are taken from `folder`; an empty one is none."""
    if _is_path(hint) and isinstance(value, str | PathLike):
        return folder / Path(value).expanduser() if str(value) else None
    try:
        return msgspec.convert(value, str | None if _is_path(hint) else hint)
    except msgspec.ValidationError as wrong:
        each = "each of " if re.search(r"`\$\[", str(wrong)) else ""
        raise Misuse(each + in_words(str(wrong), hint, where)) from None


def _is_path(hint: Any) -> bool:
    return Path in typing.get_args(hint)
