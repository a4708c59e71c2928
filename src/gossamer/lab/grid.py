"""From one file to the points of a sweep: every combination of the swept values, in every case."""

import copy
import itertools
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from gossamer.core.errors import SpecError
from gossamer.lab.spec import Spec, check

POINTS_MAX = 10_000


class Point(Struct, frozen=True):
    """One combination: what was swept, and the experiment it makes."""

    swept: dict[str, Any]
    spec: Spec

    @property
    def name(self) -> str:
        """JSON of the swept fields, the same text for the same values."""
        return msgspec.json.encode(self.swept, order="sorted").decode()


def path_of(dotted: str) -> list[str]:
    """The keys of a dotted TOML path, quotes and all: `topics.".d".size` has three."""
    keys: list[str] = []
    table: Any = tomllib.loads(f"{dotted} = 0")
    while isinstance(table, dict):
        ((key, table),) = table.items()
        keys.append(key)
    return keys


def put(raw: dict[str, Any], dotted: str, value: Any, source: str) -> None:
    """Sets one field of a raw experiment."""
    try:
        *way, last = path_of(dotted)
    except tomllib.TOMLDecodeError:
        raise SpecError(f"{source}: {dotted!r} is not a field name; write it like faults.fraction") from None
    table: Any = raw
    for key in way:
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            raise SpecError(f"{source}: {dotted} names no field: {key} is not a table")
    table[last] = value


def points(raw: Mapping[str, Any], source: str) -> list[Point]:
    """Every point of an experiment, checked. Without a sweep there is one, with nothing swept."""
    base = {key: value for key, value in raw.items() if key not in ("sweep", "cases")}
    whole = msgspec.convert({"sweep": raw.get("sweep", {}), "cases": raw.get("cases", {})}, _Swept)
    made = [_point(base, source, swept, fields) for swept, fields in _combinations(whole)]
    if len(made) > POINTS_MAX:
        raise SpecError(f"{source}: the sweep has {len(made):,} points; {POINTS_MAX:,} is the most")
    return made


class _Swept(Struct, frozen=True):
    sweep: dict[str, list[Any]]
    cases: dict[str, dict[str, Any]]


def _combinations(whole: _Swept) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for case in whole.cases or [None]:
        named = {} if case is None else {"case": case}
        overrides = {} if case is None else whole.cases[case]
        for values in itertools.product(*whole.sweep.values()):
            swept = dict(zip(whole.sweep, values, strict=True))
            yield {**named, **swept}, {**overrides, **swept}


def _point(base: Mapping[str, Any], source: str, swept: dict[str, Any], fields: dict[str, Any]) -> Point:
    raw = copy.deepcopy(dict(base))
    for dotted, value in fields.items():
        put(raw, dotted, value, source)
    at = ", ".join(f"{name} = {value}" for name, value in swept.items())
    return Point(swept, check(raw, f"{source} at {at}" if at else source))
