"""A study of an overlay that takes milliseconds, and ways to change it."""

import tomllib
from typing import Any

from gossamer.lab.grid import Point, points, put
from gossamer.lab.studies.overlay.tables import Overlays

SOURCE = "overlay.toml"
SMALL = """
workload = {nodes = 60, topics = 12, popularity = "zipf", exponent = 0.8, subscriptions = [2, 5]}
params = {greedy = 3, random = 0, margin = 5, adaptive = false, view = "full", selection = "coverage"}

[experiment]
name = "few"
protocol = "spidercast"
engine = "ENGINE"
runs = 2
about = "A few nodes."
"""
SWEPT = """
[sweep]
"workload.nodes" = [40, 60]

[cases."spidercast"]

[cases."ring"]
"params.selection" = "ring"

[[figures]]
name = "degrees"
title = "Degrees"
metric = "degree_mean"
x = "workload.nodes"
by = "case"
"""


def small(changes: dict[str, Any] | None = None, *, engine: str = "kernel", **tables: Any) -> dict[str, Any]:
    """The small study as raw TOML, with some fields set and whole tables added."""
    raw = tomllib.loads(SMALL.replace("ENGINE", engine))
    for dotted, value in (changes or {}).items():
        put(raw, dotted, value, SOURCE)
    return {**raw, **tables}


def point(changes: dict[str, Any] | None = None, *, engine: str = "kernel", **tables: Any) -> Point:
    (only,) = points(small(changes, engine=engine, **tables), SOURCE)
    return only


def spec(changes: dict[str, Any] | None = None, **tables: Any) -> Overlays:
    said = point(changes, **tables).spec
    assert isinstance(said, Overlays)
    return said
