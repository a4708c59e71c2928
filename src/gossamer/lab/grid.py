"""From one file to the points of a sweep: every combination of the swept values, in every case."""

import contextlib
import copy
import itertools
import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from gossamer.core.errors import Misuse, SpecError
from gossamer.core.reading import joined, table
from gossamer.lab.spec import GRID
from gossamer.lab.studies import Spec, check
from gossamer.lab.studies.communities.tables import Communities

POINTS_MAX = 10_000


class Point(Struct, frozen=True):
    """One combination: what was swept, and the experiment it makes."""

    swept: dict[str, Any]
    spec: Spec

    @property
    def name(self) -> str:
        """JSON of the swept fields, the same text for the same values."""
        return msgspec.json.encode(self.swept, order="sorted").decode()

    @property
    def fields(self) -> tuple[str, ...]:
        """All that its lines in a summary are told apart by."""
        within = self.spec.parted() if isinstance(self.spec, Communities) else ()
        return (*self.swept, *within)


def path_of(dotted: str) -> list[str]:
    """The keys of a dotted TOML path, quotes and all: `topics.".d".size` has three."""
    keys: list[str] = []
    said: Any = tomllib.loads(f"{dotted} = 0")
    while isinstance(said, dict):
        if len(said) != 1:
            raise tomllib.TOMLDecodeError("more than one field")
        ((key, said),) = said.items()
        keys.append(key)
    return keys


def put(raw: dict[str, Any], dotted: str, value: Any, source: str) -> None:
    """Sets one field of a raw experiment."""
    try:
        *way, last = path_of(dotted)
    except tomllib.TOMLDecodeError:
        raise SpecError(f"{source}: {dotted!r} is not a field name; write it like faults.fraction") from None
    inside: Any = raw
    for key in way:
        inside = inside.setdefault(key, {})
        if not isinstance(inside, dict):
            raise SpecError(f"{source}: {dotted} names no field: {key} is not a table")
    inside[last] = value


def points(raw: Mapping[str, Any], source: str) -> list[Point]:
    """Every point of an experiment, checked, each once. Without a sweep there is one, with nothing swept."""
    base = {key: value for key, value in raw.items() if key not in GRID}
    try:
        sweep, cases = _sweep(raw.get("sweep", {})), _cases(raw.get("cases", {}))
        _known_topics(base, (*sweep, *(field for fields in cases.values() for field in fields)))
    except Misuse as wrong:
        raise SpecError(f"{source}: {wrong}") from None
    count = math.prod(len(values) for values in sweep.values()) * max(1, len(cases))
    if count > POINTS_MAX:
        raise SpecError(f"{source}: the sweep has {count:,} points; {POINTS_MAX:,} is the most")
    made = (_point(base, source, swept, fields) for swept, fields in _combinations(sweep, cases))
    found = list({point.name: point for point in made}.values())
    _check_alike(found, source)
    _check_figures(found[0], source)
    return found


def _check_alike(found: list[Point], source: str) -> None:
    """One file, one kind of study: its points stand in one table and share their plots."""
    kinds = {type(point.spec): point.spec.experiment.protocol for point in found}
    if len(kinds) > 1:
        one, other, *_ = kinds.values()
        raise SpecError(f"{source}: {one} and {other} are studied in different ways: write a file for each")


def _check_figures(point: Point, source: str) -> None:
    """Better now than after hours of sweeping."""
    for figure in point.spec.figures:
        if figure.metric not in point.spec.metrics:
            known = ", ".join(point.spec.metrics)
            raise SpecError(f"{source}: figure {figure.name!r} plots {figure.metric!r}, which is none of {known}")
        for field in filter(None, (figure.x, figure.by)):
            if point.swept and field not in point.fields:
                raise SpecError(f"{source}: figure {figure.name!r} names {field}, which is not swept")


def _sweep(said: Any) -> Mapping[str, list[Any]]:
    for field, values in table(said, "sweep").items():
        if not isinstance(values, list) or not values:
            raise Misuse(f'sweep: give {field} a list of values, its name in quotes: "faults.fraction" = [0.1, 0.2]')
    return said  # type: ignore[no-any-return]


def _cases(said: Any) -> Mapping[str, Mapping[str, Any]]:
    return {name: table(fields, joined("cases", name)) for name, fields in table(said, "cases").items()}


def _known_topics(base: Mapping[str, Any], fields: Iterable[str]) -> None:
    """A misspelt topic in a swept field would quietly become a topic of its own."""
    for field in fields:
        with contextlib.suppress(tomllib.TOMLDecodeError):  # `put` tells that better
            way = path_of(field)
            if len(way) > 1 and way[0] == "topics" and way[1] not in base.get("topics", {way[1]: {}}):
                raise Misuse(f"{field} is swept, but [topics] does not list {way[1]}")


def _combinations(
    sweep: Mapping[str, list[Any]], cases: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for case in cases or [None]:
        named = {} if case is None else {"case": case}
        overrides = {} if case is None else cases[case]
        for values in itertools.product(*sweep.values()):
            swept = dict(zip(sweep, values, strict=True))
            yield {**named, **swept}, {**overrides, **swept}


def _point(base: Mapping[str, Any], source: str, swept: dict[str, Any], fields: dict[str, Any]) -> Point:
    raw = copy.deepcopy(dict(base))
    for dotted, value in fields.items():
        put(raw, dotted, value, source)
    at = ", ".join(f"{name} = {value}" for name, value in swept.items())
    return Point(swept, check(raw, f"{source} at {at}" if at else source))
