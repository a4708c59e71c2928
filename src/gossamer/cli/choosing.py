"""Options that choose a point of an experiment, shared by the commands that take one."""

import tomllib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from gossamer.core.errors import Misuse
from gossamer.lab.grid import put
from gossamer.lab.spec import read

F = TypeVar("F", bound=Callable[..., Any])


def choosing(command: F) -> F:
    """--set, --runs, --seed and --engine."""
    for option in (
        click.option("--engine", type=click.Choice(["kernel", "machine", "world"]), help="Override the file's engine."),
        click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Override the file's seed."),
        click.option(
            "--set", "settings", multiple=True, metavar="FIELD=VALUE", help="Set a field, e.g. faults.fraction=0.3."
        ),
    ):
        command = option(command)
    return command


def chosen(spec: str, settings: tuple[str, ...], **head: Any) -> tuple[dict[str, Any], str]:
    """The raw experiment with these fields set; a field that is set is no longer swept."""
    raw, source = read(spec)
    for each in settings:
        field, equals, text = each.partition("=")
        if not equals:
            raise Misuse(f"--set {each}: write FIELD=VALUE, like faults.fraction=0.3")
        put(raw, field.strip(), value_of(text.strip()), f"--set {each}")
        if isinstance(raw.get("sweep"), dict):
            raw["sweep"].pop(field.strip(), None)
    for field, value in head.items():
        if value is not None:
            put(raw, f"experiment.{field}", value, source)
    return raw, source


def value_of(text: str) -> Any:
    """A TOML value; what is none is plain text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def one_point(raw: Mapping[str, Any], case: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same experiment without its sweep, at the first swept values, and what those are."""
    alone = {key: value for key, value in raw.items() if key not in ("sweep", "cases")}
    first = {field: values[0] for field, values in raw.get("sweep", {}).items() if values}
    cases = raw.get("cases", {})
    if case is not None and case not in cases:
        raise Misuse(f"--case {case}: the experiment has {', '.join(cases) or 'no cases'}")
    name = case or next(iter(cases), None)
    if name is not None:
        alone["cases"] = {name: cases[name]}
    if first:
        alone["sweep"] = {field: [value] for field, value in first.items()}
    return alone, first
