"""The experiment file of the documentation, and ways to change it."""

import tomllib
from pathlib import Path
from typing import Any

from gossamer.lab.grid import Point, points, put
from gossamer.lab.studies.communities.tables import Communities

EXAMPLE = """
[experiment]
name = "stillborn"
protocol = "camcast"
engine = "kernel"
runs = 1000
seed = 1

[topics]
"." = {size = 10}
".d" = {size = 100}
".d.g" = {size = 1000}            # also {size = 5, parents = [".x"]}

[params]                          # for all; [params.".d"] overrides
fanout_extra = 5.0
electors = 5
targets = 1
links = 3

[network]                         # for all; [network.".d"] overrides
success = 0.85
success_up = 0.85

[faults]
kind = "stillborn"
fraction = 0.3

[publish]
topic = ".d.g"

[sweep]
"faults.fraction" = [0.0, 0.1, 0.2, 0.3]
"""

SOURCE = "mine.toml"

SMALL = {
    'topics."."': {"size": 4},
    'topics.".d"': {"size": 12},
    'topics.".d.g"': {"size": 30},
    "experiment.engine": "machine",
    "experiment.runs": 5,
}
"Changes that make the example a matter of milliseconds."


def example(
    changes: dict[str, Any] | None = None, *, sweep: dict[str, Any] | None = None, **tables: Any
) -> dict[str, Any]:
    """The example as raw TOML, with some fields set, its sweep replaced, whole tables added."""
    raw = tomllib.loads(EXAMPLE)
    raw["sweep"] = {} if sweep is None else sweep
    for dotted, value in (changes or {}).items():
        put(raw, dotted, value, SOURCE)
    return {**raw, **tables}


def point(changes: dict[str, Any] | None = None, **tables: Any) -> Point:
    """The one point of the example without a sweep."""
    (only,) = points(example(changes, **tables), SOURCE)
    return only


def communities(changes: dict[str, Any] | None = None, **tables: Any) -> Communities:
    """What that point says."""
    spec = point(changes, **tables).spec
    assert isinstance(spec, Communities)
    return spec


def write(folder: Path, raw: dict[str, Any]) -> Path:
    """Raw TOML as a file, every table spelled out."""
    path = folder / SOURCE
    lines = []
    for table, fields in raw.items():
        lines.append(f"[{table}]")
        lines += [f"{_quoted(key)} = {_toml(value)}" for key, value in fields.items()]
    path.write_text("\n".join(lines))
    assert tomllib.loads(path.read_text()) == raw
    return path


def _quoted(key: str) -> str:
    return f"'{key}'"


def _toml(value: Any) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{_quoted(key)} = {_toml(each)}" for key, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_toml, value)) + "]"
        case bool():
            return str(value).lower()
        case str():
            return f"'{value}'"
    return repr(value)
