"""A study of hpmcast that takes milliseconds, and ways to change it."""

import tomllib
from typing import Any

from gossamer.lab.grid import Point, points, put
from gossamer.lab.studies.hierarchy.tables import Hierarchies

SOURCE = "levels.toml"
SMALL = """
hierarchy = {branching = 3, levels = 3}
params = {variant = "hpmcast", delegates = 2, fanout = 2, audience_floor = 0}
workload = {interest = 0.4}
network = {loss = 0.1}

[experiment]
name = "levels"
protocol = "hpmcast"
engine = "ENGINE"
runs = 2
about = "A few participants."
"""
SWEPT = """
[sweep]
"params.variant" = ["hpmcast", "pmcast"]
"workload.interest" = [0.1, 0.5]

[[figures]]
name = "delivery"
title = "Delivery"
metric = "delivery"
x = "workload.interest"
by = "params.variant"
"""


def small(changes: dict[str, Any] | None = None, *, engine: str = "machine", **tables: Any) -> dict[str, Any]:
    """The small study as raw TOML, with some fields set and whole tables added."""
    raw = tomllib.loads(SMALL.replace("ENGINE", engine))
    for dotted, value in (changes or {}).items():
        put(raw, dotted, value, SOURCE)
    return {**raw, **tables}


def point(changes: dict[str, Any] | None = None, *, engine: str = "machine", **tables: Any) -> Point:
    (only,) = points(small(changes, engine=engine, **tables), SOURCE)
    return only


def spec(changes: dict[str, Any] | None = None) -> Hierarchies:
    said = point(changes).spec
    assert isinstance(said, Hierarchies)
    return said
