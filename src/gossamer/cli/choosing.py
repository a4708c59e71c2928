"""Options that choose a point of an experiment, shared by the commands that take one."""

import contextlib
import functools
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click
import msgspec

from gossamer.core.errors import Misuse
from gossamer.lab.grid import path_of, put
from gossamer.lab.spec import GRID, parse, read
from gossamer.lab.studies.overlay.pairs import COPIES
from gossamer.pipeline.places import LocalPlace, Place, has_scheme, place_at

F = TypeVar("F", bound=Callable[..., Any])


def choosing(command: F) -> F:
    """--set, --runs, --seed and --engine."""
    for option in (
        click.option(
            "--engine", type=click.Choice(["kernel", "machine", "world", "blocks"]), help="Override the file's engine."
        ),
        click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Override the file's seed."),
        click.option(
            "--set", "settings", multiple=True, metavar="FIELD=VALUE", help="Set a field, e.g. faults.fraction=0.3."
        ),
    ):
        command = option(command)
    return command


def chosen(spec: str, settings: tuple[str, ...], *, runs: int | None = None, **head: Any) -> tuple[dict[str, Any], str]:
    """The raw experiment with these fields set. What is set is swept over that one value: so it wins over a case, and
    stands in the command that shows a trial again."""
    raw, source = read_from(spec)
    for each in settings:
        field, equals, text = each.partition("=")
        if not equals:
            raise Misuse(f"--set {each}: write FIELD=VALUE, like faults.fraction=0.3")
        set_field(raw, field.strip(), value_of(text.strip()), f"--set {each}")
    for field, value in head.items():
        if value is not None:
            set_field(raw, f"experiment.{field}", value, source)
    if runs is not None:
        put(raw, "experiment.runs", runs, source)
    return raw, source


def read_from(spec: str) -> tuple[dict[str, Any], str]:
    """Raw TOML and what to call it, wherever it is. Elsewhere than on this machine a session must be running."""
    place = place_at(spec)
    locate = functools.partial(beside, place.parent)
    if isinstance(place, LocalPlace):
        return read(str(place) if has_scheme(spec) else spec, locate)
    return parse(place.read(), spec, locate), spec


def beside(folder: Place, table: str) -> str:
    """A table that a file names, wherever it is; a copy of it on this machine, where it is elsewhere."""
    place = place_at(table) if has_scheme(table) else folder / table
    if isinstance(place, LocalPlace):
        return str(place.path.absolute())
    if place.uri not in COPIES:
        COPIES[place.uri] = place.copied()
    return place.uri


def set_field(raw: dict[str, Any], field: str, value: Any, source: str) -> None:
    put(raw, field, value, source)
    if path_of(field)[0] not in GRID and isinstance(swept := raw.setdefault("sweep", {}), dict):
        swept.pop(field, None)  # to the end: the first field is a figure's x unless it names another
        swept[field] = [value]


def value_of(text: str) -> Any:
    """A TOML value, or a JSON one (tables are easier to quote); what is neither is plain text."""
    with contextlib.suppress(tomllib.TOMLDecodeError):
        return tomllib.loads(f"value = {text}")["value"]
    with contextlib.suppress(msgspec.DecodeError):
        return msgspec.json.decode(text)
    return text


def one_point(raw: Mapping[str, Any], case: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same experiment at its first point, and which of the swept values there might have been others."""
    swept, cases = (raw.get(table, {}) for table in GRID)
    if not isinstance(swept, dict) or not isinstance(cases, dict):
        return dict(raw), {}  # `points` says what is wrong with it
    if case is not None and case not in cases:
        known = ", ".join(f'"{each}"' for each in cases)
        raise Misuse(f'--case "{case}": the experiment has {known or "no cases"}')
    name = case or next(iter(cases), None)
    first = {field: values[:1] if isinstance(values, list) else values for field, values in swept.items()}
    several = {field: values[0] for field, values in first.items() if values != swept[field]}
    return {**raw, "sweep": first, "cases": {} if name is None else {name: cases[name]}}, several
